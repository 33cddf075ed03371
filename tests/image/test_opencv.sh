#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# What OpenCV does too, beside it. Skipped without python3, NumPy and OpenCV, and with sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python cv2
"$python" -c 'import numpy' 2>/dev/null || skip "needs numpy for python3"
PYTHONPATH=$PYTHONPATH:tests/image "$python" tests/image/opencv.py
