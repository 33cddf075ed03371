# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention beside its definition in NumPy, in double."""
import ctypes

import numpy as np

from data import LAYOUTS, close, generator, op, refused, run, run_into, tensor

NEAR = {"float16": 2e-3, "float32": 1e-5}


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("scale", ctypes.c_double), ("causal", ctypes.c_bool)]


def attention(q, k, v, scale=0.0, causal=False):
    by = Options(ctypes.sizeof(Options), scale, causal)
    return op("attention", "xxxp", q, k, v, ctypes.addressof(by))


def defined(q, k, v, scale, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5)
    n, m = scores.shape[2:]
    if causal:
        scores[..., np.arange(m) > np.arange(n)[:, None] + m - n] = -np.inf
    most = scores.max(3, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(most), most, 0))
    sums = weights.sum(3, keepdims=True)
    return weights @ v / np.where(sums == 0, 1, sums)


def some(dtype, shape):
    return generator.standard_normal(shape).astype(dtype)


for dtype in NEAR:
    for batch, heads, groups, n, m, width in ((1, 1, 1, 1, 1, 1), (2, 2, 1, 5, 9, 16), (1, 4, 2, 70, 70, 64), (1, 2, 2, 33, 130, 40),
                                              (1, 1, 1, 64, 64, 128), (1, 2, 1, 40, 20, 100), (1, 1, 1, 20, 40, 129), (1, 1, 1, 3, 65, 256)):
        q, k, v = some(dtype, (batch, heads, n, width)), some(dtype, (batch, groups, m, width)), some(dtype, (batch, groups, m, width))
        for causal in (False, True):
            for scale in (0.0, 0.5):
                want = defined(q, k, v, scale, causal)
                layout = LAYOUTS[2 * causal + (scale > 0)]
                have = run(attention(tensor(q, layout), tensor(k, layout), tensor(v, layout), scale, causal))
                assert have.dtype == dtype and have.shape == q.shape
                np.testing.assert_allclose(have, want, rtol=NEAR[dtype], atol=NEAR[dtype] * 2, err_msg=str((q.shape, k.shape, causal)))
        np.testing.assert_allclose(run(attention(q, k, v, 0.0, True)), defined(q, k, v, 0, True), rtol=NEAR[dtype], atol=NEAR[dtype] * 2)
        have = run_into(attention(q, k, v), q, "turned")
        np.testing.assert_allclose(have, defined(q, k, v, 0, False), rtol=NEAR[dtype], atol=NEAR[dtype] * 2)
    q, k, v = (some(dtype, (1, 1, 70, 64)) for _ in range(3))
    q[0, 0, 3], v[0, 0, 60, 7] = 100, np.nan # scores that overflow an exponential; a value some queries see
    want = defined(q, k, v, 1, False)
    have = run(attention(q, k, v, 1))
    assert np.isnan(have[..., 7]).all() and not np.isnan(np.delete(have, 7, 3)).any()
    np.testing.assert_allclose(np.delete(have, 7, 3), np.delete(want, 7, 3), rtol=NEAR[dtype] * 4, atol=NEAR[dtype] * 4)
print("attention")

q = some("float32", (2, 4, 5, 8))
refused(attention(q.astype(np.float64), q, q), "f16, bf16 or f32")
refused(attention(q, q.astype(np.float16), q), "alike")
refused(attention(q[0], q, q), "[batch, heads, places, width]")
refused(attention(q, q, q[:, :, 1:]), "same shape")
refused(attention(q[:1], q, q), "same batch")
refused(attention(q, q[:, :3], q[:, :3]), "multiple")
refused(attention(q[..., 1:], q, q), "same width")
wide = some("float32", (1, 1, 1, 257))
refused(attention(wide, wide, wide), "1 to 256")
refused(attention(q, q, q, -1.0), "options.scale -1")
refused(attention(q, q, q, np.inf), "options.scale inf")
close()
