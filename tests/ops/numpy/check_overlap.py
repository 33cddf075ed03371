# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results that are to go over a part of an operand, or over all of it: they are right, or refused in words."""
import ctypes

import numpy as np

import data
from data import ACU_DTYPES, OF_NUMPY, Tensor, close, dims, op, run, same, term

I64 = ACU_DTYPES.index("i64")
reshape = data.declare(ctypes.c_int, "acu_tensor_reshape", ctypes.c_void_p, data.Shape, ctypes.POINTER(ctypes.c_void_p))
f, d = np.float32, np.float64
x = data.numbers("float32", (6, 6))
few, row, whole = x[:3, :3].copy(), x[0, :3].copy(), np.arange(12) % 5
edges = np.array([0, 2, 3, 9, 20])
boxes = np.abs(data.numbers("float32", (4, 4))).cumsum(1, f)
heads = data.numbers("float32", (1, 1, 4, 4))
OPERATIONS = (
    ("rms_norm", "xxd", few, row, 1e-5), ("layer_norm", "xxxd", few, row, row + 1, 1e-5), ("histogram_by", "xx", whole, edges),
    ("randint", "isnnux", I64, (4,), 0, 99, 3, np.array([7])), ("box_iou", "xx", boxes, boxes[:3].copy()),
    ("box_iou", "xx", boxes, boxes + 1), ("matmul", "xx", x, x + 1), ("softmax", "xib", x, 1, False), ("softmax", "xib", x, 0, True),
    ("scan", "ixi", 0, x, 1), ("scan", "ixi", 2, x, 0), ("sort", "xii", x, 1, 0), ("argsort", "xii", whole, 0, 0),
    ("index_select", "xix", whole, 0, whole), ("gather", "xix", whole, 0, whole[:5].copy()), ("scatter", "ixixx", 1, whole, 0, whole, whole * 3),
    ("index_put", "ixixx", 0, x, 0, np.array([4, 1]), x[2:4].copy()), ("searchsorted", "xxb", edges, whole, False),
    ("reduce", "ixm", 0, x, dims(1)), ("reduce", "ixm", 5, x, dims(0, keep=True)), ("concat", "iX", 0, (row, row + 1)),
    ("stack", "iX", 0, (row, row + 1)), ("pad", "xssx", row, (1,), (1,), 0), ("roll", "xin", x, 1, 2), ("flip", "xm", x, dims(0)),
    ("tile", "xs", row, (2,)), ("repeat", "xin", row, 0, 3), ("triangle", "xbn", x, True, 1), ("bincount", "xn", whole, 6),
    ("reduce_by_key", "ixxn", 1, whole, whole, 5), ("sort_by", "xxii", row, row + 1, 0, 0), ("sort_segments", "xxi", x[0].copy(), np.array([0, 2, 6]), 0),
    ("var", "xmdb", x, dims(1), 1.0, True), ("logsumexp", "xm", x, dims(0)), ("quantile", "xdi", x, 0.3, 1), ("elementwise", "iX", 26, (x, x[0].copy())),
    ("elementwise", "iX", 50, (few, row, few + 1)), ("attention", "xxxp", heads, heads + 1, heads + 2, None), ("convert", "xi", x, ACU_DTYPES.index("f32")),
    ("conv", "xxxp", x.reshape(1, 4, 3, 3), data.numbers("float32", (2, 4, 1, 1)), row[:2].copy(), None),
    ("einsum", "pX", ctypes.c_char_p(b"ij,jk->ki"), (few, few + 1)), ("permutation", "nux", 9, 1, np.array([3])),
    ("batch_norm", "xxxxxd", few, row, row + 9, row, row + 1, 1e-5), ("rotary", "xxx", x, x[:, :3].copy(), x[:, 3:].copy()),
    ("interpolate", "ixs", 1, x.reshape(1, 1, 6, 6), (6, 7)), ("multinomial", "xnux", np.abs(x[1]), 3, 1, np.array([2])))


def piece(base, start, shape):
    """Elements of a tensor in one dimension, as one of another shape."""
    flat, view, n = ctypes.c_void_p(), ctypes.c_void_p(), int(np.prod(shape, dtype=int))
    data.acuda._check(data._step(base.handle, (ctypes.c_int64 * 1)(start), (ctypes.c_int64 * 1)(start + n), (ctypes.c_int64 * 1)(1), ctypes.byref(flat)))
    flat = Tensor(flat.value)
    data.acuda._check(reshape(flat.handle, data.shape_of(shape), ctypes.byref(view)))
    return Tensor(view.value)


def replaced(arguments, array, by):
    """The arguments with a tensor in place of one array."""
    return tuple(by if a is array else replaced(a, array, by) if isinstance(a, tuple) else a for a in arguments)


def arrays(arguments):
    for a in arguments:
        if isinstance(a, np.ndarray):
            yield a
        elif isinstance(a, tuple):
            yield from arrays(a)


refused = right = 0
for name, types, *arguments in OPERATIONS:
    want = run(op(name, types, *arguments))
    for array in arrays(arguments):
        if array.dtype != want.dtype or want.size == 0:
            continue
        for ahead in (0, 1, -1, array.size - 1): # where the result begins in the operand
            low = max(0, -ahead)
            held = np.zeros(max(low + array.size, low + ahead + want.size), want.dtype)
            held[low : low + array.size] = array.ravel()
            base = data.tensor(held)
            operand, target = piece(base, low, array.shape), piece(base, low + ahead, want.shape)
            made = op(name, types, *replaced(arguments, array, operand))
            what = (name, array.shape, want.shape, ahead)
            try:
                data.acuda._check(data._sync(data.device.handle, data._into(term(target), made, data._SITE), None))
            except data.acuda.Error as error:
                assert "overwr" in str(error) or "can go over" in str(error), (what, str(error))
                refused += 1
            else:
                same(target.array(), want, what)
                right += 1
assert refused > 100 and right > 20, (refused, right)
print(f"{refused} refused, {right} right")
del base, operand, target, held
close()
