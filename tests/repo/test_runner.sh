#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# tools/run-tests counts what programs report, and what they did not live to report.
set -euo pipefail
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

program() # NAME TIMEOUT BODY
{
    printf '#!/bin/bash\n%s\n' "$3" >"$build/$1"
    chmod +x "$build/$1"
    echo "a.$1 $2 parallel @build@/$1" >>"$build/tests.list"
}

# expect LINE STATUS [ARGUMENTS]: the last line and the exit status of a run over the programs so far.
expect()
{
    local said status=0 line=$1 right=$2
    shift 2
    tools/run-tests -j 2 "$@" "$build" >"$build/said" || status=$?
    said=$(tail -n 1 "$build/said")
    if [ "$said" != "$line" ] || [ $status != "$right" ]; then
        echo "expected '$line' and status $right, not '$said' and $status"
        exit 1
    fi
    : >"$build/tests.list"
}

# listed LINES: what the run before said of programs that failed, just before its last two lines
listed()
{
    local said
    said=$(head -n -2 "$build/said" | tail -n "$(wc -l <<<"$1")")
    [ "$said" = "$1" ] && [ "$(grep -c '^FAILED ' "$build/said")" = "$(wc -l <<<"$1")" ] || {
        printf "expected to be listed:\n%s\nnot:\n%s\n" "$1" "$said"
        exit 1
    }
}

start='echo "[==========] Running 3 test(s)."; echo "[ RUN      ] one"; echo "[       OK ] one"'
: >"$build/tests.list"
expect "0 passed, 0 failed" 1

program script 60 'exit 0'
program skipped 60 'exit 77'
program cases 60 "$start; echo '[  PASSED  ] 2 test(s).' >&2; echo '[  SKIPPED ] 1 test(s), listed'"
expect "3 passed, 0 failed, 2 skipped" 0
! grep FAILED "$build/said" || exit 1

two='[ RUN      ] two' failed='[  FAILED  ]'
program cases 60 "$start; echo '$two'; echo '$failed two'; echo '[ RUN      ] three'; echo '$failed three'
    echo '[  PASSED  ] 1 test(s).'; echo '$failed 2 test(s), listed'; echo '$failed two'; echo '$failed three'; exit 2"
expect "1 passed, 2 failed" 1
listed "FAILED a.cases: exit status 2, in two three"

program crash 60 "$start; echo '$two'; kill -SEGV \$\$"
program text 60 "$start; echo '${two}text'; kill -SEGV \$\$"
program before 60 "$start; exit 3"
program script 60 'exit 4'
expect "3 passed, 4 failed" 1
listed "FAILED a.before: exit status 3
FAILED a.crash: exit status 139, in two
FAILED a.script: exit status 4
FAILED a.text: exit status 139, in twotext"

program leak 60 "$start; echo '[  PASSED  ] 3 test(s).'; exit 1"
expect "3 passed, 1 failed" 1

program rest 60 "$start; exit 77"
expect "1 passed, 0 failed, 1 skipped" 0

# This program sends timeout the signal of its timer itself, so that even on a slow machine its first case
# is reported before; and only once timeout sleeps, since before that it knows no process to end.
asleep='until grep -q "^State:.S" /proc/$PPID/status; do :; done'
program hang 60 "$start; $asleep; kill -ALRM \$PPID; exec tail -f /dev/null"
program forever 1 'exec tail -f /dev/null'
program fine 60 'exit 0'
expect "2 passed, 2 failed" 1
listed "FAILED a.forever: exit status 124, not at its end in time
FAILED a.hang: exit status 124, not at its end in time"

program missing 60 ''
rm "$build/missing"
expect "0 passed, 1 failed" 1

program fine 60 'exit 0'
program second 60 'exit 0'
program third 60 'exit 1'
expect "2 passed, 0 failed" 0 -x 'b.*' -x 'a.th*'
program fine 60 'exit 0'
program second 60 'exit 0'
program third 60 'exit 1'
expect "2 passed, 0 failed" 0 -k 'a.fi*' -k 'a.*d' -x 'a.th*'

# With a tool in front of each program, the tool's exit status counts; the time limit is ten times as long.
printf '#!/bin/bash\n[ "$1" = --status ] && shift\n"$@" || exit 5\necho "$1" >>"%s"\n' "$build/saw" >"$build/tool"
chmod +x "$build/tool"
program fine 60 'exit 0'
program second 60 'exit 1'
expect "1 passed, 1 failed" 1 -w "$build/tool --status"
[ "$(cat "$build/saw")" = "$build/fine" ] || { echo "the tool was not in front of each"; exit 1; }
grep -q 'exit status 5' "$build/said" || { echo "the status was not that of the tool"; exit 1; }
program limit 2 'tr "\\0" " " </proc/$PPID/cmdline >"${0%/*}/limit-seen"'
expect "1 passed, 0 failed" 0 -w env
grep -q ' 20 env ' "$build/limit-seen" || { echo "the limit stayed as it was"; exit 1; }

# Ending a run ends its programs.
mkfifo "$build/pid"
program hang 300 'echo $$ >"${0%/*}/pid"; exec tail -f /dev/null'
setsid tools/run-tests "$build" >"$build/said" &
run=$!
read -r pid <"$build/pid"
kill -- -$run
timeout 60 tail --pid="$pid" -f /dev/null || {
    echo "a program was left running"
    kill "$pid"
    exit 1
}
