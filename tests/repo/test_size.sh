#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The stripped library, with its own kernels, takes at most 2.35 MiB. This runs only in the build without
# the software device, which the size does not include. (Of 2.10 MiB, measured: code 0.91 and the tables
# for unwinding it 0.15, kernels and headers 0.77, packed; constants and tables with addresses 0.26. So 1.5
# would take a smaller library, not better packing: with -Os, code is a fifth smaller.)
set -euo pipefail
grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$1/CMakeCache.txt" && command -v strip >/dev/null || exit 77
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/lib/libacuda.so"
size=$(stat -c %s "$stripped")
echo "stripped library: $size bytes"
[ "$size" -le $((2406 * 1024)) ]
