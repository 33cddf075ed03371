# SPDX-License-Identifier: MIT OR Apache-2.0
"""DLPack: tensors of other libraries, and ours as theirs, in capsules. A struct on its way is in a capsule;
who takes it renames the capsule, and one that nobody took is deleted."""
import ctypes
import sys
from ctypes import c_char_p, c_int, c_void_p

from . import _handles
from ._library import FOREVER, check, ffi, lib

CPU, CUDA_HOST = 1, 3  # DLPack's types of devices
NO_STREAM = -1
LEGACY_STREAM = 1

_VERSIONED, _OLD = b"dltensor_versioned", b"dltensor"
_USED = {_VERSIONED: b"used_dltensor_versioned", _OLD: b"used_dltensor"}  # Python does not copy names

_python = ctypes.PyDLL(None)  # called with the interpreter's lock held


def _declare(result, name, *arguments):
    function = getattr(_python, name)
    function.restype, function.argtypes = result, arguments
    return function


_new = _declare(ctypes.py_object, "PyCapsule_New", c_void_p, c_char_p, c_void_p)
_valid = _declare(c_int, "PyCapsule_IsValid", c_void_p, c_char_p)
_pointer = _declare(c_void_p, "PyCapsule_GetPointer", c_void_p, c_char_p)
_rename = _declare(c_int, "PyCapsule_SetName", c_void_p, c_char_p)
_exported = []


def _address(pointer):
    return int(ffi.cast("uintptr_t", pointer))


def _capsule(managed, name):
    """A capsule without a destructor. A consumer that refuses a capsule drops it while an exception is being
    raised, when nothing can be called from here. Instead, _forget looks for capsules that nobody holds."""
    _forget()
    capsule = _new(_address(managed), name, None)
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
            lib.acu_dlpack_release(_versioned(_pointer(id(capsule), _VERSIONED)))
        elif _valid(id(capsule), _OLD):
            lib.acu_dlpack_release_old(ffi.cast("struct DLManagedTensor *", _pointer(id(capsule), _OLD)))
    _exported.extend(waiting)


def _versioned(address):
    return ffi.cast("struct DLManagedTensorVersioned *", address)


def drain():
    """Releases what other libraries are done with, or never took. Every take and export does that, too; a
    program that makes few should call it now and then."""
    _forget()
    return lib.acu_dlpack_drain()


def take(device, x, stream):
    _forget()
    on_gpu = x.__dlpack_device__()[0] not in (CPU, CUDA_HOST)
    if on_gpu and stream is None:
        stream = device.taking_stream()
    raw = stream.raw if on_gpu else None
    try:
        capsule = x.__dlpack__(stream=raw, max_version=(1, 1))
    except TypeError:  # a library from before DLPack 1
        capsule = x.__dlpack__(stream=raw)
    at = id(capsule)  # its address
    name = _VERSIONED if _valid(at, _VERSIONED) else _OLD
    managed = ffi.new("struct DLManagedTensorVersioned **")
    if name == _OLD:
        check(lib.acu_dlpack_from_old(ffi.cast("struct DLManagedTensor *", _pointer(at, name)), managed))
    else:
        managed[0] = _versioned(_pointer(at, name))
    _rename(at, _USED[name])  # consumed
    made = ffi.new("acu_tensor **")
    status = lib.acu_dlpack_import(device.handle, managed[0], raw or NO_STREAM, made)
    if status < 0:
        lib.acu_dlpack_release(managed[0])
        check(status)
    return _handles.Tensor(made[0])


def export(tensor, stream, max_version, dl_device, copy):
    if copy or (dl_device is not None and tuple(dl_device) != tensor.__dlpack_device__()):
        raise BufferError("acuda exports its memory as it is: no copies, no other device")
    managed = ffi.new("struct DLManagedTensorVersioned **")
    stream = LEGACY_STREAM if stream is None else stream  # as DLPack defines it
    check(lib.acu_dlpack_export_wait(tensor.handle, stream, tensor.device.export_flags, FOREVER, managed))
    if max_version is not None and max_version[0] >= 1:
        return _capsule(managed[0], _VERSIONED)
    old = ffi.new("struct DLManagedTensor **")
    if lib.acu_dlpack_to_old(managed[0], old) < 0:
        lib.acu_dlpack_release(managed[0])
        raise BufferError("this tensor is read-only, which the older DLPack can not say")
    return _capsule(old[0], _OLD)
