"""Kernels are compiled in parts, and turned into machine code as a whole.

Numba optimises every function and generates its machine code, then does the same again in every
function that calls it. With ten levels of small kernels most of the work is thrown away. Here a
kernel that another one calls is translated into LLVM's intermediate code and left at that: a
`Part`. Only what Python calls becomes a `Whole`: all parts below it are linked together, optimised
once and turned into machine code once.

These are two libraries of code in the place of Numba's one, and two compilers that differ from
Numba's in their last step alone.
"""

import gc
from typing import Any, ClassVar

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering


class Part(JITCodeLibrary):
    """Intermediate code of one function, to be merged into others."""

    key: str | None = None  # its name on disk (`parts.py`), if it may be kept there
    environments: Any = ()  # what came from there with it, and must live as long

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take it as it is: it is optimised where it ends up."""
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """There is nothing more to do."""
        self._finalized = True

    def make_portable(self, descriptor: Any) -> None:
        """Give its code names that mean the same in every process.

        Numba's count what a process has compiled. What it has compiled of its own for this part
        comes in, under names that no other part has.
        """
        for library in dict.fromkeys(self._linking_libraries):
            if not is_everywhere(library):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
                self._reload_init.update(library._reload_init)
        self._linking_libraries = list(filter(is_everywhere, self._linking_libraries))
        own = descriptor.mangled_name
        descriptor.mangled_name = f"{self.name}.{self.key}"
        for function in list(self.get_defined_functions()):
            name = function.name
            function.name = descriptor.mangled_name if name == own else f"{name}.{self.key}"

    def _get_module_for_linking(self) -> Any:
        """The code, so that several may contain it and it vanishes where it is merged."""
        if self._shared_module is None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
            self._shared_module = self._final_module
        return self._shared_module


def is_everywhere(library: Any) -> bool:
    """Whether it means the same in every process: another part, or Numba's runtime."""
    return isinstance(library, Part) or library is rtsys.library


class Whole(JITCodeLibrary):
    """Machine code of a function that Python calls, with all that it calls in turn."""

    def finalize(self) -> None:
        """Link, optimise, generate."""
        # Where Python's arguments are unpacked must stay apart from where they are read.
        for function in self.get_defined_functions():
            function.add_function_attribute("noinline")
        needed: dict[Any, None] = {}  # each once, in a fixed order
        below = list(self._linking_libraries)
        while below:
            library = below.pop()
            if library not in needed:
                needed[library] = None
                below += library._linking_libraries if isinstance(library, Part) else []
        self._linking_libraries = list(needed)
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Once: Numba's first, cheaper round is for its reference counts, and there are none."""
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)

    def _get_module_for_linking(self) -> Any:
        """Names without code: nobody links a whole, but the disk cache wants to know them."""
        if self._shared_module is None:
            lines = [
                f'define void @"{function.name}"() {{ ret void }}'
                for function in self.get_defined_functions()
            ]
            lines += [
                f'@"{variable.name}" = global i8 0'
                for variable in self._final_module.global_variables
                if not variable.is_declaration
            ]
            self._shared_module = llvm.parse_assembly("\n".join(lines))
        return self._shared_module


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(NativeLowering):
    """To intermediate code alone."""

    _name = "lower_part"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        state.library = Part(context.codegen(), state.func_id.func_qualname)
        state.library.key = state.pipeline.key
        state.flags.no_compile = True
        super().run_pass(state)
        if state.library.key is not None:
            state.library.make_portable(state.cr.fndesc)
        state.library.finalize()
        entry = enter(context, state.cr.fndesc, state.library)
        state.cr = state.cr._replace(cfunc=entry)
        return True


def enter(context: Any, descriptor: Any, part: Part) -> Any:
    """Let Numba find a part by its entry point.

    Nobody ever enters there: any builtin will do, as long as no other part has the same.
    """
    entry = [].append  # type: ignore[var-annotated]
    context.insert_user_function(entry, descriptor, [part])
    return entry


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(NativeLowering):
    """To machine code."""

    _name = "lower_whole"

    def run_pass(self, state: Any) -> bool:
        state.library = Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class _Compiler(CompilerBase):
    """Numba's compiler, with a last step of its own."""

    lowering: ClassVar[type[NativeLowering]]

    def compile_extra(self, func: Any) -> Any:
        """Without looking for garbage: there is hardly any, and it took a tenth of the time."""
        if not gc.isenabled():
            return super().compile_extra(func)
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            gc.enable()

    def define_pipelines(self) -> list[PassManager]:
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        own = PassManager("nopython")
        for step, what in usual.passes:
            own.add_pass(self.lowering if step is NativeLowering else step, what)
        own.finalize()
        return [own]


class PartCompiler(_Compiler):
    """For what kernels call."""

    lowering = _LowerPart
    key: str | None = None  # of the part


class WholeCompiler(_Compiler):
    """For what Python calls."""

    lowering = _LowerWhole
