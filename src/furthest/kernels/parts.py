"""Parts on disk: what one process has translated, no other one types and lowers again.

A strategy that is compiled for the first time shares most of its parts with those compiled before.
Each part is a small file in a folder beside the machine code: the intermediate code of one function
and the keys of the parts that it calls, which are files of their own. A key says which function it
is, for which types and for which machine; it is in the names of the code, too, so that a part means
the same whichever process made it. As everywhere in the cache, what is missing, damaged or older is
made again.
"""

import functools
import hashlib
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core import compiler, serialize
from numba.core.runtime.nrt import rtsys
from numba.core.typing import templates

from furthest.kernels.cache import cache_for, is_foreign, is_kept, made
from furthest.kernels.merging import Part, PartCompiler, WholeCompiler, enter

FOLDER = "parts"
RUNTIME = ""  # Numba's, among the keys of parts

# Numba's types do not know themselves.
_compiler: Any = compiler
_serialize: Any = serialize
_templates: Any = templates
_Part: Any = Part

# Those of this process, compiled or loaded, by their keys; and what is not on disk yet.
_parts: dict[str, Any] = {}
_unsaved: dict[str | None, Any] = {}


class _Kept(NamedTuple):
    """What is in a file."""

    name: str
    code: bytes
    below: list[str]  # the keys of the parts that it calls
    environments: list[Any]  # Numba's, to which the code refers by their names
    descriptor: bytes  # how it is called, packed: large, and needed for direct calls alone


class KeptPartCompiler(PartCompiler):
    """Takes a part from disk if it is there."""

    def compile_extra(self, func: Any) -> Any:
        """One part."""
        self.key = _key(func, self.state)
        if self.key is None:
            return super().compile_extra(func)
        found = _load(self.key, self.state)
        if found is None:
            found = super().compile_extra(func)
            _parts[self.key], _unsaved[self.key] = found.library, found
        return found


class KeepingWholeCompiler(WholeCompiler):
    """Puts the parts of a whole on disk, once it has turned out that they can be used there.

    Parts have addresses of Python objects in them, which mean nothing to another process. Those of
    kernels that they call are never used, and vanish when the whole is optimised; one that is left,
    such as that of a large array, is used.
    """

    def compile_extra(self, func: Any) -> Any:
        """A whole, from another process if that compiles it at this moment."""
        make = functools.partial(self._make, func)
        return made(func, tuple(self.state.args), self.state.targetctx, make)

    def _make(self, func: Any) -> Any:
        """A whole, compiled here."""
        whole = super().compile_extra(func)
        if not whole.library.has_dynamic_globals:
            for part in whole.library._linking_libraries:
                unsaved = _unsaved.pop(getattr(part, "key", None), None)
                if unsaved is not None:
                    _save(unsaved)
        return whole


def _key(function: Any, state: Any) -> str | None:
    """Which function, for which types, on which machine; None of what could change unseen."""
    if not is_kept(function) or is_foreign(state.args):
        return None
    name = (function.__module__, function.__qualname__, bool(state.flags.forceinline))
    machine = (state.targetctx.codegen().magic_tuple(), sys.implementation.cache_tag)
    return hashlib.sha256(repr((name, str(state.args), machine)).encode()).hexdigest()[:32]


def _load(key: str, state: Any) -> Any:
    """A part as the compiler would return it; None if it, or one that it calls, is not there."""
    kept = _read(key)
    part = kept and _part(key, kept, state.targetctx.codegen())
    if kept is None or part is None:
        return None
    descriptor = pickle.loads(kept.descriptor)  # noqa: S301
    return _compiler.compile_result(
        typing_context=state.typingctx,
        target_context=state.targetctx,
        entry_point=enter(state.targetctx, descriptor, part),
        library=part,
        signature=_templates.signature(descriptor.restype, *state.args),
        objectmode=False,
        lifted=(),
        fndesc=descriptor,
        environment=kept.environments[0],
        metadata={},
        reload_init=[],
    )


def _part(key: str, kept: _Kept | None, codegen: Any) -> Any:
    """A part's code, and that of all that it calls; None if any of it is not there."""
    if key in _parts:
        return _parts[key]
    if kept is None:
        return None
    below: list[Any] = []
    for each in kept.below:
        below.append(rtsys.library if each == RUNTIME else _part(each, _read(each), codegen))
        if below[-1] is None:
            return None
    part = _parts[key] = _Part(codegen, kept.name)
    part.key, part.environments = key, kept.environments
    part._final_module, part._linking_libraries = llvm.parse_bitcode(kept.code), below
    part.finalize()
    return part


def _save(made: Any) -> None:
    """For other processes; that nothing can be stored has been said elsewhere."""
    part, files = made.library, _files()
    below = [RUNTIME if each is rtsys.library else each.key for each in part._linking_libraries]
    # Neither what is to be done before it is used nor what somebody else has written is kept.
    if files is None or part._reload_init or None in below:
        return
    made.fndesc.typemap = made.fndesc.calltypes = None  # as Numba does it
    kept = _Kept(
        name=part.name,
        code=part._get_module_for_linking().as_bitcode(),
        below=below,
        environments=[made.environment, *made._find_referenced_environments()],
        descriptor=_serialize.dumps(made.fndesc),
    )
    with suppress(OSError):
        files._save_data(part.key, kept)


def _read(key: str) -> _Kept | None:
    files = _files()
    return None if files is None else files._load_data(key)


@functools.cache
def _files() -> Any:
    """Where they are; None where nothing can be stored."""
    cache = cache_for(_key)
    if cache.cache_path is None:
        return None
    folder = Path(cache.cache_path, FOLDER)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return cache._files(str(folder))
