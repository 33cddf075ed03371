# SPDX-License-Identifier: MIT OR Apache-2.0
"""acuda's operations as functions of Python, made from what tools/python-interface read in the headers:
acu_roll(x, dimension, shift) is acuda.roll(x, dimension, shift). An operand is a tensor, an op or a number.

A C parameter that Python says in another way: the length of a list is left out; options are keywords, those
that the struct has; `dims` may be None (all), a number or a tuple, with keep=True to keep them as 1; what
the function writes through a pointer to ops it returns.
"""
import functools
import inspect

from . import _convert
from ._functions import FUNCTIONS
from ._library import NULL, ffi, lib, struct

_LENGTHS = ("count", "bytes", "across_taps", "down_taps")


class _Operation:
    """What one of the functions does with its arguments, worked out once."""

    def __init__(self, name):
        self.name = name
        self.function, self.arguments, self.parameters, sizes, self.manual, self.header = FUNCTIONS[name]
        self.call = getattr(lib, self.function)
        self.types = ffi.typeof(self.call).args
        self.c_arguments = tuple(self._argument_types())
        self.sizes = {self.parameters[a[1]]: sizes[i] for i, a in enumerate(self.arguments) if i in sizes}
        self.listed = self._listed()
        self.lengths = self._lengths()
        self.result_list = None  # the parameter through which a list of ops comes back
        self.keywords = None     # the type of the options
        self.has_dims = False
        self.signature = inspect.Signature(list(self._signature()))

    def _argument_types(self):
        """(argument, its C type or, for a list, that of its items), in order."""
        types = iter(self.types)
        for argument in self.arguments:
            yield argument, next(types)
            if argument[0] == "list":
                next(types)

    def _listed(self):
        """The parameters that stand in a list: those that are no argument by themselves."""
        if ("list",) not in self.arguments:
            return ()
        named = {a[1] for a in self.arguments if a[0] == "parameter"}
        return tuple(p for i, p in enumerate(self.parameters) if i not in named)

    def _lengths(self):
        """parameter -> the list in front of it, of which it is the length."""
        found, before = {}, None
        for argument, ctype in self.c_arguments:
            name = self.parameters[argument[1]] if argument[0] == "parameter" else None
            if name in _LENGTHS and before:
                found[name] = before
            many = name and (_convert.is_array(ctype) or _convert.c_name(ctype) == "void *")
            before = name if many else None
        return found

    def _signature(self):
        kind = inspect.Parameter
        types = {a[1]: t for a, t in self.c_arguments if a[0] == "parameter"}
        for i, name in enumerate(self.parameters):
            ctype = types.get(i)
            if ctype is not None and _convert.is_options(ctype):
                self.keywords = ctype
                continue
            if name == "parts" and ctype is not None and _convert.c_name(ctype) == "acu_op * *":
                self.result_list = name
                continue
            if name in self.lengths and (self.lengths[name] != self.result_list or "sizes" in self.parameters):
                continue
            reduced = ctype is not None and _convert.c_name(ctype) == "acu_dims"
            self.has_dims |= reduced
            optional = reduced and name == self.parameters[-1]
            yield kind(name, kind.POSITIONAL_OR_KEYWORD, default=None if optional else kind.empty)
        if ("list",) in self.arguments and not self.listed:
            yield kind("items", kind.VAR_POSITIONAL)
        if self.has_dims:
            yield kind("keep", kind.KEYWORD_ONLY, default=False)
        if self.keywords:
            yield kind("options", kind.VAR_KEYWORD)

    def __call__(self, *args, **kwargs):
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        self._check_lengths(given)
        with _convert.Call() as call:
            result = self._result(given)
            c = [item for pair in self.c_arguments for item in self._convert(*pair, given, result, call)]
            made = self.call(*c)
        op = _convert.HANDLES["acu_op *"]
        return [op(part) for part in result] if result is not None else op(made)

    def _check_lengths(self, given):
        """C is told one length for all lists of operands and structs, or none where the header says it."""
        for name, size in self.sizes.items():
            if len(given[name]) != size:
                raise ValueError(f"{self.name}: {name} has {size} numbers, not {len(given[name])}")
        lists = {self.parameters[a[1]]: t for a, t in self.c_arguments if a[0] == "parameter" and
                 _convert.is_array(t) and t.item.kind in ("pointer", "struct")}
        lengths = {name: len(given[name]) for name in lists if given.get(name) is not None}
        if "items" in given:
            lengths["operands"] = len(given["items"])
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{self.name}: lists of other lengths: " +
                             ", ".join(f"{n} of {name}" for name, n in lengths.items()))

    def _result(self, given):
        return None if self.result_list is None else ffi.new("acu_op *[]", self._count(given))

    def _count(self, given):
        return len(given["sizes"]) if "sizes" in given else given["count"]

    def _convert(self, argument, ctype, given, result, call):
        kind = argument[0]
        if kind == "site":
            return [call.site]
        if kind == "zero":
            return [struct(ctype.cname)]
        if kind == "constant":
            return [NULL if ctype.kind == "pointer" and argument[1] == 0 else
                    argument[1].encode() if isinstance(argument[1], str) else argument[1]]
        if kind == "name":
            return [getattr(lib, argument[1])]
        if kind == "list":
            items = [given[p] for p in self.listed] if self.listed else given["items"]
            return [self._list(ctype, items, call), len(items)]
        return [self._parameter(self.parameters[argument[1]], ctype, given, result, call)]

    def _list(self, ctype, items, call):
        if _convert.c_name(ctype.item) == "acu_op *":
            return _convert.operands(items, call)
        return _convert.convert(ctype, items, call)

    def _parameter(self, name, ctype, given, result, call):
        if name == self.result_list:
            return result
        if self.keywords is not None and ctype is self.keywords:
            return _convert.options(ctype, given.get("options"), call)
        if name not in given:  # a length
            of = self.lengths[name]
            return self._count(given) if of == self.result_list else len(given[of])
        if _convert.c_name(ctype) == "acu_dims":
            return _convert.dims(given[name], given["keep"])
        if _convert.c_name(ctype) == "acu_op * *":
            return _convert.operands(given[name], call)
        return _convert.convert(ctype, given[name], call)


def names():
    return FUNCTIONS.keys()


@functools.cache
def _operation(name):
    return _Operation(name)


@functools.cache
def function(name):
    """The operation's function; AttributeError if there is none."""
    if name not in FUNCTIONS:
        raise AttributeError(name)
    operation = _operation(name)

    def made(*args, **kwargs):
        return operation(*args, **kwargs)

    made.__name__ = made.__qualname__ = name
    made.__signature__ = operation.signature
    made.__doc__ = f"{operation.manual}\n\n({operation.header}, acu_{name})"
    made.__module__ = "acuda"
    return made


@functools.cache
def takes_operand_first(name):
    """Whether it can be called as a method of an op or a tensor."""
    if name not in FUNCTIONS:
        return False
    operation = _operation(name)
    first = next(iter(operation.signature.parameters), None)
    if first in operation.listed:
        return True
    types = {operation.parameters[a[1]]: t for a, t in operation.c_arguments if a[0] == "parameter"}
    return first in types and _convert.c_name(types[first]) == "acu_op *"
