#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The stripped library takes at most 1 MiB, and 4 MiB with the text of its own kernels. This runs only in
# the build without the software device, which the sizes do not include.
set -euo pipefail
grep -qxF 'ACUDA_SOFTCUDA:BOOL=OFF' "$1/CMakeCache.txt" && command -v strip >/dev/null || exit 77
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/lib/libacuda.so"
size=$(stat -c %s "$stripped")
kernels=$(cat "$1"/acuda_ptx/acuda_objects/acui_*_ptx.c | grep -o 0x | wc -l) # as embedded
echo "stripped library: $size bytes, of which $kernels are kernels"
[ $((size - kernels)) -le $((1024 * 1024)) ] && [ "$size" -le $((4 * 1024 * 1024)) ]
