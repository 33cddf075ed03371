# SPDX-License-Identifier: MIT OR Apache-2.0
# For tests in Python, sourced with the build folder as $1: the library, the package, acuda_raw (ctypes), and
# whether they can run at all.
# shellcheck shell=bash
build=$1
export ACUDA_LIBRARY=$build/lib/libacuda.so PYTHONPATH=$build/python:$PWD/tests/support/python PYTHONDONTWRITEBYTECODE=1

skip()
{
    echo "$1"
    exit 77
}

# Sets $python: the first one, or the system's, whose modules come as packages.
need_python() # MODULE...
{
    local modules
    printf -v modules '%s, ' "$@"
    modules=${modules%, }
    for python in python3 /usr/bin/python3; do
        "$python" -c "import $modules" 2>/dev/null && break
    done
    "$python" -c "import $modules" 2>/dev/null || skip "needs $modules for python3"
    [ -e "$ACUDA_LIBRARY" ] || skip "needs the shared library: $ACUDA_LIBRARY is not there"
    ! grep -q '^# sanitize [^n]' "$build/tests.list" || skip "a sanitizer's library is not for Python"
    [ "${ACUDA_TEST_DEVICE:-software}" = gpu ] ||
        ! grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$build/CMakeCache.txt" ||
        skip "needs a GPU: built without the software device"
}

need_package()
{
    [ -e "$build/python/acuda/_c.py" ] || skip "needs the Python package, which needs cffi where it is built"
}
