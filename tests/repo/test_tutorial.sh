#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The tutorial's program prints what docs/tutorial.md says that it prints.
set -euo pipefail
program=$1/examples/tutorial
[ -x "$program" ] || exit 77
grep -q '^ACUDA_SOFTCUDA:BOOL=ON' "$1/CMakeCache.txt" 2>/dev/null || exit 77
said=$(sed -n '/<!-- output of: examples\/tutorial -->/,$ { /^```$/,/^```$/ { /^```/!p } }' "$(dirname "$0")/../../docs/tutorial.md")
printed=$(ACUDA_DRIVER=software "$program")
[ -n "$said" ] && diff <(printf '%s\n' "$said") <(printf '%s\n' "$printed")
