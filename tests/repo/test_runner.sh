#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# tools/run-tests counts what programs say, and what they no longer could say.
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
    said=$(tools/run-tests -j 2 "$@" "$build" | tail -n 1) || status=$?
    if [ "$said" != "$line" ] || [ $status != "$right" ]; then
        echo "expected '$line' and status $right, not '$said' and $status"
        exit 1
    fi
    : >"$build/tests.list"
}

start='echo "[==========] Running 3 test(s)."; echo "[ RUN      ] one"; echo "[       OK ] one"'
: >"$build/tests.list"
expect "0 passed, 0 failed" 1

program script 9 'exit 0'
program skipped 9 'exit 77'
program cases 9 "$start; echo '[  PASSED  ] 2 test(s).' >&2; echo '[  SKIPPED ] 1 test(s), listed'"
expect "3 passed, 0 failed, 2 skipped" 0

program cases 9 "$start; echo '[  PASSED  ] 1 test(s).'; echo '[  FAILED  ] 2 test(s), listed'; exit 2"
expect "1 passed, 2 failed" 1

program crash 9 "$start; echo '[ RUN      ] two'; kill -SEGV \$\$"
expect "1 passed, 1 failed" 1

program leak 9 "$start; echo '[  PASSED  ] 3 test(s).'; exit 1"
expect "3 passed, 1 failed" 1

program rest 9 "$start; exit 77"
expect "1 passed, 0 failed, 1 skipped" 0

program hang 1 "$start; sleep 60"
program fine 9 'exit 0'
expect "2 passed, 1 failed" 1

program missing 9 ''
rm "$build/missing"
expect "0 passed, 1 failed" 1

program fine 9 'exit 0'
program second 9 'exit 0'
program third 9 'exit 1'
expect "2 passed, 0 failed" 0 -x 'b.*' -x 'a.th*'

# A run that is ended takes its programs along.
mkfifo "$build/pid"
program hang 60 'echo $$ >"${0%/*}/pid"; exec tail -f /dev/null'
setsid tools/run-tests "$build" >"$build/said" &
run=$!
read -r pid <"$build/pid"
kill -- -$run
timeout 20 tail --pid="$pid" -f /dev/null || {
    echo "a program was left running"
    kill "$pid"
    exit 1
}
