# SPDX-License-Identifier: MIT OR Apache-2.0
# For tests in Python, sourced with the build folder as $1: the library, the module, and whether they
# can run at all.
# shellcheck shell=bash
build=$1
export ACUDA_LIBRARY=$build/lib/libacuda.so PYTHONPATH=$PWD/examples/python PYTHONDONTWRITEBYTECODE=1

skip()
{
    echo "$1"
    exit 77
}

# Sets $python: the first one, or the system's, whose modules come as packages.
need_python() # MODULE
{
    for python in python3 /usr/bin/python3; do
        "$python" -c "import $1" 2>/dev/null && break
    done
    "$python" -c "import $1" 2>/dev/null || skip "needs $1 for python3"
    [ -e "$ACUDA_LIBRARY" ] || skip "needs the shared library: $ACUDA_LIBRARY is not there"
    ! grep -q '^# sanitize [^n]' "$build/tests.list" || skip "a sanitizer's library is not for Python"
    [ "${ACUDA_TEST_DEVICE:-software}" = gpu ] ||
        ! grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$build/CMakeCache.txt" ||
        skip "needs a GPU: built without the software device"
}
