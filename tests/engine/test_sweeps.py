"""Gauss–Seidel in the velocities of the bodies, and the correction of all contacts, against the Delassus matrix."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.problems.blocks import velocities as delassus_velocities
from stickslip.scene.compile import compile_scene
from stickslip.engine import simulate as simulate_module
from stickslip.engine.correction import SOFT, correct
from stickslip.engine.march import look, pose, posed, solve
from stickslip.engine.step import Engine
from stickslip.engine.sweeps import judged, room_for_answer, room_for_law

H = 1e-3


def stack():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(4):
        scene.add_box(size=0.5, mass=1.0 + i, position=(0.01 * i, 0.0, 0.25 + 0.5 * i), stiffness=1e7, damping=1e3)
    return scene, ss.Coulomb()


def stack_on_springs():
    return stack()[0], ss.Coulomb(ss.Relaxation())


def discs():
    scene = ss.Scene(planar=True)
    scene.add_plane(friction=0.4)
    for x in (-0.1, 0.1):
        scene.add_sphere(0.1, mass=1.0, position=(x, 0.1), velocity=(0.2, 0.0))
    scene.add_sphere(0.1, mass=2.0, position=(0.0, 0.1 + np.sqrt(0.03)))
    return scene, ss.Coulomb()


def carried():
    """A box on a plate that is moved."""
    scene = ss.Scene()
    scene.add_box(size=(2, 2, 0.2), moving=True, velocity=(0.3, 0, 0), friction=0.5)
    scene.add_box(size=0.5, mass=1.0, position=(0, 0, 0.35), velocity=(0, 0, -0.1), friction=0.5)
    return scene, ss.Coulomb()


SCENES = pytest.mark.parametrize("made", [stack, stack_on_springs, discs, carried], ids=lambda made: made.__name__)


def first_step(made):
    """What the first step of a scene is made of: rules, work, memory, law, answer, and W, q, mu."""
    scene, friction = made()
    model, state, drives = compile_scene(scene)
    run = simulate_module.Run(model, state, drives, H, friction, "auto", 1e-10, False, scene.names)
    engine, rules = Engine.of(model, H), simulate_module.compiled_rules(run)
    count = look(state, rules, engine.work)
    d = 2 if model.planar else 3
    law, answer = room_for_law(d, count), room_for_answer(d, count, engine.work.bodies.v)
    pose(state, rules, engine.work, engine.memory, law, answer)
    W, q, mu, _ = posed(state, rules, engine.work, engine.memory)
    assert count > 0
    return rules, engine, law, answer, W, q, mu


def pressed(mu, d, seed=0):
    """Impulses of which some are open, some inside their cones and some on them."""
    rng = np.random.default_rng(seed)
    p = np.zeros((mu.size, d))
    p[:, 0] = rng.uniform(0.5, 1.0, mu.size) * (np.arange(mu.size) % 4 != 3)
    direction = rng.normal(size=(mu.size, d - 1))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    share = np.where(np.arange(mu.size) % 2, 0.5, 1.0)
    p[:, 1:] = (share * mu * p[:, 0])[:, None] * direction
    return p.ravel()


@SCENES
def test_velocities_and_residual_are_those_of_the_delassus_matrix(made):
    _, engine, law, answer, W, q, mu = first_step(made)
    p = pressed(mu, q.size // mu.size)
    u, expected = np.empty_like(q), np.empty_like(q)
    error, _ = judged(engine.work.rows, engine.work.moving, law, engine.work.bodies.v, 1e-6, p, u, answer.v)
    delassus_velocities(W, q, p, expected)
    np.testing.assert_allclose(law.q, q, atol=1e-14)
    np.testing.assert_allclose(u, expected, atol=1e-12)
    problem = ss.ConeProblem(dense(W, q.size), q, mu)
    assert error == pytest.approx(ss.residual(problem, p), rel=1e-10)


@SCENES
def test_it_solves_the_problem_of_the_step(made):
    rules, engine, law, answer, W, q, mu = first_step(made)
    _, error, solved = solve(rules, engine.work, engine.memory, law, answer)
    problem = ss.ConeProblem(dense(W, q.size), q, mu)
    assert solved
    assert ss.residual(problem, answer.p) == pytest.approx(error, abs=1e-13)
    assert error <= rules.tol


@SCENES
def test_the_correction_takes_the_velocities_that_should_not_be(made):
    """(W + c + α) δ = -e over the components that are held, δ = 0 on the others."""
    _, engine, law, answer, W, q, mu = first_step(made)
    d, p = q.size // mu.size, pressed(mu, q.size // mu.size)
    work, u, delta = engine.work, np.empty_like(q), np.empty_like(q)
    judged(work.rows, work.moving, law, work.bodies.v, 1e-6, p, u, answer.v)
    assert correct(work.rows, work.free, work.bodies.inverse_mass, work.bodies.inverse, law, p, u, delta)
    matrix = dense(W, q.size)
    trace = np.array([np.trace(matrix[d * i : d * i + d, d * i : d * i + d]) for i in range(mu.size)]) / d
    by_contact = p.reshape(-1, d)
    inside = np.linalg.norm(by_contact[:, 1:], axis=1) < 0.9 * mu * by_contact[:, 0]
    held = np.column_stack([by_contact[:, 0] > 0] + [inside & (by_contact[:, 0] > 0)] * (d - 1)).ravel()
    soft = matrix + np.diag(np.repeat(SOFT * trace, d))
    np.testing.assert_allclose(soft[np.ix_(held, held)] @ delta[held], -u[held], atol=1e-9 * np.abs(u).max())
    assert not delta[~held].any()


def dense(W, size):
    """The matrix of ContactBlocks, column by column."""
    columns = []
    for j in range(size):
        unit, column = np.zeros(size), np.empty(size)
        unit[j] = 1.0
        delassus_velocities(W, np.zeros(size), unit, column)
        columns.append(column)
    return np.array(columns).T
