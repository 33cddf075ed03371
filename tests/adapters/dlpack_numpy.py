# SPDX-License-Identifier: MIT OR Apache-2.0
"""NumPy's arrays in acuda, and acuda's tensors in NumPy: the same memory, and what was computed in between.
Run by test_dlpack_numpy.sh."""
import gc
import os
import sys

import numpy as np

import acuda

device = acuda.open(driver={"request": os.environ.get("ACUDA_TEST_DEVICE", "software")})


def upload(x):
    return device.run(acuda.to_device(device, x))


def to_host(x):
    return device.run(acuda.to_host(x))


def both_ways(x):
    """x, through acuda's device and back."""
    host = to_host(upload(device.take(x)))
    back = np.from_dlpack(host)
    assert back.shape == x.shape and back.dtype == x.dtype, (back.shape, back.dtype)
    np.testing.assert_array_equal(back, x)


def offers_bool():
    try:
        np.zeros(1, bool).__dlpack__()
    except BufferError:  # NumPy 1.24, which Debian 12 has
        return False
    return True


for dtype in ("bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8",
              "c16"):
    if dtype != "bool" or offers_bool():
        both_ways((np.arange(24).reshape(2, 3, 4) % 7).astype(dtype))
print("all element types go both ways")

whole = np.arange(10 * 12, dtype=np.float32).reshape(10, 12)
for view in (whole.T, whole[2:7, 3:9], whole[::2, ::3], np.broadcast_to(whole[0], (3, 12)) + 0, whole[3]):
    both_ways(view)
both_ways(np.float64(2.5).reshape(1))
print("so do views with gaps and turned ones")

for shape in ((2, 0), (0,), ()):
    there = device.take(np.full(shape, 7, np.float32))
    back = np.from_dlpack(to_host(upload(there)))
    assert back.shape == shape and (back == 7).all()
del there, back
acuda.drain()
print("and what is empty, and what has no dimensions")

x = np.ones((8, 5), np.float32)
mine = device.take(x)
assert mine.shape == (8, 5) and mine.dtype == "f32"
on_device = upload(mine).wait()
x[:] = 3  # the same memory: seen by the next copy, and not by the last one
twice = device.run(on_device + upload(mine))
result = np.from_dlpack(to_host(device.run(twice * 2.5)))
np.testing.assert_array_equal(result, np.full((8, 5), (1 + 3) * 2.5, np.float32))
print("memory is shared, and what is exported is computed")

host = to_host(twice).wait()
a, b = np.from_dlpack(host), np.from_dlpack(host)
del host  # the arrays keep it
gc.collect()
if a.flags.writeable:
    a[0, 0] = 77
    assert b[0, 0] == 77
np.testing.assert_array_equal(a[1:], np.full((7, 5), 4, np.float32))
capsule = to_host(twice).__dlpack__()
del capsule  # nobody took it
print("what is exported lives as long as its last user")

try:
    np.from_dlpack(on_device)
except (RuntimeError, BufferError) as error:
    assert "evice" in str(error), error
else:
    raise AssertionError("NumPy took memory of a device")
capsules = [on_device.__dlpack__(), on_device.__dlpack__(max_version=(1, 0))]
del on_device, capsules
acuda.drain()
print("what NumPy refuses is refused in its words")

y = np.zeros(4, np.int32)
count = sys.getrefcount(y)
held = device.take(y)
assert sys.getrefcount(y) > count
del held
gc.collect()
assert acuda.drain() >= 0 and sys.getrefcount(y) == count
print("an array is released when acuda is done with it and drained")

for wrong, words in ((whole[::-1], "negative"), (np.zeros((1,) * 7, np.float32), "7 dimensions"),
                     (np.zeros(3, np.longdouble), "128 bits")):
    try:
        device.take(wrong)
    except (acuda.Error, BufferError) as error:
        assert isinstance(error, BufferError) or words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")
print("what acuda has not is refused in words")

counts = upload(device.take(np.arange(4, dtype=np.int32)))
three = device.run(counts * 2 + np.int64(3))
np.testing.assert_array_equal(np.from_dlpack(to_host(three)), [3, 5, 7, 9])
for operand, kind in (("two", TypeError), (0.5, acuda.Error)):
    try:
        device.run(counts + operand)
    except kind:
        pass
    else:
        raise AssertionError(f"not refused: {operand}")
del counts, three
print("numbers are whole beside integers, and what is refused leaves nothing behind")

if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    fixed = np.arange(6, dtype=np.float32)
    fixed.flags.writeable = False
    tensor = device.take(fixed)
    both_ways(fixed)
    assert not np.from_dlpack(tensor).flags.writeable
    del tensor
    print("read-only arrays stay so")

del mine, twice, result, a, b
gc.collect()
device.close()
del device
assert acuda.live() == ""
print("numpy", np.__version__, "passed")
