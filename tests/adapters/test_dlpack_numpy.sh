#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# DLPack with NumPy, on the host. Skipped without python3 and NumPy, and with sanitizers.
set -euo pipefail
. "$(dirname "$0")/python_env.sh"
need_python numpy _cffi_backend
need_package
"$python" tests/adapters/dlpack_numpy.py
