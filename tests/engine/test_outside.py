"""Steps that leave the compiled loop: their loads, the problems that are posed unchecked, and Ctrl-C meanwhile."""

from __future__ import annotations

import signal
from dataclasses import fields, replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.interrupts import listening, uninterrupted
from stickslip.engine.outside import softness_of
from stickslip.friction.contact_problem import ContactProblem
from stickslip.problems.matrix import as_dense
from stickslip.problems.mechanical import box_stack

G, H = 9.81, 1e-3
LAWS = (ss.StewartTrinkle(4), ss.AnitescuPotra(), ss.Box(), ss.Hybrid(), ss.Phantom())


@pytest.mark.parametrize("solver", [None, "lemke"])
@pytest.mark.parametrize("law", [ss.Box(), ss.Hybrid(), ss.Phantom()], ids=repr)
def test_bristles_stand_on_the_least_loads_whichever_method_solves(law, solver):
    """Four corners under a weight off the middle: of all p_n with its sum and moments, that of least Σ p_n²."""
    scene = ss.Scene()
    scene.add_plane(friction=0.8)
    box = scene.add_box((0.3, 0.2, 0.1), mass=2.0, position=(0, 0, 0.05), friction=0.8)
    scene.apply(box, (0, 0, -5.0), np.cross((0.06, 0.03, 0.0), (0, 0, -5.0)))
    run = ss.simulate(scene, 0.1, H, law, solver=solver, progress=False)
    contacts = run.contacts(step=-1)
    arm = contacts.point - run.position(box)[-1]
    balance = np.vstack([np.ones(4), arm[:, 0], arm[:, 1]])
    expected = np.linalg.lstsq(balance, H * np.array([2.0 * G + 5.0, 0.06 * 5.0, 0.03 * 5.0]), rcond=None)[0]
    np.testing.assert_allclose(contacts.impulse[:, 0], expected, rtol=1e-6)


def rows_of_a_box(law):
    bodies = box_stack(1, 0.5).bodies
    M, v = as_dense(bodies.M), np.array([1.0, 0.3, 0.0, 0.0, 0.0, 0.5])
    weight = np.array([0.0, 0.0, -G * H, 0.0, 0.0, 0.0])
    return law.rows(ContactProblem(H, M, M @ (v + weight), v, as_dense(bodies.H), np.full(4, 0.5)))


@pytest.mark.parametrize("law", [*LAWS, ss.LimitSurface()], ids=repr)
def test_problems_posed_unchecked_pass_the_checks_and_are_read_only(law):
    problem = law.posed(rows_of_a_box(law)).problem
    given = {field.name: getattr(problem, field.name) for field in fields(problem)}
    checked = type(problem)(**given)
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
            assert value.flags.c_contiguous
            assert value.dtype == np.float64
            np.testing.assert_array_equal(value, getattr(checked, name))
    np.testing.assert_array_equal(problem.value(np.ones(problem.size)), checked.value(np.ones(problem.size)))


@pytest.mark.parametrize("law", [*LAWS, ss.LimitSurface()], ids=repr)
def test_rows_that_are_no_numbers_are_refused(law):
    rows = rows_of_a_box(law)
    for field in ("W", "q"):
        wrong = getattr(rows, field).copy()
        wrong.flat[0] = np.nan
        with pytest.raises(ss.InputError, match="expected a finite number"):
            law.posed(replace(rows, **{field: wrong}))


def test_normals_that_repeat_each_other_are_found_by_their_rank():
    rng = np.random.default_rng(0)
    for k, rank in ((2, 1), (4, 3), (6, 6), (8, 3), (5, 5)):
        J = rng.normal(size=(k, rank))
        W = np.zeros((3 * k, 3 * k))
        W[::3, ::3] = J @ J.T
        e = softness_of(W, 3, k)
        assert e == (0.0 if rank == k else pytest.approx(1e-6 * np.trace(J @ J.T) / k))


def test_ctrl_c_waits_within_what_is_uninterrupted_and_nowhere_else():
    before, heard = signal.getsignal(signal.SIGINT), []
    signal.signal(signal.SIGINT, lambda *_: heard.append(len(heard)))
    ours = signal.getsignal(signal.SIGINT)
    try:
        with listening():
            signal.raise_signal(signal.SIGINT)
            assert len(heard) == 1
            for times in (2, 3):
                with uninterrupted():
                    with uninterrupted():
                        signal.raise_signal(signal.SIGINT)
                    assert len(heard) == times - 1
                assert len(heard) == times
        assert signal.getsignal(signal.SIGINT) is ours
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            assert len(heard) == 3
        assert len(heard) == 4
        assert signal.getsignal(signal.SIGINT) is ours
    finally:
        signal.signal(signal.SIGINT, before)
