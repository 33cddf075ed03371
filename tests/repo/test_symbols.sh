#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The shared library exports what src/acuda.map lists and the headers declare, and nothing else. Its
# thread-local data is small: glibc reserves some 1,600 bytes for that of all libraries that are loaded by
# dlopen, and when ours took 1,696 there were none left for the next one (libgomp, which torch loads).
# It is 192 in gcc's build, 200 in clang's, which places variables of one byte otherwise.
set -euo pipefail
command -v nm >/dev/null && command -v cc >/dev/null || exit 77
size=$(readelf -lW "$1/lib/libacuda.so" | awk '$1 == "TLS" { print $6 }')
size=$((${size:-0}))
if [ "$size" -gt 256 ]; then
    echo "each thread's own: $size bytes, more than 256"
    exit 1
fi
exec tools/check-symbols "$1/lib/libacuda.so"
