#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The shared library exports what src/acuda.map lists and the headers declare, and nothing else.
set -euo pipefail
command -v nm >/dev/null && command -v cc >/dev/null || exit 77
exec tools/check-symbols "$1/lib/libacuda.so"
