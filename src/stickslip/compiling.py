"""How a kernel becomes machine code: Numba's front end, and one whole program for each kernel that Python calls.

Numba makes machine code of every function that it compiles, links a copy of each callee into each caller, and leaves it
to the loader which of the copies runs: in a process that compiles another one than in a process that loads from disk,
and with reassociated sums another one rounds differently. So here

- a kernel is kept as *code to link*: its own and that of all it calls, not optimised across functions, under names that
  tell their content, so that the copies of a function that meet are one, whoever compiled them;
- only a kernel that Python calls becomes *machine code*: all that it needs and nothing else visible from outside, so
  that nothing of it can be replaced, whatever else is loaded and in which order. It is optimised as one program, once;
- an index into an array counts from its beginning, whatever its type;
- loops that jit.py says are short are not vectorised;
- the processor is a published level (x86-64-v3), not the machine at hand: machine code is the same on all of them, and
  what is compiled on one machine runs on another.

Callees are neither optimised nor emitted by themselves, which is most of what compiling used to cost.

Numba is entered by a subclass of its dispatcher, code generator and code library; while a kernel is compiled they take
the place of its own (`in_charge`), under its global lock. A function of the caller's that calls kernels links them as
it would link any other. jit.py lets this module near Numba only in versions that it was tried with.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import pickle
import re
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba import _dynfunc
from numba.core import cgutils, codegen, compiler, registry, serialize, sigutils
from numba.core import types as numba_types
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime import rtsys
from numba.core.targetconfig import ConfigStack
from numba.np import arrayobj

from stickslip.pack import CODE, PROGRAM, find, keep, name_of, one_at_a_time, processor, say

ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of variables begin through which code finds its Python objects
OURS = "9stickslip"  # what those of functions of this package have


class MachineCode(NamedTuple):
    """An object file, the one function in it that is called, and the variables in it that are set from outside."""

    object_file: bytes
    entry: str
    environments: tuple[str, ...]


class Library(codegen.JITCodeLibrary):
    """The code of a function and of all it calls, to be linked; or its machine code, where Python calls it; or both."""

    bitcode: bytes | None = None
    machine_code: MachineCode | None = None

    def finalize(self) -> None:
        """Link what this code calls. Nothing is optimised across functions yet, and no machine code made."""
        self._raise_if_finalized()
        self._codegen._check_llvm_bugs()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalize_dynamic_globals()
        self.bitcode = self._final_module.as_bitcode()
        self._finalized = True

    def add_ir_module(self, ir_module: Any) -> None:
        """Numba's, with what is known of the loops of a kernel."""
        self._raise_if_finalized()
        text = cgutils.normalize_ir_text(str(ir_module))
        said = (SAID.search(function.name) for function in ir_module.functions if not function.is_declaration)
        for loops in {name[1] for name in said if name}:
            text = hinted(text, HINTS[loops])
        module = llvm.parse_assembly(text)
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Tuples of many arrays taken apart, and variables out of memory; the rest is done once, for whole programs.

        In this order: LLVM's usual one moves tuples as a whole first, which takes half a minute for the loop of the
        engine where this takes two seconds, and leaves twenty times as much to do.
        """
        ll_module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = llvm.create_new_function_pass_manager()
        passes.add_instruction_combine_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _get_module_for_linking(self) -> Any:
        """The code as bitcode tells it, whether it was compiled here or read: both then link the same."""
        self._ensure_finalized()
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self.bitcode)
        return self._shared_module

    def program(self, entry: str) -> MachineCode:
        """Machine code of `entry` and of what it needs, optimised as a whole."""
        self._ensure_finalized()
        module = self._final_module = llvm.parse_bitcode(self.bitcode)
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = "external" if function.name == entry else "internal"
        self._optimize_final_module()
        module.verify()
        variables = (variable.name for variable in module.global_variables)
        environments = tuple(name for name in variables if name.startswith(ENVIRONMENT))
        return MachineCode(self._codegen._tm.emit_object(module), entry, environments)

    def get_pointer_to_function(self, name: str) -> int:
        raise RuntimeError(f"{self.name}: the address of {name} is wanted, but only Python calls kernels by address")


class CodeGenerator(codegen.JITCPUCodegen):
    """Numba's, for `processor()`."""

    _library_class = Library

    def _get_host_cpu_name(self) -> str:
        return processor().name

    def _get_host_cpu_features(self) -> str:
        return processor().features

    def load(self, machine_code: MachineCode) -> int:
        """The address of the entry."""
        engine = self._engine._ee
        engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code.object_file))
        engine.finalize_object()
        return engine.get_function_address(machine_code.entry)


@cache
def code_generator() -> CodeGenerator:
    return CodeGenerator("stickslip")


@contextmanager
def in_charge() -> Iterator[None]:
    """Whatever is compiled inside goes to our code generator and is named after its content, Numba's helpers too."""
    context, numba_compiler = registry.cpu_target.target_context, compiler.CompilerBase
    context.refresh()  # with its own code generator in place
    if context._internal_codegen is code_generator():
        yield
        return
    kept = {name: getattr(context, name) for name in ("_internal_codegen", "cached_internal_func")}
    context._internal_codegen, context.cached_internal_func = code_generator(), INTERNAL_FUNCTIONS
    context.get_executable = placeholder
    numba_compiler._compile_bytecode = compile_named
    arrayobj.fix_integer_index = from_the_front
    try:
        yield
    finally:
        numba_compiler._compile_bytecode = compile_bytecode
        arrayobj.fix_integer_index = fix_integer_index
        vars(context).update(kept)
        del context.get_executable


# What LLVM is told of loops, by a word that stands behind the content in the names of their functions
HINTS = {"short": '!"llvm.loop.vectorize.enable", i1 false', "long": '!"llvm.loop.interleave.count", i32 1'}
SAID = re.compile("v[0-9a-f]{16}(" + "|".join(HINTS) + ")")
BRANCH = re.compile(r"^ +br .*$", re.MULTILINE)
FIRST = 10**6  # number of the first node of metadata that is ours


def hinted(text: str, hint: str) -> str:
    """A hint at each branch, each with a node of its own, by which LLVM tells loops apart. It means something at those
    that go back to the head of a loop."""
    count = itertools.count(FIRST)
    text = BRANCH.sub(lambda branch: f"{branch[0]}, !llvm.loop !{next(count)}", text)
    nodes = (f"!{k} = distinct !{{!{k}, !{FIRST - 1}}}" for k in range(FIRST, next(count)))
    return "\n".join([text, f"!{FIRST - 1} = !{{{hint}}}", *nodes])


INTERNAL_FUNCTIONS: dict[Any, Any] = {}  # what Numba compiles for itself, once
CONTENTS: dict[Any, str] = {}  # of the functions of kernels, each a digest of all that it is made of
LOOPS: dict[Any, str] = {}  # and what their loops are, see HINTS
compile_bytecode = compiler.CompilerBase._compile_bytecode
fix_integer_index = arrayobj.fix_integer_index


def from_the_front(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as it is: no kernel counts from the end of an array, and to ask for that costs a test and two
    instructions at every access. What Numba compiles of its own may count from there."""
    if OURS not in builder.function.name:
        return fix_integer_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, numba_types.intp if kind.signed else numba_types.uintp)


def compile_named(pipeline: Any) -> Any:
    """Numba's step after reading a function, but its name in machine code tells its content, not when it was read.

    Two functions of one name are then the same, and only one of them is linked.
    """
    function = pipeline.state.func_id
    content = digest(CONTENTS.get(function.func), told(function.func)) + LOOPS.get(function.func, "")
    function.unique_id, function.unique_name = content, f"{function.func_qualname}${content}"
    return compile_bytecode(pipeline)


def told(value: Any, within: tuple[Any, ...] = ()) -> Any:
    """What a function of Numba's is made of, and what it captured; anything unknown is equal to nothing else."""
    if any(value is other for other in within):
        return "itself"
    inner = partial(told, within=(*within, value))
    if isinstance(value, FunctionType):
        parts: list[Any] = [
            value.__code__,
            value.__defaults__,
            [cell.cell_contents for cell in value.__closure__ or ()],
        ]
        if value.__globals__ is not vars(sys.modules.get(value.__module__ or "", sys)):  # written by Numba, at run time
            parts += [(name, value.__globals__.get(name)) for name in value.__code__.co_names]
        return value.__module__, value.__qualname__, *map(inner, parts)
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_varnames, inner(value.co_consts)
    if isinstance(value, tuple | list):
        return [inner(part) for part in value]
    if isinstance(value, type | ModuleType):
        return getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
    if hasattr(value, "py_func"):
        return inner(value.py_func)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | numba_types.Type):
        return repr(value)
    return PROCESS, id(KNOWN.setdefault(id(value), value))


def digest(*values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


PROCESS = secrets.token_hex(8)
KNOWN: dict[int, Any] = {}  # kept, so that no other value gets the same address


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def refuse(*_: int | None) -> Any:
    raise RuntimeError("a function that was compiled as part of a kernel is called from Python, which it is not for")


def placeholder(library: Library, fndesc: Any, env: Any) -> Any:
    """Numba asks for something callable of each function, and knows it by that."""
    library._ensure_finalized()
    return python_function(library, fndesc, env, ctypes.cast(refuse, ctypes.c_void_p).value)


def python_function(library: Library, fndesc: Any, env: Any, address: int | None) -> Any:
    name = fndesc.qualname.split(".")[-1]
    return _dynfunc.make_function(fndesc.lookup_module(), name, f"compiled {name}", address, env, (library,))


class Compiled(NamedTuple):
    """A compiled kernel as it is kept on disk: its code to link, or its machine code."""

    name: str
    code: bytes | MachineCode
    descriptor: Any
    environment: Any
    constants: tuple[Any, ...]  # of the environment; Numba has one of a name in a process, maybe without the last ones
    environments: tuple[Any, ...]  # of all it calls
    signature: Any
    reload_init: tuple[Any, ...]


class Kernel(registry.CPUDispatcher):
    """A function that is compiled when it is first called, by Python or by another kernel; or found on disk.

    `content` is a digest of all that it is made of.
    """

    def __init__(self, py_func: Any, options: dict[str, Any], content: str, loops: str = "") -> None:
        flags = {"nopython": True, "boundscheck": None, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(py_func, {}, flags | options)
        CONTENTS[py_func], LOOPS[py_func] = content, loops
        self.kernel_name = f"{py_func.__module__}.{py_func.__qualname__}"
        self._cache = KeptCode(self)
        self.entries: dict[Any, Any] = {}  # what Python calls, by the types of arguments

    def typeof_pyval(self, val: Any) -> Any:
        """A read-only array has the type of any other: kernels write only into what their callers made for that."""
        return writable(super().typeof_pyval(val))

    def file_name(self, signature: Any) -> str:
        return name_of(self.kernel_name, CONTENTS[self.py_func], types_of(signature))

    def __reduce__(self) -> Any:
        return self.py_func.__qualname__  # pickled as plain functions are, by name

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig: Any) -> Any:
        arguments = types_of(sig)
        with global_compiler_lock:
            if called_by_kernel():
                with in_charge():
                    return self.for_kernels(sig).entry_point
            if arguments not in self.entries:
                self.entries[arguments] = self.for_python(sig)
            return self.entries[arguments]

    def for_kernels(self, signature: Any) -> Any:
        """The kernel with code that can be linked, from disk or compiled here."""
        arguments = types_of(signature)
        known = self.overloads.pop(arguments, None)
        if known is not None and known.library.bitcode is not None:
            self.overloads[arguments] = known
            return known
        with one_at_a_time(self.file_name(signature) + CODE):
            super().compile(signature)
        return self.overloads[arguments]

    def for_python(self, signature: Any) -> Any:
        """What Python calls, with machine code from disk or made here. To call what is on disk needs Numba's runtime,
        but not all that Numba knows of types, which takes it longer to learn."""
        name, context = self.file_name(signature) + PROGRAM, registry.cpu_target.target_context
        with one_at_a_time(name):
            rtsys.initialize(context)
            result = put_together(name, context)
            if result is None:
                with in_charge():
                    result = self.for_kernels(signature)
                    result.library.machine_code = self.program(context, result)
                keep(name, taken_apart(result, result.library.machine_code))
        address = code_generator().load(result.library.machine_code)
        for environment in (result.environment, *environments_of(result)):
            if environment.env_name in result.library.machine_code.environments:
                code_generator().set_env(environment.env_name, environment)
        entry = python_function(result.library, result.fndesc, result.environment, address)
        context.insert_user_function(entry, result.fndesc, [result.library])
        self.overloads[types_of(signature)] = result._replace(entry_point=entry)
        self._insert([argument._code for argument in types_of(signature)], entry, False)
        return entry

    def program(self, context: Any, result: Any) -> MachineCode:
        """Machine code of the kernel behind a function that takes its arguments from Python objects."""
        library = context.codegen().create_library(f"{result.library.name}.program")
        options = self.targetoptions
        context = context.subtarget(enable_nrt=options["_nrt"])
        with context.push_code_library(library):
            context.create_cpython_wrapper(library, result.fndesc, result.environment, None, options["nogil"])
        library.add_linking_library(result.library)
        library.add_linking_library(rtsys.library)  # the wrapper counts references too
        return library.program(result.fndesc.llvm_cpython_wrapper_name)


def writable(kind: Any) -> Any:
    """The type of an array, or of a tuple of some, as if none were read-only."""
    if isinstance(kind, numba_types.Array):
        return kind if kind.mutable else kind.copy(readonly=False)
    if isinstance(kind, numba_types.BaseTuple):
        name = getattr(kind, "instance_class", None)
        return numba_types.BaseTuple.from_types([writable(each) for each in kind], name)
    return kind


class KeptCode(NullCache):
    """Where Numba looks for code to link before it compiles, and leaves what it compiled."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return put_together(self.kernel.file_name(sig) + CODE, target_context)

    def save_overload(self, sig: Any, cres: Any) -> None:
        keep(self.kernel.file_name(sig) + CODE, taken_apart(cres, cres.library.bitcode))


def types_of(signature: Any) -> tuple[Any, ...]:
    return tuple(sigutils.normalize_signature(signature)[0])


def called_by_kernel() -> bool:
    """Is another function being compiled, which needs this one?"""
    return len(ConfigStack()) > 0


def environments_of(result: Any) -> tuple[Any, ...]:
    """What the functions of a kernel need of Python, one for each."""
    if result.referenced_envs is not None:
        return tuple(result.referenced_envs)
    return tuple(result._find_referenced_environments())


def taken_apart(result: Any, code: bytes | MachineCode) -> bytes:
    """A result of Numba's as it is kept on disk."""
    descriptor = result.fndesc
    descriptor.typemap = descriptor.calltypes = None  # Numba no longer needs them, and they may not be kept
    compiled = Compiled(
        result.library.name,
        code,
        descriptor,
        result.environment,
        tuple(result.environment.consts),
        environments_of(result),
        result.signature,
        tuple(result.reload_init),
    )
    return zlib.compress(serialize.dumps(compiled), 6)


def put_together(name: str, context: Any) -> Any:
    """A result of Numba's from what was kept on disk; None where nothing was, or it is damaged."""
    data = find(name)
    if data is None:
        return None
    try:
        kept: Compiled = pickle.loads(zlib.decompress(data))
    except Exception as error:  # a damaged file can make pickle raise anything
        say(f"the compiled kernel {name} cannot be read ({error}), so it is compiled again")
        return None
    for function in kept.reload_init:
        function()
    kept.environment.consts.extend(kept.constants[len(kept.environment.consts) :])
    library = code_generator().create_library(kept.name)
    library._finalized = True
    if isinstance(kept.code, MachineCode):
        library.machine_code = kept.code
    else:
        library.bitcode = kept.code
    return compiler.compile_result(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=placeholder(library, kept.descriptor, kept.environment),
        signature=kept.signature,
        objectmode=False,
        lifted=(),
        fndesc=kept.descriptor,
        library=library,
        environment=kept.environment,
        reload_init=kept.reload_init,
        referenced_envs=kept.environments,
    )
