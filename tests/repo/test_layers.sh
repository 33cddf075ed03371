#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The tree keeps its layers apart; and the check that says so does see each kind of breach.
set -euo pipefail
root=$PWD
tools/check-layers
layers=$(sed -n 's/^layers="\(.*\)"$/\1/p' tools/check-layers)
if ! grep -qxF "    ${layers// / -> }" ARCHITECTURE.md; then
    echo "ARCHITECTURE.md lists other layers than tools/check-layers: $layers"
    exit 1
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
licence='/* SPDX-License-Identifier: MIT OR Apache-2.0 */'

# breach EXPECTED-TEXT FILE LINE...: a tree with this one file must be refused with that text.
breach()
{
    local expected=$1 file=$2 output
    shift 2
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/src/{base,driver,device,engine/{order,submit,other}} "$tree"/softcuda/{exec,driver} "$tree"/{tools,tests/device}
    touch "$tree"/src/base/status.h "$tree"/src/engine/{plan.h,order/b.h,submit/b.h} "$tree"/softcuda/exec/exec.h \
        "$tree"/softcuda/driver/softcuda.h
    find "$tree" -name '*.h' -exec sh -c 'echo "$1" >"$2"' _ "$licence" {} \;
    cp "$root/CMakeLists.txt" "$root/check" "$root/demo" "$tree"
    printf '%s\n' "$@" >"$tree/$file"
    if output=$("$root/tools/check-layers" "$tree"); then
        [ "$expected" = ok ] || { echo "not seen: $expected" && exit 1; }
    elif [[ $output != *"$expected"* ]]; then
        printf 'expected: %s\nsaid: %s\n' "$expected" "$output"
        exit 1
    fi
}

breach ok src/device/a.c "$licence" '#include "base/status.h"' '/* dlopen("libcuda.so.1") */'
breach ok src/driver/a.c "$licence" '#include "driver/softcuda.h"' '#include <dlfcn.h>'
breach "base may not use engine" src/base/a.c "$licence" '#include "engine/plan.h"'
breach '"exec/exec.h" is not a header of src/' src/driver/a.c "$licence" '#include "exec/exec.h"'
breach 'softcuda.h" is not a header' src/device/a.c "$licence" '#include "driver/softcuda.h"'
breach '"base/status.h" is not a header of softcuda/' softcuda/exec/a.c "$licence" \
    '#include "base/status.h"'
breach "exec may not use driver" softcuda/exec/a.c "$licence" '#include "driver/softcuda.h"'
breach ok src/engine/submit/a.c "$licence" '#include "engine/order/b.h"'
breach "is of a room to its right" src/engine/order/a.c "$licence" '#include "engine/submit/b.h"'
breach "no room of the engine" src/engine/other/a.c "$licence" '#include "engine/submit/b.h"'
breach "is of a room to its right" src/engine/a.h "$licence" '#include "engine/order/b.h"'
breach "name libcuda" src/device/a.c "$licence" 'const char *name = "libcuda.so.1";'
breach "name libcuda" src/device/a.c "$licence" '#include <dlfcn.h>'
breach "does not print" src/device/a.c "$licence" 'void f(void) { printf("x"); }'
breach "read by secure_getenv" softcuda/driver/a.c "$licence" 'const char *a = getenv("A");'
breach ok src/driver/a.c "$licence" 'const char *a = secure_getenv("A");'
breach "not the licence" src/device/a.c 'int a;'
breach "too long a function" src/device/a.c "$licence" 'void f(void)' '{' \
    "$(printf '    g();\n%.0s' {1..60})" '}'
breach "too wide a line" src/device/a.c "$licence" "int $(printf 'a%.0s' {1..96});"
breach "too wide a line" tests/device/a.c "$licence" "char a[] = \"\"; /* $(printf 'a%.0s' {1..96}) */"
breach ok tests/device/a.c "$licence" "char a[] = \"$(printf 'a%.0s' {1..96})\";"
