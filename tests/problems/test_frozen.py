"""A problem stays what it was when it was made: its arrays cannot be written to, nor can those of its copies."""

import copy
import gc
import pickle
from contextlib import suppress

import numba
import numpy as np
import pytest
from scipy import sparse

import stickslip as ss
from stickslip.jit import refusal
from stickslip.solvers.solve import METHODS

Q, MU = [-1.0, 0.2, 0.0], [0.5]


def problems(form):
    """One of every class, of dense or sparse matrices."""
    three, four = form(np.eye(3)), form(np.eye(4))
    surface = ss.Polyhedron(np.vstack([np.eye(3), -np.eye(3)]))
    return [
        ss.LCP(three, Q),
        ss.MixedLCP(three, Q, np.zeros(3), np.ones(3)),
        ss.ConeProblem(three, Q, MU),
        ss.ConeProblem.from_bodies(three, three, Q, MU),
        ss.CylinderProblem(three, Q, MU),
        ss.LimitSurfaceProblem(four, [*Q, 0.1], MU, [[1.0, 1.0, 0.1]]),
        ss.LimitSurfaceProblem(four, [*Q, 0.1], MU, [[1.0, 1.0, 0.1]], surface=surface),
        ss.ContactProblem(1e-2, three, Q, Q, three, MU, G=three[:, :1] if form is np.asarray else None),
    ]


FORMS = [np.asarray, sparse.csr_array]
COPIES = [lambda value: value, copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))]


def arrays_of(value):
    """Every array of a value and of the values in it."""
    if isinstance(value, np.ndarray):
        yield value
    elif sparse.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, ss.BodyForm | ss.Polyhedron):
        yield from (array for each in vars(value).values() for array in arrays_of(each))


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize("how", COPIES, ids=["itself", "deepcopy", "copy", "pickle"])
def test_no_array_of_a_problem_can_be_written_to(form, how):
    for problem in problems(form):
        fields = vars(how(problem))
        arrays = [array for each in fields.values() for array in arrays_of(each)]
        assert len(arrays) >= len([each for each in fields.values() if isinstance(each, np.ndarray)]) >= 1
        for array in arrays:
            if array.size:
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 7.0


@pytest.mark.parametrize("entry", [(0, 0), (0, 1)], ids=["stored", "new"])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_entries_of_a_sparse_matrix_cannot_be_set(entry):
    problem = ss.ConeProblem(sparse.eye_array(3), Q, MU)
    with pytest.raises(ValueError, match="read-only"):
        problem.W[entry] = 7.0


def test_bounds_that_a_class_makes_itself_cannot_be_written_to():
    problem = ss.LCP(np.eye(2), [-1.0, 1.0])
    for bounds in (problem.lower, problem.upper):
        with pytest.raises(ValueError, match="read-only"):
            bounds[0] = 7.0


def test_vertices_of_a_polyhedron_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        ss.Polyhedron(np.vstack([np.eye(3), -np.eye(3)])).vertices[0] = 7.0


@pytest.mark.parametrize("how", COPIES, ids=["itself", "deepcopy", "copy", "pickle"])
def test_answers_stay_what_was_judged(how):
    answer = how(ss.solve(ss.LCP(np.eye(2), [-1.0, 1.0])))
    for array in (answer.x, answer.y, answer.problem.M):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 7.0


@pytest.mark.skipif(bool(refusal()) or bool(numba.config.DISABLE_JIT), reason="of compiling.py, which is not used")
def test_kernels_are_not_compiled_again_for_read_only_arrays():
    from stickslip.compiling import Kernel, writable

    for form in FORMS:
        for problem in problems(form)[:-1]:
            for method in METHODS:
                with suppress(ss.InputError):  # of methods for another class of problems
                    ss.solve(problem, method)
    kernels = [each for each in gc.get_objects() if issubclass(type(each), Kernel)]  # a dead proxy has no class
    called = [kinds for each in kernels for kinds in each.entries]
    assert len(called) > 30
    for kinds in called:
        assert all(writable(kind) == kind for kind in kinds)
