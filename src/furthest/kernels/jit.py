"""All Numba policy in one place: what `@kernel` means."""

import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable
from functools import cache, wraps
from types import FrameType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import cgutils
from numba.extending import intrinsic

from furthest.kernels.cache import LaterCache, is_kept
from furthest.kernels.parts import KeepingWholeCompiler, KeptPartCompiler
from furthest.kernels.states import kind_of

# Numba's types do not know the options that begin with an underscore, and much else.
_njit: Any = numba.njit
_config: Any = numba.config
_cgutils: Any = cgutils

P = ParamSpec("P")
R = TypeVar("R")

# Reassociation and contraction let LLVM vectorise reductions and fuse multiply-adds. The other
# fast-math flags assume away inf and NaN, which the kernels use as honest values.
FLAGS = {"reassoc", "contract", "nsz"}

# Kernels never allocate: all arrays come from their callers. Without Numba's runtime (_nrt) no
# reference is counted either, which makes a round three times as fast (docs/decisions/0002).
OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": FLAGS,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call; cached on disk when it belongs to this package.

    A function from elsewhere (a researcher's own rule) is compiled anew in each process: its
    cache could not notice edits of the kernels that it calls.
    """
    return _compiled(function, forceinline=False)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that is merged into every caller, for the innermost loops.

    Elsewhere LLVM knows better what is worth merging, and takes half the time to compile.
    """
    return _compiled(function, forceinline=True)


# For an `overload` that kernels call.
PART: Any = OPTIONS | {
    "forceinline": True,
    "no_cpython_wrapper": True,
    "pipeline_class": KeptPartCompiler,
}


def compiled_twin(function: Callable[P, R], *parts: Callable[..., Any]) -> Callable[P, R]:
    """A kernel made of plain Python functions, which stay plain where Python calls them.

    The `parts`, functions that it calls by their names, are merged into it, and those of them that
    come first into the others. While it runs other threads of Python go on, so nobody else may use
    what it writes to.
    """
    made: dict[str, Any] = {}
    for part in parts:
        made[part.__name__] = inlined(_twin(part, made))
    return _compiled(_twin(function, made), forceinline=False, nogil=True)


def _twin(function: Callable[P, R], others: dict[str, Any]) -> Callable[P, R]:
    """The same function, with others in the place of some that it calls."""
    names = function.__globals__ | others
    twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
    return cast("Callable[P, R]", twin)


def _compiled(
    function: Callable[P, R], *, forceinline: bool, nogil: bool = False
) -> Callable[P, R]:
    """Two dispatchers: one for Python, with machine code, and one for other kernels to merge."""
    if _config.DISABLE_JIT:
        return function

    @cache  # made only where something is compiled
    def part() -> Any:
        return _njit(**PART | {"forceinline": forceinline})(function)

    options = OPTIONS | {"nogil": nogil, "pipeline_class": KeepingWholeCompiler}
    whole = _njit(**options, forceinline=False)(function)
    # This is how the compiler comes to a function that is called.
    whole.get_call_template = lambda *arguments: part().get_call_template(*arguments)
    whole.get_overload = lambda signature: part().get_overload(signature)
    if is_kept(function):
        # Numba has no public way to choose the cache of one function.
        whole._cache = LaterCache(function)
    return cast("Callable[P, R]", whole)


def unbroken(compiled: Callable[P, R]) -> Callable[P, R]:
    """A kernel that takes a Generator: signals wait until its call is over.

    Numba unpacks a Generator with the help of Python, and goes on with a null pointer if a signal
    handler raises an exception there: the process would crash.
    """
    if _config.DISABLE_JIT:
        return compiled

    @wraps(compiled, updated=())
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        # Python handles signals in the main thread alone.
        if threading.current_thread() is not threading.main_thread():
            return compiled(*arguments, **named)
        with _SignalsWait(compiled):
            return compiled(*arguments, **named)

    return call


# They end a run by an exception, Ctrl-C everywhere and the others where a study says so.
ENDING = [
    int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class _SignalsWait:
    """Python's handlers of `ENDING` are called after this block.

    Nothing would be gained by calling them inside: compiled code goes on to its end. But while the
    kernel is being compiled, which takes long, they are. Speaks to `_signal`: `signal` makes enums
    of all handlers, which costs as much as many rounds.
    """

    __slots__ = ("_handlers", "_kernel", "_over", "_waiting")

    def __init__(self, compiled: Any) -> None:
        self._kernel = compiled
        self._handlers: dict[int, Any] = {
            number: handler
            for number in ENDING
            if callable(handler := _signal.getsignal(number))  # else it is not Python's
        }
        self._waiting: list[int] = []
        self._over = False

    def __enter__(self) -> None:
        for number in self._handlers:
            _signal.signal(number, self._note)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        # From here on `_note` is as good as the handler, should another signal break in.
        self._over = True
        for number, handler in self._handlers.items():
            _signal.signal(number, handler)
        for number in self._waiting:
            self._handlers[number](number, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._over or self._kernel.is_compiling:
            self._handlers[number](number, frame)
        else:
            self._waiting.append(number)


# Of all kernels apart that this process has loaded. Without compiling they are numbers like others.
addresses: set[int] = set()
IS_COMPILED = not _config.DISABLE_JIT


class Apart:
    """A large kernel that is compiled once and called through its address.

    Linked in the usual way it would be optimised once more in every kernel above it, at several
    seconds each. Its callers carry the address, which is another one in every process, in an array
    of integers; a NamedTuple of arguments is handed over at each call, so it must be worth a call.
    One caller serves a kernel and its twins, which take and return the same.
    """

    def __init__(self, compiled: Callable[..., Any], twin: "Apart | None" = None) -> None:
        self._kernel: Any = compiled
        self._address: int | None = None
        self._results: dict[Any, Any] = twin._results if twin else {}  # by types of the arguments
        self._plain: dict[int, Callable[..., Any]] = twin._plain if twin else {}

    def address(self, *examples: Any) -> int:
        """Where the kernel is, compiled or loaded; the first examples settle the types."""
        if self._address is None:
            self._address = self._plain_address() if _config.DISABLE_JIT else self._load(examples)
        return self._address

    def _plain_address(self) -> int:
        self._plain[len(self._plain)] = self._kernel
        return len(self._plain) - 1

    def _load(self, examples: tuple[Any, ...]) -> int:
        arguments = tuple(kind_of(example) for example in examples)
        self._kernel.compile(arguments)
        found = self._kernel.overloads[arguments]
        self._results[arguments] = found.signature.return_type
        address = int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))
        addresses.add(address)
        return address

    def caller(self) -> Callable[..., Any]:
        """A function for kernels: (address, tuple of all arguments) → what the kernel returns."""
        if _config.DISABLE_JIT:
            return lambda address, arguments: self._plain[address](*arguments)
        return cast("Callable[..., Any]", intrinsic(self._typed))

    def _typed(self, _: Any, address: Any, arguments: Any) -> Any:
        """Signature and code of a call by Numba's own calling convention."""
        result = self._results.get(tuple(arguments))
        if result is None:
            raise TypeError(f"{self._kernel.__name__} is at no address for {arguments}")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            convention, kinds = context.call_conv, tuple(arguments)
            pointer = builder.inttoptr(
                values[0], convention.get_function_type(result, kinds).as_pointer()
            )
            unpacked = _cgutils.unpack_tuple(builder, values[1], len(kinds))
            status, returned = convention.call_function(builder, pointer, result, kinds, unpacked)
            with _cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return returned

        return result(address, arguments), generate
