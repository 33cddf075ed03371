#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The stand-in libcuda.so.1: a program that was linked with the driver's own stub, where there is
# one, runs on it, seeds, traces and faults included; and it exports whatever the stub does.
# usage: test_standin.sh BUILD
set -euo pipefail
build=$1
standin=$build/lib/softcuda/libcuda.so.1
program=$build/tests/softcuda/standin_program
[ -e "$standin" ] && [ -x "$program" ] || { echo "the stand-in was not built"; exit 77; }

said=$(LD_LIBRARY_PATH=${standin%/*} "$program")
echo "$said"
case $said in
"Software CUDA device, "*": right") ;;
*) echo "the program ran on another driver, or not at all" >&2; exit 1 ;;
esac

# What the environment asks of the built-in device holds here too.
export LD_LIBRARY_PATH=${standin%/*}
trace=$(SOFTCUDA_SEED=1 SOFTCUDA_TRACE=/dev/stdout "$program")
grep -q '^step [0-9]*: device 0 stream [0-9]* #[0-9]* launch add_one<<<' <<<"$trace" ||
    { printf 'no launch in the trace:\n%s\n' "$trace" >&2; exit 1; }
if said=$(SOFTCUDA_FAULTS="LaunchKernel=trap" "$program" 2>&1); then
    echo "the program does not see a fault: $said" >&2
    exit 1
fi
[[ $said == *CUDA_ERROR_LAUNCH_FAILED* ]] || { echo "another error: $said" >&2; exit 1; }
# A program whose main thread has ended: the stand-in's own threads do not keep SIGTERM from it.
"$program" pthread_exit >/dev/null &
until [ ! -e /proc/$!/stat ] || grep -q ') Z' /proc/$!/stat; do :; done
kill -TERM $!
status=0
wait $! || status=$?
[ $status = 143 ] || { echo "SIGTERM: status $status" >&2; exit 1; }

# A program that knows nothing of this driver sees CUDA's own text only; a setting says more.
if said=$(SOFTCUDA_REPORT=stderr "$program" fault 2>&1); then
    echo "the program does not see a fault: $said" >&2
    exit 1
fi
[[ $said == *"softcuda: kernel add_one, PTX line "*"illegal address"*"thread ("* ]] ||
    { echo "the report does not say what was wrong: $said" >&2; exit 1; }
report=$(mktemp)
trap 'rm -f "$report"' EXIT
SOFTCUDA_REPORT=$report "$program" refused >/dev/null 2>&1 || true
grep -q '^softcuda: PTX line 7, tex.*does not execute' "$report" ||
    { echo "no refusal in the report:" >&2; cat "$report" >&2; exit 1; }
SOFTCUDA_REPORT=$report "$program" table >/dev/null 2>&1 || true
grep -q '^softcuda: .*run-time library' "$report" ||
    { echo "the report does not name the run-time library:" >&2; cat "$report" >&2; exit 1; }
if said=$(SOFTCUDA_REPORT=/no/such/folder/file "$program" 2>&1); then
    echo "a report that cannot be written is no error" >&2
    exit 1
fi
unset LD_LIBRARY_PATH

command -v nm >/dev/null || exit 0
exported()
{
    nm -D --defined-only "$1" | awk '$2 == "T" && $3 ~ /^cu[A-Z]/ { print $3 }' | sort -u
}
count=$(exported "$standin" | wc -l)
echo "$count symbols"
[ "$count" -ge 658 ] || { echo "fewer symbols than programs look for" >&2; exit 1; }
if nm -D --defined-only "$standin" | awk '$2 == "T" && $3 !~ /^(cu[A-Z]|softcuda_)/ { print $3; found = 1 }
    END { exit !found }'; then
    echo "the stand-in exports more than the driver does" >&2
    exit 1
fi
for stub in /usr/local/cuda/lib64/stubs/libcuda.so /usr/lib/x86_64-linux-gnu/stubs/libcuda.so; do
    [ -e "$stub" ] || continue
    missing=$(comm -23 <(exported "$stub") <(exported "$standin"))
    [ -z "$missing" ] || { printf 'not exported: %s\n' "$missing" >&2; exit 1; }
done
