"""States go into compiled code by reference.

Numba hands a NamedTuple over by value: every array in it is seven words, a state has dozens of
arrays, and each call of a kernel with a state becomes hundreds of instructions to compile and to
run. Here a NamedTuple class that is marked with `by_reference`, and every NamedTuple inside it, is
a pointer to where its fields have been unpacked once, when Python called the kernel.

The fields of a NamedTuple never change, and neither does what is at the pointer: its loads are
marked as invariant, so that no write to an array makes LLVM read an array's header again. For the
same reason the unpacking must not be merged with the code that reads: `merging.Whole` sees to it.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.core.typing.typeof import Purpose
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox
from numba.np.numpy_support import from_dtype, map_layout

from furthest.task import Task

S = TypeVar("S", bound=type)

_cgutils: Any = cgutils
_typeof: Any = typeof_impl


class State(types.Type):
    """The type of a NamedTuple that is passed by reference."""

    def __init__(self, kinds: tuple[Any, ...], home: type) -> None:
        self.types = kinds
        self.fields = tuple(home._fields)  # type: ignore[attr-defined]
        self.instance_class = home
        # The name becomes part of every symbol: short, and the same in every process.
        structure = f"{home.__module__}.{home.__qualname__}({', '.join(map(str, kinds))})"
        super().__init__(f"{home.__name__}.{hashlib.sha256(structure.encode()).hexdigest()[:12]}")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    @property
    def key(self) -> Any:
        """What makes two of them equal."""
        return self.instance_class, self.types

    def of(self, field: str) -> Any:
        """The type of a field."""
        return self.types[self.fields.index(field)]


def by_reference(home: S) -> S:
    """Pass this class of NamedTuples, and those inside it, by reference."""
    _typeof.register(home)(_state)
    return home


def _state(value: Any, purpose: Any) -> State:
    kinds: list[Any] = []
    for name, field in zip(value._fields, value, strict=True):
        kind = (_state if hasattr(field, "_fields") else kind_of)(field, purpose)
        if kind is None:
            where = f"{name} of {type(value).__name__}"
            raise TypeError(f"{where} is {field!r}, with which compiled code cannot work")
        kinds.append(kind)
    return State(tuple(kinds), type(value))


def kind_of(value: Any, purpose: Any = Purpose.argument) -> Any:
    """Numba's `typeof`, without the masked arrays that it imports to rule them out."""
    if isinstance(value, tuple) and _typeof.dispatch(type(value)) is not _state:
        kinds = [kind_of(each, purpose) for each in value]
        return types.BaseTuple.from_types(kinds, type(value))
    if type(value) is np.ndarray and value.dtype.kind in "fi":
        kind, layout = from_dtype(value.dtype), map_layout(value)
        return types.Array(kind, value.ndim, layout, readonly=not value.flags.writeable)
    return _typeof(value, purpose)


@register_model(State)
class _Pointer(models.OpaqueModel):
    """The fields are somewhere else."""


@infer_getattr
class _Fields(AttributeTemplate):
    key = State

    def generic_resolve(self, state: State, attr: str) -> Any:  # type: ignore[override]
        return state.of(attr) if attr in state.fields else None


def _layout(context: Any, state: State) -> ir.LiteralStructType:
    return ir.LiteralStructType([context.get_data_type(kind) for kind in state.types])


@unbox(State)
def _unpack(state: State, python: Any, c: Any) -> NativeValue:
    """Once, where Python calls."""
    fields = _cgutils.alloca_once(c.builder, _layout(c.context, state))
    failed = _cgutils.alloca_once_value(c.builder, _cgutils.false_bit)
    for position, kind in enumerate(state.types):
        native = c.unbox(kind, c.pyapi.tuple_getitem(python, position))
        place = _cgutils.gep_inbounds(c.builder, fields, 0, position)
        c.context.pack_value(c.builder, kind, native.value, place)
        with c.builder.if_then(native.is_error, likely=False):
            c.builder.store(_cgutils.true_bit, failed)
    pointer = c.builder.bitcast(fields, c.context.get_value_type(state))
    return NativeValue(pointer, is_error=c.builder.load(failed))


@lower_getattr_generic(State)
def _load(context: Any, builder: Any, state: State, value: Any, attr: str) -> Any:
    """A field's value."""
    position = state.fields.index(attr)
    fields = builder.bitcast(value, _layout(context, state).as_pointer())
    place = _cgutils.gep_inbounds(builder, fields, 0, position)
    kind = state.types[position]
    if isinstance(kind, types.Array) and kind.layout == "C":
        return _load_array(context, builder, kind, place)
    return context.data_model_manager[kind].from_data(builder, _invariant(builder, place))


def _load_array(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """An array in C order: where it is and its shape, from which the rest follows."""
    array = context.make_array(kind)(context, builder)
    members = context.data_model_manager[kind]._fields

    def member(name: str) -> Any:
        position = members.index(name)
        return _invariant(builder, _cgutils.gep_inbounds(builder, place, 0, position))

    shape = member("shape")
    extents = [builder.extract_value(shape, axis) for axis in range(kind.ndim)]
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    array.itemsize = stride = context.get_constant(types.intp, size)
    strides: list[Any] = []
    count = context.get_constant(types.intp, 1)
    for extent in reversed(extents):
        strides.insert(0, stride)
        stride, count = builder.mul(stride, extent), builder.mul(count, extent)
    array.data, array.shape, array.nitems = member("data"), shape, count
    array.meminfo, array.parent = member("meminfo"), member("parent")  # in case it is returned
    array.strides = _cgutils.pack_array(builder, strides)
    return array._getvalue()


def _invariant(builder: Any, place: Any) -> Any:
    """What is there, a word at a time: LLVM forgets the mark where it takes a struct apart."""
    kind = place.type.pointee
    if not isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        loaded = builder.load(place)
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded
    whole = ir.Constant(kind, ir.Undefined)
    for position in range(len(kind) if isinstance(kind, ir.LiteralStructType) else kind.count):
        part = _invariant(builder, _cgutils.gep_inbounds(builder, place, 0, position))
        whole = builder.insert_value(whole, part, position)
    return whole


by_reference(Task)  # which is made where nothing of Numba is known
