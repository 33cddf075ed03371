#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# An installed acuda is found by other builds: with CMake's find_package and with pkg-config.
set -euo pipefail
command -v cmake >/dev/null && command -v ninja >/dev/null && command -v gcc >/dev/null || exit 77
[ -e "$1/cmake_install.cmake" ] || exit 77 # carried here without what made it
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$1/CMakeCache.txt" && exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$1" --prefix "$work/usr" >"$work/log"
mkdir "$work/user"
cat >"$work/user/main.c" <<'END'
#include <acuda/acuda.h>
#include <acuda/adapters/epoll.h>
int main(void)
{
    acu_epoll *adapter;
    if (acu_epoll_start(-1, (epoll_data_t){.fd = 0}, NULL, NULL, &adapter) != ACU_ERR_BAD_HANDLE)
        return 1;
    return acu_dtype_bytes(ACU_F32) == 4 ? 0 : 1;
}
END
cat >"$work/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(acuda 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared acuda::acuda)
add_executable(static main.c)
target_link_libraries(static acuda::acuda_static)
END
cmake -G Ninja -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/usr" >>"$work/log"
cmake --build "$work/user/build" >>"$work/log" || { cat "$work/log" && exit 1; }
"$work/user/build/shared"
"$work/user/build/static"

if command -v pkg-config >/dev/null; then
    pc=$(dirname "$(find "$work/usr" -name acuda.pc)")
    # shellcheck disable=SC2046 # flags are words
    gcc "$work/user/main.c" -o "$work/user/by-pc" -Wl,-rpath,"$pc/.." \
        $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs acuda)
    "$work/user/by-pc"
fi
