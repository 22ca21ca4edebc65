"""The private parts of Numba that the package rests on.

Each test names one of them, so that a new Numba that has changed it is recognised at once.
"""

import inspect
import pickle
from enum import IntEnum
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import caching, cgutils, codegen, compiler, event, typed_passes, types
from numba.core.runtime.nrt import rtsys
from numba.core.typing.typeof import Purpose
from numba.extending import intrinsic

from furthest.kernels import cache, evidence, jit, merging, states
from furthest.problem import Problem

njit: Any = numba.njit  # its types do not know the private options

USED = f"furthest/kernels/jit.py uses it; this is Numba {numba.__version__}"


def has(owner: object, name: str, *arguments: str) -> None:
    """Fail with a sentence if a part is gone, or is called in another way."""
    part = getattr(owner, name, None)
    if part is None:
        pytest.fail(f"{owner} has no {name} any more: {USED}")
    known = inspect.signature(part).parameters if arguments else {}
    missing = [argument for argument in arguments if argument not in known]
    if missing:
        pytest.fail(f"{name} takes no {', '.join(missing)} any more: {USED}")


@pytest.fixture(scope="module")
def compiled():
    """A kernel of the package that has been compiled, or loaded."""
    task = Problem(np.eye(2)).task
    known = evidence.no_evidence(task)
    known.counts[:] = 4, 2
    evidence.recompute(task, known)
    return evidence.recompute


@pytest.mark.parametrize("option", [*jit.OPTIONS, "forceinline"])
def test_the_options_of_a_kernel(option):
    value = {"forceinline": True, **jit.OPTIONS}[option]
    try:
        assert numba.njit(**{option: value})(lambda x: x)(1) == 1
    except KeyError as error:
        pytest.fail(f"njit has no option {option} any more ({error}): {USED}")


def test_without_nrt_no_reference_is_counted():
    """The option `_nrt` may be there and do nothing."""

    def same(values):
        return values

    codes = []
    for options in ({}, {"_nrt": False}):
        dispatcher = njit(**options)(same)
        dispatcher.compile((types.float64[::1],))
        codes += dispatcher.inspect_llvm().values()
    assert "NRT_incref" in codes[0], "a reference is counted under another name: mend this test"
    if "NRT_incref" in codes[1]:
        pytest.fail(f"the option _nrt=False does not switch off reference counting: {USED}")


def test_the_cache_of_one_function(compiled):
    has(caching, "FunctionCache", "py_func")
    has(caching, "IndexDataCacheFile", "cache_path", "filename_base", "source_stamp")
    for part in ("load", "_load_index", "_load_data"):
        has(caching.IndexDataCacheFile, part)
    has(caching.IndexDataCacheFile, "save", "key", "data")
    has(caching.IndexDataCacheFile, "_save_index", "overloads")
    has(caching.IndexDataCacheFile, "_save_data", "name", "data")
    has(caching.IndexDataCacheFile, "_open_for_write", "filepath")
    has(caching.IndexDataCacheFile, "_data_path", "name")
    has(caching.IndexDataCacheFile, "_dump", "obj")
    has(caching.CompileResultCacheImpl, "_locator_classes")
    for place in ("UserProvided", "InTree", "UserWide"):
        has(getattr(caching, f"{place}CacheLocator"), "from_function", "py_func", "py_file")
    has(caching.FunctionCache, "_load_overload", "sig", "target_context")
    has(caching.FunctionCache, "_save_overload", "sig", "data")
    if not isinstance(getattr(numba.njit(lambda: 0), "_cache", None), caching.NullCache):
        pytest.fail(f"a dispatcher has no _cache any more: {USED}")
    has(rtsys, "initialize", "ctx")
    own = compiled._cache
    for part in ("_cache_path", "_cache_file", "_impl"):
        has(own, part)
    for part in ("_index_path", "_version", "_source_stamp"):
        has(own._cache_file, part)
    has(own._impl, "filename_base")
    if own._cache_file._source_stamp != cache.DIGEST:
        pytest.fail(f"the stamp of a cached kernel is not the package's: {USED}")


def test_the_cache_is_asked_and_filled(tmp_path, monkeypatch):
    """`_load_overload` and `_save_overload` are what the dispatcher comes to."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    heard = []

    class Listening(cache.PackageCache):
        def _load_overload(self, sig, target_context):
            heard.append("load")
            return super()._load_overload(sig, target_context)

        def _save_overload(self, sig, data):
            heard.append("save")
            super()._save_overload(sig, data)

    def one(x):
        return x + 1

    dispatcher = numba.njit(one)
    dispatcher._cache = Listening(one)
    assert dispatcher(1) == 2
    if heard != ["load", "save"]:
        pytest.fail(f"a dispatcher does not use its _cache any more: {heard}; {USED}")
    assert [path.suffix for path in sorted(tmp_path.rglob("*.nb?"))] == [".nbc", ".nbi"]


def test_the_address_of_a_kernel(compiled):
    [found] = compiled.overloads.values()
    has(found, "fndesc")
    has(found.fndesc, "llvm_func_name")
    has(found, "library")
    has(found.library, "get_pointer_to_function", "name")
    name = found.fndesc.llvm_func_name
    if not found.library.get_pointer_to_function(name):
        pytest.fail(f"{name} is at no address: {USED}")


def test_a_call_by_address():
    """The calling convention: what `Apart` generates calls a kernel and brings back its value."""
    for name in ("unpack_tuple", "if_unlikely"):
        has(cgutils, name)
    conventions = []

    @intrinsic
    def convention(_):
        def generate(context, builder, signature, values):
            conventions.append(context.call_conv)
            return context.get_constant(types.int64, 0)

        return types.int64(), generate

    @numba.njit
    def ask():
        return convention()  # type: ignore[call-arg]  # the compiler hands over the first one

    assert ask() == 0
    for name in ("get_function_type", "call_function", "return_status_propagate"):
        has(conventions[0], name)

    apart = jit.Apart(jit.kernel(twice_the_first))
    call = apart.caller()
    address = apart.address(np.array([3.0, 4.0]), 2.0)
    assert address
    through = jit.kernel(lambda at, values, factor: call(at, (values, factor)))
    if through(address, np.array([3.0, 4.0]), 2.0) != 6.0:
        pytest.fail(f"a call by Numba's calling convention brings back another value: {USED}")


def twice_the_first(values, factor):
    return values[0] * factor


def test_a_library_of_code():
    """What `merging` overrides is what the compiler comes to."""
    library = codegen.JITCodeLibrary
    for part in ("finalize", "_optimize_final_module", "_get_module_for_linking"):
        has(library, part)
    has(library, "add_llvm_module", "ll_module")
    for part in ("get_defined_functions", "has_dynamic_globals"):
        has(library, part)
    for part in ("_final_module", "_linking_libraries", "_reload_init"):
        if part not in inspect.getsource(codegen):
            pytest.fail(f"a library has no {part} any more: {USED}")
    has(compiler.CompileResult, "_find_referenced_environments")
    has(compiler, "compile_result")
    has(compiler.CompilerBase, "compile_extra", "func")
    has(compiler.CompilerBase, "define_pipelines")
    has(compiler.DefaultPassBuilder, "define_nopython_pipeline", "state")
    if "no_compile" not in compiler.Flags.options:
        pytest.fail(f"there is no flag no_compile any more: {USED}")
    has(typed_passes.NativeLowering, "run_pass", "state")


def inner(values):
    return values[0]


def test_what_a_kernel_calls_has_no_machine_code():
    part: Any = jit.kernel(inner)

    def twice(values):
        return 2.0 * part(values)

    whole: Any = jit.kernel(twice)
    assert whole(np.array([3.0])) == 6.0
    [found] = whole.overloads.values()
    if not isinstance(found.library, merging.Whole) or part.overloads:
        pytest.fail(f"a callee is compiled as a whole: {USED}")
    template, *_ = part.get_call_template((types.float64[::1],), {})
    assert template.cases
    assert not part.overloads
    # Called from Python it is compiled after all.
    assert part(np.array([3.0])) == 3.0
    assert part.overloads


class Held(NamedTuple):
    values: Any
    factor: float
    switch: bool


@states.by_reference
class Holding(NamedTuple):
    held: Held
    matrix: Any
    slanted: Any  # not in C order


def test_a_state_is_passed_by_reference():
    """Every field arrives, nested ones too; what is written to an array is seen outside."""
    known = Holding(Held(np.array([1.0, 2.0]), 3.0, True), np.eye(2), np.eye(3)[::2].T)
    kind = numba.typeof(known)
    assert isinstance(kind, states.State)
    assert isinstance(kind.of("held"), states.State)

    @jit.kernel
    def read(holding):
        holding.matrix[0, 1] += 5.0
        row = holding.matrix[1]
        total = holding.slanted[2, 1] + row[1] + row.shape[0] + holding.matrix.size
        return total * holding.held.factor + holding.held.values[1] * holding.held.switch

    @jit.kernel
    def through(holding):
        return read(holding)

    assert read(known) == (1.0 + 1.0 + 2 + 4) * 3.0 + 2.0
    assert through(known._replace(held=known.held._replace(switch=False))) == 24.0
    assert known.matrix[0, 1] == 10.0
    # An array comes back as what it was.

    @jit.kernel
    def same(holding):
        return holding.matrix, holding.slanted, holding.held.values

    assert same(known)[0] is known.matrix
    assert same(known)[1] is known.slanted
    assert same(known)[2] is known.held.values


def test_two_states_of_equal_structure_are_two_types():
    class Other(NamedTuple):
        values: Any
        factor: float
        switch: bool

    held = Held(np.ones(2), 3.0, True)
    one, other = (Holding(part, np.eye(2), np.eye(2)) for part in (held, Other(*held)))
    kinds = states._state(one, Purpose.argument), states._state(other, Purpose.argument)
    assert kinds[0] != kinds[1]
    assert kinds[0] == states._state(one, Purpose.argument)
    assert pickle.loads(pickle.dumps(kinds[0])) == kinds[0]
    assert cache.is_foreign(kinds)


def test_a_field_that_cannot_be_unpacked_is_an_error():
    read = jit.kernel(lambda holding: holding.matrix[0, 0])
    held = Held(np.ones(2), 3.0, True)
    with pytest.raises(TypeError, match="matrix of Holding is <object object at"):
        read(Holding(held, object(), np.eye(2)))


def test_the_types_of_a_named_tuple():
    """`instance_class` tells a rule of the package from a researcher's own."""

    class Mine(NamedTuple):
        arm: int

    kind = numba.typeof(Mine(0))
    assert isinstance(kind, types.BaseTuple)
    if getattr(kind, "instance_class", None) is not Mine:
        pytest.fail(f"the type of a NamedTuple has no instance_class any more: {USED}")
    assert cache.is_foreign((kind,))


def test_positions_are_members_of_an_enumeration():
    """Numba before 0.68 refuses an IntEnum as an index."""

    class Place(IntEnum):
        FIRST = 0
        SECOND = 1

    @numba.njit
    def second(values):
        values[Place.FIRST] += 1.0
        return values[Place.SECOND]

    try:
        assert second(np.array([1.0, 2.0])) == 2.0
    except numba.TypingError as error:
        pytest.fail(f"an IntEnum is no array index any more ({error}): {USED}")


def test_compilations_are_heard_of():
    heard = []

    class Listener(event.Listener):
        def on_start(self, event):
            heard.append("start")

        def on_end(self, event):
            heard.append("end")

    with event.install_listener("numba:compile", Listener()):
        assert numba.njit(lambda x: x)(1) == 1
    if heard[:1] != ["start"] or heard[-1:] != ["end"]:
        pytest.fail(f"the event numba:compile is not announced any more: {USED}")


class Pair(NamedTuple):
    first: int
    second: Any


@pytest.mark.parametrize(
    "value",
    [
        *(1, 0.5, True, (1, 2), (1, np.zeros(2)), Pair(1, np.zeros(2)), Pair(1, 2)),
        *(np.zeros((2, 3)), np.zeros((2, 3)).T, np.zeros(4)[::2], np.arange(3), np.zeros(2, bool)),
        *(np.broadcast_to(0.0, 3), Problem(np.eye(2), eps=0.1).task),
    ],
)
def test_kinds_are_those_of_numba(value):
    assert states.kind_of(value) == numba.typeof(value)
