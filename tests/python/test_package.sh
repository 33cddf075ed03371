#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The Python package. Skipped without python3, NumPy and cffi, and with sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python numpy _cffi_backend
need_package
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$python" tests/python/package.py
