#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# What is neither an op, a tensor nor a number does not compile as an operand: taken for a number, a
# pointer would be computed with.
set -euo pipefail
cd "$(dirname "$0")/../.."

failed=0
tried=
# takes no|yes TYPE COMPILER FLAGS...: whether an operand of that type compiles
takes()
{
    local want=$1 type=$2 have=no
    "${@:3}" -fsyntax-only -Iinclude - 2>/dev/null <<END && have=yes
#include <acuda/ops.h>
acu_op *test($type x);
acu_op *test($type x) { return acu_exp(x); }
END
    tried=yes
    [ $have = "$want" ] && return
    echo "$3: an operand of type $type compiles: $have"
    failed=1
}

# all COMPILER FLAGS...
all()
{
    local type
    for type in 'acu_op *' 'acu_tensor *' 'const acu_tensor *' acu_arg bool int double; do
        takes yes "$type" "$@"
    done
    for type in 'void *' 'const void *' 'float *' 'const char *' 'const acu_op *' acu_shape; do
        takes no "$type" "$@"
    done
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    all $compiler -x c -std=c17
done
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    # clang++ comes with clang, a C++ library does not.
    echo '#include <cstddef>' | $compiler -x c++ -fsyntax-only - 2>/dev/null || continue
    all $compiler -x c++ -std=c++17
    takes no decltype\(nullptr\) $compiler -x c++ -std=c++17
done
[ "$tried" ] || exit 77
exit $failed
