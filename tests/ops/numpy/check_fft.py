# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fourier transforms by acuda's own kernels, beside NumPy's in double."""
import os

import numpy as np

os.environ["ACUDA_CUFFT"] = "off"

import acuda_raw as acuda
import data
from data import LAYOUTS, close, device, generator, op, refused, run, run_into, tensor

NEAR = {"float32": 1e-6, "float64": 2e-15}
FORWARD, INVERSE = 0, 1


WHOLE = {"float32": "complex64", "float64": "complex128"}


def near(have, want, dtype, what):
    """Within so much of the root of the mean square of all, times the logarithm of what was added."""
    part = "float32" if dtype in ("float32", "complex64") else "float64"
    assert have.dtype == dtype and have.shape == want.shape, (what, have.dtype, have.shape, want.shape)
    size = np.sqrt((abs(want) ** 2).mean()) + 1e-30
    error = max(abs(have.real - want.real).max(), abs(have.imag - want.imag).max()) / size
    assert error < NEAR[part] * (2 + np.log2(have.size)), (what, error)


def check(part, shape, rank):
    axes = tuple(range(-rank, 0))
    total = np.prod(shape[-rank:])
    x = (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(WHOLE[part])
    wide, whole = x.astype(np.complex128), WHOLE[part]
    forward, inverse = np.fft.fftn(wide, axes=axes), np.fft.ifftn(wide, axes=axes) * total
    near(run(op("fft", "xii", x, rank, FORWARD)), forward, whole, ("fft", shape, rank))
    near(run(op("fft", "xii", x, rank, INVERSE)), inverse, whole, ("inverse", shape, rank))
    near(run_into(op("fft", "xii", x, rank, FORWARD), x, "dense"), forward, whole, ("into", shape, rank))
    real = np.ascontiguousarray(x.real)
    spectrum = np.fft.rfftn(real.astype(np.float64), axes=axes)
    near(run(op("rfft", "xi", real, rank)), spectrum, whole, ("rfft", shape, rank))
    back = np.fft.irfftn(spectrum, s=shape[-rank:], axes=axes) * total
    near(run(op("irfft", "xin", spectrum.astype(whole), rank, shape[-1])), back, part, ("irfft", shape, rank))


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
# In registers: from every first pass; more lines than a block has; lines apart, and as many as do not fill a block.
for dtype in NEAR:
    for shape in ((301, 32), (9, 128), (5, 256), (3, 512), (70, 20), (7, 50), (3, 200), (100,), (1, 10000)):
        check(dtype, shape, 1)
    for shape in ((64, 19), (160, 3), (100, 9), (512, 9), (1024, 5)):
        check(dtype, shape, 2)
check("float32", (2, 64, 33), 2)
check("float32", (3, 16384), 1)
check("float32", (2, 40000), 1)
check("float32", (4096, 3), 2) # as a matrix of its own
check("float32", (3, 65536), 1) # rfft: half of a matrix
check("float32", (66000,), 1)
check("float32", (6000, 2), 2)
check("float32", (4100, 3), 2)
print("fft, rfft, irfft")

check("float64", (2, 1, 2, 3, 2, 5), 2) # as many dimensions as there are

for layout in LAYOUTS: # any strides, and the batches too
    for shape, rank in (((3, 4, 10), 1), ((3, 4, 10), 2), ((12,), 1)):
        x = (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(np.complex64)
        axes = tuple(range(-rank, 0))
        forward, real = np.fft.fftn(x, axes=axes), np.ascontiguousarray(x.real)
        near(run(op("fft", "xii", tensor(x, layout), rank, FORWARD)), forward, "complex64", (layout, shape, rank))
        near(run_into(op("fft", "xii", x, rank, FORWARD), x, layout), forward, "complex64", ("into", layout, shape, rank))
        half = np.fft.rfftn(real, axes=axes).astype(np.complex64)
        near(run(op("rfft", "xi", tensor(real, layout), rank)), half, "complex64", ("rfft", layout))
        near(run_into(op("irfft", "xin", tensor(half, layout), rank, shape[-1]), real, layout),
             real * np.prod(shape[-rank:]), "float32", ("irfft", layout))
        over = tensor(x, layout) # into itself
        acuda.run(device, data._into(data.term(over), op("fft", "xii", over, rank, FORWARD), data._SITE))
        near(over.array(), forward, "complex64", ("over itself", layout))
del over
x = np.zeros((4, 2), np.complex64)
refused(op("fft", "xii", x.real.astype(np.int32), 1, FORWARD), "c64 or c128")
refused(op("rfft", "xi", x, 1), "f32 or f64")
close()
