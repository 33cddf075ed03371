#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# acuda_add_ptx in a build of others, with Ninja and with Make: one file with several options, in several
# folders, under awkward names; headers of the target's; wrong calls are refused in words. And the
# installed examples build with an installed acuda.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v cmake >/dev/null && command -v ninja >/dev/null && command -v gcc >/dev/null || exit 77
[ -e "$1/cmake_install.cmake" ] || exit 77 # carried here without what made it
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$1/CMakeCache.txt" && exit 77
clang=$(sed -n 's/^ACUDA_CLANG:[A-Z]*=//p' "$1/CMakeCache.txt")
clang=$(command -v "${clang:-none}") || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/usr" >"$work/log"

configure() # SOURCE BUILD GENERATOR
{
    cmake -S "$1" -B "$2" -G "$3" -DCMAKE_PREFIX_PATH="$work/usr" -DACUDA_CLANG="$clang" \
        >"$work/log" 2>&1
}
make_it() # SOURCE BUILD GENERATOR
{
    configure "$@" && cmake --build "$2" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
}

p=$work/project
mkdir -p "$p/one" "$p/two/include dir" "$p/three"
cat >"$p/scale.cu" <<'END'
#include "factor.h"
extern "C" __global__ void scale(float *y) { y[0] = FACTOR * VALUE; }
END
cp "$p/scale.cu" "$p/one/scale.cu"
cp "$p/scale.cu" "$p/three/my-kernel.v2.cu"
echo '#define FACTOR 4321' >"$p/factor.h"
echo '#define FACTOR 1' >"$p/two/include dir/factor.h"
cat >"$p/main.c" <<'END'
#include <stdio.h>
extern const char A[], B[];
int main(void) { return fputs(A, stdout) < 0 || fputs(B, stdout) < 0; }
END
# Twice in one target; and the file of that name in another folder.
cat >"$p/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(p C)
find_package(acuda REQUIRED)
add_executable(main main.c)
target_compile_definitions(main PRIVATE A=one_ptx B=two_ptx)
acuda_add_ptx(main scale.cu NAME one_ptx OPTIONS -DVALUE=2)
acuda_add_ptx(main one/scale.cu NAME two_ptx OPTIONS -DVALUE=3 -I "${PROJECT_SOURCE_DIR}")
add_subdirectory(two)
add_subdirectory(three)
END
# The same file in another target, whose folders come from a library that it links.
cat >"$p/two/CMakeLists.txt" <<'END'
add_library(settings INTERFACE)
target_include_directories(settings INTERFACE "include dir")
add_executable(main2 ../main.c)
target_link_libraries(main2 settings)
target_compile_definitions(main2 PRIVATE A=scale_ptx B=my_kernel_v2_ptx)
acuda_add_ptx(main2 ../one/scale.cu OPTIONS -DVALUE=5)
END
# From a folder other than the target's; a name that is no name in C.
cat >"$p/three/CMakeLists.txt" <<'END'
acuda_add_ptx(main2 my-kernel.v2.cu OPTIONS -DVALUE=6)
END
writes() # PROGRAM NUMBER...: the PTX that it prints stores these numbers, floats by their bits
{
    local number
    for number in "${@:2}"; do
        "$1" | grep -qi -e "[ ,]$number;" -e "0f$(printf %x "$number");" ||
            { echo "$1 does not store $number" && "$1" && exit 1; }
    done
}
for generator in Ninja "Unix Makefiles"; do
    [ "$generator" = Ninja ] || command -v make >/dev/null || continue
    build="$work/${generator%% *}"
    echo '#define FACTOR 1' >"$p/two/include dir/factor.h"
    make_it "$p" "$build" "$generator"
    writes "$build/main" 1174865920 1179290624 # 8642.0, 12963.0
    writes "$build/two/main2" 1084227584 1086324736 # 5.0, 6.0
    # A header that changed is noticed.
    echo '#define FACTOR 100' >"$p/two/include dir/factor.h"
    touch -d '+10 seconds' "$p/two/include dir/factor.h" # whatever clocks files have
    make_it "$p" "$build" "$generator"
    writes "$build/two/main2" 1140457472 1142292480 # 500.0, 600.0
done

refused() # TEXT CALL: what the call of acuda_add_ptx says
{
    mkdir -p "$work/bad"
    touch "$work/bad/k.cu" "$work/bad/main.c"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(bad C)' 'find_package(acuda REQUIRED)' \
        'add_library(lib STATIC main.c)' "$2" >"$work/bad/CMakeLists.txt"
    ! configure "$work/bad" "$work/bad/build" Ninja || { echo "not refused: $2" && exit 1; }
    tr -s '\n ' ' ' <"$work/log" | grep -qF "$1" || { cat "$work/log" && exit 1; }
}
refused 'two symbols named k_ptx' 'acuda_add_ptx(lib k.cu)
acuda_add_ptx(lib k.cu OPTIONS -DX)'
refused 'NAME a-b can not be the name of a variable' 'acuda_add_ptx(lib k.cu NAME a-b)'
refused 'there is no target nothing' 'acuda_add_ptx(nothing k.cu)'
refused 'not understood: other.cu' 'acuda_add_ptx(lib k.cu other.cu)'

# The examples, where they were installed to; hello runs on the software device.
make_it "$work/usr/share/doc/acuda/examples" "$work/examples" Ninja
[ -e "$work/examples/mlp" ] && [ -e "$work/examples/server_epoll" ]
if grep -q '^ACUDA_SOFTCUDA:BOOL=ON' "$1/CMakeCache.txt"; then
    ACUDA_DRIVER=software "$work/examples/hello" >"$work/log" || { cat "$work/log" && exit 1; }
fi
