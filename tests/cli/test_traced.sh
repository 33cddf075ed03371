#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Traces of the demo and of a server, as ACUDA_TRACE makes them: every submission that the program made is in
# its trace, and nothing of their time is left out.
# usage: test_traced.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd)
acuda=$build/bin/acuda
mlp=$build/examples/mlp
server=$build/examples/servers/epoll
[ -x "$acuda" ] && [ -x "$mlp" ] && [ -x "$server" ] || exit 77
command -v python3 >/dev/null || exit 77
[ -e "$build/lib/softcuda/libcuda.so.1" ] || exit 77 # without the software device
grep -qE '^ACUDA_SANITIZE:STRING=.+' "$build/CMakeCache.txt" 2>/dev/null && exit 77 # what it costs there is not worth it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACUDA_ALLOW_SOFTWARE=1 SOFTCUDA_DEVICES=1
cd "$(dirname "$0")/../.."

# check NAME SUBMISSIONS: the trace of that name, by the summary that the command makes of it
check()
{
    "$acuda" trace --json "$work/$1.pftrace" | python3 -c '
import json, sys
name, made = sys.argv[1], int(sys.argv[2])
s = json.load(sys.stdin)
assert s["submissions"] == made and s["failed"] == 0, (name, made, s)
stages = {o["what"]: o for o in s["stages"]}
assert stages["plan"]["count"] == made and stages["waits"]["count"] >= made, stages
ran, of_operations = stages["on the device"], sum(o["ns"] for o in s["operations"])
assert ran["count"] > 0 and ran["ns"] == of_operations, (name, ran, of_operations)
d, = s["devices"]
assert 0 < d["busy_ns"] <= d["span_ns"] <= s["span_ns"] and d["busy_ns"] <= ran["ns"], (name, d)' "$1" "$2"
}

export ACUDA_TRACE_TIMED=1000000 # all
ACUDA_TRACE=$work/demo.pftrace "$mlp" examples/data/digits.csv 6 >"$work/said"
check demo "$(sed -n 's/^operations: .* in \([0-9]*\) submissions$/\1/p' "$work/said")"
"$acuda" trace "$work/demo.pftrace" >"$work/sums"
grep -q 'copy and [0-9]* more (several) .*mlp.c:' "$work/sums"
grep -q '^device 0: busy ' "$work/sums"
# What the demo did once: it loaded its module for each of two replicas.
grep -q '^ .* 2 x .* load mlp_init and 5 more$' "$work/sums"
grep -q ' x .* get device memory$' "$work/sums"
grep -q ' 1 x .* close device 0$' "$work/sums"
grep -q '^ .* mlp ([0-9]*): load$' "$work/sums"
# Of few of its parts the times are known: nothing is said of gaps. Of none.
ACUDA_TRACE_TIMED=10 ACUDA_TRACE=$work/few.pftrace "$mlp" examples/data/digits.csv 6 >"$work/said"
"$acuda" trace "$work/few.pftrace" >"$work/sums"
grep -q '^device 0: of [0-9]* parts the times of [0-9]* are known' "$work/sums"
ACUDA_TRACE_TIMED=0 ACUDA_TRACE=$work/none.pftrace "$mlp" examples/data/digits.csv 6 >"$work/said"
"$acuda" trace "$work/none.pftrace" >"$work/sums"
grep -q '^devices: no part had timing events' "$work/sums"
if ACUDA_TRACE_TIMED=-1 ACUDA_TRACE=$work/no.pftrace "$mlp" examples/data/digits.csv 6 >"$work/said" 2>&1; then
    echo "ACUDA_TRACE_TIMED=-1 was taken" && exit 1
fi
grep -q 'ACUDA_TRACE_TIMED.*not "-1"' "$work/said"

coproc SERVER { ACUDA_TRACE=$work/server.pftrace exec "$server" 0; }
pid=$SERVER_PID
read -r line <&"${SERVER[0]}"
exec 3<>"/dev/tcp/127.0.0.1/${line##*:}"
for ((i = 0; i < 40; i++)); do
    echo "3 $i" >&3
done
for ((i = 0; i < 40; i++)); do
    read -r answer <&3
    [[ $answer =~ ^[0-9]+$ ]] || { echo "the server said: $answer" && exit 1; }
done
exec 3>&-
kill -TERM "$pid"
wait "$pid"
check server 40
