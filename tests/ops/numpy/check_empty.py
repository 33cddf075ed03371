# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every operation of tensors without elements, and of tensors without dimensions, beside NumPy. A new operation in
one of the headers below must come here too."""
import ctypes
import math
import re

import numpy as np

import data
from data import ACU_DTYPES, LAYOUTS, close, dims, has_compiler, op, options, refused, run, run_all, run_into, same, tensor

F32, I64 = ACU_DTYPES.index("f32"), ACU_DTYPES.index("i64")
SHAPES = ((0,), (0, 3), (3, 0), (2, 0, 3), (0, 0), (1, 2, 0, 2, 1, 3))
ZERO = np.zeros
SCALAR = np.array(7, np.float32)


def kinds(macro):
    """[(name, operands or dtypes, ...)] of a list in op_kinds.h."""
    text = open("include/acuda/op_kinds.h", encoding="utf-8").read()
    body = text[text.index("#define " + macro) :].split("typedef")[0]
    return re.findall(r'X\(\w+, "(\w+)", (\w+)(?:, (\w+), (\w+))?', body)


def nowhere(made, want, what=""):
    """An empty result, made anew and put into an empty tensor of other strides."""
    assert 0 in want.shape, what
    same(run(made()), want, what)
    same(run_into(made(), want, "late"), want, what)


def counted(made, want):
    have, count = run_all(made, 2)
    same(have, want)
    same(count, np.array([0]))



def making():
    """Copies, views, conversions, sequences, random numbers."""
    for shape in SHAPES + ((),):
        for layout in LAYOUTS if shape else ("dense",):
            x = np.ones(shape, np.float32)
            t = tensor(x, layout)
            assert t.shape == shape, (t.shape, shape, layout)
            same(t.array(), x)
            same(run(op("dup", "x", t)), x)
            same(run(op("to_host", "x", t)), x)
            same(run(op("convert", "xi", t, I64)), x.astype(np.int64))
            same(run(op("flatten", "x", t)), x.reshape(-1))
            same(run(op("unsqueeze", "xi", t, -1)), x[..., None]) if len(shape) < 6 else None
            same(run(op("broadcast_to", "xs", t, shape)), x)
        for name, types, more in (("rand", "isux", (7, 0)), ("randn", "isux", (7, 0)), ("uniform", "isddux", (0, 1, 7, 0)),
                                  ("normal", "isddux", (0, 1, 7, 0)), ("lognormal", "isddux", (0, 1, 7, 0)),
                                  ("exponential", "isdux", (1, 7, 0))):
            have = run(op(name, types, F32, shape, *more))
            assert have.shape == shape and have.dtype == np.float32, name
            if shape == (): # as the first number of a longer sequence
                same(have, run(op(name, types, F32, (3,), *more))[0])
        assert run(op("randint", "isnnux", I64, shape, 3, 9, 7, 0)).shape == shape
        assert run(op("bernoulli", "sdux", shape, 0.5, 7, 0)).shape == shape
        assert run(op("poisson", "sdux", shape, 3, 7, 0)).shape == shape
        assert run(op("categorical", "xsux", np.ones(4), shape, 7, 0)).shape == shape
    same(run(op("multinomial", "xnux", np.ones(4), 0, 7, 0)), ZERO(4, np.int64))
    same(run(op("permutation", "nux", 0, 7, 0)), ZERO(0, np.int64))
    refused(op("categorical", "xsux", ZERO(0), (3,), 7, 0), "by no weights")
    same(run(op("arange", "iddd", F32, 5, 5, 1)), np.arange(5, 5, 1, np.float32))
    same(run(op("arange", "iddd", I64, 5, 0, 1)), np.arange(5, 0, 1))
    refused(op("arange", "iddd", F32, 0, 5, 0), "no end")
    same(run(op("linspace", "iddn", F32, 0, 5, 0)), np.linspace(0, 5, 0, dtype=np.float32))
    for rows, columns in ((0, 0), (0, 3), (3, 0)):
        same(run(op("eye", "innn", F32, rows, columns, 0)), np.eye(rows, columns, dtype=np.float32))
    same(run(op("reshape", "xs", SCALAR, (1, 1))), np.full((1, 1), 7, np.float32))
    same(run(op("reshape", "xs", tensor(np.full(1, 7, np.float32)), ())), np.float32(7))
    same(run(op("squeeze", "xi", tensor(np.full(1, 7, np.float32)), 0)), np.float32(7))
    same(run(op("select", "xin", tensor(np.arange(4)), 0, 2)), np.int64(2))
    same(run(op("broadcast_to", "xs", SCALAR, (2, 3))), np.full((2, 3), 7, np.float32))
    same(run(op("broadcast_to", "xs", tensor(np.ones((1, 3))), (0, 3))), ZERO((0, 3)))
    same(run(op("reshape", "xs", tensor(ZERO((0, 3))), (5, 0))), ZERO((5, 0)))
    same(run(op("reshape", "xs", tensor(ZERO((0, 3))), (-1, 3))), ZERO((0, 3)))
    same(run(op("slice", "xsss", tensor(np.arange(4)), (4,), (4,), ())), ZERO(0, np.int64))
    same(run(op("slice", "xsss", tensor(np.arange(4)), (1,), (1,), (2,))), ZERO(0, np.int64))
    refused(op("reshape", "xs", tensor(ZERO((0, 3))), (0, -1)), "beside an extent of 0")
    refused(op("squeeze", "xi", tensor(ZERO((0, 3))), 0), "0 elements")
    refused(op("transpose", "xii", SCALAR, 0, 0), "dimension 0|none")
    print("copies, views, sequences, random numbers")


def computing():
    """Elementwise and reductions."""
    for i, (name, count, of, result) in enumerate(kinds("ACU_ELEMENTWISE_OPS")):
        dtype = {"BITS": np.int64, "INTEGER": np.int64, "COMPLEX": np.complex64}.get(of, np.float32)
        to = {"BOOL": np.bool_, "PART": np.float32, "WHOLE": np.complex64}.get(result, dtype)
        for shape in SHAPES:
            x = ZERO(shape, dtype)
            operands = [tensor(x.astype(bool) if name == "where" and k == 0 else x, LAYOUTS[k]) for k in range(int(count))]
            want = ZERO(shape, to)
            nowhere(lambda i=i, operands=operands: op("elementwise", "iX", i, operands), want, name)
        x = np.array(0.5).astype(dtype)
        one = [tensor(np.array(True) if name == "where" and k == 0 else x) for k in range(int(count))]
        line = [tensor(np.array([True]) if name == "where" and k == 0 else x[None]) for k in range(int(count))]
        same(run(op("elementwise", "iX", i, one)), run(op("elementwise", "iX", i, line))[0], name)
    ADD = [k[0] for k in kinds("ACU_ELEMENTWISE_OPS")].index("add")
    same(run(op("elementwise", "iX", ADD, [SCALAR, np.ones((2, 3), np.float32)])), np.full((2, 3), 8, np.float32))
    same(run(op("elementwise", "iX", ADD, [np.ones((1, 3)), ZERO((0, 1))])), ZERO((0, 3)))
    refused(op("elementwise", "iX", ADD, [ZERO(0), np.ones(3)]), "does not broadcast")
    refused(op("elementwise", "iX", ADD, [ZERO(0, np.uint8), 300]), "300")

    LONE = {"sum": 0, "prod": 1, "norm": 0, "any": False, "all": True, "mean": np.nan}
    for i, (name, of, result, _) in enumerate(kinds("ACU_REDUCTIONS")):
        for dtype in (np.float16, np.float32, np.float64) + ((np.int8, np.uint64, np.bool_) if name != "norm" else ()):
            function = {"norm": lambda x, axis, keepdims: np.linalg.norm(x, axis=axis, keepdims=keepdims).astype(x.dtype),
                        "min": np.min, "max": np.max}.get(name) or getattr(np, name)
            to = run(op("reduce", "ixm", i, np.ones(2, dtype), dims())).dtype
            for shape in SHAPES:
                x = ZERO(shape, dtype)
                for axis in range(x.ndim):
                    for keep in (False, True):
                        what = (name, dtype, shape, axis, keep)
                        result = [1 if d == axis else n for d, n in enumerate(shape) if keep or d != axis] or [1]
                        made = op("reduce", "ixm", i, tensor(x, LAYOUTS[axis % 4]), dims(axis, keep=keep))
                        if name in LONE or x.shape[axis] != 0:
                            same(run(made), np.full(result, LONE.get(name, 0), to), what)
                            with np.errstate(all="ignore"):
                                want = np.asarray(LONE.get(name, 0) if 0 not in result else 0)
                            if name in LONE and name != "norm" and name != "mean" and 0 not in result:
                                assert function(x, axis=axis, keepdims=keep).ravel()[0] == want, what
                        else:
                            refused(made, name + " of|no elements")
                made = op("reduce", "ixm", i, tensor(x), dims())
                if name in LONE:
                    same(run(made), np.full(1, LONE[name], to))
                else:
                    refused(made, "no elements")
            if dtype != np.bool_:
                x = np.array(5, dtype)
                for layout in (dims(), dims(keep=True)):
                    have = run(op("reduce", "ixm", i, tensor(x), layout))
                    assert have.ravel()[0] == run(op("reduce", "ixm", i, tensor(x[None]), dims()))[0], name
    into = tensor(np.full((2, 3), 5, np.float32), "gaps")
    data._sync(data.device.handle, data._into(data.term(into), op("reduce", "ixm", 0, ZERO((2, 0, 3), np.float32), dims(1)),
                                              data._SITE), None)
    same(into.array(), ZERO((2, 3), np.float32), "an empty sum overwrites")
    refused(op("reduce", "ixm", 0, SCALAR, dims(0)), "there is none")
    for root in (False, True):
        same(run(op("var", "xmdb", ZERO((3, 0)), dims(1), 0.0, root)), np.full(3, np.nan))
        same(run(op("var", "xmdb", ZERO((0, 3), np.float16), dims(1), 1.0, root)), ZERO(0, np.float16))
        same(run(op("var", "xmdb", np.array(3.0), dims(), 0.0, root)), ZERO(1))
    same(run(op("logsumexp", "xm", ZERO((3, 0), np.float16), dims(1))), np.full(3, -np.inf, np.float16))
    same(run(op("logsumexp", "xm", np.array(3.0), dims())), np.array([3.0]))
    print("elementwise, reductions")


def moving():
    """Elements in other places."""
    for shape in SHAPES:
        x = ZERO(shape, np.int16)
        t = tensor(x, "turned")
        for axis in range(x.ndim):
            grown = list(shape)
            grown[axis] = 2
            y = np.arange(math.prod(grown), dtype=np.int16).reshape(grown)
            for parts in ((x,), (x, y), (y, x), (x, x, x, x, x, y, x), (x, x)):
                if len({p.shape[:axis] + p.shape[axis + 1 :] for p in parts}) == 1:
                    same(run(op("concat", "iX", axis, parts)), np.concatenate(parts, axis), (shape, axis, len(parts)))
            same(run(op("roll", "xin", t, axis, 5)), np.roll(x, 5, axis))
            same(run(op("repeat", "xin", t, axis, 3)), np.repeat(x, 3, axis))
            same(run(op("flip", "xm", t, dims(axis))), np.flip(x, axis))
            if x.ndim < 6:
                nowhere(lambda axis=axis: op("stack", "iX", axis, (t, t)), np.stack((x, x), axis))
            for k, function in enumerate((np.cumsum, np.cumprod)):
                nowhere(lambda: op("scan", "ixi", k, t, axis), function(x, axis, dtype=np.int64))
            nowhere(lambda: op("scan", "ixi", 2, t, axis), x)
            for order in range(2):
                nowhere(lambda: op("sort", "xii", t, axis, order), x)
                nowhere(lambda: op("argsort", "xii", t, axis, order), x.astype(np.int64))
                nowhere(lambda: op("sort_by", "xxii", t, tensor(x.astype(np.float64)), axis, order), x.astype(np.float64))
            values, places = run_all(op("topk", "xnii", t, 0, axis, 0), 2)
            cut = [0 if d == axis else n for d, n in enumerate(shape)]
            same(values, ZERO(cut, np.int16)), same(places, ZERO(cut, np.int64))
            if shape[axis] == 0:
                refused(op("quantile", "xdi", x.astype(np.float32), 0.5, axis), "no elements")
                refused(op("topk", "xnii", t, 1, axis, 0), "0 to 0")
            else:
                same(run(op("quantile", "xdi", x.astype(np.float32), 0.5, axis)),
                     np.median(x.astype(np.float32), axis, keepdims=True))
            same(run(op("softmax", "xib", x.astype(np.float32), axis, axis % 2 == 0)), x.astype(np.float32))
            index = ZERO(0, np.int64)
            nowhere(lambda: op("index_select", "xix", t, axis, index), np.take(x, index, axis))
            for kind in range(4):
                same(run(op("index_put", "ixixx", kind, y, axis, index, np.take(y, index, axis))), y)
            same(run(op("scatter", "ixixx", 0, x, axis, x.astype(np.int64), x)), x)
        same(run(op("flip", "xm", t, dims())), x)
        if x.ndim < 6:
            same(run(op("tile", "xs", t, (2,) * x.ndim)), np.tile(x, (2,) * x.ndim))
            one = (1,) * x.ndim
            same(run(op("pad", "xssx", t, one, one, 7)), np.pad(x, 1, constant_values=7))
            for mode in range(4):
                refused(op("pad_by", "ixss", mode, t, one, one), "no elements to go on with")
        if x.ndim >= 2:
            nowhere(lambda: op("triangle", "xbn", t, True, 0), np.triu(x))
        counted(op("masked_select", "xx", t, np.ones(shape, bool)), ZERO(0, np.int16))
        counted(op("nonzero", "x", t), np.argwhere(x))
        counted(op("unique", "x", t), np.unique(x))
        same(run(op("bincount", "xn", t, 3)), np.bincount(x.ravel(), minlength=3))
        same(run(op("histogram_by", "xx", t, np.array([0, 1, 2], np.int16))), ZERO(2, np.int64))
        same(run(op("histogram_even", "xndd", x.astype(np.float32), 3, 0.0, 1.0)), ZERO(3, np.int64))
        nowhere(lambda: op("searchsorted", "xxb", np.arange(4, dtype=np.int16), t, False), x.astype(np.int64))
        same(run(op("reduce_by_key", "ixxn", 1, t, x.astype(np.int64), 3)), ZERO(3, np.int16))
        same(run(op("reduce_by_key", "ixxn", 1, t, x.astype(np.int64), 5000)), ZERO(5000, np.int16))
    x = np.arange(6.0).reshape(2, 3)
    same(run(op("tile", "xs", x, (0, 2))), np.tile(x, (0, 2)))
    same(run(op("tile", "xs", x, ())), np.tile(x, ()))
    same(run(op("repeat", "xin", x, 1, 0)), np.repeat(x, 0, 1))
    same(run(op("pad", "xssx", SCALAR, (), (), 7)), np.float32(7))
    same(run(op("stack", "iX", 0, (SCALAR, SCALAR))), np.full(2, 7, np.float32))
    same(run(op("tile", "xs", SCALAR, (3,))), np.full(3, 7, np.float32))
    refused(op("concat", "iX", 0, (SCALAR, SCALAR)), "there is none")
    same(run(op("gather", "xix", ZERO((0, 3)), 0, ZERO((2, 3), np.int64))), ZERO((2, 3)), "out of range: 0")
    nowhere(lambda: op("gather", "xix", x, 1, ZERO((2, 0), np.int64)), np.take_along_axis(x, ZERO((2, 0), np.int64), 1))
    same(run(op("scatter", "ixixx", 1, x, 1, ZERO((2, 0), np.int64), ZERO((2, 0)))), x)
    same(run(op("searchsorted", "xxb", ZERO(0), np.array(2.0), True)), np.int64(0))
    same(run(op("searchsorted", "xxb", np.arange(4.0), np.array(2.0), True)), np.int64(3))
    same(run(op("reduce_segments", "ixx", 1, ZERO(0), ZERO(4, np.int64))), ZERO(3))
    for n in (0, 5):  # no segments
        same(run(op("reduce_segments", "ixx", 1, ZERO(n), ZERO(1, np.int64))), ZERO(0))
    for name in ("sort_segments", "argsort_segments"):
        same(run(op(name, "xxi", ZERO(0), np.array([0, 0]), 0)), ZERO(0, np.int64 if "arg" in name else np.float64))
    have, count = run_all(op("nonzero", "x", SCALAR), 2)
    same(have, np.argwhere(np.float32(7))), same(count, np.array([1]))
    have, count = run_all(op("unique", "x", SCALAR), 2)
    same(have, np.array([7], np.float32)), same(count, np.array([1]))
    have, count = run_all(op("masked_select", "xx", SCALAR, np.array(True)), 2)
    same(have, np.array([7], np.float32)), same(count, np.array([1]))
    same(run(op("bincount", "xn", np.array(2), 3)), np.array([0, 0, 1]))
    parts = (ctypes.c_void_p * 3)()
    declared = data.declare(None, "acu_op_split", ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int64),
                            ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, data.Site)
    for sizes in (None, (ctypes.c_int64 * 3)(0, 0, 0)):
        declared(data.term(ZERO((0, 2))), 0, sizes, parts, 3, data._SITE)
        for part in parts:
            same(run(part), ZERO((0, 2)))
    for name, types, more in (("sort", "xii", (0, 0)), ("argsort", "xii", (0, 0)), ("softmax", "xib", (0, False)),
                              ("topk", "xnii", (1, 0, 0)), ("quantile", "xdi", (0.5, 0)), ("roll", "xin", (0, 1)),
                              ("repeat", "xin", (0, 2)), ("index_select", "xix", (0, np.array([0])))):
        refused(op(name, types, SCALAR, *more), "there is none")
    refused(op("scan", "ixi", 0, SCALAR, 0), "there is none")
    print("elements in other places")


def multiplying():
    """Products, layers, windows, transforms."""
    for dtype in (np.float32, np.float64, np.float16, np.int32):
        for a, b in (((0, 4), (4, 3)), ((2, 4), (4, 0)), ((2, 0), (0, 3)), ((5, 2, 0), (5, 0, 3)), ((0, 2, 4), (4, 3)), ((0,), (0,)),
                     ((0,), (0, 3)), ((3, 0), (0,)), ((128, 0), (0, 128)), ((0, 2, 4), (1, 4, 3))):
            want = np.atleast_1d(np.matmul(np.ones(a, dtype), np.ones(b, dtype)))
            same(run(op("matmul", "xx", np.ones(a, dtype), np.ones(b, dtype))), want, (a, b))
            same(run_into(op("matmul", "xx", np.ones(a, dtype), np.ones(b, dtype)), want, "gaps"), want, (a, b))
    refused(op("matmul", "xx", SCALAR, np.ones(3, np.float32)), "matrices and vectors")
    refused(op("matmul", "xx", np.ones((2, 0), np.float32), np.ones((3, 4), np.float32)), "last dimension")
    for text, shapes in (("ij,jk->ik", ((2, 0), (0, 3))), ("ij,jk->ik", ((0, 2), (2, 3))), ("ij->i", ((2, 0),)), ("ij->j", ((2, 0),)),
                         ("ij->", ((2, 0),)), ("bij,bjk->bik", ((0, 2, 2), (0, 2, 2))), (",i->i", ((), (3,))), ("i,i->", ((0,), (0,))),
                         (",->", ((), ())), ("ij->ji", ((0, 2),))):
        arrays = [np.ones(s) for s in shapes]
        same(run(op("einsum", "pX", text.encode(), arrays)), np.atleast_1d(np.einsum(text, *arrays)), text)
    for shape in ((0, 4), (4, 0), (0,), (2, 0, 8)):
        x, w = ZERO(shape, np.float32), np.ones(shape[-1], np.float32)
        nowhere(lambda: op("layer_norm", "xxxd", x, w, w, 1e-5), x)
        nowhere(lambda: op("rms_norm", "xxd", x, 1, 1e-5), x)
        nowhere(lambda: op("rotary", "xxx", x, ZERO(shape[:-1] + (shape[-1] // 2,), np.float32),
                           ZERO(shape[:-1] + (shape[-1] // 2,), np.float32)), x)
    for name, types, more in (("layer_norm", "xxxd", (1, 0, 1e-5)), ("rms_norm", "xxd", (1, 1e-5)), ("rotary", "xxx", (SCALAR, SCALAR))):
        refused(op(name, types, SCALAR, *more), "there is none|" if name != "rotary" else "even")
    for shape in ((0, 3), (2, 0), (2, 3, 0)):
        x, c = ZERO(shape, np.float32), np.ones(shape[1], np.float32)
        nowhere(lambda: op("batch_norm", "xxxxxd", x, c, c, c, c, 1e-5), x)
    nowhere(lambda: op("cross_entropy", "xx", ZERO((0, 5), np.float32), ZERO(0, np.int64)), ZERO(0, np.float32))
    refused(op("cross_entropy", "xx", ZERO((2, 0), np.float32), ZERO(2, np.int64)), "no classes")
    x, w = ZERO((0, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)
    nowhere(lambda: op("conv", "xxxp", x, w, 0, options()), ZERO((0, 4, 6, 6), np.float32))
    same(run(op("conv", "xxxp", np.ones((1, 0, 8), np.float32), np.ones((2, 0, 3), np.float32), np.array([1, 2], np.float32), options())),
         np.repeat([[[1], [2]]], 6, 2).astype(np.float32), "no channels: the bias")
    nowhere(lambda: op("conv", "xxxp", np.ones((1, 3, 8), np.float32), np.ones((0, 3, 3), np.float32), 0, options()),
            ZERO((1, 0, 6), np.float32))
    refused(op("conv", "xxxp", ZERO((1, 3, 0), np.float32), np.ones((4, 3, 1), np.float32), 0, options()), "no elements")
    nowhere(lambda: op("pool", "ixsp", 0, x, (2, 2), options()), ZERO((0, 3, 4, 4), np.float32))
    refused(op("pool", "ixsp", 0, ZERO((1, 1, 0), np.float32), (2,), options(padding=(1,))), "no elements")
    nowhere(lambda: op("interpolate", "ixs", 1, x, (4, 4)), ZERO((0, 3, 4, 4), np.float32))
    refused(op("interpolate", "ixs", 1, ZERO((1, 1, 0), np.float32), (4,)), "from 1 to")
    q, none = np.ones((1, 2, 3, 8), np.float32), ZERO((1, 2, 0, 8), np.float32)
    same(run(op("attention", "xxxp", q, none, none, None)), ZERO(q.shape, np.float32), "a query sees no key")
    same(run(op("attention", "xxxp", q.astype(np.float16), none.astype(np.float16), none.astype(np.float16), None)), ZERO(q.shape, np.float16))
    nowhere(lambda: op("attention", "xxxp", none, q, q, None), none)
    nowhere(lambda: op("attention", "xxxp", ZERO((0, 2, 3, 8), np.float32), ZERO((0, 2, 3, 8), np.float32),
                       ZERO((0, 2, 3, 8), np.float32), None), ZERO((0, 2, 3, 8), np.float32))
    same(run(op("fft", "xii", ZERO((0, 8), np.complex64), 1, 0)), ZERO((0, 8), np.complex64))
    for layout in LAYOUTS: # without elements all are dense
        same(run(op("rfft", "xi", tensor(ZERO((0, 8), np.float32), layout), 1)), ZERO((0, 5), np.complex64))
    same(run(op("irfft", "xin", ZERO((0, 5), np.complex64), 1, 8)), ZERO((0, 8), np.float32))
    refused(op("rfft", "xi", ZERO((2, 0), np.float32), 1), "no numbers")
    refused(op("rfft", "xi", SCALAR, 1), "too few")
    if has_compiler():
        expressions()
    print("products, layers, windows, transforms")


def expressions():
    """Kernels that are compiled at run time."""
    expression = ctypes.c_void_p()
    data.acuda._check(data.declare(ctypes.c_int, "acu_expression_create", ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))(
        b"2 * a + b", ctypes.byref(expression)))
    for shape in SHAPES:
        nowhere(lambda: op("fused", "pX", expression, (ZERO(shape, np.float32), ZERO(shape, np.float32))), ZERO(shape, np.float32))
    same(run(op("fused", "pX", expression, (SCALAR, SCALAR))), np.float32(21))
    for exclusive in (False, True):
        for shape in SHAPES:
            nowhere(lambda: op("scan_by", "pxixb", expression, ZERO(shape, np.float32), 0, 0, exclusive), ZERO(shape, np.float32))
        refused(op("scan_by", "pxixb", expression, SCALAR, 0, 0, exclusive), "there is none")
    data.declare(None, "acu_expression_release", ctypes.c_void_p)(expression)


for check in (making, computing, moving, multiplying):
    check()

# ---- are these all? -----------------------------------------------------------------------------------------

HEADERS = "ops arrange index scan sort select statistics layers convolution attention einsum distributions fft".split()
public = set()
for header in HEADERS:
    public |= set(re.findall(r"ACU_API acu_op \*acu_op_(\w+)\(", open(f"include/acuda/{header}.h", encoding="utf-8").read()))
elsewhere = {"number_f64", "number_i64", "number_u64", "number_c128"} | (set() if has_compiler() else {"fused", "scan_by"})
missing = public - {name for name, _ in data._known} - elsewhere
assert not missing, missing

# And is each of them in the table of what others call it?
table = open("docs/operations.md", encoding="utf-8").read().split("## What others call them")[1].split("\n## ")[0]
for header in HEADERS:
    for name in re.findall(r"#define (acu_\w+)\(", open(f"include/acuda/{header}.h", encoding="utf-8").read()):
        assert f"`{name}`" in table or f"`{name}(" in table, (header, name)
close()
