"""All Numba policy in one place: what `@kernel` means, and when a cached kernel is stale.

Numba's own cache watches only the file of the function it caches. A kernel inlines its callees,
so an edit in a callee's file would leave stale machine code behind. Here the stamp of every
cached kernel is a digest of all sources that can end up in machine code: any edit among them
invalidates the cache. Those are all of this folder, and every source elsewhere that says so itself:
by importing from this module or, where it only has types and constants for those that do, by
`__compiled__ = True`.

The cache only saves time: whatever is wrong with it, everything runs. What is damaged is compiled
again, and where nothing can be stored one `CacheWarning` says so.
"""

import _signal  # type: ignore[import-not-found]
import hashlib
import pickle
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.extending import intrinsic

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

# Numba's types do not know the options that begin with an underscore, and much else.
_njit: Any = numba.njit
_config: Any = numba.config
_typeof: Any = numba.typeof
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

PACKAGE = Path(__file__).resolve().parent.parent
SEAL = hashlib.sha256().digest_size
COMPILED = re.compile(rb"^(from furthest\.kernels\.jit import |__compiled__ = True)", re.MULTILINE)


def compiled_sources(package: Path = PACKAGE) -> dict[Path, bytes]:
    """All sources that can end up in machine code, in a fixed order."""
    sources = {path: path.read_bytes() for path in sorted(package.rglob("*.py"))}
    kernels = Path(package, "kernels")
    return {
        path: text
        for path, text in sources.items()
        if path.is_relative_to(kernels) or COMPILED.search(text)
    }


def source_digest(package: Path = PACKAGE) -> str:
    """Digest of these sources."""
    digest = hashlib.sha256()
    for path, text in compiled_sources(package).items():
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + text)
    return digest.hexdigest()


DIGEST = source_digest()
SOURCELESS = hashlib.sha256().hexdigest()  # in an archive, or of bytecode alone


class CacheWarning(RuntimeWarning):
    """Compiled code could not be stored: the next process will compile it again."""


class _HomeLocator(UserWideCacheLocator):
    """The user's cache; but without a home, Numba would make a folder called `~` right here."""

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Any:
        if not Path(cls(function, file).get_cache_path()).is_absolute():
            return None
        return super().from_function(function, file)


class _LastLocator(InTreeCacheLocator):
    """Beside the sources, where none can be written: what is there already can be read."""

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Any:
        return cls(function, file)


class _Places(CompileResultCacheImpl):
    """Where the cache of a kernel may be: the first folder that can be written to."""

    _locator_classes = [  # noqa: RUF012
        *(UserProvidedCacheLocator, InTreeCacheLocator),
        *(_HomeLocator, _LastLocator),
    ]


class _SealedFiles(IndexDataCacheFile):
    """Index and code, each behind a digest of its bytes, of Numba's version and of all sources.

    Numba would run whatever it finds. Here a file that is damaged, older or another kernel's is as
    good as none: its kernel is compiled again and takes its place.
    """

    def save(self, key: Any, data: Any) -> None:
        # The index is written first: after an interruption it may name a file of another key.
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found, data = super().load(key) or (None, None)
        return data if found == key else None

    def _load_index(self) -> Any:
        return self._read(self._index_path) or {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            content = memoryview(Path(path).read_bytes())
        except OSError:
            return None
        seal, packed = content[:SEAL], content[SEAL:]
        return pickle.loads(packed) if seal == self._seal(packed) else None  # noqa: S301

    def _write(self, path: str, content: Any) -> None:
        packed = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._seal(packed) + packed)

    def _seal(self, packed: bytes | memoryview) -> bytes:
        digest = hashlib.sha256(f"{self._version} {self._source_stamp}\0".encode())
        digest.update(packed)
        return digest.digest()


class _PackageCache(FunctionCache):
    """Numba's disk cache, stamped with all kernel sources instead of one file."""

    _impl_class = _Places

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _SealedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=DIGEST,
        )

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if _is_foreign(sig):
            return None
        with _locked(self._cache_path, writing=False):
            return super()._load_overload(sig, target_context)

    def _save_overload(self, sig: Any, data: Any) -> None:
        if _is_foreign(sig):
            return
        try:
            with _locked(self._cache_path, writing=True):
                super()._save_overload(sig, data)
        except OSError as error:
            reason = f"{error.strerror or error}: {self._cache_path}"
            _warn_once(reason, "set NUMBA_CACHE_DIR to a folder with room that can be written to")


def _cache_for(function: Callable[..., Any]) -> Any:
    if DIGEST == SOURCELESS:
        reason = "there are no sources whose edits could be noticed"
        _warn_once(reason, "install the package in a folder, with its sources")
        return NullCache()
    try:
        return _PackageCache(function)
    except RuntimeError as error:
        _warn_once(str(error), "unset NUMBA_CACHE_LOCATOR_CLASSES")
        return NullCache()


_warned: list[str] = []


def _warn_once(reason: str, remedy: str) -> None:
    """Dozens of kernels may be compiled; one warning in a process is enough."""
    if not _warned:
        _warned.append(reason)
        message = (
            f"compiled code cannot be stored ({reason}): every new process will compile it again, "
            f"for about half a minute; {remedy}"
        )
        warnings.warn(message, CacheWarning, stacklevel=2)


@contextmanager
def _locked(folder: str, *, writing: bool) -> Iterator[None]:
    """Many may read at a time, one may write.

    Numba reads the index, picks a free file name, writes index and code. Two processes that compile
    one kernel for different types would pick the same name, and one would run the other's code.
    """
    with ExitStack() as held:
        if fcntl is not None:
            # Where nobody can write, or nothing can be locked, there is nothing to be done.
            with suppress(OSError):
                file = held.enter_context(Path(folder, "lock").open("a"))
                fcntl.flock(file, fcntl.LOCK_EX if writing else fcntl.LOCK_SH)
        yield


def _is_foreign(signature: Any) -> bool:
    """Whether a NamedTuple from outside the package is among the arguments.

    Its `choose` would become part of the cached code, and could change unseen.
    """
    for kind in getattr(signature, "args", signature):
        if isinstance(kind, types.BaseTuple):
            home = getattr(kind, "instance_class", None)
            if home is not None and not home.__module__.startswith("furthest."):
                return True
            parts: Any = kind
            if _is_foreign(tuple(parts)):
                return True
    return False


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first call; cached on disk when it belongs to this package.

    A function from elsewhere (a researcher's own rule) is compiled anew in each process: its
    cache could not notice edits of the kernels that it calls.
    """
    return _compiled(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that is merged into every caller.

    For what every round passes through: a call that hands over a NamedTuple of arrays copies a
    kilobyte of array headers, which would cost more than the arithmetic.
    """
    return _compiled(function, forceinline=True)


def spliced(function: Callable[P, R]) -> Callable[P, R]:
    """A thin kernel that is merged into its callers before they are compiled.

    Each level of kernels compiles all levels below once more; the outer ones would compile
    everything again and again.
    """
    return _compiled(function, inline="always")


def compiled_twin(function: Callable[P, R], *parts: Callable[..., Any]) -> Callable[P, R]:
    """A kernel made of plain Python functions, which stay plain where Python calls them.

    The `parts`, functions that it calls by their names, are spliced into it.
    """
    names = function.__globals__ | {part.__name__: _spliced_twin(part) for part in parts}
    twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
    return kernel(cast("Callable[P, R]", twin))


@cache
def _spliced_twin(part: Callable[P, R]) -> Callable[P, R]:
    return spliced(part)


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    dispatcher = _njit(**OPTIONS, **options)(function)
    if function.__module__.startswith("furthest.") and not _config.DISABLE_JIT:
        # Numba has no public way to choose the cache of one function.
        dispatcher._cache = _cache_for(function)
    return cast("Callable[P, R]", dispatcher)


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


class Apart:
    """A large kernel that is compiled once and called through its address.

    Linked in the usual way it would be optimised once more in every kernel above it, at several
    seconds each. Its callers carry the address, which is another one in every process, in an array
    of integers; a NamedTuple of arguments is handed over at each call, so it must be worth a call.
    """

    def __init__(self, compiled: Callable[..., Any]) -> None:
        self._kernel: Any = compiled
        self._arguments: Any = None  # their types, and where the kernel for them is
        self._address = 0

    def address(self, *examples: Any) -> int:
        """Where the kernel is, compiled or loaded; the first examples settle the types."""
        if self._arguments is None and not _config.DISABLE_JIT:
            self._arguments = tuple(_typeof(example) for example in examples)
            self._kernel.compile(self._arguments)
            found = self._kernel.overloads[self._arguments]
            name = found.fndesc.llvm_func_name
            self._address = int(found.library.get_pointer_to_function(name))
        return self._address

    def caller(self) -> Callable[..., Any]:
        """A function for kernels: (address, tuple of all arguments) → what the kernel returns."""
        if _config.DISABLE_JIT:
            return lambda _, arguments: self._kernel(*arguments)
        return cast("Callable[..., Any]", intrinsic(self._typed))

    def _typed(self, _: Any, address: Any, arguments: Any) -> Any:
        """Signature and code of a call by Numba's own calling convention."""
        if tuple(arguments) != self._arguments:
            raise TypeError(f"{self._kernel.__name__} is at no address for {arguments}")
        result = self._kernel.overloads[self._arguments].signature.return_type

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
