# SPDX-License-Identifier: MIT OR Apache-2.0
"""The example convnet: what it computes of each digit, in replays of a graph, beside NumPy's."""
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, "examples/data")
import train_convnet

program = os.path.join(os.path.dirname(os.environ["ACUDA_LIBRARY"]), "..", "examples", "convnet")
numbers, weights = np.fromfile("examples/data/convnet.f32", "<f4").astype(np.float64), []
for shape in train_convnet.SHAPES:
    weights.append(numbers[: np.prod(shape)].reshape(shape))
    numbers = numbers[np.prod(shape) :]
assert numbers.size == 0
_, _, x, labels = train_convnet.digits()
want = train_convnet.forward(weights, x.astype(np.float64))[0]
if not os.path.exists(program):
    print("convnet is not built")
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "logits")
    subprocess.run([program, "examples/data/digits.csv", "examples/data/convnet.f32", path], check=True)
    have = np.fromfile(path, np.float32).reshape(-1, 10)
np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)
right = (want.argmax(1) == labels).mean()
assert right >= 0.98 and np.array_equal(have.argmax(1), want.argmax(1)), right
