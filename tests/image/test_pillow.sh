#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Resizing beside Pillow's. Skipped without python3, NumPy and Pillow, and with sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python PIL.Image
"$python" -c 'import numpy' 2>/dev/null || skip "needs numpy for python3"
PYTHONPATH=$PYTHONPATH:tests/image "$python" tests/image/pillow.py
