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

need_python() # MODULE
{
    command -v python3 >/dev/null || skip "needs python3"
    python3 -c "import $1" 2>/dev/null || skip "needs $1 for Python"
    [ -e "$ACUDA_LIBRARY" ] || skip "needs the shared library: $ACUDA_LIBRARY is not there"
    ! grep -q '^# sanitize [^n]' "$build/tests.list" || skip "a sanitizer's library is not for Python"
    [ "${ACUDA_TEST_DEVICE:-software}" = gpu ] || grep -q softcuda "$ACUDA_LIBRARY" ||
        skip "needs a GPU: built without the software device"
}
