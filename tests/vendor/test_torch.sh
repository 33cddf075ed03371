#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Libraries that PyTorch uses in the same process, at the same time. Skipped without python3 and PyTorch, and with
# sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python torch numpy
"$python" tests/vendor/beside_torch.py
