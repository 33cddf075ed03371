#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# JPEG files of many kinds, by TurboJPEG, beside Pillow's. Skipped without them, python3 or NumPy, and with
# sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python PIL.Image
"$python" -c 'import numpy' 2>/dev/null || skip "needs numpy for python3"
"$python" -c 'import ctypes; ctypes.CDLL("libturbojpeg.so.0")' 2>/dev/null || skip "needs libturbojpeg0"
ACUDA_NVJPEG=off PYTHONPATH=$PYTHONPATH:tests/image "$python" tests/jpeg/pillow.py
