# SPDX-License-Identifier: MIT OR Apache-2.0
"""acuda's functions by ctypes, one by one, for tests that compare its operations with other libraries': they need
nothing but python3, and say each argument themselves. Programs use the package (python/acuda).
"""
import ctypes
import numbers
import os
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int, c_int64
from ctypes import c_size_t, c_uint, c_void_p

import numpy as np

FOREVER = 2**64 - 1
OK = 0
MAX_RANK = 6
DTYPES = ("none bool u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 tf32 f64 f8e4m3fn f8e5m2 f8e8m0fnu "
          "f4e2m1fnx2 c64 c128").split()
OF_NUMPY = {"bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8",
            "int16": "i16", "int32": "i32", "int64": "i64", "float16": "f16", "float32": "f32",
            "float64": "f64", "complex64": "c64", "complex128": "c128"}
TO_NUMPY = {name: np.dtype(of) for of, name in OF_NUMPY.items()}


class Site(Structure):
    _fields_ = [("file", c_char_p), ("line", c_int)]


class Shape(Structure):
    _fields_ = [("rank", c_int), ("dim", c_int64 * MAX_RANK)]


class DriverOptions(Structure):
    _fields_ = [("size", c_size_t), ("request", c_char_p), ("allow_software", c_bool),
                ("max_version", c_int)]


class OpenOptions(Structure):
    _fields_ = [("size", c_size_t), ("ordinal", c_int), ("allow_software", c_bool),
                ("streams", c_uint), ("max_in_flight", c_uint), ("one_by_one", c_bool),
                ("runtime_thread", c_bool), ("driver", POINTER(DriverOptions))]


_lib = ctypes.CDLL(os.environ.get("ACUDA_LIBRARY", "libacuda.so.0"))


def _declare(library, result, name, *arguments):
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function


_open = _declare(_lib, c_int, "acu_open", POINTER(OpenOptions), POINTER(c_void_p))
_close = _declare(_lib, c_int, "acu_close", c_void_p)
_last_error = _declare(_lib, c_void_p, "acu_last_error")
_describe = _declare(_lib, c_size_t, "acu_error_describe", c_void_p, c_char_p, c_size_t)
_tensor_release = _declare(_lib, None, "acu_tensor_release", c_void_p)
_tensor_shape = _declare(_lib, Shape, "acu_tensor_shape", c_void_p)
_tensor_dtype = _declare(_lib, c_int, "acu_tensor_dtype", c_void_p)
_operand = _declare(_lib, c_void_p, "acu_op_value", c_void_p, Site)
_number = _declare(_lib, c_void_p, "acu_op_number_f64", ctypes.c_double, Site)
_complex = _declare(_lib, c_void_p, "acu_op_number_c128", ctypes.c_double, ctypes.c_double, Site)
_whole = _declare(_lib, c_void_p, "acu_op_number_i64", c_int64, Site)
_future_release = _declare(_lib, None, "acu_future_release", c_void_p)
_alloc = _declare(_lib, c_int, "acu_tensor_alloc", c_void_p, c_int, Shape, POINTER(c_void_p))
_write = _declare(_lib, c_int, "acu_write_sync", c_void_p, c_void_p, c_size_t)
_read = _declare(_lib, c_int, "acu_read_sync", c_void_p, c_void_p, c_size_t)
_sync = _declare(_lib, c_int, "acu_sync", c_void_p, c_void_p, POINTER(c_void_p))
_live = _declare(_lib, c_size_t, "acu_debug_live_report", c_char_p, c_size_t)

_SITE = Site(b"python", 0)


class Error(RuntimeError):
    pass


def _check(status):
    if status == OK:
        return
    text = ctypes.create_string_buffer(1024)
    _describe(_last_error(), text, len(text))
    raise Error(text.value.decode())


def live():
    """The handles of acuda that are alive, one per line; "" if there are none."""
    text = ctypes.create_string_buffer(1024)
    _live(text, len(text))
    return text.value.decode()


# ---- devices and tensors ----


class Device:
    def __init__(self, handle):
        self.handle = handle

    def close(self):
        _check(_close(self.handle))


class Tensor:
    """Owns a handle."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        _tensor_release(self.handle)

    @property
    def dtype(self):
        return DTYPES[_tensor_dtype(self.handle)]

    @property
    def shape(self):
        shape = _tensor_shape(self.handle)
        return tuple(shape.dim[: shape.rank])

    def operand(self):
        return _operand(self.handle, _SITE)

    def array(self):
        out = np.empty(self.shape, TO_NUMPY[self.dtype])
        _check(_read(self.handle, out.ctypes.data, out.nbytes))
        return out


def shape_of(extents):
    return Shape(len(extents), (c_int64 * MAX_RANK)(*extents))


def upload(device, array):
    """A dense tensor on the device with the array's elements."""
    handle = c_void_p()
    array = np.array(array, order="C")  # which leaves no dimensions as they are
    dtype = DTYPES.index(OF_NUMPY[str(array.dtype)])
    _check(_alloc(device.handle, dtype, shape_of(array.shape), byref(handle)))
    tensor = Tensor(handle.value)
    _check(_write(tensor.handle, array.ctypes.data, array.nbytes))
    return tensor


def run(device, op):
    """The op's value, as an array."""
    result = c_void_p()
    _check(_sync(device.handle, op, byref(result)))
    return Tensor(result.value).array()


def open_device(ordinal=0, allow_software=True, request=None):
    options = OpenOptions(size=ctypes.sizeof(OpenOptions), ordinal=ordinal,
                          allow_software=allow_software)
    driver = DriverOptions(size=ctypes.sizeof(DriverOptions), request=request)
    options.driver = ctypes.pointer(driver)
    handle = c_void_p()
    _check(_open(byref(options), byref(handle)))
    return Device(handle.value)


def _term(x):
    if isinstance(x, Tensor):
        return x.operand()
    if isinstance(x, numbers.Integral) and -(2**63) <= x < 2**63:
        return _whole(int(x), _SITE)
    if isinstance(x, numbers.Real):
        return _number(float(x), _SITE)
    return _complex(x.real, x.imag, _SITE)
