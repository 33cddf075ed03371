#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Without the software device, the stripped library takes at most 1 MiB. Measured in that build.
set -euo pipefail
grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$1/CMakeCache.txt" && command -v strip >/dev/null || exit 77
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/lib/libacuda.so"
size=$(stat -c %s "$stripped")
echo "stripped library: $size bytes"
[ "$size" -le $((1024 * 1024)) ]
