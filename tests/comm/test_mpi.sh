#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The tests of collectives with MPI: processes of Open MPI's and of MPICH's mpiexec, 1, 2 and 4 of them. Debian's, and
# skipped for one that is not installed; else the one whose mpiexec is found; or those in the folders that are named,
# such as pip makes. On a GPU all processes share the first one, but for the example's.
# usage: test_mpi.sh BUILD-FOLDER [MPI-FOLDER]...
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

# leaves COMMAND...: processes that end with collectives in flight; they end, whatever mpiexec makes of it
leaves()
{
    local status=0
    ACUDA_TEST_MPI=1 ACUDA_TEST_LEAVES=1 timeout -k 5 50 "$@" -n 2 "$program" >"$seen" 2>&1 || status=$?
    if [ $status = 124 ] || [ $status -gt 127 ] || ! grep -q '^2 ranks' "$seen"; then
        cat "$seen"
        echo "processes that ended without closing anything: exit status $status"
        exit 1
    fi
}

# whole NAME LIBRARY DEVICES RANKS MPIEXEC: everything; the processes with several devices have so many, and random
# programs so many ranks
whole()
{
    runs "$1" 1 "$5"
    runs "$1" 2 "$5"
    runs "$1" 4 "$5"
    each=$3 runs "$1" 2 "$5"
    learns "$5"
    alone "$1" "$2"
    programs "$1" "$4" "$5"
    killed "$1" "$5"
    leaves "$5"
}

# Each library of an MPI in a folder of its own: MPICH 5 has one for each of two ABIs.
in_folder()
{
    local library name
    for library in libmpi.so.40 libmpi.so.12 libmpi_abi.so.1; do
        case $library in
        libmpi.so.40) name="Open MPI" ;;
        libmpi.so.12) name=MPICH ;;
        *) name="MPI by its standard ABI" ;;
        esac
        [ ! -e "$1/lib/$library" ] || ACUDA_MPI=$1/lib/$library whole "$name" "$1/lib/$library" 2 3 "$1/bin/mpiexec"
    done
}

unset OMPI_COMM_WORLD_RANK PMI_RANK # in a job already
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
for folder in "${@:2}"; do
    in_folder "$folder"
done
if [ $# -gt 1 ]; then
    [ $ran -gt 0 ] || { echo "no MPI is in ${*:2}" && exit 1; }
    exit
fi
if command -v mpiexec.openmpi >/dev/null; then
    whole "Open MPI" libmpi.so.40 2 3 mpiexec.openmpi
else
    echo "Open MPI is not installed (Debian: openmpi-bin)"
fi
if command -v mpiexec.mpich >/dev/null; then
    whole MPICH libmpich.so.12 3 2 mpiexec.mpich
else
    echo "MPICH is not installed (Debian: mpich)"
fi
if [ $ran = 0 ] && command -v mpiexec >/dev/null; then # no distribution's
    in_folder "$(dirname "$(dirname "$(readlink -f "$(command -v mpiexec)")")")"
fi
[ $ran -gt 0 ] || exit 77
