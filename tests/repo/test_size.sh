#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The stripped library, with its own kernels, takes at most 2.75 MiB. This runs only in the build without
# the software device, which the size does not include.
set -euo pipefail
grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$1/CMakeCache.txt" && command -v strip >/dev/null || exit 77
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/lib/libacuda.so"
size=$(stat -c %s "$stripped")
echo "stripped library: $size bytes"
[ "$size" -le $((2816 * 1024)) ]
