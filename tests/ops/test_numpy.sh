#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Operations on data beside NumPy's. Skipped without python3 and NumPy, and with sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python numpy
export PYTHONPATH=$PYTHONPATH:$PWD/tests/ops/numpy
for script in tests/ops/numpy/check_*.py; do
    "$python" "$script"
done
