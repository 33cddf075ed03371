# SPDX-License-Identifier: MIT OR Apache-2.0
"""The example convnet beside PyTorch: the same weights, the same digits, the same classes. Run by
test_convnet_torch.sh."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.nn.functional import conv2d, max_pool2d, relu

sys.path.insert(0, "examples/data")
import train_convnet

on = "cuda" if os.environ.get("ACUDA_TEST_DEVICE") == "gpu" else "cpu"
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
program = os.path.join(os.path.dirname(os.environ["ACUDA_LIBRARY"]), "..", "examples", "convnet")
if not os.path.exists(program):
    print("convnet is not built")
    sys.exit(77)
numbers, w = torch.from_numpy(np.fromfile("examples/data/convnet.f32", "<f4")).to(on), []
for shape in train_convnet.SHAPES:
    w.append(numbers[: int(np.prod(shape))].reshape(shape))
    numbers = numbers[int(np.prod(shape)) :]
_, _, x, labels = train_convnet.digits()
y = relu(conv2d(torch.from_numpy(x).to(on), w[0], w[1], padding=1))
y = max_pool2d(relu(conv2d(y, w[2], w[3], padding=1)), 2)
want = (y.flatten(1) @ w[4] + w[5]).cpu().numpy()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "logits")
    subprocess.run([program, "examples/data/digits.csv", "examples/data/convnet.f32", path], check=True)
    have = np.fromfile(path, np.float32).reshape(-1, 10)
np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)
assert np.array_equal(have.argmax(1), want.argmax(1))
print(f"{len(want)} classes are PyTorch {torch.__version__}'s on {on}, {(want.argmax(1) == labels).sum()} of them "
      f"right; numbers differ by at most {np.abs(have - want).max():.2g}")
