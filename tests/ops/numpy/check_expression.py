# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expressions of complex numbers beside NumPy: functions, operators, what is real among it, layouts, scans, and what
is refused. Each expression is compiled, so many functions are in one, of which a number picks one."""
import ctypes
import sys
import warnings

import numpy as np

import data
from data import COMPLEX, LAYOUTS, close, declare, generator, op, refused, run, run_into, same, tensor

warnings.simplefilter("ignore")
create = declare(ctypes.c_int, "acu_expression_create", ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
release = declare(None, "acu_expression_release", ctypes.c_void_p)
PART = {"complex64": "float32", "complex128": "float64"}
kept = []


def expression(text):
    made = ctypes.c_void_p()
    data.acuda._check(create(text.encode(), ctypes.byref(made)))
    kept.append(made)
    return made


def fused(made, *operands):
    return op("fused", "pX", made, operands)


def picked(texts):
    """k == 0 ? the first : k == 1 ? the second ..."""
    return expression(" : ".join(f"k == {i} ? {text}" for i, text in enumerate(texts)) + " : " + texts[0])


def complexes(dtype, shape, size=1.0):
    return np.array((generator.standard_normal(shape) + 1j * generator.standard_normal(shape)) * size, dtype)


def near(have, want, dtype, what, ulps=90):
    """Each part, to an ulp of c64, and of c128 to so many of the number's size."""
    assert have.dtype == dtype and have.shape == want.shape, (what, have.dtype, have.shape)
    narrow = have.dtype in (np.float32, np.complex64)
    for part in (np.real, np.imag):
        h, w = part(have).astype(np.longdouble), part(want)
        bound = 1.01 * 2.0**-24 * abs(w) + 2.0**-40 * abs(want) if narrow else ulps * 2.0**-53 * abs(want)
        wrong = ~(abs(h - w) <= bound)
        assert not wrong.any(), (what, h[wrong][:3], w[wrong][:3])


if not data.has_compiler():
    print("expressions need a compiler: skipped")
    close()
    sys.exit(0)

ALIKE = {"z": lambda z, w: z, "-z": lambda z, w: -z, "+z - -w": lambda z, w: z + w, "z * w - 2": lambda z, w: z * w - 2,
         "z / w": lambda z, w: z / w, "conj(z)": lambda z, w: np.conj(z), "square(z)": lambda z, w: z * z,
         "sqrt(z)": lambda z, w: np.sqrt(z), "rsqrt(z)": lambda z, w: 1 / np.sqrt(z),
         "reciprocal(z)": lambda z, w: 1 / z, "exp(z)": lambda z, w: np.exp(z), "log(z)": lambda z, w: np.log(z),
         "sin(z)": lambda z, w: np.sin(z), "cos(z)": lambda z, w: np.cos(z), "tanh(z)": lambda z, w: np.tanh(z),
         "pow(z, 3)": lambda z, w: z**3, "pow(z, w)": lambda z, w: np.exp(w * np.log(z)),
         "sign(z)": lambda z, w: z / abs(z), "complex(real(z), -imag(w))": lambda z, w: z.real - 1j * w.imag,
         "where(real(z) > 0, w, 1.5)": lambda z, w: np.where(z.real > 0, w, 1.5),
         "z != w ? 2 * z : abs(z)": lambda z, w: np.where(z != w, 2 * z, abs(z))}
REAL = {"abs(z)": lambda z, w: abs(z), "angle(z)": lambda z, w: np.angle(z), "real(z)": lambda z, w: z.real,
        "imag(z * complex(0, 3))": lambda z, w: 3 * z.real, "sqrt(real(z))": lambda z, w: np.sqrt(z.real),
        "max(abs(z), abs(w))": lambda z, w: np.maximum(abs(z), abs(w)),
        "clamp(real(z), -0.5, floor(abs(w)))": lambda z, w: np.clip(z.real, -0.5, np.floor(abs(w))),
        "clamp(real(z), real(w), 0.5)": lambda z, w: np.clip(z.real, w.real, 0.5), # the bounds in any order
        "z == w": lambda z, w: z == w, "!z": lambda z, w: z == 0, "z && w": lambda z, w: (z != 0) & (w != 0),
        "abs(z) < abs(w) || z == w": lambda z, w: (abs(z) < abs(w)) | (z == w),
        "real(conj(abs(z))) + imag(abs(z)) + angle(-abs(z))": lambda z, w: abs(z) + np.pi,
        "z ? exp(-abs(z)) : erf(real(w))": lambda z, w: np.where(z != 0, np.exp(-abs(z)), 0)}
for dtype in COMPLEX:
    for texts, result in ((ALIKE, dtype), (REAL, PART[dtype])):
        made = picked(list(texts))
        z, w = complexes(dtype, (7, 60)), complexes(dtype, (7, 60))
        if texts is REAL:
            z[0, :9] = w[0, :9] = 0
            z[1] = w[1]
        for i, (text, f) in enumerate(texts.items()):
            layout = LAYOUTS[i % 4]
            have = run(fused(made, i, tensor(z, layout), tensor(w, LAYOUTS[i // 4 % 4])))
            want = f(z.astype(np.clongdouble), w.astype(np.clongdouble))
            assert (np.isnan(have) == np.isnan(want)).all(), (dtype, text)
            near(np.where(np.isnan(want), 0, have).astype(result), np.where(np.isnan(want), 0, want), result, (dtype, text))
print("functions and operators")

z = np.array([complex(a, b) for a in (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan) for b in (0.0, -0.0, -2.5, np.inf, np.nan)])
made = expression("k * z == z * k ? exp(z) * k : exp(z)")
want = np.where(2 * z == z * 2, np.exp(z) * 2, np.exp(z))
have = run(fused(made, 2, z))
for part in (np.real, np.imag):
    h, w = part(have), part(want)
    assert ((np.isnan(h) == np.isnan(w)) | np.isnan(z)).all() and np.allclose(h[~np.isnan(h) & ~np.isnan(w)], w[~np.isnan(h) & ~np.isnan(w)])
assert not run(fused(expression("z * conj(z)"), complexes("complex64", (500,)))).imag.any(), "no contraction"
print("infinite, NaN")

# Numbers are real or complex as they are given; broadcasts, in place, large pieces, results put anywhere.
made = expression("s * z + abs(z)")
power = expression("s * (real(z) * real(z) + imag(z) * imag(z))")
for dtype in COMPLEX:
    for shape in ((9000,), (5, 1, 3), (), (0, 4)):
        z = complexes(dtype, shape)
        wide = z.astype(np.clongdouble)
        for s in (3, 2 - 1j):
            near(run(fused(made, s, z)), s * wide + abs(wide), dtype, s)
        near(run(fused(power, 0.5, z)), 0.5 * abs(wide) ** 2, PART[dtype], "power")
        near(run(fused(power, 0.5j, z)), 0.5j * abs(wide) ** 2, dtype, "power")
    z, row = complexes(dtype, (6, 1, 5)), complexes(dtype, (4, 1))
    wide = z.astype(np.clongdouble)
    for layout in LAYOUTS:
        want = row * wide + abs(wide)
        near(run_into(fused(made, tensor(row, layout), tensor(z, layout)), want.astype(dtype), layout), want, dtype, layout)
        want = 2 * abs(wide) ** 2
        near(run_into(fused(power, 2, tensor(z, layout)), want.astype(PART[dtype]), layout), want, PART[dtype], layout)
    x = tensor(z)
    data.acuda._check(data._sync(data.device.handle, data._into(data.term(x), fused(made, 2, x), data._SITE), None))
    near(x.array(), 2 * wide + abs(wide), dtype, "in place")
print("numbers, layouts, in place")

x = np.array([-2.0, -0.0, 0.0, 3.0, np.nan])
same(run(fused(expression("k == 0 ? conj(x) : k == 1 ? real(x) : k == 2 ? imag(x) : angle(x)"), 3, x)), np.angle(x))
multiply, shifted = expression("a * b"), expression("a + b - complex(0, 1)")  # neutral: 1, i
for shape, axis in (((9,), 0), ((7000,), 0), ((3, 40), 1), ((300, 5), 0), ((0, 3), 1)):
    turns, z = (1j ** generator.integers(0, 4, shape)).astype("complex64"), data.numbers("complex128", shape)
    sums = np.cumsum(z - 1j, axis) + 1j
    before = np.roll(sums, 1, axis)
    np.moveaxis(before, axis, 0)[:1] = 1j
    for layout in LAYOUTS:
        made = lambda x, what, identity, exclusive: op("scan_by", "pxixb", what, tensor(x, layout), axis, identity, exclusive)
        same(run(made(turns, multiply, 1, False)), np.cumprod(turns, axis), (shape, layout))
        same(run(made(z, shifted, 1j, False)), sums, (shape, layout))
        same(run_into(made(z, shifted, 1j, True), z, layout), before, (shape, layout))
z = complexes("complex64", (5000,))
most = run(op("scan_by", "pxixb", expression("abs(a) < abs(b) ? b : a"), z, 0, 0, False))
near(abs(most), np.maximum.accumulate(abs(z)), np.float32, "the largest so far")
print("scans")

# Integers: in 32 or 64 bits, and cut to the dtype's.
WHOLE = {"a + 03 * b - 010": lambda a, b: a + 3 * b - 10, "a * a - -b": lambda a, b: a * a + b,
         "a / b": lambda a, b: np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype)),
         "abs(a) + sign(b)": lambda a, b: abs(a) + np.sign(b), "square(a)": lambda a, b: a * a,
         "relu(a)": lambda a, b: np.maximum(a, 0), "min(a, b) * 2 + max(a, b)": lambda a, b: np.minimum(a, b) * 2 + np.maximum(a, b),
         "clamp(a, 3, b)": lambda a, b: np.minimum(np.maximum(a, 3), b), "pow(a, 3)": lambda a, b: a * a * a,
         "where(a < b, a, 7)": lambda a, b: np.where(a < b, a, 7), "a != b && !(a >= 5) || b == 2": lambda a, b: (a != b) & (a < 5) | (b == 2),
         "a > b ? a - b : b": lambda a, b: np.where(a > b, a - b, b)}
made = picked(list(WHOLE))
for n, dtype in enumerate(("uint8", "int32", "uint32", "int64")):  # each is compiled
    a, b = data.numbers(dtype, (5, 70)), data.numbers(dtype, (70,), -4, 9)
    a[0, :3] = np.iinfo(dtype).max, np.iinfo(dtype).min, np.iinfo(dtype).max
    wide = "int64" if dtype == "int64" else "uint64" if dtype == "uint64" else "uint32" if dtype == "uint32" else "int32"
    for i, (text, f) in enumerate(WHOLE.items()):
        want = f(a.astype(wide), b.astype(wide)).astype(wide).astype(dtype)
        if text == "a / b" and wide[-2:] == "64":
            want[0, :3] = run(op("elementwise", "iX", 29, (a, b)))[0, :3] # acu_div: beyond a double
        same(run(fused(made, i, tensor(a, LAYOUTS[i % 4]), tensor(b, LAYOUTS[n % 4]))), want, (dtype, text))
plus, greatest = expression("a + b"), expression("max(a, b)")
x = data.numbers("int16", (3, 5000), 0, 40)
same(run(op("scan_by", "pxixb", plus, tensor(x, "turned"), 1, 0, False)), np.cumsum(x, 1).astype("int16"))
x = data.numbers("uint64", (3, 5000), 0, 2**62)
same(run(op("scan_by", "pxixb", greatest, x, 1, 0, True)),
     np.concatenate((np.zeros((3, 1), "uint64"), np.maximum.accumulate(x, 1)[:, :-1]), 1))
print("integers")

z = complexes("complex64", (3,))
for text, words in (("1 + (z < 2)", "column 8|complex numbers have no order"), ("z >= abs(z)", "column 3|no order"),
                    ("2 * min(1, z)", "column 5|min takes real numbers, and argument 2 is complex"),
                    ("erf(exp(z))", "column 1|erf takes real numbers"), ("floor(z)", "floor takes real numbers"),
                    ("complex(1, z)", "complex takes real numbers, and argument 2 is complex")):
    refused(fused(expression(text), z), words)
refused(fused(expression("complex(x, 1)"), z.real), "complex() is for tensors of c64 and c128, and these are of f32")
refused(fused(expression("x + y"), z, z.real), "y is f32 [3]|the same dtype")
whole = np.arange(3, dtype=np.uint8)
for text, words in (("exp(x)", "column 1|exp takes no integers"), ("2 + x * 0.5", "column 9|no number with a fraction"),
                    ("x + 2147483648", "column 5|too large"), ("x + complex(1, 2)", "complex() is for tensors of c64 and c128, and these are of u8")):
    refused(fused(expression(text), whole), words)
refused(fused(expression("x + s"), whole, 300), "s: the number 300 does not fit u8")
refused(fused(expression("x + s"), whole, 2.0), "floating point, can not be one of u8")
refused(fused(expression("x + 1"), whole > 0), "x is bool")
refused(fused(expression("x + s"), z.real, 2j), "s: a complex number can not be one of f32")
refused(data._into(data.term(tensor(z)), fused(expression("abs(z)"), z), data._SITE), "the result of fused is f32 [3]")
refused(op("scan_by", "pxixb", expression("a < b ? b : a"), z, 0, 0, False), "column 3|no order")
refused(op("scan_by", "pxixb", multiply, z, 0, z, False), "identity is a number")
print("refused")
for made in kept:
    release(made)
close()
