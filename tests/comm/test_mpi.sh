#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The tests of collectives with MPI: processes of Open MPI's and of MPICH's mpiexec, 1, 2 and 4 of them.
# Skipped for an MPI that is not installed.
# usage: test_mpi.sh BUILD-FOLDER
set -euo pipefail
program=$1/tests/comm/test_collectives
programs=$1/tests/comm/test_programs
example=$1/examples/parallel
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
ran=0
# MPI's own memory is not acuda's; and MPI is not built with the thread sanitizer, which then sees races.
export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}
export ASAN_OPTIONS=${ASAN_OPTIONS//detect_leaks=1/detect_leaks=0}
! grep -q __tsan_init "$program" || { echo "not with the thread sanitizer: MPI is built without" && exit 77; }
[ "${ACUDA_TEST_DEVICE:-software}" = software ] || { echo "needs a device for each process" && exit 77; }

# learns COMMAND...: the example, which compares the weights of all ranks
learns()
{
    [ ! -x "$example" ] || timeout -k 5 100 "$@" -n 4 "$example" || { echo "the example failed" && exit 1; }
}

# In a build for GPUs only it skips itself.
status=0
"$program" >"$seen" 2>&1 || status=$?
[ $status != 77 ] || { echo "without the software device" && exit 77; }

# runs NAME PROCESSES COMMAND...: with as many devices each as `each` says
runs()
{
    local status=0 each=${each:-1}
    ACUDA_TEST_MPI=1 ACUDA_TEST_DEVICES=$each timeout -k 5 100 "${@:3}" -n "$2" "$program" >"$seen" 2>&1 || status=$?
    if [ $status != 0 ] || [ "$(grep -c "^$(($2 * each)) ranks, $1" "$seen")" != "$2" ]; then
        cat "$seen"
        echo "$2 processes of $1, $each devices each: exit status $status"
        exit 1
    fi
    echo "$2 processes of $1, $each devices each"
    ran=$((ran + 1))
}

# alone NAME LIBRARY: a program that initialised MPI itself, for calls of one thread
alone()
{
    ACUDA_TEST_MPI_LIBRARY=$2 timeout -k 5 100 "$program" >"$seen" 2>&1 || { cat "$seen" && echo "alone, $1" && exit 1; }
}

# programs NAME RANKS COMMAND...: random ones. After collectives that never end MPI is not finalised, which is a failure
# to Open MPI's mpiexec, and to MPICH's if it comes before the others have ended, which it kills.
programs()
{
    local status=0 ended
    ACUDA_TEST_MPI=1 timeout -k 5 100 "${@:3}" -n "$2" "$programs" >"$seen" 2>&1 || status=$?
    ended=$(grep -c 'PASSED  \] 1 test' "$seen" || true)
    if [ "$ended" -ge 1 ] && ! grep -q 'FAILED' "$seen"; then
        ! grep -q 'without calling "finalize"' "$seen" || status=0
        ! grep -q 'EXIT STRING: Killed (signal 9)' "$seen" || status=0
    fi
    if [ $status != 0 ] || [ "$(grep -c "^$2 ranks, $1" "$seen")" != "$2" ]; then
        cat "$seen"
        echo "random programs by $2 processes of $1: exit status $status"
        exit 1
    fi
}

# killed NAME COMMAND...: a process dies; mpiexec notices, and ends the others, which would wait for good
killed()
{
    local status=0
    ACUDA_TEST_MPI=1 ACUDA_COMM_KILL=1 timeout -k 5 100 "${@:2}" -n 2 "$programs" >"$seen" 2>&1 || status=$?
    if [ $status = 0 ] || [ $status = 124 ] || grep -q "^2 ranks" "$seen"; then
        cat "$seen"
        echo "a process of $1 was killed: exit status $status"
        exit 1
    fi
}

unset OMPI_COMM_WORLD_RANK PMI_RANK # in a job already
if command -v mpiexec.openmpi >/dev/null; then
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    runs "Open MPI" 1 mpiexec.openmpi
    runs "Open MPI" 2 mpiexec.openmpi
    runs "Open MPI" 4 mpiexec.openmpi
    each=2 runs "Open MPI" 2 mpiexec.openmpi
    learns mpiexec.openmpi
    alone "Open MPI" libmpi.so.40
    programs "Open MPI" 3 mpiexec.openmpi
    killed "Open MPI" mpiexec.openmpi
else
    echo "Open MPI is not installed (Debian: openmpi-bin)"
fi
if command -v mpiexec.mpich >/dev/null; then
    runs MPICH 1 mpiexec.mpich
    runs MPICH 2 mpiexec.mpich
    runs MPICH 4 mpiexec.mpich
    each=3 runs MPICH 2 mpiexec.mpich
    learns mpiexec.mpich
    alone MPICH libmpich.so.12
    programs MPICH 2 mpiexec.mpich
    killed MPICH mpiexec.mpich
else
    echo "MPICH is not installed (Debian: mpich)"
fi
# A folder of an MPI that has the standard ABI, such as pip's mpich from 5.0 on makes.
if [ -n "${ACUDA_TEST_MPI_ABI:-}" ]; then
    export ACUDA_MPI=$ACUDA_TEST_MPI_ABI/lib/libmpi_abi.so.1
    runs "MPI by its standard ABI" 1 "$ACUDA_TEST_MPI_ABI/bin/mpiexec"
    runs "MPI by its standard ABI" 2 "$ACUDA_TEST_MPI_ABI/bin/mpiexec"
    learns "$ACUDA_TEST_MPI_ABI/bin/mpiexec"
fi
[ $ran -gt 0 ] || exit 77
