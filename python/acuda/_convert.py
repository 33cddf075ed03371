# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python's values as arguments of acuda's functions, by the types that the headers declare."""
import numbers

from ._library import NULL, ffi, lib, site, struct

# Python's class for each pointer to a handle ("acu_device *"): the modules that have them fill this in.
HANDLES = {}
MAX_RANK = 6


def c_name(ctype):
    """The type's name as the headers write it."""
    return ctype.cname.removeprefix("struct ").removeprefix("enum ")


class Call:
    """One call: what was made for it. Ops that were not handed over are released, if it does not happen."""

    def __init__(self):
        self.site = site()
        self.ops = []
        self.alive = []  # memory that the call reads

    def give(self, op):
        """The op is for the call, which consumes it."""
        self.ops.append(op)
        return op

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            for op in self.ops:
                lib.acu_op_release(op)


class Typed:
    """A number of a given dtype, as f32(1.5) makes it: an argument of a kernel, or what acuda.fill writes."""

    def __init__(self, dtype, bits, imaginary=None):
        self.dtype, self.bits, self.imaginary = dtype, bits, imaginary


# ---- dtypes ----

_BY_NAME = {ffi.string(lib.acu_dtype_name(i)).decode(): i for i in range(1, lib.ACU_DTYPE_COUNT)}
_NUMPY = {"bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8",
          "int16": "i16", "int32": "i32", "int64": "i64", "float16": "f16", "float32": "f32",
          "float64": "f64", "complex64": "c64", "complex128": "c128"}
TO_NUMPY = {ours: theirs for theirs, ours in _NUMPY.items()}


def dtype(x):
    """The number of a dtype: acuda's name for it ("f32"), NumPy's ("float32"), or a NumPy dtype."""
    name = x if isinstance(x, str) else getattr(x, "name", None) or getattr(x, "__name__", None)
    number = _BY_NAME.get(_NUMPY.get(name, name))
    if number is None:
        raise TypeError(f"there is no dtype {x!r}: acuda has {', '.join(_BY_NAME)}")
    return number


def dtype_name(number):
    return ffi.string(lib.acu_dtype_name(number)).decode()


# ---- shapes and dimensions ----


def _whole(x, what):
    if not isinstance(x, numbers.Integral):
        raise TypeError(f"{what} is {x!r}, which is no integer")
    return int(x)


def _several(x, what):
    """An integer counts as a list of one."""
    items = [x] if isinstance(x, numbers.Integral) else list(x)
    if len(items) > MAX_RANK:
        raise ValueError(f"{what} of {len(items)} dimensions: acuda has {MAX_RANK}")
    return [_whole(i, what) for i in items]


def shape(x):
    dims = _several(x, "a shape")
    return struct("acu_shape", rank=len(dims), dim=dims)


def dims(x, keep=False):
    """None: all dimensions."""
    chosen = [] if x is None else _several(x, "a list")
    if x is not None and not chosen:
        raise ValueError("an empty list of dimensions: None means all")
    return struct("acu_dims", count=len(chosen), dim=chosen, keep=keep)


# ---- numbers and operands ----


def scalar(x, call):
    """An acu_arg: a number that says its dtype, such as f32(1.5) or one of NumPy's."""
    if not isinstance(x, Typed):
        x = typed(x)
    if x.imaginary is None:
        return argument("SCALAR", x.dtype, x.bits)
    call.alive.append(both := ffi.new("uint64_t[2]", [x.bits, x.imaginary]))
    return argument("SCALAR", x.dtype, both)


def argument(kind, dtype, value, access="READ"):
    """An acu_arg. `value`: the bits of a number, or a pointer."""
    if isinstance(value, ffi.CData):
        value = int(ffi.cast("uintptr_t", value))
    return struct("acu_arg", kind=getattr(lib, f"ACU_ARG_{kind}"), dtype=dtype, u=value,
                  access=getattr(lib, f"ACU_{access}"))


def typed(x):
    """A number with a dtype of NumPy's."""
    of = getattr(x, "dtype", None)
    if of is None or getattr(x, "shape", None) != ():
        raise TypeError(f"{x!r} says no dtype: write acuda.f32({x!r}), acuda.i64({x!r}) and so on, or give a "
                        "number of NumPy's")
    return number_of(dtype(of), x.item())


_FORMATS = {"bool": "uint8_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
            "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "f32": "float",
            "f64": "double"}


def _bits(ctype, value):
    memory = ffi.new("uint64_t *")
    ffi.cast(f"{ctype} *", memory)[0] = value
    return memory[0]


def number_of(kind, value):
    """The number as one of dtype `kind`; OverflowError if that can not hold it."""
    name = dtype_name(kind)
    if name == "c64":
        return Typed(kind, _bits("float", value.real) | _bits("float", value.imag) << 32)
    if name == "c128":
        return Typed(kind, _bits("double", value.real), _bits("double", value.imag))
    if name == "f16":
        import struct

        return Typed(kind, int.from_bytes(struct.pack("<e", value), "little"))
    if name not in _FORMATS:
        raise TypeError(f"a number can not be made of dtype {name} here")
    return Typed(kind, _bits(_FORMATS[name], bool(value) if name == "bool" else value))


def operand(x, call):
    """An op, of which the call gets a reference of its own. None: no operand."""
    if x is None:
        return NULL
    if isinstance(x, HANDLES["acu_op *"]):
        return call.give(lib.acu_op_retain(x.handle))
    if isinstance(x, HANDLES["acu_tensor *"]):
        return call.give(lib.acu_op_value(x.handle, call.site))
    if isinstance(x, Typed):
        return call.give(lib.acu_op_scalar(scalar(x, call), call.site))
    if getattr(x, "shape", None) == () and hasattr(x, "item"):  # one of NumPy's numbers: as Python's
        x = x.item()
    if isinstance(x, numbers.Integral):
        whole = int(x)
        make = lib.acu_op_number_i64 if whole < 2**63 else lib.acu_op_number_u64
        return call.give(make(whole, call.site))
    if isinstance(x, numbers.Real):
        return call.give(lib.acu_op_number_f64(float(x), call.site))
    if isinstance(x, numbers.Complex):
        return call.give(lib.acu_op_number_c128(x.real, x.imag, call.site))
    hint = "; device.array(x) makes a tensor of it" if hasattr(x, "__len__") else ""
    raise TypeError(f"an operand is a tensor, an op or a number, not {type(x).__name__}{hint}")


def operands(xs, call):
    array = ffi.new("acu_op *[]", [operand(x, call) for x in xs])
    call.alive.append(array)
    return array


# ---- everything else, by its C type ----


def _enum(ctype, x):
    """An enumerator by the end of its name: "add" for ACU_SCATTER_ADD."""
    if isinstance(x, numbers.Integral):
        return int(x)
    names = ctype.relements
    if not isinstance(x, str):
        raise TypeError(f"{x!r} is none of {', '.join(sorted(names))}")
    end = x.upper()
    fitting = [n for n in names if n == end or n == f"ACU_{end}"] or \
              [n for n in names if n.endswith("_" + end)]
    if len(fitting) != 1:
        raise ValueError(f"{x!r} is {'several' if fitting else 'none'} of {', '.join(sorted(names))}")
    return names[fitting[0]]


def _string(x, call):
    if x is None:
        return NULL
    memory = ffi.new("char[]", x.encode() if isinstance(x, str) else bytes(x))
    call.alive.append(memory)
    return memory


def _struct(ctype, x, call):
    """A struct from a mapping of its fields; its own `size` is filled in."""
    fields = dict(ctype.fields)
    unknown = [name for name in x if name not in fields or name in ("size", "reserved")]
    if unknown:
        known = ", ".join(n for n in fields if n not in ("size", "reserved"))
        raise TypeError(f"{c_name(ctype)} has no {', '.join(unknown)}; it has {known}")
    made = {name: convert(fields[name].type, value, call) for name, value in x.items()}
    if "size" in fields:
        made["size"] = ffi.sizeof(ctype)
    return made


def options(pointer, x, call):
    """A pointer to options, from a mapping; NULL without any."""
    if not x:
        return NULL
    memory = ffi.new(pointer, _struct(pointer.item, x, call))
    call.alive.append(memory)
    return memory


_LEAST = 16  # items that C may read of an array whose length it is not told, such as a color


def _array(pointer, x, call):
    item = pointer.item
    made = [convert(item, i, call) for i in x]
    array = ffi.new(ffi.getctype(item, "[]"), max(len(made), _LEAST))  # zeros behind what is given
    array[0:len(made)] = made
    call.alive.append(array)
    return array


def _fields(ctype):
    """Of a struct; none of one that is only declared. (cffi 2.1 aborts where its fields are asked for.)"""
    if ctype.kind != "struct":
        return ()
    try:
        ffi.sizeof(ctype)
    except ffi.error:
        return ()
    return ctype.fields


def is_array(ctype):
    """Whether a list is meant: a pointer to something else than a handle, a text, or options."""
    if ctype.kind != "pointer" or ctype.item.kind == "void" or c_name(ctype) in HANDLES:
        return False
    if ctype.item.kind == "struct":
        return bool(_fields(ctype.item)) and not is_options(ctype)
    return c_name(ctype.item) != "char"


def is_options(ctype):
    fields = _fields(ctype.item) if ctype.kind == "pointer" else ()
    return bool(fields) and fields[0][0] == "size"


def _pointer(ctype, x, call):
    if c_name(ctype) == "char *":
        return _string(x, call)
    if x is None:
        return NULL
    if is_options(ctype):
        return options(ctype, x, call)
    if ctype.item.kind == "void":
        memory = ffi.from_buffer(x)
        call.alive.append(memory)
        return memory
    return _array(ctype, x, call)


def _handle(ctype, x, call):
    if c_name(ctype) == "acu_op *":
        return operand(x, call)
    wanted = HANDLES[c_name(ctype)]
    if x is None:
        return NULL
    if c_name(ctype) == "acu_expression *" and isinstance(x, str):
        x = wanted(x)
    if not isinstance(x, wanted):
        raise TypeError(f"a {wanted.__name__} is wanted, not {type(x).__name__}")
    call.alive.append(x)
    return x.handle


def convert(ctype, x, call):
    if c_name(ctype) in HANDLES:
        return _handle(ctype, x, call)
    if c_name(ctype) == "acu_shape":
        return shape(x)
    if c_name(ctype) == "acu_dims":
        return dims(x)
    if c_name(ctype) == "acu_dtype":
        return dtype(x)
    if c_name(ctype) == "acu_arg":
        return scalar(x, call)
    if ctype.kind == "enum":
        return _enum(ctype, x)
    if ctype.kind == "struct":
        return struct(ctype.cname, **_struct(ctype, x, call))
    if ctype.kind == "pointer":
        return _pointer(ctype, x, call)
    if ctype.kind == "array" and not isinstance(x, (bytes, str)):
        return [convert(ctype.item, i, call) for i in x]
    return x  # cffi checks numbers
