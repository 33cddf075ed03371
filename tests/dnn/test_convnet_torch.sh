#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# A network with learned weights, by acuda's operations in a replayed graph, beside PyTorch. Skipped without
# python3 and PyTorch, and with sanitizers.
set -euo pipefail
. tests/adapters/python_env.sh
need_python torch
"$python" tests/dnn/convnet_torch.py
