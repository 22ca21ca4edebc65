"""The disk cache of machine code: where it is, when it is stale, and what is never taken from it.

Numba's own cache watches only the file of the function it caches. A kernel is merged with its
callees, so an edit in a callee's file would leave stale machine code behind. Here the stamp of
every cached kernel is a digest of all sources that can end up in machine code: any edit among them
invalidates the cache. Those are all of this folder, and every source elsewhere that says so itself:
by importing from `jit` or, where it only has types and constants for those that do, by
`__compiled__ = True`.

The cache only saves time: whatever is wrong with it, everything runs. What is damaged is compiled
again, and where nothing can be stored one `CacheWarning` says so.
"""

import hashlib
import pickle
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from numba.core import types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.runtime.nrt import rtsys

from furthest.kernels import shipped
from furthest.kernels.states import State

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

PACKAGE = Path(__file__).resolve().parent.parent
SEAL = hashlib.sha256().digest_size
COMPILED = re.compile(rb"^(from furthest\.kernels\.jit import |__compiled__ = True)", re.MULTILINE)

# Seconds for which a process waits for what another one compiles, and how often it looks.
PATIENCE, STEP = 60.0, 0.02

# Places in the file of claims: two kernels that share one wait for each other without need.
PLACES = 2**30


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


class PackageCache(FunctionCache):
    """Numba's disk cache, stamped with all kernel sources instead of one file.

    What is not in it may have been shipped with the package (`shipped.py`).
    """

    _impl_class = _Places

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._module = function.__module__
        self._cache_file = self._files(self._cache_path)

    def _files(self, folder: str) -> _SealedFiles:
        return _SealedFiles(folder, self._impl.filename_base, DIGEST)

    def _index_key(self, sig: Any, codegen: Any, level: str | None = None) -> str:
        """A name for one kernel, its types, and this machine or all of a level.

        Numba's keys are the types themselves. A loop's have hundreds of fields, and an index would
        have to make them all to look for one.
        """
        _, machine, code = super()._index_key(sig, codegen)
        return hashlib.sha256(repr((str(sig), level or machine, code)).encode()).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Numba's own, but what only compiling needs is set up when there is something to compile.

        That takes as long as everything else in a command whose kernels are all stored. And
        what is registered first is tried first: typing goes before code, lest an array's element be
        looked for among strings, lists and dictionaries.
        """
        rtsys.initialize(target_context)
        found = self._load_overload(sig, target_context)
        if found is None:
            target_context.typing_context.refresh()
            target_context.refresh()
        return found

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if is_foreign(sig):
            return None
        with _locked(self._cache_path, writing=False):
            found = super()._load_overload(sig, target_context)
        for level in [] if found else shipped.usable_levels():
            files = self._files(shipped.folder(level, self._module))
            data = files.load(self._index_key(sig, target_context.codegen(), level))
            if data is not None:
                return self._impl.rebuild(target_context, data)
        return found

    def _save_overload(self, sig: Any, data: Any) -> None:
        if is_foreign(sig):
            return
        try:
            with _locked(self._cache_path, writing=True):
                super()._save_overload(sig, data)
            if level := shipped.building():
                self._ship(sig, data, level)
        except OSError as error:
            reason = f"{error.strerror or error}: {self._cache_path}"
            _warn_once(reason, "set NUMBA_CACHE_DIR to a folder with room that can be written to")

    def made(self, sig: Any, target_context: Any, make: Callable[[], Any]) -> Any:
        """What `make` compiles, stored; but what another process is at is waited for and loaded."""
        key = self._index_key(sig, target_context.codegen())
        with _claimed(self._cache_path, f"{self._impl.filename_base} {key}"):
            found = self._load_overload(sig, target_context)
            if found is None:
                found = make()
                self.save_overload(sig, found)
            else:
                target_context.insert_user_function(
                    found.entry_point, found.fndesc, [found.library]
                )
        return found

    def _ship(self, sig: Any, data: Any, level: str) -> None:
        """Store it among what goes into a wheel."""
        folder = shipped.folder(level, self._module)
        Path(folder).mkdir(parents=True, exist_ok=True)
        with _locked(folder, writing=True):
            key = self._index_key(sig, data.codegen, level)
            self._files(folder).save(key, self._impl.reduce(data))


def cache_for(function: Callable[..., Any]) -> Any:
    """The cache of one kernel; none where nothing can be stored."""
    if DIGEST == SOURCELESS:
        reason = "there are no sources whose edits could be noticed"
        _warn_once(reason, "install the package in a folder, with its sources")
        return NullCache()
    try:
        return PackageCache(function)
    except RuntimeError as error:
        _warn_once(str(error), "unset NUMBA_CACHE_LOCATOR_CLASSES")
        return NullCache()


def made(function: Callable[..., Any], sig: Any, context: Any, make: Callable[[], Any]) -> Any:
    """What `make` compiles of a kernel for some types, once for all processes of this machine.

    Several that begin with an empty cache, such as the workers of one command, would otherwise
    compile the same, each for itself.
    """
    cache = None if is_foreign(sig) or not is_kept(function) else cache_for(function)
    return cache.made(sig, context, make) if isinstance(cache, PackageCache) else make()


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether it is of this package: edits of what another one calls could not be noticed."""
    return function.__module__.startswith("furthest.")


class LaterCache:
    """The cache of one kernel, looked for when it is first used: most kernels never are."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def save_overload(self, sig: Any, data: Any) -> None:
        """Nothing: the compiler has done it (`made`)."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    @cached_property
    def _found(self) -> Any:
        return cache_for(self._function)


_warned: list[str] = []


def _warn_once(reason: str, remedy: str) -> None:
    """Dozens of kernels may be compiled; one warning in a process is enough."""
    if not _warned:
        _warned.append(reason)
        message = (
            f"compiled code cannot be stored ({reason}): every new process will compile it again, "
            f"for about ten seconds; {remedy}"
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


@contextmanager
def _claimed(folder: str, what: str) -> Iterator[None]:
    """One process at a time is in this block for the same thing.

    A claim ends with its process, however that ends. It is a lock that what is forked meanwhile
    does not have. Whoever has waited for too long, for a process that was stopped perhaps, goes on.
    """
    place = int.from_bytes(hashlib.sha256(what.encode()).digest()[:4]) % PLACES
    with ExitStack() as held:
        if fcntl is not None:
            # Where nobody can write, or nothing can be locked, there is nothing to be done.
            with suppress(OSError):
                Path(folder).mkdir(parents=True, exist_ok=True)
                _wait_for(held.enter_context(Path(folder, "claims").open("ab")), place)
        yield


def _wait_for(file: Any, place: int) -> None:
    """Until this byte of the file is ours, or for long enough."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            time.sleep(STEP)
        else:
            return


def is_foreign(signature: Any) -> bool:
    """Whether a NamedTuple from outside the package is among the arguments.

    Its `choose` would become part of the cached code, and could change unseen. And a class that its
    module does not know would come back as another one, for which Numba would look for the code
    anew at every call.
    """
    for kind in getattr(signature, "args", signature):
        home = getattr(kind, "instance_class", None)
        if home is not None and not _is_ours(home):
            return True
        if isinstance(kind, types.BaseTuple | State) and is_foreign(tuple(cast("Any", kind))):
            return True
    return False


def _is_ours(home: type) -> bool:
    known = getattr(sys.modules.get(home.__module__), home.__name__, None)
    return home.__module__.startswith("furthest.") and known is home
