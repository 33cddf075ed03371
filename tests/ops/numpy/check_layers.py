# SPDX-License-Identifier: MIT OR Apache-2.0
"""Statistics, layers and distributions: beside NumPy's functions, or what their definition says."""
import numpy as np

from data import FLOATS, INTEGERS, LAYOUTS, close, dims, numbers, op, refused, run, run_into, same, tensor

NEAR = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


def near(have, want, dtype, what=""):
    assert have.dtype == dtype and have.shape == np.shape(want), (what, have.dtype, have.shape, np.shape(want))
    size = np.nanmax(np.abs(want[np.isfinite(want)]), initial=1)
    np.testing.assert_allclose(have.astype(np.float64), want, rtol=4 * NEAR[dtype], atol=4 * NEAR[dtype] * size, err_msg=str(what))


for dtype in FLOATS:
    for shape, axes in (((7,), (0,)), ((5, 40), (1,)), ((5, 40), (0,)), ((3, 4, 50), (0, 2)), ((3, 4, 50), (1,)), ((6, 3), ())):
        x = (numbers(dtype, shape) + 30).astype(dtype)
        wide, all_axes = x.astype(np.float64), axes or tuple(range(len(shape)))
        for keep in (False, True):
            for k, correction in enumerate((0.0, 1.0)):
                for root, function in ((False, np.var), (True, np.std)):
                    want = function(wide, axis=all_axes, ddof=correction, keepdims=keep)
                    have = run(op("var", "xmdb", tensor(x, LAYOUTS[k]), dims(*axes, keep=keep), correction, root))
                    near(have, want.reshape(want.shape or (1,)), dtype, (function, shape, axes))
            want = np.log(np.exp(wide).sum(axis=all_axes, keepdims=keep))
            near(run(op("logsumexp", "xm", tensor(x), dims(*axes, keep=keep))), want.reshape(want.shape or (1,)), dtype)
inf = np.inf
x = np.array([[-inf, -inf], [inf, 1], [-inf, 2], [np.nan, 1], [1000, 1000]], np.float32)
same(run(op("logsumexp", "xm", x, dims(1))), np.array([-inf, inf, 2, np.nan, 1000 + np.log(2)], np.float32))
print("var, std, logsumexp")

for dtype in FLOATS + ("int32", "uint8", "int64", "bool"):
    values, keys = numbers(dtype, (3000,)), np.random.default_rng(1).integers(0, 9, 3000)
    for kind, function in ((1, np.sum), (2, np.min), (3, np.max)):
        have = run(op("reduce_by_key", "ixxn", kind, values, keys, 10))
        for i in range(9):
            chosen = values[keys == i].astype(np.float64 if dtype in FLOATS else np.int64)
            assert have[i] == (chosen.any() if dtype == "bool" and kind == 1 else function(chosen).astype(dtype)), (dtype, kind, i)
        most = {"f": (inf, -inf), "b": (1, 0)}.get(np.dtype(dtype).kind)
        most = most or (np.iinfo(dtype).max, np.iinfo(dtype).min)
        assert have[9] == (0, most[0], most[1])[kind - 1]
x = numbers("float32", (40, 50))  # any shape and layout; many keys; keys that count from the end, or are none
keys = np.random.default_rng(3).integers(-5001, 5002, x.shape)
want = np.zeros(5000)
inside = (keys >= -5000) & (keys < 5000)
np.add.at(want, keys[inside] % 5000, x[inside].astype(np.float64))
for kind in (np.int32, np.int64):
    same(run(op("reduce_by_key", "ixxn", 1, tensor(x, "turned"), tensor(keys.astype(kind), "gaps"), 5000)), want.astype(np.float32))
few = np.where(keys > 4000, 1, np.where(keys < -4000, -3, 7))
want = np.array([x[few == -3].sum(), x[few == 1].sum(), 0], np.float32)
for layout in LAYOUTS[:3]:
    same(run(op("reduce_by_key", "ixxn", 1, tensor(x, layout), tensor(few, "turned"), 3)), want)
    same(run_into(op("reduce_by_key", "ixxn", 1, tensor(x), few, 3), want, layout), want)
print("reduce_by_key")

offsets = np.array([3, 10, 10, 2000, 2999])
for dtype in ("float16", "float32", "int32", "uint8"):
    values = numbers(dtype, (3000,))
    for kind, function in ((1, np.sum), (2, np.min), (3, np.max)):
        have = run(op("reduce_segments", "ixx", kind, values, offsets.astype(np.int32)))
        assert have.shape == (4,)
        same(run_into(op("reduce_segments", "ixx", kind, values, offsets), have, LAYOUTS[kind]), have)
        for i in (0, 2, 3):
            chosen = values[offsets[i]:offsets[i + 1]].astype(np.float64 if dtype in FLOATS else np.int64)
            assert have[i] == function(chosen).astype(dtype), (dtype, kind, i)
        least = (inf, -inf) if dtype in FLOATS else (np.iinfo(dtype).max, np.iinfo(dtype).min)
        assert have[1] == (0, least[0], least[1])[kind - 1]
print("reduce_segments")

for dtype in INTEGERS + ("bool",):
    x = numbers(dtype, (30, 70))
    for layout in LAYOUTS:
        near(run(op("reduce", "ixm", 2, tensor(x, layout), dims(1))), x.mean(1), "float64")
    near(run(op("reduce", "ixm", 2, tensor(x), dims(keep=True))), x.mean(keepdims=True), "float64")
    near(run_into(op("reduce", "ixm", 2, tensor(x), dims(0)), x.mean(0), "gaps"), x.mean(0), "float64")
x = np.array([2**63 - 1, 2**63 - 1, -(2**62)], np.int64)
near(run(op("reduce", "ixm", 2, x, dims())), x.mean().reshape(1), "float64")
print("mean of integers")

for dtype in FLOATS:
    for shape in ((5,), (3, 8), (4, 1000), (2, 3, 1024), (3, 1028), (2, 8192), (2, 8196), (2, 4098), (50, 64)):
        x, weight, bias = (numbers(dtype, s) for s in (shape, shape[-1:], shape[-1:]))
        wide = x.astype(np.float64)
        mean, variance = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
        want = (wide - mean) / np.sqrt(variance + 1e-5) * weight + bias
        for layout in LAYOUTS:
            near(run(op("layer_norm", "xxxd", tensor(x, layout), tensor(weight, layout), bias, 1e-5)), want, dtype, (shape, layout))
        near(run_into(op("layer_norm", "xxxd", x, weight, bias, 1e-5), x, "gaps"), want, dtype)
        near(run(op("layer_norm", "xxxd", x, 2, 0.5, 1e-5)), (wide - mean) / np.sqrt(variance + 1e-5) * 2 + 0.5, dtype)
        want = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * weight
        near(run(op("rms_norm", "xxd", tensor(x), weight, 1e-5)), want, dtype)
    x = numbers(dtype, (3, 4, 5, 2))
    mean, weight, bias = (numbers(dtype, (4,)) for _ in range(3))
    variance = np.abs(numbers(dtype, (4,))) + 1
    four = [v.astype(np.float64).reshape(1, 4, 1, 1) for v in (mean, variance, weight, bias)]
    want = (x - four[0]) / np.sqrt(four[1] + 1e-3) * four[2] + four[3]
    near(run(op("batch_norm", "xxxxxd", x, mean, variance.astype(dtype), weight, bias, 1e-3)), want, dtype)
    x, targets = numbers(dtype, (20, 10)), np.arange(20) % 10
    logs = x - np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True))
    near(run(op("cross_entropy", "xx", x, targets)), -logs[np.arange(20), targets], dtype)
    for classes in (10, 4096, 20000):
        x, targets = numbers(dtype, (3, classes)), np.array([-1, classes, 2])
        logs = x - np.log(np.exp(x.astype(np.float64) - 9).sum(1, keepdims=True)) - 9
        want = np.array([-logs[0, -1], 0, -logs[2, 2]])
        for layout in LAYOUTS:
            near(run(op("cross_entropy", "xx", tensor(x, layout), tensor(targets.astype(np.int32), layout))), want, dtype)
        near(run_into(op("cross_entropy", "xx", x, targets), want.astype(dtype), "gaps"), want, dtype)
    x, angle = numbers(dtype, (2, 7, 16)), np.random.default_rng(2).random((7, 8)) * 6
    cosines, sines = np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)
    a, b, c, s = x[..., :8].astype(float), x[..., 8:].astype(float), cosines.astype(float), sines.astype(float)
    near(run(op("rotary", "xxx", x, cosines, sines)), np.concatenate([a * c - b * s, b * c + a * s], -1), dtype)
print("layer_norm, rms_norm, batch_norm, cross_entropy, rotary")

N, F64, F32 = (20000,), 14, 12


def like(have, mean, deviation):
    """Mean and deviation, within six standard errors."""
    have = have.astype(np.float64)
    assert abs(have.mean() - mean) < 6 * deviation / N[0] ** 0.5, (have.mean(), mean)
    assert abs(have.std() - deviation) < 0.1 * deviation + 1e-9, (have.std(), deviation)


like(run(op("uniform", "isddux", F32, N, -1.0, 3.0, 1, 0)), 1, 4 / 12**0.5)
like(run(op("normal", "isddux", F32, N, 5.0, 2.0, 2, 0)), 5, 2)
like(np.log(run(op("lognormal", "isddux", F64, N, 1.0, 0.5, 3, 0))), 1, 0.5)
like(run(op("exponential", "isdux", F32, N, 4.0, 4, 0)), 0.25, 0.25)
like(run(op("bernoulli", "sdux", N, 0.3, 5, 0)), 0.3, 0.21**0.5)
for rate in (0.1, 1, 30.5, 700, 10000):
    have = run(op("poisson", "sdux", N, float(rate), 6, 0))
    assert have.dtype == np.int64 and have.min() >= 0
    like(have, rate, rate**0.5)
same(run(op("poisson", "sdux", (9,), 0.0, 6, 0)), np.zeros(9, np.int64))
weights = np.array([1, 0, 3, 6], np.float32)
have = run(op("categorical", "xsux", weights, N, 7, 0))
counts = np.bincount(have, minlength=4)
assert counts[1] == 0 and np.all(np.abs(counts / N[0] - weights / 10) < 0.02), counts
same(run(op("multinomial", "xnux", weights, N[0], 7, 0)), counts.astype(np.int64))
have = run(op("permutation", "nux", 5000, 8, 0))
same(np.sort(have), np.arange(5000, dtype=np.int64))
assert np.abs(np.corrcoef(have, np.arange(5000))[0, 1]) < 0.1
same(run(op("normal", "isddux", F32, (10,), 5.0, 2.0, 2, 100)), run(op("normal", "isddux", F32, (200,), 5.0, 2.0, 2, 0))[100:110])
print("distributions")

x = np.ones((3, 4), np.float32)
refused(op("var", "xmdb", x.astype(np.int32), dims(), 0.0, False), "floating point")
refused(op("var", "xmdb", x, dims(3), 0.0, False), "dimension 3")
refused(op("logsumexp", "xm", x.astype(np.int32), dims()), "floating point")
refused(op("layer_norm", "xxxd", x, x, 0, 1e-5), "weight and bias are numbers")
refused(op("layer_norm", "xxxd", x, 1, np.ones(3, np.float32), 1e-5), "weight and bias are numbers")
refused(op("layer_norm", "xxxd", x, 1, 0, -1.0), "epsilon -1")
refused(op("rms_norm", "xxd", x.astype(np.int32), 1, 1e-5), "floating point")
refused(op("batch_norm", "xxxxxd", x, x, x, x, x, 1e-5), "one element for each channel")
refused(op("cross_entropy", "xx", x, np.zeros(4, np.int64)), "targets [batch]")
refused(op("rotary", "xxx", x[:, :3], x, x), "even")
refused(op("uniform", "isddux", F32, N, 1.0, 0.0, 1, 0), "uniform from 1 to 0")
refused(op("normal", "isddux", F32, N, 1.0, -1.0, 1, 0), "deviation of -1")
refused(op("exponential", "isdux", F32, N, 0.0, 1, 0), "rate of 0")
refused(op("bernoulli", "sdux", N, 1.5, 1, 0), "probability of 1.5")
refused(op("poisson", "sdux", N, 1e5, 1, 0), "100000")
refused(op("categorical", "xsux", x, N, 1, 0), "one dimension")
refused(op("permutation", "nux", -1, 1, 0), "permutation of -1")
refused(op("reduce_by_key", "ixxn", 1, x, np.zeros(x.shape, np.float32), 3), "keys are i32 or i64")
refused(op("reduce_by_key", "ixxn", 1, x, np.zeros(7, np.int32), 3), "a key for each value|i32 [7]")
refused(op("reduce_segments", "ixx", 1, x[0], np.zeros(0, np.int32)), "an offset or more")
refused(op("reduce_segments", "ixx", 1, x[0], np.zeros(2, np.float32)), "offsets are i32 or i64")
refused(op("reduce_segments", "ixx", 0, x[0], np.zeros(2, np.int32)), "kind 0")
refused(op("reduce_by_key", "ixxn", 0, x[0], np.zeros(4, np.int32), 3), "kind 0")
close()
