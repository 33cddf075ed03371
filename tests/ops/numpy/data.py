# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the scripts beside this one share: arrays to tensors of any layout, ops by ctypes, results as arrays."""
import ctypes
import os
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t
from ctypes import c_uint64, c_void_p

import numpy as np

import acuda_raw as acuda
from acuda_raw import DTYPES as ACU_DTYPES
from acuda_raw import OF_NUMPY, TO_NUMPY, Shape, Site, Tensor, shape_of

_lib = acuda._lib
_SITE = acuda._SITE
COMPLEX = ("complex64", "complex128")
ALL = tuple(d for d in OF_NUMPY if d not in COMPLEX)
INTEGERS = tuple(d for d in ALL if "int" in d)
FLOATS = ("float16", "float32", "float64")


class Dims(Structure):
    _fields_ = [("count", c_int), ("dim", c_int * 6), ("keep", c_bool)]


def declare(result, name, *arguments):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments
    return function


_sync = declare(c_int, "acu_sync", c_void_p, c_void_p, POINTER(c_void_p))
_step = declare(c_int, "acu_tensor_slice_step", c_void_p, POINTER(c_int64), POINTER(c_int64),
                POINTER(c_int64), POINTER(c_void_p))
_permute = declare(c_int, "acu_tensor_permute", c_void_p, POINTER(c_int), POINTER(c_void_p))
_value = declare(c_void_p, "acu_op_value", c_void_p, Site)
_into = declare(c_void_p, "acu_op_into", c_void_p, c_void_p, Site)
_nth = declare(c_void_p, "acu_op_nth", c_void_p, c_size_t, Site)
_submit = declare(c_int, "acu_submit", c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
_take = declare(c_int, "acu_future_take", c_void_p, c_size_t, POINTER(c_void_p))
_wait = declare(c_int, "acu_future_wait", c_void_p, c_uint64)

device = acuda.open_device(request=os.environ.get("ACUDA_TEST_DEVICE", "software").encode())


def has_compiler():
    """Whether kernels can be compiled at run time."""
    code = c_void_p()
    status = declare(c_int, "acu_compile", c_void_p, c_char_p, c_void_p, POINTER(c_void_p))(
        device.handle, b"", None, byref(code))
    declare(None, "acu_code_release", c_void_p)(code)
    return status == 0


def dims(*which, keep=False):
    return Dims(len(which), (c_int * 6)(*which), keep)


def tensor(array, layout="dense"):
    """A device tensor with the array's elements. Layouts: dense; turned (the first dimension is contiguous);
    gaps (every second element, from the second on); late (begins at the second element)."""
    array = np.asarray(array)
    view = c_void_p()
    rank = array.ndim
    if layout == "turned":
        held = np.ascontiguousarray(array.transpose())
    elif layout == "gaps":
        held = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
        held[tuple(slice(1, 2 * n, 2) for n in array.shape)] = array
    elif layout == "late":
        held = np.zeros(array.shape[:-1] + (array.shape[-1] + 1,), array.dtype)
        held[..., 1:] = array
    else:
        held = array
    whole = acuda.upload(device, held)
    if layout == "dense":
        return whole
    if layout == "turned":
        acuda._check(_permute(whole.handle, (c_int * rank)(*reversed(range(rank))), byref(view)))
    else:
        gaps = layout == "gaps"
        start = [1 if gaps or d == rank - 1 else 0 for d in range(rank)]
        end = [max(2 * n, 1) if gaps else n + s for n, s in zip(array.shape, start)]
        acuda._check(_step(whole.handle, (c_int64 * rank)(*start), (c_int64 * rank)(*end),
                           (c_int64 * rank)(*[2 if gaps else 1] * rank), byref(view)))
    return Tensor(view.value)


LAYOUTS = ("dense", "turned", "gaps", "late")


def term(x):
    """An op for an operand."""
    if isinstance(x, Tensor):
        return _value(x.handle, _SITE)
    if isinstance(x, np.ndarray):
        held = tensor(x)
        return _value(held.handle, _SITE)
    return acuda._term(x)


def terms(*operands):
    return (c_void_p * len(operands))(*[term(x) for x in operands])


_known = {}


def op(name, types, *arguments):
    """Calls acu_op_<name>. `types` has a letter for each argument: x operand, X operands and their count,
    i int, n int64, u uint64, d double, b bool, s shape, m dims,
    p pointer."""
    kinds = {"x": [c_void_p], "X": [POINTER(c_void_p), c_size_t], "i": [c_int], "n": [c_int64],
             "u": [c_uint64], "d": [c_double], "b": [c_bool], "s": [Shape], "m": [Dims],
             "p": [c_void_p]}
    if (name, types) not in _known:
        arguments_of = [kind for letter in types for kind in kinds[letter]]
        _known[name, types] = ctypes.CFUNCTYPE(c_void_p, *arguments_of, Site)(("acu_op_" + name, _lib))
    values = []
    for letter, x in zip(types, arguments):
        if letter == "x":
            values.append(term(x))
        elif letter == "X":
            values += [terms(*x), len(x)]
        elif letter == "s":
            values.append(shape_of(x))
        else:
            values.append(x)
    return _known[name, types](*values, _SITE)


class WindowOptions(Structure):
    _fields_ = [("size", c_size_t), ("stride", c_int64 * 2), ("padding", c_int64 * 2),
                ("dilation", c_int64 * 2), ("groups", c_int64)]


_options = []


def options(stride=(), padding=(), dilation=(), groups=0, size=ctypes.sizeof(WindowOptions)):
    """For operations with a window."""
    of = WindowOptions(size)
    for name, values in (("stride", stride), ("padding", padding), ("dilation", dilation)):
        for d, n in enumerate(values):
            getattr(of, name)[d] = n
    of.groups = groups
    _options.append(of) # it must outlive the call
    return ctypes.addressof(of)


def run(made):
    """The value of an op, as an array."""
    return acuda.run(device, made)


def run_all(made, count):
    """The values of an op, as arrays."""
    future = c_void_p()
    acuda._check(_submit(device.handle, made, None, byref(future)))
    results = []
    for i in range(count):
        result = c_void_p()
        acuda._check(_take(future, i, byref(result)))
        results.append(Tensor(result.value))
    acuda._check(_wait(future, acuda.FOREVER))
    acuda._future_release(future)
    return [x.array() for x in results]


def run_into(made, like, layout):
    """The op's value, put into a tensor of that layout."""
    out = tensor(np.zeros_like(like), layout)
    acuda._check(_sync(device.handle, _into(term(out), made, _SITE), None))
    return out.array()


def refused(made, words):
    """The op fails, and says so in these words."""
    try:
        acuda._check(_sync(device.handle, made, None))
    except acuda.Error as error:
        for word in words.split("|"):
            assert word in str(error), (word, str(error))
    else:
        raise AssertionError("not refused: " + words)


def same(have, want, what=""):
    """Same dtype, shape and bits (any NaN is like another)."""
    want = np.asarray(want)
    assert have.dtype == want.dtype and have.shape == want.shape, (what, have.dtype, have.shape, want.dtype,
                                                                   want.shape)
    np.testing.assert_array_equal(have, want, str(what))


generator = np.random.default_rng(5)


def numbers(dtype, shape, low=-50, high=50):
    """Random numbers of any dtype, with few equal ones in small shapes."""
    if dtype == "bool":
        return generator.random(shape) < 0.5
    if dtype.startswith("u"):
        low = 0
    x = generator.integers(low, high, shape)
    if dtype.startswith("complex"):
        return (x / 4 + 1j * (generator.integers(low, high, shape) / 4)).astype(dtype)
    return (x / 4 if dtype.startswith("f") else x).astype(dtype)


def close():
    import gc

    gc.collect()
    device.close()
    assert acuda.live() == "", acuda.live()
