# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scans by expressions, beside the same operation applied in order. Numbers are such that nothing is rounded, because
the order in which acuda combines is another one."""
import ctypes
import sys

import numpy as np

import data
from data import FLOATS, INTEGERS, LAYOUTS, close, declare, has_compiler, op, refused, run, run_into, same, tensor

create = declare(ctypes.c_int, "acu_expression_create", ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
release = declare(None, "acu_expression_release", ctypes.c_void_p)


def expression(text):
    made = ctypes.c_void_p()
    data.acuda._check(create(text.encode(), ctypes.byref(made)))
    return made


def accumulated(function, x, axis, identity, exclusive):
    x = np.moveaxis(x, axis, 0)
    out, total = np.empty_like(x), np.full(x.shape[1:], identity, x.dtype)
    for i in range(len(x)):
        before, total = total, function(total, x[i]).astype(x.dtype)
        out[i] = before if exclusive else total
    return np.moveaxis(out, 0, axis)


KINDS = ( # text, function, identity, numbers to choose from
    ("a + b", np.add, 0, (-1, 0, 1)),
    ("b * a", np.multiply, 1, (-1, 1)),
    ("max(a, b)", np.maximum, -np.inf, np.arange(-50, 50)),
    ("a != 0 && b == 0 ? a : b", lambda a, b: np.where((a != 0) & (b == 0), a, b), 0, (0, 0, 0, 0, 3, 5, -7)),
    ("b - b * a + a", lambda a, b: a + b - a * b, 0, (0, 0, 0, 0, 0, 1)),
)
SHAPES = (((1,), 0), ((33,), 0), ((2048,), 0), ((2049,), 0), ((10000,), -1), ((3, 5000), 1), ((300, 7), 0), ((2, 70, 3), 1), ((0, 3), 1),
          ((3, 0), 1))
if not has_compiler():
    print("scans by expressions need a compiler: skipped")
    close()
    sys.exit(0)
rng = np.random.default_rng(3)
for n, (text, function, identity, values) in enumerate(KINDS):
    operation = expression(text)
    for k, (shape, axis) in enumerate(SHAPES):
        for dtype in FLOATS if n == 0 else (FLOATS[n % 3],): # each is a kernel to be compiled
            if n == 0 and dtype != "float32" and k % 3:
                continue
            x = rng.choice(np.array(values), shape).astype(dtype)
            for exclusive in (False, True):
                want = accumulated(function, x, axis, identity, exclusive)
                layout = LAYOUTS[(n + k + exclusive) % 4]
                made = lambda: op("scan_by", "pxixb", operation, tensor(x, layout), axis, float(identity), exclusive)
                same(run(made()), want, (text, shape, dtype, exclusive))
                same(run_into(made(), want, LAYOUTS[k % 4]), want, (text, shape, "into"))
    release(operation)
plus = expression("a + b")
x = tensor(np.ones((4, 5000), np.float32))
data.acuda._check(data._sync(data.device.handle, data._into(data.term(x), op("scan_by", "pxixb", plus, x, 1, 0, False), data._SITE), None))
same(x.array(), np.tile(np.arange(1, 5001, dtype=np.float32), (4, 1)), "in place")
del x
print("scans by expressions")

# Integers wrap around in 32 or 64 bits, and are cut to their own.
most, last = expression("max(a, b)"), expression("a != 0 && b == 0 ? a : b")
for n, dtype in enumerate(INTEGERS):
    limits = np.iinfo(dtype)
    for k, (shape, axis) in enumerate((((2049,), 0), ((3, 5000), 1), ((300, 7), 0), ((), 0), ((4, 0), 1))):
        x = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        if shape == ():
            x = x.reshape(1)
        exclusive, layout = bool((n + k) % 2), LAYOUTS[(n + k) % 4]
        made = lambda what, start: op("scan_by", "pxixb", what, tensor(x, layout), axis, int(start), exclusive)
        same(run(made(plus, 0)), accumulated(np.add, x, axis, 0, exclusive), (dtype, shape, "sums"))
        if n % 4 == 3: # each is compiled
            same(run(made(most, limits.min)), accumulated(np.maximum, x, axis, limits.min, exclusive), (dtype, shape, "most"))
        if n % 4 == 1:
            x[rng.random(x.shape) < 0.7] = 0
            same(run_into(made(last, 0), x, LAYOUTS[k % 4]), accumulated(KINDS[3][1], x, axis, 0, exclusive), (dtype, shape, "last"))
print("integers")

one, other = expression("2 * a"), expression("x + y")
y = np.ones((3, 4), np.float32)
for wrong in (one, other):
    refused(op("scan_by", "pxixb", wrong, y, 0, 0, False), "an expression of a and b")
refused(op("scan_by", "pxixb", plus, y > 0, 0, 0, False), "takes numbers, not bool [3, 4]")
refused(op("scan_by", "pxixb", plus, y, 2, 0, False), "along dimension 2")
refused(op("scan_by", "pxixb", plus, y, 0, y, False), "identity is a number, not f32 [3, 4]")
refused(op("scan_by", "pxixb", None, y, 0, 0, False), "NULL")
whole = np.ones(4, np.uint8)
for identity, words in ((256, "the number 256 does not fit u8"), (-1, "the number -1 does not fit u8"), (1.5, "floating point")):
    refused(op("scan_by", "pxixb", plus, whole, 0, identity, False), "the identity: |" + words)
for made in (one, other, plus, most, last):
    release(made)
close()
