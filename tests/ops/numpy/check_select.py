# SPDX-License-Identifier: MIT OR Apache-2.0
"""Selections, counts in bins, and elements put by index, beside NumPy's functions."""
import numpy as np

from data import ALL, FLOATS, INTEGERS, LAYOUTS, close, numbers, op, refused, run, run_all, run_into, same, tensor


def counted(made, want, what):
    """A tensor of the greatest length, zeros behind what counts, and the count."""
    have, count = run_all(made, 2)
    assert count.dtype == np.int64 and count.shape == (1,) and count[0] == len(want), (what, count, len(want))
    same(have[: len(want)], want, what)
    assert not have[len(want):].any()


SHAPES = ((1,), (7,), (2049,), (5, 9), (3, 1, 4), (40, 300))
for n, dtype in enumerate(ALL):
    for k, shape in enumerate(SHAPES):
        x = numbers(dtype, shape, -3, 3)
        if dtype in FLOATS and x.size > 8:
            x.reshape(-1)[2:6] = (np.nan, -0.0, np.nan, np.inf)
        layout = LAYOUTS[(n + k) % 4]
        mask = numbers("bool", shape)
        counted(op("masked_select", "xx", tensor(x, layout), tensor(mask, LAYOUTS[k % 4])), x[mask], (dtype, shape))
        counted(op("nonzero", "x", tensor(x, layout)), np.argwhere(x).astype(np.int64), (dtype, shape))
        counted(op("unique", "x", tensor(x, layout)), np.unique(x), (dtype, shape))
x, mask = numbers("int16", (4, 1)), np.array([True, False, True])
counted(op("masked_select", "xx", x, mask), np.broadcast_to(x, (4, 3))[np.broadcast_to(mask, (4, 3))], "broadcast")
counted(op("masked_select", "xx", x, np.zeros(1, bool)), x[:0, 0], "none")
x = numbers("int32", (200000,), 0, 2)
counted(op("nonzero", "x", x), np.argwhere(x).astype(np.int64), "many chunks")
print("masked_select, nonzero, unique")

for n, dtype in enumerate(INTEGERS + ("bool",)):
    x = numbers(dtype, (70, 30), -5, 120)
    for count in (1, 50, 5000):
        want = np.bincount(x[(x >= 0) & (x < count)].astype(np.int64).reshape(-1), minlength=count).astype(np.int64)
        same(run(op("bincount", "xn", tensor(x, LAYOUTS[n % 4]), count)), want, (dtype, count))
        same(run_into(op("bincount", "xn", tensor(x), count), want, LAYOUTS[n % 2 * 2]), want)
for n, dtype in enumerate(ALL):
    x = numbers(dtype, (70, 30), -50, 120)
    if dtype in FLOATS:
        x.reshape(-1)[:3] = (np.nan, np.inf, -np.inf)
    edges = np.array([0, 1] if dtype == "bool" else [0, 1, 3, 3, 10, 100], dtype)
    finite = x.astype(np.float64)[np.isfinite(x)]
    want = np.histogram(finite, edges.astype(np.float64))[0].astype(np.int64)
    same(run(op("histogram_by", "xx", tensor(x, LAYOUTS[n % 4]), edges)), want, dtype)
    if dtype in FLOATS:
        for bins in (1, 10, 4100):
            edges = run(op("linspace", "iddn", {"float16": 10, "float32": 12, "float64": 14}[dtype], -5.0, 20.0, bins + 1))
            want = np.histogram(finite, edges.astype(np.float64))[0].astype(np.int64)
            same(run(op("histogram_even", "xndd", tensor(x), bins, -5.0, 20.0)), want, (dtype, bins))
print("bincount, histogram")


def put(kind, x, at, source):
    """np.ufunc.at; sums in double, or 64 bits, rounded once."""
    out = x.copy()
    if kind == 0:
        out[at] = source
    elif kind == 1:
        wide = out.astype(np.float64 if out.dtype.kind == "f" else bool if out.dtype == bool else np.int64)
        np.add.at(wide, at, source.astype(wide.dtype))
        out = wide.astype(out.dtype)
    else:
        (np.minimum if kind == 2 else np.maximum).at(out, at, source)
    return out


for n, dtype in enumerate(ALL):
    for kind in range(4):
        for shape, count in (((6,), 4), ((5, 8), 7), ((3, 4, 5), 2), ((2, 3), 200), ((4,), 3000)):
            for axis in {0, len(shape) - 1}:
                if count == 3000 and (n + kind) % 4:
                    continue
                x = numbers(dtype, shape)
                own = list(shape)
                own[axis] = count
                source = numbers(dtype, own)
                layout = LAYOUTS[(n + kind + axis) % 4]
                index = np.random.default_rng(n).integers(-shape[axis], shape[axis], count)
                kinds = (np.int32, np.int64)[n % 2]
                at = (slice(None),) * axis + (index,)
                turned = np.moveaxis(source, axis, 0)
                want = np.moveaxis(put(kind, np.moveaxis(x, axis, 0), (index,), turned), 0, axis)
                made = lambda: op("index_put", "ixixx", kind, tensor(x, layout), axis, tensor(index.astype(kinds), "gaps"),
                                  tensor(source, layout))
                same(run(made()), want, ("index_put", kind, dtype, shape, axis))
                same(run_into(made(), want, layout), want)
                index = np.random.default_rng(n).integers(-shape[axis], shape[axis], own)
                places = [np.broadcast_to(np.arange(s).reshape([s if e == d else 1 for e in range(len(own))]), own)
                          for d, s in enumerate(own)]
                places[axis] = index
                want = put(kind, x, tuple(places), source)
                same(run(op("scatter", "ixixx", kind, tensor(x, layout), axis, tensor(index.astype(kinds), layout),
                            tensor(source))), want, ("scatter", kind, dtype, shape, axis))
x = np.zeros((3, 2), np.float32)
same(run(op("index_put", "ixixx", 1, x, 0, np.array([2, 3, -4, 0, 2]), np.ones((1, 2), np.float32))),
     np.array([[1, 1], [0, 0], [2, 2]], np.float32))
x = np.array([1, np.nan, 3], np.float32)
same(run(op("scatter", "ixixx", 3, x, 0, np.array([0, 0, 1, 2]), np.array([np.nan, 5, 7, 2], np.float32))),
     np.array([np.nan, np.nan, 3], np.float32))
print("scatter, index_put")

x, i = np.ones((3, 2), np.float32), np.array([0, 1])
refused(op("masked_select", "xx", x, x), "the mask is bool")
refused(op("masked_select", "xx", x, np.ones(4, bool)), "do not broadcast")
refused(op("bincount", "xn", x, 5), "takes integers")
refused(op("bincount", "xn", i, 0), "one or more")
refused(op("histogram_by", "xx", x, i), "of the same dtype")
refused(op("histogram_even", "xndd", i, 3, 0.0, 1.0), "even bins are of floating point")
refused(op("histogram_even", "xndd", x, 3, 1.0, 1.0), "low below high")
refused(op("scatter", "ixixx", 9, x, 0, i, x), "9 is no way")
refused(op("scatter", "ixixx", 0, x, 0, x, x), "an index is i32 or i64")
refused(op("scatter", "ixixx", 0, x, 0, i, x), "equally many dimensions")
refused(op("index_put", "ixixx", 0, x, 0, i, x), "the source does not broadcast")
refused(op("index_put", "ixixx", 0, x, 0, i, np.ones((2, 2))), "one dtype")
refused(op("index_put", "ixixx", 0, x, 5, i, x), "dimension 5")
close()
