"""Who may import whom, and what a start must not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import stickslip

PACKAGE = Path(stickslip.__file__).parent

# each folder and the folders its modules may import; errors, checks, texts and jit are open to all
MAY_IMPORT = {
    "scene": {"scene"},
    "collision": {"scene", "collision"},
    "problems": {"problems"},
    "dynamics": {"scene", "collision", "problems", "dynamics"},
    "friction": {"problems", "friction"},
    "solvers": {"problems", "solvers"},
    "engine": {"scene", "collision", "dynamics", "problems", "friction", "solvers", "engine", "view"},
    "sweeps": {"problems", "scene", "engine", "friction", "solvers", "view", "sweeps"},
    "analysis": {"scene", "dynamics", "problems", "friction", "solvers", "engine", "analysis", "sweeps"},
    "view": {"problems", "scene", "engine", "sweeps", "analysis", "view", "lab"},  # lab: its door alone
    "lab": {"scene", "dynamics", "problems", "friction", "solvers", "engine", "analysis", "view", "lab"},
    "papers": {
        *("scene", "dynamics", "problems", "friction", "solvers", "engine", "sweeps", "analysis", "view", "papers"),
    },
}
OPEN_TO_ALL = {"errors", "checks", "jit", "remade", "texts"}
JIT = ("pack.py", "compiling.py", "jit.py")  # each may import those before it
LIGHT = {"click", "stickslip", "stickslip.errors"} | sys.stdlib_module_names  # for the modules that every start loads
HEAVY = {
    "numpy",
    "scipy",
    "numba",
    "h5py",
    "matplotlib",
    "rich",
    "qdldl",
    "clarabel",
    "pydantic",
    "yaml",
    "pinocchio",
    "mujoco",
    "viser",
}


def imported(tree: ast.AST) -> set[str]:
    """Modules that are imported anywhere below, in full; what only a type checker sees is left out."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.add(node.module or "")
        else:
            names |= imported(node)
    return names


def parts_of_ours(path: Path) -> set[str]:
    """The folders and modules of the package that a module imports; "" is the package as a whole."""
    names = {name + "." for name in imported(ast.parse(path.read_text()))}
    return {name.split(".")[1] for name in names if name.startswith("stickslip.")}


def name_of(path):
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=name_of)
def test_a_folder_imports_only_what_it_may(path):
    folder = path.relative_to(PACKAGE).parts[0]
    allowed = MAY_IMPORT[folder] | OPEN_TO_ALL
    assert parts_of_ours(path) <= allowed, f"{folder} may import {sorted(allowed)}"


@pytest.mark.parametrize("name", ["errors.py", "checks.py", "remade.py", "texts.py", *JIT])
def test_what_is_open_to_all_imports_nothing_else_of_ours(name):
    before = JIT[: JIT.index(name)] if name in JIT else ("errors.py",) if name == "checks.py" else ()
    assert parts_of_ours(PACKAGE / name) <= {module.removesuffix(".py") for module in before}


@pytest.mark.parametrize("name", ["__init__.py", "cli.py", "errors.py"])
def test_a_start_imports_only_light_modules(name):
    at_the_top = ast.parse((PACKAGE / name).read_text())
    at_the_top.body = [node for node in at_the_top.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {i if i.startswith("stickslip") else i.split(".")[0] for i in imported(at_the_top)} <= LIGHT


def test_a_start_loads_nothing_heavy():
    code = "import sys, stickslip, stickslip.cli; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert HEAVY & set(loaded) == set()


def test_every_public_name_is_there():
    for name in stickslip.__all__:
        public = getattr(stickslip, name)
        assert getattr(public, "__module__", public.__name__).startswith("stickslip.")  # one is a module
