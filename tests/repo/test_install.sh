#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# An installed acuda is found by other builds, with CMake's find_package and with pkg-config; so are
# its headers for kernels.
set -euo pipefail
command -v cmake >/dev/null && command -v ninja >/dev/null && command -v gcc >/dev/null || exit 77
[ -e "$1/cmake_install.cmake" ] || exit 77 # carried here without what made it
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$1/CMakeCache.txt" && exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$1" --prefix "$work/usr" >"$work/log"

# Wherever a header or a page names a page or an example, that is there.
doc=$work/usr/share/doc/acuda
for named in $(grep -rohE --exclude-dir=site '(docs|examples)/[a-zA-Z0-9_/.-]+[a-z]' include README.md docs); do
    [ -e "$named" ] || continue # of what is built
    [ -e "$doc/$named" ] || { echo "$named is not installed" && exit 1; }
done

tools/check-docs --links "$doc"
[ -e "$work/usr/share/man/man3/acu_submit.3" ] || { echo "man pages are not installed" && exit 1; }

# The Python package finds the library that was installed with it.
package=$work/usr/lib/python3/dist-packages
if [ -e "$package/acuda" ] && [ -e "$work/usr/lib/libacuda.so.0" ] && /usr/bin/python3 -c 'import cffi' 2>/dev/null; then
    PYTHONPATH=$package ACUDA_DRIVER=software env -u ACUDA_LIBRARY -u LD_LIBRARY_PATH /usr/bin/python3 -c 'import acuda'
fi

mkdir "$work/user"
cat >"$work/user/main.c" <<'END'
#include <acuda/acuda.h>
#include <acuda/adapters/epoll.h>
#include <stdio.h>
int main(void)
{
    acu_epoll *adapter;
    if (acu_epoll_start(-1, (epoll_data_t){.fd = 0}, NULL, NULL, &adapter) != ACU_ERR_INVALID)
        return 1;
    if (acu_version() != ACU_VERSION)
        return 1;
    printf("%d.%d.%d\n", ACU_VERSION_MAJOR, ACU_VERSION_MINOR, ACU_VERSION_PATCH);
    return acu_dtype_bytes(ACU_F32) == 4 ? 0 : 1;
}
END
cat >"$work/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(acuda 0.2 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared acuda::acuda)
add_executable(static main.c)
target_link_libraries(static acuda::acuda_static)
add_library(plugin MODULE plugin.c)
target_link_libraries(plugin acuda::acuda_static)
add_executable(host host.c)
target_link_libraries(host ${CMAKE_DL_LIBS})
END
cat >"$work/user/plugin.c" <<'END'
#include <acuda/acuda.h>
size_t use(void);
size_t use(void) { return acu_dtype_bytes(ACU_F32); }
END
cat >"$work/user/host.c" <<'END'
#include <dlfcn.h>
#include <stddef.h>
int main(int count, char **words)
{
    void *plugin = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
    size_t (*use)(void);
    if (!plugin || !(*(void **)&use = dlsym(plugin, "use")) || use() != 4)
        return 1;
    dlclose(plugin); /* threads of acuda may still be in it */
    return dlopen(words[1], RTLD_NOW | RTLD_NOLOAD) ? 0 : 2;
}
END
cmake -G Ninja -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/usr" >>"$work/log"
cmake --build "$work/user/build" >>"$work/log" || { cat "$work/log" && exit 1; }
# Headers, library and files for the build are of one version.
version=$(sed -n 's/^Version: //p' "$(find "$work/usr" -name acuda.pc)")
[ "$("$work/user/build/shared")" = "$version" ]
[ "$("$work/user/build/static")" = "$version" ]
"$work/user/build/host" "$work/user/build/libplugin.so"

# Components: those that are there, one that is not, one that does not exist.
cat >"$work/parts.cmake" <<'END'
list(APPEND CMAKE_PREFIX_PATH "${PREFIX}")
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH FALSE)
project(parts C)
find_package(acuda ${VERSION} QUIET COMPONENTS ${PARTS})
message(STATUS "found ${acuda_FOUND}, softcuda ${acuda_softcuda_FOUND}: ${acuda_NOT_FOUND_MESSAGE}")
END
parts() # COMPONENTS WORDS-OF-THE-ANSWER [OPTIONS...]
{
    mkdir -p "$work/parts"
    { echo 'cmake_minimum_required(VERSION 3.25)' && cat "$work/parts.cmake"; } >"$work/parts/CMakeLists.txt"
    cmake -G Ninja -S "$work/parts" -B "$work/parts/build" -DPREFIX="$work/usr" -DPARTS="$1" "${@:3}" >"$work/said" 2>&1
    grep -q "^-- found $2" "$work/said" || { cat "$work/said" && exit 1; }
}
standin=$(find "$work/usr" -path '*softcuda/libcuda.so.1')
[ -z "$standin" ] || parts softcuda '1, softcuda TRUE'
parts 'kernels;nothing' '[0F].*lacks nothing (the components are kernels and softcuda)' -DACUDA_CLANG=/bin/true
parts kernels '[0F].*lacks kernels (clang was not found' -DACUDA_CLANG=ACUDA_CLANG-NOTFOUND \
    -DCMAKE_PROGRAM_PATH= -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=FALSE
[ -z "$standin" ] || rm "$standin"
parts softcuda '[0F].*lacks softcuda (there is no .*libacuda-softcuda)'

# Kernels, compiled ahead of time: by the CMake function, also of a folder that did not look for acuda,
# and of a file outside of the project.
clang=$(sed -n 's/^ACUDA_CLANG:[A-Z]*=//p' "$1/CMakeCache.txt")
clang=$(command -v "${clang:-none}") || clang=
mkdir -p "$work/kernels/inner" "$work/shared"
cat >"$work/kernels/double.cu" <<'END'
#include <cuda_runtime.h>
#include <acuda/device.cuh>
extern "C" __global__ void twice(acu_tile<float> y)
{
    for (long long i = y.begin(); i < y.end(); i += y.step())
        y.at(i) = fmaf(sqrtf(y.at(i)), 2.0f, FACTOR);
}
END
cp "$work/kernels/double.cu" "$work/shared/outside.cu"
cat >"$work/kernels/inner/main.c" <<'END'
#include <acuda/acuda.h>
#include <stdio.h>
#include <string.h>
extern const char double_ptx[], other[];
static int check(acu_status status)
{
    if (status != ACU_OK)
        printf("%s\n", acu_last_error()->message);
    return status != ACU_OK;
}
int main(void)
{
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    acu_device *device;
    acu_module *module;
    acu_kernel *kernel;
    acu_tensor *x;
    float got[100];
    if (!strstr(other, "twice"))
        return 1;
    acu_status status = acu_open(&options, &device);
    if (status == ACU_ERR_NO_DRIVER)
        return 0;
    if (check(status) || check(acu_module_load(device, ACU_PTX("mine", double_ptx), &module)) ||
        check(acu_kernel_get(module, "twice", &kernel)) ||
        check(acu_sync(device, acu_full(ACU_SHAPE(100), acu_f32(4)), &x)) ||
        check(acu_sync(device, acu_launch(kernel, ACU_BLOCK(32),
                                          acu_inout(acu_partition(x, ACU_SHAPE(32)))), NULL)) ||
        check(acu_read_sync(x, got, sizeof got)))
        return 1;
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    acu_module_release(module);
    return check(acu_close(device)) || got[99] != 7;
}
END
cat >"$work/kernels/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(kernels C)
function(find_it)
    find_package(acuda 0.2 REQUIRED)
endfunction()
find_it()
add_subdirectory(inner)
END
cat >"$work/kernels/inner/CMakeLists.txt" <<'END'
find_package(acuda 0.2 REQUIRED)
add_executable(kernels main.c)
target_link_libraries(kernels acuda::acuda)
acuda_add_ptx(kernels ../double.cu OPTIONS -DFACTOR=3.0f)
acuda_add_ptx(kernels ../../shared/outside.cu NAME other OPTIONS -DFACTOR=1.0f)
END
if [ -n "$clang" ]; then
    cmake -G Ninja -S "$work/kernels" -B "$work/kernels/build" -DCMAKE_PREFIX_PATH="$work/usr" \
        -DACUDA_CLANG="$clang" >>"$work/log"
    cmake --build "$work/kernels/build" >>"$work/log" || { cat "$work/log" && exit 1; }
    "$work/kernels/build/inner/kernels"
    # The same in a project that has C++ only.
    mkdir "$work/cxx"
    cat >"$work/cxx/main.cpp" <<'END'
#include <acuda/acuda.h>
#include <cstring>
extern "C" const char double_ptx[];
int main() { return std::strstr(double_ptx, "twice") && acu_dtype_bytes(ACU_F32) == 4 ? 0 : 1; }
END
    cat >"$work/cxx/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(cxx CXX)
find_package(acuda 0.2 REQUIRED)
add_executable(cxx main.cpp)
target_link_libraries(cxx acuda::acuda)
acuda_add_ptx(cxx ../kernels/double.cu OPTIONS -DFACTOR=3.0f)
END
    if command -v g++ >/dev/null; then
        cmake -G Ninja -S "$work/cxx" -B "$work/cxx/build" -DCMAKE_PREFIX_PATH="$work/usr" \
            -DCMAKE_CXX_COMPILER=g++ -DACUDA_CLANG="$clang" >>"$work/log"
        cmake --build "$work/cxx/build" >>"$work/log" || { cat "$work/log" && exit 1; }
        "$work/cxx/build/cxx"
    fi
fi

if command -v pkg-config >/dev/null; then
    pc=$(dirname "$(find "$work/usr" -name acuda.pc)")
    # shellcheck disable=SC2046 # flags are words
    gcc "$work/user/main.c" -o "$work/user/by-pc" -Wl,-rpath,"$pc/.." \
        $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs acuda)
    [ "$("$work/user/by-pc")" = "$version" ]
    PKG_CONFIG_PATH=$pc pkg-config --static --libs acuda | grep -q -e '-z,nodelete'
    kernels=$(PKG_CONFIG_PATH=$pc pkg-config --variable=kernelsdir acuda)
    # As in docs/kernels.md.
    if [ -n "$clang" ]; then
        # shellcheck disable=SC2046
        "$clang" -x cuda -std=c++17 --cuda-device-only --cuda-gpu-arch=sm_75 \
            --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-feature -Xclang +ptx63 \
            $(PKG_CONFIG_PATH=$pc pkg-config --cflags acuda) "-I$kernels/cuda" \
            -include "$kernels/prelude.cuh" \
            -O3 -S -o "$work/user/k.ptx" -DFACTOR=3.0f "$work/kernels/double.cu"
        grep -q '\.entry twice' "$work/user/k.ptx"
    fi
fi
