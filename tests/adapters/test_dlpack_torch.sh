#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# DLPack with PyTorch on a GPU, streams included. Skipped where there is none, or no such module.
set -euo pipefail
. "$(dirname "$0")/python_env.sh"
[ "${ACUDA_TEST_DEVICE:-software}" = gpu ] || skip "needs a GPU"
need_python torch _cffi_backend
need_package
"$python" tests/adapters/dlpack_gpu.py torch
"$python" examples/python/torch_in_and_out.py
