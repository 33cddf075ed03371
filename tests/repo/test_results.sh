#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# bench/RESULTS.md is what bench/results writes; the figures of a run take the place of the older ones of the
# same bench and heading, and of no others; what bench/twins printed is put beside them.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v python3 >/dev/null && command -v git >/dev/null || exit 77
bench/results --check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
cp bench/results bench/results.jsonl bench/RESULTS.md "$work"
mkdir "$work/run"
cat >"$work/run/replay.json" <<'END'
{"bench": "replay", "device": "A GPU", "driver": 13000, "quick": false,
 "rows": [
  {"title": "explicit graphs, replayed and waited for", "what": "1 kernel", "unit": "us", "goals": "at most", "samples": 9, "sides": [
    {"name": "acuda", "p50": 6.3, "p99": 7},
    {"name": "cuGraphLaunch + synchronize", "p50": 6.2, "p99": 7, "p50_ratio": 1.0161, "p50_goal": 1.03, "p50_met": true, "p99_ratio": 1, "p99_goal": 1.25, "p99_met": true}]},
  {"title": "new", "what": "a number", "unit": "us", "goals": "at most", "value": 8, "goal": 5, "met": false},
  {"title": "new", "what": "without a goal", "unit": "us", "goals": "at most", "value": 8}]}
END
"$work/results" add --commit abcdefg --date 2026-12-01 "$work/run"
"$work/results" --check
grep -q '^| replay | 1 kernel | cuGraphLaunch + synchronize | 1.03 | \*\*1.02\*\* | 6.3 us | 6.2 us | A GPU | abcdefg |$' \
    "$work/RESULTS.md" || fail "the new figure is not there: $(grep replay "$work/RESULTS.md")"
grep -q '^| replay | a number |  | 5 us | 8 us |' "$work/RESULTS.md" || fail "a number is not there"
! grep -q 'without a goal' "$work/RESULTS.md" || fail "a row without a goal is there"
! grep -q '100 kernels in a chain' "$work/RESULTS.md" || fail "an older row under the same heading is left"
[ "$(grep -c '^| submit' "$work/RESULTS.md")" = "$(grep -c '^| submit' bench/RESULTS.md)" ] ||
    fail "rows of another bench changed"
mv "$work/run/replay.json" "$work/replay.json"
cat >"$work/run/data.json" <<'END'
{"bench": "data", "device": "A GPU", "driver": 13000, "quick": false,
 "rows": [
  {"title": "sorting", "what": "argsort, u32", "unit": "us", "goals": "at most", "samples": 9, "sides": [
    {"name": "acuda", "p50": 300, "p99": 310}, {"name": "copy", "p50": 100, "p99": 110, "p50_ratio": 3, "p99_ratio": 3}]}]}
END
twin() { printf '%-8s %-52s %10.1f us\n' "$1" "argsort, u32" "$2"; }
{ twin CUB 240 && twin CuPy 250 && echo "CUB argsort, u64 no figure"; } >"$work/run/twins.txt"
"$work/results" add --commit abcdefg --date 2026-12-01 "$work/run"
grep -q '^| data | argsort, u32 | CUB | 1.43 | \*\*1.25\*\* | 300 us | 240 us | A GPU | abcdefg |$' "$work/RESULTS.md" ||
    fail "a twin's figure is not there: $(grep 'argsort, u32' "$work/RESULTS.md")"
[ "$(grep -c 'argsort, u32' "$work/RESULTS.md")" = 1 ] || fail "a twin without a goal has a row"
sed -i 's/300, "p99"/500, "p99"/; s/"p50_ratio": 3,/"p50_ratio": 5, "p50_goal": 4,/' "$work/run/data.json"
rm "$work/run/twins.txt"
"$work/results" add --commit abcdefh --date 2026-12-02 "$work/run"
grep -q '^| data | argsort, u32 | copy | 4 | 5 |.* abcdefh |$' "$work/RESULTS.md" &&
    grep -q '^| data | argsort, u32 | CUB .* abcdefg |$' "$work/RESULTS.md" ||
    fail "a twin's row is gone though it did not run"
sed 's/"quick": false/"quick": true/' "$work/replay.json" >"$work/run/replay.json"
! "$work/results" add "$work/run" 2>/dev/null || fail "figures of a quick run were taken"
