# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sorting, scans, and elements by index, beside NumPy's functions."""
import numpy as np

from data import ALL, FLOATS, INTEGERS, LAYOUTS, close, numbers, op, refused, run, run_all, run_into, same, tensor

ASCENDING, DESCENDING = 0, 1


def order_of(x, axis, order):
    """The stable order. NaN is the greatest."""
    if order == ASCENDING:
        return np.argsort(x, axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - turned, axis)


def special(x):
    """Some of NaN, infinity and both zeros."""
    if x.dtype.kind == "f" and x.size > 8:
        flat = x.reshape(-1)
        for i, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan)):
            flat[i * x.size // 6] = value
    return x


SHAPES = ((1,), (7,), (2048,), (2049,), (9000,), (3, 5), (40, 33), (5, 1, 9), (3, 4100), (4100, 2))
for n, dtype in enumerate(ALL):
    for k, shape in enumerate(SHAPES):
        if max(shape) > 2048 and (n + k) % 4:
            continue
        x = special(numbers(dtype, shape, -3000, 3000))
        for axis in {0, -1}:
            order = (n + k + axis) % 2
            places = order_of(x, axis, order)
            layout = LAYOUTS[(n + k) % 4]
            same(run(op("argsort", "xii", tensor(x, layout), axis, order)), places.astype(np.int64), (dtype, shape))
            want = np.take_along_axis(x, places, axis)
            same(run(op("sort", "xii", tensor(x, layout), axis, order)), want, (dtype, shape))
            same(run_into(op("sort", "xii", tensor(x), axis, order), want, layout), want)
            values = numbers("int16", shape)
            same(run(op("sort_by", "xxii", tensor(x), tensor(values, layout), axis, order)),
                 np.take_along_axis(values, places, axis))
            few = min(3, shape[axis])
            have = run_all(op("topk", "xnii", tensor(x, layout), few, axis, order), 2)
            same(have[0], np.take(want, range(few), axis))
            same(have[1], np.take(places, range(few), axis).astype(np.int64))
x = numbers("float32", (2, 20001))  # long rows: the first of each piece; many are equal, and the last is first
x[:, -1] = 99
for width, few in ((20001, 64), (16384, 3), (20001, 512)):
    for order in (0, 1):
        for layout in ("dense", "late"):
            places = np.argsort(-x[:, :width] if order else x[:, :width], -1, kind="stable")[:, :few]
            have = run_all(op("topk", "xnii", tensor(x[:, :width], layout), few, -1, order), 2)
            same(have[1], places)
            same(have[0], np.take_along_axis(x[:, :width], places, -1))
for n, dtype in enumerate(ALL):  # several tiles of several rows; dense, and not
    for values in ((-3000, 3000), (0, 2)):
        x = special(numbers(dtype, (3, 17000 + 33 * n), *values))
        for order in (0, 1):
            places = order_of(x, 1, order)
            layout = LAYOUTS[(n + order) % 4]
            same(run(op("sort", "xii", tensor(x, layout), 1, order)), np.take_along_axis(x, places, 1), (dtype, values))
            same(run(op("argsort", "xii", tensor(x), 1, order)), places.astype(np.int64), (dtype, values))
print("sort, argsort, sort_by, topk")

for dtype in FLOATS:
    for shape in ((5,), (1,), (3, 4), (10, 2100), (2, 7, 3)):
        x = numbers(dtype, shape, -1000, 1000)
        if x.size > 20:
            x.reshape(-1)[3] = np.nan
        for axis in {0, -1}:
            for q in (0, 0.25, 0.5, 0.9, 1):
                want = np.quantile(x.astype(np.float64), q, axis, keepdims=True)
                have = run(op("quantile", "xdi", tensor(x), q, axis))
                assert have.dtype == x.dtype and have.shape == want.shape
                np.testing.assert_allclose(have, want, rtol=2e-3 if dtype == "float16" else 1e-5,
                                           atol={"float16": 0.3, "float32": 1e-4, "float64": 1e-12}[dtype])
    most = np.finfo(dtype).max
    for x, q, want in (([-most, most], 0.5, 0), ([1, np.inf, np.inf, np.inf], 0.5, np.inf), ([-np.inf] * 4, 0.4, -np.inf),
                       ([-np.inf, np.inf], 0.5, np.nan), ([most, most], 0.7, most), ([0.1] * 9, 0.3, 0.1), ([5, 6], 1e-20, 5),
                       ([5, 6], 1 - 2**-53, 6), ([0.1] * 12, 0.77, 0.1), ([-0.3] * 6, 0.123, -0.3)):
        same(run(op("quantile", "xdi", np.array(x, dtype), q, 0)), np.array([want], dtype), (x, q))
x = np.array([1, 1.0009765625, 1.001953125], np.float16)  # f16 is rounded once
same(run(op("quantile", "xdi", x, 0.874, 0)), np.quantile(x.astype(np.float64), 0.874, keepdims=True).astype(np.float16))
print("quantile")

for dtype in ALL:
    for n in (1, 2, 100):
        ordered = np.sort(numbers(dtype, (n,)))
        values = special(numbers(dtype, (5, 9)))
        for right in (False, True):
            want = np.searchsorted(ordered, values, "right" if right else "left").astype(np.int64)
            for layout in LAYOUTS:
                same(run(op("searchsorted", "xxb", tensor(ordered, LAYOUTS[n % 4]), tensor(values, layout), right)), want)
print("searchsorted")

KINDS = (np.cumsum, np.cumprod, np.maximum.accumulate, np.minimum.accumulate)
for n, dtype in enumerate(ALL):
    for k, shape in enumerate(((1,), (9,), (2048,), (5000,), (40000,), (3, 70), (3, 20000), (3, 5, 4), (7, 8200), (300, 260))):
        for kind, function in enumerate(KINDS):
            if np.prod(shape) > 4000 and (n + kind + k) % 6:
                continue
            for axis in {0, -1}:
                x = special(numbers(dtype, shape)) if kind > 1 else numbers(dtype, shape)
                if kind == 1:
                    x = numbers(dtype, shape, 1, 3) if dtype in INTEGERS else x / x.dtype.type(40) + 1 if dtype != "bool" else x
                if dtype in FLOATS:
                    want = function(x.astype(np.float64), axis).astype(dtype)
                elif kind < 2:
                    want = function(x.astype(np.uint64 if dtype[0] == "u" else np.int64), axis)
                else:
                    want = function(x, axis)
                have = run(op("scan", "ixi", kind, tensor(x, LAYOUTS[(n + k) % 4]), axis))
                if kind == 1 and dtype in FLOATS or dtype == "float64":
                    assert have.dtype == want.dtype
                    np.testing.assert_allclose(have, want, rtol={"float16": 1e-3, "float32": 1e-6, "float64": 1e-11}[dtype],
                                               atol=1e-300)
                else:
                    same(have, want, (dtype, shape, function, axis))
print("cumsum, cumprod, cummax, cummin")

for n, dtype in enumerate(ALL):
    for shape in ((6,), (5, 8), (4, 32), (3, 5, 16)):
        x = numbers(dtype, shape)
        for axis in {0, len(shape) - 1}:
            for kind in (np.int32, np.int64):
                count = shape[axis]
                index = np.array([0, -1, count - 1, 0, 2 % count, -count, 1 % count], kind)
                layout = LAYOUTS[n % 4]
                want = np.take(x, index, axis)
                same(run(op("index_select", "xix", tensor(x, layout), axis, tensor(index, "gaps"))), want, (dtype, shape))
                same(run_into(op("index_select", "xix", tensor(x), axis, tensor(index)), want, layout), want)
                own = list(shape)
                own[axis] = 3
                index = np.random.default_rng(n).integers(-count, count, own).astype(kind)
                want = np.take_along_axis(x, index.astype(np.int64), axis)
                same(run(op("gather", "xix", tensor(x, layout), axis, tensor(index, layout))), want, (dtype, shape))
                one = [1] * len(shape)
                one[axis] = 2
                index = np.array([count - 1, 0], kind).reshape(one)
                same(run(op("gather", "xix", tensor(x), axis, tensor(index))), np.take_along_axis(x, index.astype(np.int64), axis))
x = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
same(run(op("index_select", "xix", x, 0, np.array([2, 3, -4, 2**31 - 1, 1], np.int64))),
     np.array([[5, 6], [0, 0], [0, 0], [0, 0], [3, 4]], np.float32))
print("gather, index_select")

for n, dtype in enumerate(ALL):
    for k, (count, offsets) in enumerate(((5000, (3, 3, 10, 2500, 4990)), (300, (0, 1, 2, 300)), (7, ()), (40, (0, 0, 40, 40)))):
        if count > 2048 and n % 4:
            continue
        line = special(numbers(dtype, (count,)))
        cuts = np.split(np.arange(count), offsets)
        for order in range(2):
            want = np.concatenate([c[order_of(line[c], 0, order)] for c in cuts])
            at = np.array(offsets, (np.int32, np.int64)[n % 2])
            operands = tensor(line, LAYOUTS[(n + k) % 4]), tensor(at)
            same(run(op("argsort_segments", "xxi", *operands, order)), want, (dtype, count, order))
            same(run(op("sort_segments", "xxi", *operands, order)), line[want], (dtype, count, order))
        same(run_into(op("sort_segments", "xxi", *operands, 1), line, "gaps"), line[want])
        del operands
print("segments")


refused(op("sort", "xii", x, 2, 0), "sort along dimension 2 of f32 [3, 2]")
refused(op("sort", "xii", x, 0, 7), "7 is no order")
refused(op("argsort", "xii", 3, 0, 0), "argsort takes a tensor")
refused(op("sort_by", "xxii", x, x[:2], 0, 0), "one shape")
refused(op("topk", "xnii", x, 4, 0, 0), "the first 4 of dimension 0")
refused(op("topk", "xnii", x, -1, 0, 0), "0 to 3")
refused(op("quantile", "xdi", x, 1.5, 0), "quantile of 1.5")
refused(op("quantile", "xdi", numbers("int8", (3,)), 0.5, 0), "floating point")
refused(op("searchsorted", "xxb", x, x, False), "one dimension")
refused(op("searchsorted", "xxb", x[0], numbers("int8", (3,)), False), "one dtype")
refused(op("scan", "ixi", 4, x, 0), "no kind of scan")
refused(op("scan", "ixi", 0, x, -3), "dimension -3")
refused(op("gather", "xix", x, 0, x), "an index is i32 or i64")
refused(op("gather", "xix", x, 0, np.array([1])), "equally many dimensions")
refused(op("gather", "xix", x, 0, np.ones((1, 3), np.int32)), "do not broadcast")
refused(op("index_select", "xix", x, 0, np.ones((1, 3), np.int32)), "one dimension")
refused(op("index_select", "xix", x, 2, np.ones((3,), np.int32)), "dimension 2")
refused(op("sort_segments", "xxi", x, np.array([0]), 0), "both have one dimension")
refused(op("argsort_segments", "xxi", x[0], x[0], 0), "offsets are i32 or i64")
refused(op("sort_segments", "xxi", x[0], np.array([0]), 7), "7 is no order")
close()
