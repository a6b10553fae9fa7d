"""Friction with given bounds by two methods that share no step: sweeps over the contacts, and Newton's over all."""

import numpy as np
import pytest

import stickslip as ss


def random_cylinders(seed, dimension, redundant):
    """A in (d nc, n) with n velocities: redundant where there are fewer of them than rows."""
    random = np.random.default_rng(seed)
    contacts = int(random.integers(1, 9))
    rows = dimension * contacts
    A = random.normal(size=(rows, rows // 2 + 1 if redundant else rows + 2))
    # velocities of bodies that some impulses can stop, so that there is a solution
    r = random.normal(size=rows)
    r[::dimension] = random.exponential(size=contacts) * random.integers(0, 2, contacts)
    u = np.zeros(rows)
    u[::dimension] = np.where(r[::dimension] > 0, 0.0, random.exponential(size=contacts))
    bound = random.exponential(size=contacts) * random.integers(0, 2, contacts)
    for i in range(contacts):
        own = slice(dimension * i + 1, dimension * (i + 1))
        length = np.linalg.norm(r[own])
        if length > bound[i]:
            r[own] *= bound[i] / length
            u[own] = -r[own] * random.exponential() / bound[i] if bound[i] > 0 else random.normal(size=dimension - 1)
    W = A @ A.T
    return ss.CylinderProblem(W, u - W @ r, bound), u


@pytest.mark.core
@pytest.mark.parametrize("redundant", [False, True], ids=["regular", "redundant"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_both_methods_find_the_velocities(dimension, redundant):
    """Velocities are unique whatever the impulses: W is symmetric and the inequality monotone."""
    for seed in range(40):
        problem, u = random_cylinders(seed, dimension, redundant)
        for method in ("cylinder_newton", "auto"):
            answer = ss.solve(problem, method, tol=1e-10).require()
            assert answer.residual == ss.residual(problem, answer.x) <= 1e-10
            np.testing.assert_allclose(answer.y, u, atol=1e-5 * np.abs(problem.q).max(), err_msg=f"{method} {seed}")
        swept = ss.solve(problem, "cylinder_gauss_seidel", tol=1e-10)
        if swept.solved:
            np.testing.assert_allclose(swept.y, u, atol=1e-5 * np.abs(problem.q).max())


def test_newton_is_for_cylinders_only():
    with pytest.raises(ss.InputError, match="CylinderNewton"):
        ss.CylinderNewton().solve(ss.ConeProblem(np.eye(3), -np.ones(3), [0.5]))


def test_a_grip_between_joints():
    """Two fingers on sliders press a box with 20 N each: sweeps crawl, every step is solved all the same."""
    scene = ss.Scene()
    scene.add_box(
        0.1, mass=0.5, position=(0, 0, 0.5), friction=0.8, damping_tangent=1e5, stiffness_tangent=0, name="box"
    )
    scene.add_box((0.02, 0.1, 0.1), mass=0.2, position=(-0.06, 0, 0.5), friction=0.8, name="left")
    scene.add_box((0.02, 0.1, 0.1), mass=0.2, position=(0.06, 0, 0.5), friction=0.8, name="right")
    scene.add_slider("left", position=(-0.06, 0, 0.5), axis=(1, 0, 0), speed=1.0, strength=20.0)
    scene.add_slider("right", position=(0.06, 0, 0.5), axis=(1, 0, 0), speed=-1.0, strength=20.0)
    run = ss.simulate(scene, 0.2, 2e-3, friction=ss.Cylinder(), tol=1e-9)
    assert run.residual.max() <= 1e-9
    sinks = 0.5 * 9.81 / (8 * 1e5)  # on eight dampers
    assert run.velocity("box")[-1, 2] == pytest.approx(-sinks, rel=1e-4)
