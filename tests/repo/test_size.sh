#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The stripped library, with its own kernels, takes at most 2.5 MiB. This runs only in the build without
# the software device, which the size does not include. (It has 2.46 MiB. Of 2.40, when that was measured:
# code 1.05 and the tables for unwinding it 0.17; constants 1.03, most of them kernels and headers, packed;
# tables with addresses 0.09. So 1.5 would take a smaller library, not better packing.)
set -euo pipefail
grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$1/CMakeCache.txt" && command -v strip >/dev/null || exit 77
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/lib/libacuda.so"
size=$(stat -c %s "$stripped")
echo "stripped library: $size bytes"
[ "$size" -le $((2560 * 1024)) ]
