# SPDX-License-Identifier: MIT OR Apache-2.0
"""PyTorch's and CuPy's arrays on a GPU in acuda, and back, with work in flight on streams of both sides and
nobody waiting. Run by test_dlpack_torch.sh and test_dlpack_cupy.sh with the module's name."""
import gc
import sys

import acuda

N = 1 << 20
ROUNDS = 30
device = acuda.open(driver={"request": "gpu"})


class Torch:
    def __init__(self):
        import torch

        self.t = torch
        self.name = "torch " + torch.__version__
        self.stream = torch.cuda.Stream()

    def on_stream(self):
        return self.t.cuda.stream(self.stream)

    def busy(self):
        self.t.cuda._sleep(2_000_000)  # cycles: a millisecond

    def numbers(self):
        return self.t.arange(N, device="cuda").to(self.t.float32)

    def as_type(self, x, dtype):
        return x.to(getattr(self.t, dtype))

    def come(self, x):
        return self.t.from_dlpack(x)

    def list(self, x):
        return x.flatten()[:: N // 64].tolist()

    def address(self, x):
        return x.data_ptr()

    dtypes = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


class Cupy:
    def __init__(self):
        import cupy

        self.c = cupy
        self.name = "cupy " + cupy.__version__
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.big = cupy.ones((2048, 2048), cupy.float32)

    def on_stream(self):
        return self.stream

    def busy(self):
        self.c.matmul(self.big, self.big)

    def numbers(self):
        return self.c.arange(N).astype("float32")

    def as_type(self, x, dtype):
        return x.astype(dtype)

    def come(self, x):
        return self.c.from_dlpack(x)

    def list(self, x):
        return x.ravel()[:: N // 64].tolist()

    def address(self, x):
        return x.data.ptr

    dtypes = ("uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 "
              "complex64 complex128").split()


other = {"torch": Torch, "cupy": Cupy}[sys.argv[1]]()

# In flight on the other side when it is taken over, in flight here when it goes back; each round's
# memory is let go of while all that goes on.
with other.on_stream():
    results = []
    for i in range(ROUNDS):
        x = other.numbers()
        other.busy()
        x += i
        mine = device.run(device.take(x) * 2.0)
        del x
        y = other.come(mine)
        del mine
        z = y + 1
        other.busy()
        z += y
        results.append(z)
        del y
    want = [list(map(lambda k: 4.0 * (k * (N // 64) + i) + 1, range(64))) for i in range(ROUNDS)]
    for i in range(ROUNDS):
        got = other.list(results[i])
        assert got == want[i], (i, got[:4], want[i][:4])
print("streams put both sides in order")

with other.on_stream():
    for name in other.dtypes:
        x = other.as_type(other.numbers() % 100, name)
        back = other.come(device.take(x))
        assert back.dtype == x.dtype and other.address(back) == other.address(x)
        assert other.list(back) == other.list(x)
    print("element types:", " ".join(other.dtypes))
    x = other.numbers().reshape(1024, 1024).T
    mine = device.take(x[3:700:2, 5:])
    assert mine.shape == (349, 1019)
    back = other.come(device.run(mine + 0.0))
    assert float(abs(back - x[3:700:2, 5:]).max()) == 0
    print("views with gaps")

del mine, back, x, z, results
gc.collect()
device.close()
print(other.name, "passed")
