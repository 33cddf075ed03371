#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Programs print what the pages say that they print: behind a line <!-- output of: examples/NAME -->.
set -euo pipefail
grep -q '^ACUDA_SOFTCUDA:BOOL=ON' "$1/CMakeCache.txt" 2>/dev/null || exit 77
cd "$(dirname "$0")/../.."
tried=0
while IFS=: read -r page line mark; do
    program=$1/$(sed 's/.*output of: \([^ ]*\) .*/\1/' <<<"$mark")
    [ -x "$program" ] || exit 77
    said=$(tail -n +"$line" "$page" | sed -n '/^```/,$p' | sed '1d; /^```$/,$d')
    printed=$(ACUDA_DRIVER=software "$program")
    [ -n "$said" ] && diff <(printf '%s\n' "$said") <(printf '%s\n' "$printed")
    tried=$((tried + 1))
done < <(grep -n '^<!-- output of: ' README.md docs/*.md)
[ $tried -ge 2 ] || { echo "the README's and the tutorial's outputs are not marked"; exit 1; }
