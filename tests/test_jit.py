"""The content of kernels: a kernel is compiled again when something it is made of changes."""

from __future__ import annotations

import ast
import os
import pickle
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from stickslip import jit
from stickslip.collision.pairs import comes_first


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that calls itself stickslip: caller -> callee -> deep, and a bystander."""
    folder = tmp_path / "stickslip"
    (folder / "inner").mkdir(parents=True)
    (folder / "caller.py").write_text("from stickslip.callee import f\n")
    (folder / "callee.py").write_text("import stickslip.inner.deep as deep\n")
    (folder / "inner" / "deep.py").write_text("def g():\n    from stickslip.bystander import h\n")
    (folder / "bystander.py").write_text("h = 1\n")
    (folder / "compiling.py").write_text("how = 1\n")
    monkeypatch.setattr(jit, "PACKAGE", folder)
    return folder


def contents_of(package: Path) -> dict[str, str]:
    for remembered in (jit.content_of, jit.made_of, jit.imported_by, jit.text_of):
        remembered.cache_clear()
    return {name: jit.content_of(package / f"{name}.py") for name in ("caller", "callee", "inner/deep", "bystander")}


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ("inner/deep", {"caller", "callee", "inner/deep"}),
        ("callee", {"caller", "callee"}),
        ("bystander", {"bystander"}),
        ("compiling", {"caller", "callee", "inner/deep", "bystander"}),
    ],
)
def test_a_change_reaches_the_files_that_import_it_and_no_others(package: Path, changed: str, touched: set[str]):
    before = contents_of(package)
    with (package / f"{changed}.py").open("a") as file:
        file.write("# changed\n")
    after = contents_of(package)
    assert {name for name in after if after[name] != before[name]} == touched


def test_what_a_file_is_made_of_covers_every_kernel_it_sees():
    """The static search finds each stickslip module that a kernel's globals reach."""
    import stickslip.engine.march  # noqa: F401

    for module in [module for name, module in sys.modules.items() if name.startswith("stickslip.")]:
        path, kernels = Path(str(module.__file__)), [f for f in vars(module).values() if hasattr(f, "py_func")]
        seen = {Path(kernel.py_func.__code__.co_filename) for kernel in kernels}
        assert seen <= jit.made_of(path)


def test_no_kernel_counts_from_the_end_of_an_array():
    """compiling.py takes indices as they are. Tuples, which are constants in capitals, may be read from their end."""
    found, kernels = [], 0
    for file in jit.PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and KERNELS & {*map(ast.unparse, function.decorator_list)}:
                kernels += 1
                found += [f"{file.name}: {ast.unparse(each)}" for each in ast.walk(function) if from_the_end(each)]
    assert kernels > 500
    assert not found


KERNELS = {"kernel", "bare", "dense", "inlined"}


def from_the_end(node: ast.AST) -> bool:
    """Is this a[-1] or the like?"""
    if not isinstance(node, ast.Subscript) or (isinstance(node.value, ast.Name) and node.value.id.isupper()):
        return False
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(
        isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub) and isinstance(each.operand, ast.Constant)
        for each in indices
    )


def test_functions_of_the_caller_count_from_the_end_as_before():
    comes_first(0, 1)  # a kernel, compiled here or read

    @numba.njit
    def last(values):
        return values[-1]

    assert last(np.array([1.0, 2.0])) == 2.0


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_short_loops_go_one_by_one_and_long_ones_by_several():
    """A sum in order has the bits of Python's; one that is vectorised adds up every fourth number first."""
    numbers = np.random.default_rng(0).normal(size=1003)
    in_order = 0.0
    for number in numbers.tolist():
        in_order += number
    short, long = jit.bare(add_up), jit.dense(add_up_too)
    assert short(numbers) == in_order
    assert long(numbers) != in_order
    assert long(numbers) == pytest.approx(in_order, rel=1e-12)


def add_up(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


def add_up_too(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


def test_a_kernel_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(comes_first)) is comes_first


def test_a_kernel_that_captures_something_is_refused():
    factor = 2.0

    def twice(x):
        return factor * x

    with pytest.raises(AssertionError, match="twice: a kernel is known by its file"):
        jit.kernel(twice)
