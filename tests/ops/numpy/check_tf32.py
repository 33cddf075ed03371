# SPDX-License-Identifier: MIT OR Apache-2.0
"""tf32 counts as f32 (but in products of matrices): every family of kernels gives the same bits."""
import numpy as np

import data
from data import ACU_DTYPES, close, dims, op, options, run, run_all, same, tensor

TF32 = ACU_DTYPES.index("tf32")
data.TO_NUMPY["tf32"] = np.dtype("float32")
x = data.numbers("float32", (12, 64))
x[0, :6] = np.nan, np.inf, -np.inf, -0.0, 1e-41, 3e38
image, weight = x.reshape(3, 4, 8, 8), data.numbers("float32", (2, 4, 3, 3))
index = np.arange(12, dtype=np.int32) % 5
offsets = np.array([0, 3, 3, 40, 64], np.int32)


def cases(f):
    """(name, results, op); f makes an operand."""
    a, row, few = f(x), f(x[1].copy()), f(x[1:2].copy())
    for kind in (*range(22), *range(23, 43), 49, 50):  # those of bits aside
        yield f"elementwise {kind}", 1, op("elementwise", "iX", kind, [a, row, few][: 1 if kind < 26 else 2 if kind < 48 else 3])
    for kind in range(10):
        for which in (dims(), dims(1), dims(0, keep=True)):
            yield f"reduce {kind}", 1, op("reduce", "ixm", kind, a, which)
    for name, types, count, more in (
        ("sort", "xii", 1, (1, 0)), ("argsort", "xii", 1, (0, 1)), ("topk", "xnii", 2, (9, 1, 1)), ("quantile", "xdi", 1, (0.3, 1)),
        ("softmax", "xib", 1, (1, False)), ("softmax", "xib", 1, (0, True)), ("logsumexp", "xm", 1, (dims(1),)),
        ("var", "xmdb", 1, (dims(1), 1, True)), ("unique", "x", 2, ()), ("nonzero", "x", 2, ()),
        ("pad", "xssx", 1, ((1, 1), (0, 2), -2.5)), ("triangle", "xbn", 1, (True, 1)), ("roll", "xin", 1, (1, 3)),
        ("cross_entropy", "xx", 1, (index,)), ("index_select", "xix", 1, (0, index)),
        ("histogram_even", "xndd", 1, (9, -3, 8)), ("rms_norm", "xxd", 1, (2, 1e-5)), ("layer_norm", "xxxd", 1, (row, row, 1e-5)),
        ("masked_select", "xx", 2, (x > 0,)),):
        yield name, count, op(name, types, a, *more)
    for kind in range(4):
        yield "scan", 1, op("scan", "ixi", kind, a, 1)
        yield "scatter", 1, op("index_put", "ixixx", kind, a, 0, np.array([2, 0, 2], np.int64), f(x[4:7].copy()))
        if kind > 0:
            yield "by key", 1, op("reduce_by_key", "ixxn", kind, row, np.arange(64, dtype=np.int64) % 5, 5)
            yield "segments", 1, op("reduce_segments", "ixx", kind, row, offsets)
    yield "sort_by", 1, op("sort_by", "xxii", a, a, 1, 0)
    yield "sort_segments", 1, op("sort_segments", "xxi", row, offsets, 0)
    yield "searchsorted", 1, op("searchsorted", "xxb", f(np.sort(x[2])), a, True)
    yield "histogram_by", 1, op("histogram_by", "xx", a, f(np.array([-4, -1, 0, 7], np.float32)))
    yield "pool", 1, op("pool", "ixsp", 1, f(image), (2, 2), options())
    yield "interpolate", 1, op("interpolate", "ixs", 1, f(image), (5, 19))
    yield "conv", 1, op("conv", "xxxp", f(image), f(weight), 0, options(padding=(1, 1)))


def narrow(a):
    made = data.c_void_p()
    data.acuda._check(data._sync(data.device.handle, op("reinterpret", "xi", tensor(a), TF32), data.byref(made)))
    return data.Tensor(made.value)


for (what, count, want), (_, _, have) in zip(cases(tensor), cases(narrow)):
    wanted, had = run_all(want, count), run_all(have, count)
    if what in ("unique", "nonzero", "masked_select"):
        n = wanted[1][0]
        wanted[0], had[0] = wanted[0][:n], had[0][:n]
    for w, h in zip(wanted, had):
        same(h.view("u4") if h.dtype == np.float32 else h, w.view("u4") if w.dtype == np.float32 else w, what)
print("tf32 as f32")
close()
