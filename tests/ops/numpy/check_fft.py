# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fourier transforms by acuda's own kernels, beside NumPy's in double."""
import os

import numpy as np

os.environ["ACUDA_CUFFT"] = "off"

from data import close, generator, op, refused, run, run_into, tensor

NEAR = {"float32": 1e-6, "float64": 2e-15}
FORWARD, INVERSE = 0, 1


def pairs(x, dtype):
    return np.stack([x.real, x.imag], -1).astype(dtype)


def near(have, want, dtype, what):
    """Within so much of the root of the mean square of all, times the logarithm of what was added."""
    assert have.dtype == dtype and have.shape == want.shape, (what, have.shape, want.shape)
    size = np.sqrt((want**2).mean()) + 1e-30
    error = np.abs(have - want).max() / size
    assert error < NEAR[dtype] * (2 + np.log2(have.size)), (what, error)


def check(dtype, shape, rank):
    axes = tuple(range(-rank, 0))
    total = np.prod(shape[-rank:])
    x = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    x = pairs(x, dtype)
    wide = x[..., 0].astype(np.float64) + 1j * x[..., 1]
    forward, inverse = pairs(np.fft.fftn(wide, axes=axes), float), pairs(np.fft.ifftn(wide, axes=axes) * total, float)
    near(run(op("fft", "xii", x, rank, FORWARD)), forward, dtype, ("fft", shape, rank))
    near(run(op("fft", "xii", x, rank, INVERSE)), inverse, dtype, ("inverse", shape, rank))
    near(run_into(op("fft", "xii", x, rank, FORWARD), x, "dense"), forward, dtype, ("into", shape, rank))
    real = np.ascontiguousarray(x[..., 0])
    spectrum = np.fft.rfftn(real.astype(np.float64), axes=axes)
    near(run(op("rfft", "xi", real, rank)), pairs(spectrum, float), dtype, ("rfft", shape, rank))
    back = np.fft.irfftn(spectrum, s=shape[-rank:], axes=axes) * total
    near(run(op("irfft", "xin", pairs(spectrum, dtype), rank, shape[-1])), back, dtype, ("irfft", shape, rank))


for dtype in NEAR:
    for n in list(range(1, 33)) + [49, 60, 64, 97, 121, 210, 343, 500, 1000, 1024, 1031]:
        check(dtype, (n,), 1)
    for n in (2048, 2401, 4096):
        check(dtype, (3, n), 1)
    for n in (2310, 5000, 8192): # other factors; longer than a block has room for
        check(dtype, (n,), 1)
    for shape in ((300, 4), (2, 5, 7), (3, 1, 11), (2, 3, 4, 6), (5, 16, 30)):
        for rank in range(1, min(3, len(shape)) + 1):
            check(dtype, shape, rank)
check("float32", (66000,), 1)
check("float32", (6000, 2), 2)
check("float32", (4100, 3), 2)
print("fft, rfft, irfft")

x = np.zeros((4, 2), np.float32)
refused(op("fft", "xii", tensor(x, "gaps"), 1, FORWARD), "dense")
refused(op("fft", "xii", x.astype(np.int32), 1, FORWARD), "f32 or f64")
close()
