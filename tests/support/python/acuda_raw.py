# SPDX-License-Identifier: MIT OR Apache-2.0
"""acuda's functions by ctypes, one by one, for tests that compare its operations with other libraries': they need
nothing but python3, and say each argument themselves. Programs use the package (python/acuda).
"""
import ctypes
import numbers
import os
import sys
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int, c_int64
from ctypes import c_size_t, c_uint, c_uint64, c_void_p

FOREVER = 2**64 - 1
NO_STREAM = -1
OK = 0
CPU, CUDA = 1, 2  # DLPack's device types
MAX_RANK = 6


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
_capsules = ctypes.PyDLL(None)  # Python's own functions, called with the GIL held


def _declare(library, result, name, *arguments):
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function


_open = _declare(_lib, c_int, "acu_open", POINTER(OpenOptions), POINTER(c_void_p))
_close = _declare(_lib, c_int, "acu_close", c_void_p)
_stream_create = _declare(_lib, c_int, "acu_stream_create", c_void_p, c_int, POINTER(c_void_p))
_stream_raw = _declare(_lib, c_void_p, "acu_stream_raw", c_void_p)
_stream_release = _declare(_lib, None, "acu_stream_release", c_void_p)
_last_error = _declare(_lib, c_void_p, "acu_last_error")
_describe = _declare(_lib, c_size_t, "acu_error_describe", c_void_p, c_char_p, c_size_t)
_tensor_release = _declare(_lib, None, "acu_tensor_release", c_void_p)
_tensor_shape = _declare(_lib, Shape, "acu_tensor_shape", c_void_p)
_tensor_dtype = _declare(_lib, c_int, "acu_tensor_dtype", c_void_p)
_dtype_name = _declare(_lib, c_char_p, "acu_dtype_name", c_int)
_operand = _declare(_lib, c_void_p, "acu_op_value", c_void_p, Site)
_number = _declare(_lib, c_void_p, "acu_op_number_f64", ctypes.c_double, Site)
_complex = _declare(_lib, c_void_p, "acu_op_number_c128", ctypes.c_double, ctypes.c_double, Site)
_whole = _declare(_lib, c_void_p, "acu_op_number_i64", c_int64, Site)
_elementwise = _declare(_lib, c_void_p, "acu_op_elementwise", c_int, POINTER(c_void_p), c_size_t, Site)
_elementwise_name = _declare(_lib, c_char_p, "acu_elementwise_name", c_int)
_transpose = _declare(_lib, c_void_p, "acu_op_transpose", c_void_p, c_int, c_int, Site)
_to_device = _declare(_lib, c_void_p, "acu_op_to_device", c_void_p, c_void_p, Site)
_to_host = _declare(_lib, c_void_p, "acu_op_to_host", c_void_p, Site)
_submit = _declare(_lib, c_int, "acu_submit", c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
_take = _declare(_lib, c_int, "acu_future_take", c_void_p, c_size_t, POINTER(c_void_p))
_future_wait = _declare(_lib, c_int, "acu_future_wait", c_void_p, c_uint64)
_future_release = _declare(_lib, None, "acu_future_release", c_void_p)
_export = _declare(_lib, c_int, "acu_dlpack_export_wait", c_void_p, c_int64, c_uint, c_uint64,
                   POINTER(c_void_p))
_import = _declare(_lib, c_int, "acu_dlpack_import", c_void_p, c_void_p, c_int64, POINTER(c_void_p))
_to_old = _declare(_lib, c_int, "acu_dlpack_to_old", c_void_p, POINTER(c_void_p))
_from_old = _declare(_lib, c_int, "acu_dlpack_from_old", c_void_p, POINTER(c_void_p))
_dlpack_device = _declare(_lib, c_int, "acu_dlpack_device", c_void_p, POINTER(c_int), POINTER(c_int))
_release = _declare(_lib, None, "acu_dlpack_release", c_void_p)
_release_old = _declare(_lib, None, "acu_dlpack_release_old", c_void_p)
_live = _declare(_lib, c_size_t, "acu_debug_live_report", c_char_p, c_size_t)
# ctypes gives up the GIL around a call; the deleters of numpy and torch need it, and take it again.
_drain = _declare(_lib, c_size_t, "acu_dlpack_drain")

_SITE = Site(b"python", 0)


class Error(RuntimeError):
    pass


def _check(status):
    if status == OK:
        return
    text = ctypes.create_string_buffer(1024)
    _describe(_last_error(), text, len(text))
    raise Error(text.value.decode())


# ---- capsules: a struct on its way; the consumer renames it, and one that nobody consumed is deleted ----

_VERSIONED, _OLD = b"dltensor_versioned", b"dltensor"
_USED = {_VERSIONED: b"used_dltensor_versioned", _OLD: b"used_dltensor"}  # kept alive: Python does not copy names
_new = _declare(_capsules, ctypes.py_object, "PyCapsule_New", c_void_p, c_char_p, c_void_p)
_valid = _declare(_capsules, c_int, "PyCapsule_IsValid", c_void_p, c_char_p)
_pointer = _declare(_capsules, c_void_p, "PyCapsule_GetPointer", c_void_p, c_char_p)
_rename = _declare(_capsules, c_int, "PyCapsule_SetName", c_void_p, c_char_p)
_exported = []


def _capsule(managed, name):
    """A capsule without a destructor. A consumer that refuses a capsule drops it while an exception is being
    raised, when nothing can be called from here. Instead, _forget looks for capsules that nobody holds."""
    _forget()
    capsule = _new(managed, name, None)
    _exported.append(capsule)
    return capsule


def _forget():
    waiting = []
    while _exported:
        elsewhere = sys.getrefcount(_exported[-1]) > 2  # besides the list's reference and the call's own
        capsule = _exported.pop()
        if elsewhere:
            waiting.append(capsule)
        elif _valid(id(capsule), _VERSIONED):
            _release(_pointer(id(capsule), _VERSIONED))
        elif _valid(id(capsule), _OLD):
            _release_old(_pointer(id(capsule), _OLD))
    _exported.extend(waiting)


def drain():
    """Release what others are done with, or never took. Call it now and then, and after the last close."""
    _forget()
    return _drain()


def live():
    """The handles of acuda that are alive, one per line; "" if there are none."""
    text = ctypes.create_string_buffer(1024)
    _live(text, len(text))
    return text.value.decode()


# ---- devices and tensors ----


class Device:
    """`streams_live` promises that the streams to which tensors are exported live as long as the tensors, as
    PyTorch's pooled streams do. Otherwise, consumers must finish their work before they let go of a tensor."""

    def __init__(self, handle, streams_live):
        self.handle = handle
        self.flags = 2 if streams_live else 0
        stream = c_void_p()
        _check(_stream_create(handle, 0, byref(stream)))
        self.stream = stream.value  # on which tensors of others are taken over

    def close(self):
        _stream_release(self.stream)
        _check(_close(self.handle))
        drain()

    def take(self, x):
        """A tensor over the memory of x, an array of any library that speaks DLPack. Work that the library
        has enqueued on x comes before acuda's work on it."""
        on_gpu = x.__dlpack_device__()[0] not in (CPU, 3)
        stream = _stream_raw(self.stream) if on_gpu else None
        try:
            capsule = x.__dlpack__(stream=stream, max_version=(1, 1))
        except TypeError:  # a library from before DLPack 1
            capsule = x.__dlpack__(stream=stream)
        at = id(capsule)  # its address
        name = _VERSIONED if _valid(at, _VERSIONED) else _OLD
        managed, tensor = c_void_p(_pointer(at, name)), c_void_p()
        if name == _OLD:
            _check(_from_old(managed, byref(managed)))
        _rename(at, _USED[name])  # consumed
        status = _import(self.handle, managed, stream or NO_STREAM, byref(tensor))
        if status != OK:
            _release(managed)
            _check(status)
        return Tensor(self, tensor.value)

    def submit(self, op):
        """The op's first value, a tensor. It is returned at once; its contents follow when the op is done."""
        future, tensor = c_void_p(), c_void_p()
        _check(_submit(self.handle, op, None, byref(future)))
        _check(_take(future, 0, byref(tensor)))
        return Tensor(self, tensor.value, future.value)

    def upload(self, x):
        return self.submit(_to_device(self.handle, x.operand(), _SITE))


class Tensor:
    def __init__(self, device, handle, future=None):
        self.device = device
        self.handle = handle
        self.future = future

    def __del__(self):
        _tensor_release(self.handle)
        if self.future:
            _future_release(self.future)

    @property
    def shape(self):
        shape = _tensor_shape(self.handle)
        return tuple(shape.dim[: shape.rank])

    @property
    def dtype(self):
        return _dtype_name(_tensor_dtype(self.handle)).decode()

    def operand(self):
        return _operand(self.handle, _SITE)

    def wait(self):
        if self.future:
            _check(_future_wait(self.future, FOREVER))
        return self

    def __dlpack_device__(self):
        kind, ordinal = c_int(), c_int()
        _check(_dlpack_device(self.handle, byref(kind), byref(ordinal)))
        return kind.value, ordinal.value

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("acuda exports its memory as it is: no copies, no other device")
        managed = c_void_p()
        stream = 1 if stream is None else stream  # the legacy default stream, as DLPack defines it
        _check(_export(self.handle, stream, self.device.flags, FOREVER, byref(managed)))
        if max_version is not None and max_version[0] >= 1:
            return _capsule(managed, _VERSIONED)
        old = c_void_p()
        status = _to_old(managed, byref(old))
        if status != OK:
            _release(managed)
            raise BufferError("this tensor is read-only, which the older DLPack can not say")
        return _capsule(old, _OLD)


def open_device(ordinal=0, allow_software=True, request=None, streams_live=True):
    options = OpenOptions(size=ctypes.sizeof(OpenOptions), ordinal=ordinal,
                          allow_software=allow_software)
    driver = DriverOptions(size=ctypes.sizeof(DriverOptions), request=request)
    options.driver = ctypes.pointer(driver)
    handle = c_void_p()
    _check(_open(byref(options), byref(handle)))
    return Device(handle.value, streams_live)


def _kinds():
    kinds, kind = {}, 0
    while (name := _elementwise_name(kind)) != b"?":
        kinds[name.decode()] = kind
        kind += 1
    return kinds


_KINDS = _kinds()


def _term(x):
    if isinstance(x, Tensor):
        return x.operand()
    if isinstance(x, numbers.Integral) and -(2**63) <= x < 2**63:
        return _whole(int(x), _SITE)
    if isinstance(x, numbers.Real):
        return _number(float(x), _SITE)
    return _complex(x.real, x.imag, _SITE)


def run(device, name, *operands):
    """An elementwise operation by its name: "add", "relu", ... Operands are tensors and numbers."""
    if name not in _KINDS:
        raise ValueError(f"there is no operation {name!r}")
    for x in operands:  # before the first op is made: an op that nobody takes is never released
        if not isinstance(x, (Tensor, numbers.Complex)):
            raise TypeError(f"{name} takes tensors and numbers, not {type(x).__name__}")
    terms = (c_void_p * len(operands))(*[_term(x) for x in operands])
    return device.submit(_elementwise(_KINDS[name], terms, len(operands), _SITE))


def transposed(device, x):
    return device.submit(_transpose(x.operand(), 0, -1, _SITE))


def to_host(device, x):
    return device.submit(_to_host(x.operand(), _SITE))
