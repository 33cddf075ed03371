# SPDX-License-Identifier: MIT OR Apache-2.0
"""c64 and c128 beside NumPy: elementwise operations, conversion, numbers, and what is refused."""
import warnings

import numpy as np

import data
from data import _SITE, ALL, COMPLEX, LAYOUTS, OF_NUMPY, ACU_DTYPES, close, dims, generator, numbers, op, refused, run
from data import run_all, run_into, same, tensor, term

warnings.simplefilter("ignore")
KINDS = {name: i for i, name in enumerate(
    "identity neg abs sign square relu floor ceil trunc round sqrt rsqrt reciprocal exp log sin cos tanh sigmoid gelu "
    "silu erf invert not is_nan is_finite add sub mul div mod min max pow eq ne lt le gt ge and or xor bit_and bit_or "
    "bit_xor shift_left shift_right where clamp fma conj real imag angle complex".split())}
_matmul = data.declare(data.c_void_p, "acu_op_matmul", data.c_void_p, data.c_void_p, data.Site)
PART = {"complex64": "float32", "complex128": "float64"}


def elementwise(name, *operands):
    return op("elementwise", "iX", KINDS[name], operands)


def complexes(dtype, shape, size=3.0):
    x = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    return (x * size).astype(dtype)


def near(have, want, ulps, what):
    """c64: each part within an ulp, but for what double loses; c128: within so many ulps of the number's size."""
    assert have.shape == want.shape, (what, have.shape, want.shape)
    narrow = have.dtype in (np.float32, np.complex64)
    eps = 2.0**-24 if narrow else 2.0**-53
    for part in (np.real, np.imag):
        h, w = part(have).astype(np.longdouble), part(want)
        bound = 1.01 * eps * abs(w) + 2.0**-40 * abs(want) + 2.0**-149 if narrow else ulps * eps * abs(want)
        wrong = ~(abs(h - w) <= bound + 5e-324) & ~((abs(w) > (3.4e38 if narrow else 1.79e308)) & np.isinf(h))
        assert not wrong.any(), (what, have[wrong][:3], want[wrong][:3])


def sign(z):
    size = abs(z)
    return np.where(size == 0, z, z / size)


EXACT = {"identity": lambda z: z, "neg": lambda z: -z, "not": lambda z: z == 0, "is_nan": np.isnan,
         "is_finite": np.isfinite, "conj": np.conj, "real": np.real, "imag": np.imag}
NEAR = {"abs": (np.abs, 2), "sign": (sign, 4), "square": (lambda z: z * z, 3), "sqrt": (np.sqrt, 4),
        "rsqrt": (lambda z: 1 / np.sqrt(z), 8), "reciprocal": (lambda z: 1 / z, 6), "exp": (np.exp, 6),
        "log": (np.log, 6), "sin": (np.sin, 8), "cos": (np.cos, 8), "tanh": (np.tanh, 10), "angle": (np.angle, 4)}
NEAR_TWO = {"add": (np.add, 2), "sub": (np.subtract, 2), "mul": (np.multiply, 3), "div": (np.divide, 8)}
EXACT_TWO = {"eq": np.equal, "ne": np.not_equal, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}

for dtype in COMPLEX:
    for size in (3.0, 0.01, 50.0, 1e-5):
        z, w = complexes(dtype, (7, 300), size), complexes(dtype, (7, 300), size)
        z[0, :5] = 0
        w[0, 3:6] = z[0, 3:6]
        for layout in LAYOUTS:
            x = tensor(z, layout)
            for name, f in EXACT.items():
                same(run(elementwise(name, x)), f(z), (name, dtype, layout))
            for name, f in EXACT_TWO.items():
                same(run(elementwise(name, x, w)), f(z, w), (name, dtype, layout))
        wide, other = z[:, 5:].astype(np.clongdouble), w[:, 5:].astype(np.clongdouble)
        for name, (f, ulps) in NEAR.items():
            near(run(elementwise(name, z[:, 5:])), f(wide), ulps, (name, dtype, size))
        for name, (f, ulps) in NEAR_TWO.items():
            near(run(elementwise(name, z[:, 5:], w[:, 5:])), f(wide, other), ulps, (name, dtype, size))
    for exponent in (0, 1, 2, -3, 17):
        wide = complexes(dtype, (50,))
        near(run(elementwise("pow", wide, exponent)), wide.astype(np.clongdouble) ** exponent, 90, ("pow", exponent))
    z, w = complexes(dtype, (200,)), complexes(dtype, (200,), 1.0)
    near(run(elementwise("pow", z, w)), np.exp(w.astype(np.clongdouble) * np.log(z.astype(np.clongdouble))), 60, "pow")
    on_circle = np.exp(1j * np.linspace(-3.1, 3.1, 500)).astype(dtype)
    want = np.log(on_circle.astype(np.clongdouble))
    have = run(elementwise("log", on_circle))
    assert abs(have.real - want.real).max() < (1e-13 if dtype == "complex64" else 1e-31), "log near the circle"
    z = complexes(dtype, (3, 1, 5))
    for out in LAYOUTS:
        same(run_into(elementwise("add", z, z[0]), z, out), z + z[0], ("into", out))
        same(run_into(elementwise("abs", z), z.real, out), run(elementwise("abs", z)), ("into", out))
    same(run(elementwise("mul", complexes(dtype, (4,)) * 0 + 1, 2 + 3j)), np.full(4, 2 + 3j, dtype))
    same(run(elementwise("sub", 1j, np.ones((2, 2), dtype))), np.full((2, 2), -1 + 1j, dtype))
    product = run(elementwise("mul", z, np.conj(z)))
    assert not product.imag.any(), "z times its conjugate"
print("elementwise")

V = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)
z = np.array([complex(a, b) for a in V for b in V])
for name in ("sqrt", "exp", "log", "sin", "cos", "tanh"):
    have, want = run(elementwise(name, z)), NEAR[name][0](z)
    for part in (np.real, np.imag):
        for i in range(len(z)):
            h, w = part(have[i]), part(want[i])
            assert np.isnan(h) == np.isnan(w) and np.isinf(h) == np.isinf(w), (name, z[i], have[i], want[i])
            if np.isnan(z[i]) or np.isnan(have[i]): # the sign beside NaN is not specified
                continue
            if name == "sqrt" or not (np.isinf(z[i].real) and np.isinf(z[i].imag)):
                assert np.isclose(h, w) and np.signbit(h) == np.signbit(w), (name, z[i], have[i], want[i])
for name in ("add", "sub", "mul", "eq", "ne"):
    have = run(elementwise(name, z[:, None], z[None, :]))
    f = {**{k: f for k, (f, _) in NEAR_TWO.items()}, **EXACT_TWO}[name]
    same(have, f(z[:, None], z[None, :]), name)
large = np.array([1e308 + 1e308j, 1e-310 + 1e-310j, 1e308j, 5e-324])
near(run(elementwise("sqrt", large)), np.sqrt(large.astype(np.clongdouble)), 4, "sqrt of much")
near(run(elementwise("log", large)), np.log(large.astype(np.clongdouble)), 4, "log of much")
near(run(elementwise("div", large[:1], large[:1])), np.ones(1), 4, "div of much")
near(run(elementwise("abs", large)), abs(large), 4, "abs of much")
near(run(elementwise("exp", np.array([709.9 + 1.5j, 710 + 1.57j]))),
     np.exp(np.array([709.9 + 1.5j, 710 + 1.57j]).astype(np.clongdouble)), 8, "exp of much")
near(run(elementwise("cos", np.array([1.5 + 710.2j]))), np.cos(np.array([1.5 + 710.2j]).astype(np.clongdouble)), 8, "cos")
print("infinite, NaN, large")

for part, whole in (("float32", "complex64"), ("float64", "complex128")):
    a, b = generator.standard_normal((2, 3, 4)).astype(part)
    same(run(elementwise("complex", a, b)), (a + 1j * b).astype(whole))
    same(run(elementwise("complex", a, 2)), (a + 2j).astype(whole))
    same(run(elementwise("complex", tensor(a, "turned"), tensor(b, "gaps"))), (a + 1j * b).astype(whole))
for to in COMPLEX:
    for of in ALL + COMPLEX:
        x = (np.arange(24).reshape(2, 3, 4) % 7 - (0 if of[0] in "ub" else 3)).astype(of)
        if of in COMPLEX:
            x = (x * (1 + 0.1j)).astype(of)
        for layout in LAYOUTS:
            same(run(op("convert", "xi", tensor(x, layout), ACU_DTYPES.index(OF_NUMPY[to]))), x.astype(to), (of, to))
            same(run_into(op("convert", "xi", x, ACU_DTYPES.index(OF_NUMPY[to])), x.astype(to), layout), x.astype(to))
big = np.array([2**63 - 1, -(2**63) + 1, 2**53 + 1])
same(run(op("convert", "xi", big, ACU_DTYPES.index("c128"))), big.astype("complex128"))
condition = generator.random((5, 4)) < 0.5
for dtype in COMPLEX:
    a, b = complexes(dtype, (5, 4)), complexes(dtype, (4,))
    same(run(elementwise("where", condition, a, b)), np.where(condition, a, b))
    same(run(elementwise("where", condition, 1 - 2j, tensor(a, "gaps"))), np.where(condition, np.array(1 - 2j, dtype), a))
    same(run(op("pad", "xssx", a, (1, 2), (3, 4), 5 - 1j)), np.pad(a, ((1, 3), (2, 4)), constant_values=5 - 1j))
    same(run(op("pad", "xssx", a, (1, 2), (3, 4), 0)), np.pad(a, ((1, 3), (2, 4))))
    code = ACU_DTYPES.index(OF_NUMPY[dtype])
    same(run(op("arange", "iddd", code, 1.0, 4.0, 0.25)), np.arange(1, 4, 0.25, dtype))
    same(run(op("linspace", "iddn", code, 0.0, 8.0, 17)), np.linspace(0, 8, 17, dtype=dtype))
    same(run(op("eye", "innn", code, 3, 4, 1)), np.eye(3, 4, 1, dtype=dtype))
    same(run(op("zeros", "is", code, (3, 4))), np.zeros((3, 4), dtype))
    same(run(op("ones", "is", code, (3, 4))), np.ones((3, 4), dtype))
print("parts, conversion, where, pad")

REDUCE = {name: i for i, name in enumerate("sum prod mean norm min max any all argmin argmax".split())}
OF = {"sum": np.sum, "mean": np.mean, "any": np.any, "all": np.all,
      "norm": lambda x, axis: np.sqrt(np.sum(abs(x.astype(np.clongdouble)) ** 2, axis))}
for dtype in COMPLEX:
    for k, (shape, axes) in enumerate((((5,), (0,)), ((100000,), (0,)), ((3, 40, 7), (1,)), ((70000, 3), (0,)),
                                       ((500, 90), (0,)), ((3, 5000), (1,)), ((2, 3, 4, 5, 2, 2), (0, 3, 5)), ((9, 9), (0, 1)))):
        z = numbers(dtype, shape)
        for name, f in OF.items():
            layout = LAYOUTS[k % 4]
            want = np.atleast_1d(f(z.astype(np.complex128), axes))
            have = run(op("reduce", "ixm", REDUCE[name], tensor(z, layout), dims(*axes)))
            if name in ("any", "all"):
                same(have, want, (name, shape))
            else:
                assert have.dtype == (PART[dtype] if name == "norm" else dtype)
                near(have, want.astype(np.clongdouble), 1000, (name, shape))
        product = np.exp(1j * generator.standard_normal(shape)).astype(dtype)
        want = np.atleast_1d(np.prod(product.astype(np.clongdouble), axes))
        have = run(op("reduce", "ixm", REDUCE["prod"], tensor(product, layout), dims(*axes)))
        assert abs(have - want).max() < (1e-7 if dtype == "complex64" else 1e-10), (shape, abs(have - want).max())
    z[0, 0] = np.nan
    assert np.isnan(run(op("reduce", "ixm", REDUCE["sum"], z, dims()))[0])
    kept = run_into(op("reduce", "ixm", REDUCE["sum"], tensor(z[1:], "turned"), dims(1, keep=True)), z[1:, :1], "gaps")
    same(kept, z[1:].sum(1, keepdims=True))
print("reductions")

for dtype in COMPLEX:
    for k, shape in enumerate(((1,), (9,), (40000,), (3, 70), (3, 5, 4), (300, 260), (2, 2, 2, 3, 2, 2))):
        for axis in {0, -1}:
            z = numbers(dtype, shape)
            for layout in LAYOUTS if z.size < 1000 else LAYOUTS[k % 4:][:1]:
                same(run(op("scan", "ixi", 0, tensor(z, layout), axis)), np.cumsum(z.astype("complex128"), axis).astype(dtype))
                turn = np.exp(1j * z / 10).astype(dtype)
                turn /= abs(turn)
                have = run(op("scan", "ixi", 1, tensor(turn, layout), axis))
                want = np.cumprod(turn.astype(np.clongdouble), axis)
                assert abs(have / want - 1).max() < (2e-7 if dtype == "complex64" else 1e-10), (shape, axis)
            same(run_into(op("scan", "ixi", 0, z, axis), z, "gaps"), np.cumsum(z.astype("complex128"), axis).astype(dtype))
    z = numbers(dtype, (6, 5, 4))
    index = np.array([0, -1, 3, 3, 2])
    same(run(op("index_select", "xix", tensor(z, "turned"), 0, index)), z[index])
    at = generator.integers(0, 5, (6, 3, 4))
    same(run(op("gather", "xix", z, 1, at)), np.take_along_axis(z, at, 1))
    for axis in (0, 1, 2):
        for count in (4, 300):
            own = list(z.shape)
            own[axis] = count
            index, source = generator.integers(0, z.shape[axis], count), numbers(dtype, own)
            want = np.moveaxis(z.astype("complex128"), axis, 0).copy()
            np.add.at(want, index, np.moveaxis(source, axis, 0))
            want = np.moveaxis(want, 0, axis).astype(dtype)
            layout = LAYOUTS[(axis + count) % 4]
            same(run(op("index_put", "ixixx", 1, tensor(z, layout), axis, index, tensor(source, layout))), want)
            whole = np.broadcast_to(index.reshape([-1 if d == axis else 1 for d in range(3)]), own).copy()
            same(run(op("scatter", "ixixx", 1, z, axis, whole, source)), want)
            same(run_into(op("scatter", "ixixx", 1, z, axis, whole, source), want, layout), want)
            last = z.copy()
            for i, to in enumerate(index):
                last[(slice(None),) * axis + (to,)] = source[(slice(None),) * axis + (i,)]
            same(run(op("index_put", "ixixx", 0, z, axis, index, source)), last)
    one = numbers(dtype, (3000,))
    same(run(op("index_put", "ixixx", 1, np.zeros(2, dtype), 0, np.arange(3000) % 2, one)),
         np.array([one[::2].sum(), one[1::2].sum()]))
    mask = z.real > 0
    have, count = run_all(op("masked_select", "xx", tensor(z, "turned"), mask), 2)
    same(have[:count[0]], z[mask])
    keys = generator.permutation(40).astype(np.int32)
    same(run(op("sort_by", "xxii", keys, one[:40], 0, 0)), one[:40][np.argsort(keys)])
print("running sums, gather, scatter, masked_select, sort_by")

for dtype in COMPLEX:
    for m, k, n in ((1, 1, 1), (5, 7, 3), (70, 33, 90), (130, 40, 129), (1, 100, 5)):
        for layout in LAYOUTS:
            a, b = numbers(dtype, (m, k)), numbers(dtype, (k, n))
            same(run(op("matmul", "xx", tensor(a, layout), tensor(b, layout))), (a.astype("c16") @ b).astype(dtype))
    a, b = numbers(dtype, (3, 1, 4, 6)), numbers(dtype, (2, 6, 5))
    same(run_into(op("matmul", "xx", a, b), a @ b, "turned"), a @ b)
    v, w = numbers(dtype, (50,)), numbers(dtype, (50,))
    same(run(op("matmul", "xx", v, w)), np.atleast_1d(v.astype("c16") @ w).astype(dtype))
    conjugate = op("elementwise", "iX", KINDS["conj"], (v,))
    same(run(_matmul(conjugate, term(w), _SITE)), np.atleast_1d(np.vdot(v.astype("c16"), w)).astype(dtype))
print("matmul, vdot")

for dtype in COMPLEX:
    none, number = np.zeros((3, 0), dtype), np.array(2 - 1j, dtype)
    for name in ("neg", "abs", "exp"):
        same(run(elementwise(name, none)), abs(none) if name == "abs" else none)
    same(run(elementwise("mul", number, number)), number * number)
    for name, want in (("sum", 0), ("prod", 1), ("mean", np.nan + 1j * np.nan)):
        same(run(op("reduce", "ixm", REDUCE[name], none, dims(1))), np.full(3, want, dtype))
        same(run(op("reduce", "ixm", REDUCE[name], number, dims())), np.atleast_1d(number))
    same(run(op("reduce", "ixm", REDUCE["norm"], none, dims(1))), np.zeros(3, PART[dtype]))
    for kind in (0, 1):
        same(run(op("scan", "ixi", kind, none, 1)), none)
    same(run(op("matmul", "xx", none, np.zeros((0, 4), dtype))), np.zeros((3, 4), dtype))
    same(run(op("convert", "xi", np.zeros((0, 2), np.int8), ACU_DTYPES.index(OF_NUMPY[dtype]))), np.zeros((0, 2), dtype))
    same(run(op("index_put", "ixixx", 1, np.ones((2, 2), dtype), 0, np.zeros(0, int), np.zeros((0, 2), dtype))),
         np.ones((2, 2), dtype))
print("none, and single numbers")

z = complexes("complex64", (3,))
refused(elementwise("lt", z, z), "lt takes numbers and bool|operand 0 is c64 [3]|no order")
refused(elementwise("max", z, 1), "no order")
refused(elementwise("clamp", z, 1, 2), "no order")
refused(elementwise("floor", z), "floor takes floating point")
refused(elementwise("conj", z.real), "conj takes complex numbers|f32 [3]")
refused(elementwise("complex", z, z), "complex takes f32 or f64|c64")
refused(elementwise("complex", z.real, 2j), "a complex number can not be one of f64")
refused(elementwise("add", z.real, 2j), "a complex number can not be one of f32")
refused(elementwise("add", z, z.astype("complex128")), "c128|c64|acu_convert")
refused(op("convert", "xi", z, ACU_DTYPES.index("f32")), "c64 [3]|f32|acu_real")
refused(op("convert", "xi", z, ACU_DTYPES.index("bool")), "acu_ne")
refused(op("pad", "xssx", z.real, (1,), (1,), 2j), "complex number")
refused(op("reduce", "ixm", REDUCE["max"], z, dims()), "max takes numbers that have an order|c64 [3]")
refused(op("reduce", "ixm", REDUCE["argmin"], z, dims()), "an order")
refused(op("scan", "ixi", 2, z, 0), "cummax of c64 [3]|no order")
refused(op("index_put", "ixixx", 2, z, 0, np.arange(3), z), "no order")
refused(op("sort", "xii", z, 0, 0), "c64")
refused(op("matmul", "xx", z, z.real), "c64, c128")
refused(op("nonzero", "x", z), "c64")
refused(op("rand", "isun", ACU_DTYPES.index("c64"), (3,), 1, 0), "c64")
refused(op("softmax", "xib", z, 0, False), "c64")
print("refused")
close()
