#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# tools/man-pages writes a page for each exported function, which man can show, and which has the header's
# words and layout.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/man-pages "$work"
exported=$(sed -n 's/^ *\(acu_[a-z0-9_]*\);.*/\1/p' src/acuda.map)
[ "$(wc -w <<<"$exported")" -gt 300 ] || { echo "too few functions in src/acuda.map"; exit 1; }
for function in $exported; do
    grep -lqs "$function" "$work/man3/$function.3" || { echo "there is no page of $function"; exit 1; }
done
for words in 'acu_submit:when something has completed' 'acu_concat:#define acu_concat(dimension' \
    'acu_metrics:Names and labels stay' 'acu_trace_start:stands for the number of the process'; do
    sed 's/\\-/-/g; s/\\e/\\/g' "$work/man3/${words%%:*}.3" >"$work/plain"
    grep -qF "${words#*:}" "$work/plain" || grep -qF "${words#*:}" <(tr '\n' ' ' <"$work/plain") ||
        { echo "the page of ${words%%:*} does not say: ${words#*:}"; exit 1; }
done
if command -v groff >/dev/null; then # a comment that it took for a request would show here
    groff -man -Tutf8 -ww "$work"/man3/acu_*.3 >"$work/pages" 2>"$work/complaints" </dev/null || true
    [ ! -s "$work/complaints" ] || { head "$work/complaints" && exit 1; }
fi
