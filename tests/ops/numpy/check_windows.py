# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolution, pooling and interpolation: beside NumPy's sliding windows and np.interp."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from data import FLOATS, LAYOUTS, close, numbers, op, options, refused, run, run_into, tensor

NEAR = {"float16": 2e-3, "float32": 4e-6, "float64": 1e-13}
MAX, MEAN, INSIDE = range(3)
NEAREST, LINEAR = range(2)


def near(have, want, dtype, what=""):
    assert have.dtype == dtype and have.shape == want.shape, (what, have.dtype, have.shape, want.shape)
    size = np.nanmax(np.abs(want[np.isfinite(want)]), initial=1)
    np.testing.assert_allclose(have.astype(np.float64), want, rtol=NEAR[dtype], atol=NEAR[dtype] * size, err_msg=str(what))


def under(x, window, stride, padding, dilation, fill):
    """[batch, channels, places..., window...]"""
    rank = len(window)
    x = np.pad(x, ((0, 0), (0, 0)) + tuple((p, p) for p in padding), constant_values=fill)
    seen = sliding_window_view(x, [(k - 1) * d + 1 for k, d in zip(window, dilation)], axis=tuple(range(2, 2 + rank)))
    places = tuple(slice(None, None, s) for s in stride)
    return seen[(slice(None), slice(None)) + places + tuple(slice(None, None, d) for d in dilation)]


def convolved(x, weight, bias, stride, padding, dilation, groups):
    rank = x.ndim - 2
    seen = under(x.astype(np.float64), weight.shape[2:], stride, padding, dilation, 0)
    parts = []
    for one, filters in zip(np.split(seen, groups, 1), np.split(weight.astype(np.float64), groups, 0)):
        axes = [1] + list(range(2 + rank, 2 + 2 * rank))
        parts.append(np.moveaxis(np.tensordot(one, filters, (axes, list(range(1, 2 + rank)))), -1, 1))
    return np.concatenate(parts, 1) + np.reshape(bias, (1, -1) + (1,) * rank).astype(np.float64)


CASES = [ # x, weight, stride, padding, dilation, groups
    ((1, 1, 1), (1, 1, 1), (1,), (0,), (1,), 1),
    ((2, 3, 17), (5, 3, 4), (1,), (0,), (1,), 1),
    ((2, 4, 40), (8, 2, 5), (3,), (2,), (2,), 2),
    ((3, 6, 9), (6, 1, 3), (1,), (1,), (1,), 6),
    ((1, 20, 130), (70, 20, 3), (2,), (1,), (1,), 1),
    ((1, 2, 5, 7), (3, 2, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 11, 8), (9, 3, 3, 3), (2, 1), (1, 2), (1, 2), 1),
    ((2, 6, 9, 10), (20, 3, 1, 1), (1, 2), (0, 1), (1, 1), 2),
    ((1, 8, 6, 6), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), 8),
    ((2, 5, 20, 12), (66, 5, 3, 3), (1, 1), (1, 1), (1, 1), 1),
]
for dtype in FLOATS:
    for x_shape, w_shape, stride, padding, dilation, groups in CASES:
        x, w, bias = numbers(dtype, x_shape, -9, 9), numbers(dtype, w_shape, -9, 9), numbers(dtype, w_shape[:1])
        want = convolved(x, w, bias, stride, padding, dilation, groups)
        by = options(stride, padding, dilation, groups)
        for layout in LAYOUTS:
            near(run(op("conv", "xxxp", tensor(x, layout), tensor(w, layout), tensor(bias, layout), by)), want, dtype, (x_shape, layout))
        near(run_into(op("conv", "xxxp", x, w, bias, by), want.astype(dtype), "turned"), want, dtype)
        near(run(op("conv", "xxxp", x, w, 2.5, by)), convolved(x, w, [2.5] * len(w), stride, padding, dilation, groups), dtype)
x, w = numbers("float32", (1, 2, 9, 9)), numbers("float32", (2, 2, 3, 3))
x[0, 1, 4, 4] = np.nan
have, want = run(op("conv", "xxxp", x, w, 0, None)), convolved(x, w, [0, 0], (1, 1), (0, 0), (1, 1), 1)
assert np.array_equal(np.isnan(have), np.isnan(want)) and np.isnan(have).sum() == 18
print("conv")

POOLS = [ # x, window, stride, padding, dilation
    ((1, 1, 1), (1,), (1,), (0,), (1,)),
    ((2, 3, 17), (3,), (2,), (1,), (1,)),
    ((2, 3, 17), (4,), (4,), (0,), (2,)),
    ((2, 3, 8, 9), (2, 3), (2, 3), (0, 0), (1, 1)),
    ((2, 3, 12, 7), (3, 3), (1, 2), (1, 1), (2, 1)),
]
for dtype in FLOATS:
    for shape, window, stride, padding, dilation in POOLS:
        x, axes = numbers(dtype, shape), tuple(range(-len(window), 0))
        wide = x.astype(np.float64)
        inside = under(np.ones(shape), window, stride, padding, dilation, 0).sum(axes)
        sums = under(wide, window, stride, padding, dilation, 0).sum(axes)
        most = under(wide, window, stride, padding, dilation, -np.inf).max(axes)
        by = options(stride, padding, dilation)
        for kind, want in ((MAX, most), (MEAN, sums / np.prod(window)), (INSIDE, sums / inside)):
            for layout in LAYOUTS:
                near(run(op("pool", "ixsp", kind, tensor(x, layout), window, by)), want, dtype, (shape, kind, layout))
x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
near(run(op("pool", "ixsp", MAX, x, (3, 2), None)), np.array([[[[9, 11]]]]), "float32") # the stride is the window
x[0, 0, 1, 1], x[0, 0, 0, 3] = np.nan, -np.inf
have = run(op("pool", "ixsp", MAX, x, (1, 1), None))
assert np.array_equal(have, x, equal_nan=True)
near(run(op("pool", "ixsp", MAX, x, (3, 2), None)), np.array([[[[np.nan, 11]]]]), "float32")
print("pool")

for dtype in FLOATS:
    for shape, to in (((1, 2, 1), (5,)), ((2, 3, 10), (25,)), ((2, 3, 10), (4,)), ((1, 2, 7), (7,)), ((2, 2, 5, 8), (9, 3)), ((1, 3, 4, 4), (1, 16))):
        x = numbers(dtype, shape)
        nearest, linear = x, x.astype(np.float64)
        for d, m in enumerate(to):
            n = shape[2 + d]
            nearest = np.take(nearest, np.arange(m) * n // m, 2 + d)
            places = (np.arange(m) + 0.5) * n / m - 0.5
            linear = np.apply_along_axis(lambda row: np.interp(places, np.arange(n), row), 2 + d, linear)
        for layout in LAYOUTS:
            assert np.array_equal(run(op("interpolate", "ixs", NEAREST, tensor(x, layout), to)), nearest)
            near(run(op("interpolate", "ixs", LINEAR, tensor(x, layout), to)), linear, dtype, (shape, to))
print("interpolate")

x, w = numbers("float32", (2, 4, 8)), numbers("float32", (6, 4, 3))
refused(op("conv", "xxxp", x.astype(np.int32), w, 0, None), "floating point, not i32")
refused(op("conv", "xxxp", x[0], w, 0, None), "[batch, channels, length]|f32 [4, 8]")
refused(op("conv", "xxxp", x, w.astype(np.float64), 0, None), "same dtype")
refused(op("conv", "xxxp", x, w[..., None], 0, None), "as many dimensions")
refused(op("conv", "xxxp", x, w[:, :2], 0, None), "channels of a group")
refused(op("conv", "xxxp", x, w[:, :1], 0, options(groups=4)), "multiples of the groups")
refused(op("conv", "xxxp", x, w, w[0, 0], None), "one element a filter")
refused(op("conv", "xxxp", x, w, 0, options(dilation=(4,))), "does not fit|[3]")
refused(op("conv", "xxxp", x, w, 0, options(stride=(-1,))), "options.stride -1")
refused(op("conv", "xxxp", x, w, 0, options(padding=(0, 1))), "second dimension")
refused(op("conv", "xxxp", x, w, 0, options(groups=-2)), "options.groups -2")
refused(op("conv", "xxxp", x, w, 0, options(size=0)), "size")
refused(op("pool", "ixsp", 3, x, (2,), None), "kind 3")
refused(op("pool", "ixsp", MAX, x, (2, 2), None), "as many dimensions")
refused(op("pool", "ixsp", MAX, x, (2,), options(padding=(2,))), "more than half")
refused(op("pool", "ixsp", MAX, x, (9,), None), "does not fit|[9]")
refused(op("pool", "ixsp", MAX, x, (2,), options(groups=2)), "groups")
refused(op("interpolate", "ixs", 2, x, (3,)), "kind 2")
refused(op("interpolate", "ixs", LINEAR, x, (3, 3)), "as many dimensions")
refused(op("interpolate", "ixs", LINEAR, x.astype(np.int64), (3,)), "floating point")
close()
