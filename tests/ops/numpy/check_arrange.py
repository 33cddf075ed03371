# SPDX-License-Identifier: MIT OR Apache-2.0
"""concat to triu beside NumPy's functions, which have nearly the same names."""
import numpy as np

from data import ALL, COMPLEX, LAYOUTS, close, dims, numbers, op, refused, run, run_into, same, tensor

MODES = ("edge", "reflect", "symmetric", "wrap")


def both(name, types, array, want, *arguments):
    """Of every layout, and into every layout."""
    for layout in LAYOUTS:
        x = tensor(array, layout)
        same(run(op(name, types, x, *arguments)), want, (name, arguments, layout, array.shape, array.dtype))
    for layout in LAYOUTS:
        same(run_into(op(name, types, tensor(array), *arguments), want, layout), want, (name, "into", layout))


def padded(x, widths, mode):
    """np.pad; further than the tensor is long, older versions of NumPy do something else than newer ones."""
    for axis, (before, after) in enumerate(widths):
        n = x.shape[axis]
        if max(before, after) < n:
            widths_here = [(before, after) if d == axis else (0, 0) for d in range(x.ndim)]
            x = np.pad(x, widths_here, mode)
            continue
        at = np.arange(-before, n + after)
        if mode == "edge":
            at = np.clip(at, 0, n - 1)
        elif mode == "wrap":
            at = at % n
        else:
            period = max(1, 2 * n - 2 if mode == "reflect" else 2 * n)
            at = at % period
            at = np.where(at < n, at, period - at - (mode == "symmetric"))
        x = np.take(x, at, axis)
    return x


SHAPES = ((5,), (1,), (64,), (3, 4), (7, 32), (2, 1, 6), (3, 5, 16), (1, 2, 3, 2, 2, 3), (2, 9001))

for dtype in ALL + COMPLEX:
    for shape in SHAPES if dtype in ("uint8", "float32") else SHAPES[1::3]:
        x = numbers(dtype, shape)
        for axis in {0, -1}:
            for shift in (1, -16, 1000001):
                both("roll", "xin", x, np.roll(x, shift, axis), axis, shift)
            both("repeat", "xin", x, np.repeat(x, 3, axis), axis, 3)
            both("flip", "xm", x, np.flip(x, axis), dims(axis))
        both("flip", "xm", x, np.flip(x), dims())
        times = tuple(1 + (d + len(shape)) % 3 for d in range(len(shape)))
        both("tile", "xs", x, np.tile(x, times), times)
        before, after = tuple(range(len(shape))), tuple(16 if d == len(shape) - 1 else 0 for d in range(len(shape)))
        for i, mode in enumerate(MODES):
            if len(shape) < 6:
                want = padded(x, list(zip(before, after)), mode)

                for layout in LAYOUTS:
                    same(run(op("pad_by", "ixss", i, tensor(x, layout), before, after)), want, (mode, shape, layout))
        number = 1 if dtype == "bool" else 7
        both("pad", "xssx", x, np.pad(x, list(zip(before, after)), constant_values=number), before, after, number)
        if len(shape) > 1:
            for k in (0, 2, -1, 100, -100):
                both("triangle", "xbn", x, np.tril(x, k), False, k)
                both("triangle", "xbn", x, np.triu(x, k), True, k)
print("roll, repeat, flip, tile, pad, tril, triu")

x = numbers("float32", (3, 4))
same(run(op("tile", "xs", tensor(x), (2, 1, 3))), np.tile(x, (2, 1, 3)))
for dtype, width in (("float32", 256), ("int8", 1025), ("float64", 700)):  # long rows, and nearly
    long = numbers(dtype, (3, width))
    for times in ((3,), (2, 2), (2, 1, 1, 2)):
        for layout in LAYOUTS:
            same(run(op("tile", "xs", tensor(long, layout), times)), np.tile(long, times), (dtype, times, layout))
            same(run_into(op("tile", "xs", tensor(long), times), np.tile(long, times), layout), np.tile(long, times))
    for times in (2, 5, 40):
        same(run(op("repeat", "xin", tensor(long), 1, times)), np.repeat(long, times, 1), (dtype, times))
for dtype, width in (("float32", 2048), ("uint8", 8192), ("complex128", 1024)):  # whole segments of rows, not aligned
    long = numbers(dtype, (3, width))
    for shift in (1, -1024):
        want = np.roll(long, shift, 1)
        same(run_into(op("roll", "xin", tensor(long), 1, shift), want, "late"), want, (dtype, "late", shift))
    want = np.flip(long, 1)
    same(run_into(op("flip", "xm", tensor(long), dims(1)), want, "late"), want, (dtype, "flip late"))
for n, width in ((1, 5), (2, 9), (5, 23)):  # further than the tensor is long, several times over
    x = numbers("int16", (n,))
    for i, mode in enumerate(MODES):
        same(run(op("pad_by", "ixss", i, tensor(x), (width,), (3 * width,))), padded(x, [(width, 3 * width)], mode))
wide = tensor(np.arange(6, dtype=np.int64).reshape(1, 6))
same(run(op("roll", "xin", wide, 0, 5)), np.arange(6, dtype=np.int64).reshape(1, 6))
del wide
print("edges")

for dtype in ALL + COMPLEX:
    for shape in ((3, 4), (2, 5, 16), (7,)):
        for axis in {0, len(shape) - 1, -1}:
            for count in (1, 2, 3, 9):
                parts = []
                for i in range(count):
                    own = list(shape)
                    own[axis] = 1 + (i * 7 + 15) % 17
                    parts.append(numbers(dtype, own))
                want = np.concatenate(parts, axis)
                layouts = [LAYOUTS[(i + count) % 4] for i in range(count)]
                made = lambda: op("concat", "iX", axis, [tensor(p, l) for p, l in zip(parts, layouts)])
                same(run(made()), want, (dtype, shape, axis, count))
                same(run_into(made(), want, LAYOUTS[count % 4]), want)
        for axis in (0, 1, -1):
            parts = [numbers(dtype, shape) for _ in range(5)]
            same(run(op("stack", "iX", axis, [tensor(p, LAYOUTS[i % 4]) for i, p in enumerate(parts)])),
                 np.stack(parts, axis), (dtype, shape, axis))
print("concat, stack")

x, y = numbers("float32", (3, 4)), numbers("float32", (3, 5))
refused(op("concat", "iX", 0, [x, y]), "concat of f32 [3, 4]|operand 1|f32 [3, 5]|another dimension")
refused(op("concat", "iX", 2, [x, x]), "concat along dimension 2|there is none")
refused(op("concat", "iX", 0, [x, x.astype(np.int32)]), "one dtype")
refused(op("concat", "iX", 0, [x, 3]), "takes a tensor as operand 1")
refused(op("stack", "iX", 0, [x, y]), "one shape")
refused(op("stack", "iX", 0, [numbers("int8", (1,) * 6)]), "no further dimension")
refused(op("pad", "xssx", x, (1,), (1, 1), 0), "has 1 numbers")
refused(op("pad", "xssx", x, (1, -1), (1, 1), 0), "-1 along dimension 1")
refused(op("pad", "xssx", numbers("uint8", (3,)), (1,), (1,), 300), "300 does not fit u8")
refused(op("pad", "xssx", x, (1, 1), (1, 1), y), "a number to fill with")
refused(op("pad", "xssx", x, (2**60, 2**60), (2**60, 2**60), 0), "pad")
refused(op("pad_by", "ixss", 9, x, (1, 1), (1, 1)), "9 is no way to pad")
refused(op("tile", "xs", x, (-1, 2)), "-1 times along dimension 0")
refused(op("tile", "xs", x, (2**40, 2**40)), "tile")
refused(op("repeat", "xin", x, 1, -2), "-2 times along dimension 1")
refused(op("roll", "xin", x, -3, 1), "dimension -3")
refused(op("flip", "xm", x, dims(0, -2)), "named twice")
refused(op("flip", "xm", x, dims(2)), "there is none")
refused(op("triangle", "xbn", x[0], False, 0), "takes matrices")
print("refused")
close()
