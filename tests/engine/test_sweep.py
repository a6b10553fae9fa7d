"""Gauss–Seidel in the velocities of the bodies, and the correction of all blocks, against the Delassus matrix."""

from __future__ import annotations

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.boxed import ALONE, advance, boxed
from stickslip.engine.correct import SOFT, correct_bodies
from stickslip.engine.engine import Engine
from stickslip.engine.march import LOOK
from stickslip.engine.newton import newton
from stickslip.engine.one_body import find_loads, one_place
from stickslip.engine.outside import matrix_of, whole_step
from stickslip.engine.rows import ACTIVE, BOUNDED, room_to_record
from stickslip.engine.settle import BY_BODIES, BY_NEWTON, corrected, row_count
from stickslip.engine.sweep import judged, respond, sweep
from stickslip.problems.matrix import as_dense
from stickslip.scene.compile import compile_scene

H = 1e-3


def stack():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(4):
        scene.add_box(size=0.5, mass=1.0 + i, position=(0.01 * i, 0.0, 0.25 + 0.5 * i), stiffness=1e7, damping=1e3)
    return scene, ss.Coulomb()


def stack_on_springs():
    return stack()[0], ss.Coulomb(ss.Relaxation())


def compliant_stack():
    return stack()[0], ss.CompliantCone()


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


def cart():
    """Two boxes on the floor, one pulled towards the other by a motor on a slider that also has a limit at hand."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    a = scene.add_box(size=(0.5, 0.4, 0.3), mass=2.0, position=(0, 0, 0.15))
    b = scene.add_box(size=(0.5, 0.3, 0.3), mass=1.0, position=(1.0, 0.1, 0.15))
    scene.add_slider(a, b, position=(0.5, 0, 0.15), axis=(1, 0, 0), limits=(-1.0, 0.0), speed=0.5, strength=9.0)
    return scene, ss.Coulomb()


def arm():
    """Two links on hinges with motors, the second of which drags its end over the floor."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    upper = scene.add_box(size=(0.8, 0.1, 0.1), mass=1.0, position=(0.4, 0, 0.5))
    lower = scene.add_box(size=(0.1, 0.1, 0.4), mass=1.0, position=(0.8, 0, 0.2))
    scene.add_hinge(upper, position=(0, 0, 0.5), axis=(0, 1, 0), speed=0.1, strength=5.0)
    scene.add_hinge(lower, upper, position=(0.8, 0, 0.4), axis=(0, 1, 0), speed=-0.3, strength=2.0)
    return scene, ss.Coulomb()


FREE, HELD = [stack, stack_on_springs, compliant_stack, discs, carried], [cart, arm]
SCENES = pytest.mark.parametrize("made", FREE + HELD, ids=lambda made: made.__name__)


class Step:
    """The first step of a scene as the compiled loop prepares it, and its blocks as one problem."""

    def __init__(self, made):
        scene, friction = made()
        self.friction = friction
        self.engine = Engine(*compile_scene(scene), H, friction, tol=1e-10)
        engine = self.engine
        advance(boxed(engine.state, engine.rules, engine.work, engine.memory, self.record(0), ALONE), 1, 0, LOOK)
        self.read()

    def read(self):
        """The blocks that the arrays hold."""
        self.work, self.rules = self.engine.work, self.engine.rules
        self.n, self.m = int(self.work.count[ACTIVE]), int(self.work.count[BOUNDED])
        assert self.n > 0
        self.members, self.D = whole_step(self.work), self.work.rows.jacobian.shape[2]
        law, D = self.work.law, self.D
        self.soft = law.compliance_tangent if self.rules.relaxes_friction else law.compliance_tangent[:0]
        self.used = np.concatenate([np.arange(D * self.n), D * (self.n + np.arange(self.m))])  # components that count
        self.W = as_dense(matrix_of(self.work, self.members, self.used.size)).copy()
        for c in range(1, D):
            tangents = D * np.arange(self.n) + c
            self.W[tangents, tangents] += self.soft[: self.n] if self.soft.size else 0.0
        self.q, self.mu = law.q[self.used], law.mu[: self.n]

    def record(self, room):
        return room_to_record(self.engine.work, 1, room)

    def judged(self, p, u, tol=1e-6):
        """What impulses p do at the places, and the velocities of the blocks; the residual."""
        rows, law, answer = self.work.rows, self.work.law, self.work.answer
        respond(self.members, self.n, self.work.sign, rows.start, rows.place, rows.G, p, answer.z)
        return judged(
            self.members, self.n, rows.start, rows.place, rows.G, law.compliance, self.soft, law.mu, law.shift,
            law.scale, law.lower, law.upper, law.q, answer.z, tol, p, u,
        )  # fmt: skip

    def pressed(self, seed=0):
        """Impulses that are open, inside their cones or on them, and bounded rows inside and at their bounds."""
        rng, D = np.random.default_rng(seed), self.D
        p, law = np.zeros_like(self.work.answer.p), self.work.law
        contacts = p[: D * self.n].reshape(-1, D)
        number = np.arange(self.n)
        contacts[:, 0] = rng.uniform(0.5, 1.0, self.n) * (number % 4 != 3)
        direction = rng.normal(size=(self.n, D - 1))
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        contacts[:, 1:] = (np.where(number % 2, 0.5, 1.0) * self.mu * contacts[:, 0])[:, None] * direction
        for i in range(self.n, self.n + self.m):
            low, high = max(law.lower[i], -1.0), min(law.upper[i], 1.0)
            p[D * i] = low + (high - low) * (0.3 if i % 2 else 1.0)
        return p

    def natural_residual(self, p):
        """That of the cone problem with a bounded row beside it: |x - P(x - y)| over the greatest of |x|, |y|, |q|."""
        x, k = p[self.used], self.D * self.n
        y = self.W @ x + self.q
        bounds = self.work.law.lower[self.n : self.n + self.m], self.work.law.upper[self.n : self.n + self.m]
        far = [projected_distance(self, x[:k], y[:k]), x[k:] - np.clip(x[k:] - y[k:], *bounds)]
        scale = max(np.linalg.norm(x), np.linalg.norm(y), np.linalg.norm(self.q))
        return np.linalg.norm(np.concatenate(far)) / scale


def projected_distance(step, x, y):
    """p - P_K(p - ũ) of all contacts."""
    p, u, shift = x.reshape(-1, step.D), y.reshape(-1, step.D).copy(), step.work.law.shift[: step.n]
    u[:, 0] += shift * np.linalg.norm(u[:, 1:], axis=1)
    return np.concatenate([a - onto_cone(mu, a - b) for mu, a, b in zip(step.mu, p, u, strict=True)])


def onto_cone(mu, z):
    """The nearest point of |z_t| <= μ z_n."""
    tangent = np.linalg.norm(z[1:])
    if tangent <= mu * z[0]:
        return z
    if mu * tangent <= -z[0]:
        return np.zeros_like(z)
    normal = (z[0] + mu * tangent) / (1 + mu**2)
    return np.concatenate([[normal], mu * normal * z[1:] / tangent])


@SCENES
def test_velocities_and_residual_are_those_of_the_delassus_matrix(made):
    step = Step(made)
    p, u = step.pressed(), np.zeros_like(step.work.answer.p)
    error, _ = step.judged(p, u)
    np.testing.assert_allclose(u[step.used], step.W @ p[step.used] + step.q, atol=1e-12)
    assert error == pytest.approx(step.natural_residual(p), rel=1e-10)
    if step.m == 0 and step.friction.cone_law == "coulomb":
        problem = ss.ConeProblem(step.W, step.q, step.mu)
        assert error == pytest.approx(ss.residual(problem, p[step.used]), rel=1e-10)


def test_the_scenes_with_joints_have_bounded_rows():
    assert [Step(made).m for made in HELD] == [3, 2]
    assert [Step(made).m for made in FREE] == [0] * len(FREE)


@SCENES
def test_a_sweep_solves_block_after_block(made):
    """After it p and z fit each other, and the block that came last is solved by itself."""
    step = Step(made)
    work, rules, p = step.work, step.rules, step.pressed()
    u, rows, law, answer = np.zeros_like(p), work.rows, work.law, work.answer
    step.judged(p, u)
    sweep(
        step.members, step.n, work.sign, rows.start, rows.place, rows.G, law.q, law.compliance, step.soft, law.mu,
        law.own, law.inverse, law.lower, law.upper, rules.associated, 1.0, p, answer.z,
    )  # fmt: skip
    swept = answer.z.copy()
    step.judged(p, u)
    np.testing.assert_allclose(swept, answer.z, atol=1e-12)
    i, D = step.members[-1], step.D
    if i < step.n:
        last = slice(D * i, D * i + D)
        block = u[last].copy()
        block[0] += law.shift[i] * np.linalg.norm(block[1:])
        away = p[last] - onto_cone(law.mu[i], p[last] - block)
    else:
        away = p[D * i] - np.clip(p[D * i] - u[D * i], law.lower[i], law.upper[i])
    np.testing.assert_allclose(away, 0.0, atol=1e-9 * max(1.0, np.abs(p).max()))


@SCENES
def test_it_solves_the_problem_of_the_step(made):
    step = Step(made)
    record, count, _ = step.engine.march(1, 256)
    step.read()
    assert count == 1
    assert record.residual[0] <= 1e-10
    assert step.natural_residual(step.work.answer.p) <= 1e-9  # of all islands together


def expected_correction(step, p, u):
    """(W + ε + α) δ = -e over the components that are held, δ = 0 on the others."""
    D, n, law = step.D, step.n, step.work.law
    contacts = p[: D * n].reshape(-1, D)
    presses = contacts[:, 0] > 0
    inside = presses & (np.linalg.norm(contacts[:, 1:], axis=1) < 0.9 * step.mu * contacts[:, 0])
    bounded = p[D * (n + np.arange(step.m))]
    within = (law.lower[n : n + step.m] < bounded) & (bounded < law.upper[n : n + step.m])
    held = np.concatenate([np.column_stack([presses] + [inside] * (D - 1)).ravel(), within])
    softness = np.concatenate([np.repeat(SOFT / law.scale[:n] ** 2, D), SOFT / law.scale[n : n + step.m] ** 2])
    delta = np.zeros(held.size)
    A = (step.W + np.diag(softness))[np.ix_(held, held)]
    delta[held] = np.linalg.solve(A, -u[step.used][held])
    return delta, held


def flat(step, delta):
    return np.concatenate([delta[: step.n].ravel(), delta[step.n :, 0]])


@pytest.mark.parametrize("made", FREE, ids=lambda made: made.__name__)
def test_the_correction_takes_the_velocities_that_should_not_be(made):
    step = Step(made)
    p, u, rows, law, work = step.pressed(), np.zeros_like(step.work.answer.p), step.work.rows, step.work.law, step.work
    step.judged(p, u)
    expected, held = expected_correction(step, p, u)
    assert held.any()
    assert not held.all()
    delta = np.zeros((step.members.size, step.D))
    assert correct_bodies(
        step.members, rows.start, rows.place, rows.G, law.compliance, step.soft, law.mu, law.scale, p, u,
        work.islands.mark, work.islands.label, delta,
    )  # fmt: skip
    np.testing.assert_allclose(flat(step, delta), expected, atol=1e-6 * np.abs(expected).max())
    assert not flat(step, delta)[~held].any()
    assert not work.islands.mark.any()  # left as it was


@SCENES
@pytest.mark.parametrize("stage", [BY_BODIES, BY_NEWTON], ids=["bodies", "Newton"])
def test_a_correction_that_does_not_help_is_taken_back(made, stage):
    """The residual never grows, and where it would p and z are as they were."""
    step = Step(made)
    if stage == BY_BODIES and step.m:
        return  # with joints there is Newton's method alone
    rows, law, work, answer = step.work.rows, step.work.law, step.work, step.work.answer
    size = row_count(step.members, step.n, step.D)
    for seed in range(5):
        p, u = step.pressed(seed), np.zeros_like(answer.p)
        error, _ = step.judged(p, u)
        before, z = p.copy(), answer.z.copy()
        given = (
            step.members, step.n, work.sign, rows.start, rows.place, rows.G, law.compliance, step.soft, law.mu,
            law.shift, law.scale, law.lower, law.upper, law.q,
        )  # fmt: skip
        mark, island = work.islands.mark, work.islands
        if stage == BY_BODIES:
            after, _, _ = corrected(*given, mark, island.label, error, 1e-6, p, u, answer.z)
        else:
            room = mark, island.numbers, island.integers
            after, _ = newton(*given, size, step.rules.associated, *room, error, 1e-6, p, u, answer.z)
        assert after <= error
        if after == error:
            np.testing.assert_array_equal(p, before)
            np.testing.assert_allclose(answer.z, z, atol=1e-14)
        else:
            assert step.natural_residual(p) == pytest.approx(after, rel=1e-6, abs=1e-14)


@SCENES
def test_newton_solves_the_step_from_its_solution_disturbed(made):
    """Quadratically: from 1e-3 off, in what moves the bodies, to rounding; p, u and z are those of the answer."""
    step = Step(made)
    step.engine.march(1, 256)
    step.read()
    rows, law, work, answer = step.work.rows, step.work.law, step.work, step.work.answer
    p, u = answer.p.copy(), np.zeros_like(answer.p)
    p[step.used] *= 1.0 + 1e-3 * np.random.default_rng(1).uniform(-1, 1, step.used.size)
    error, _ = step.judged(p, u)
    after, solved = newton(
        step.members, step.n, work.sign, rows.start, rows.place, rows.G, law.compliance, step.soft, law.mu, law.shift,
        law.scale, law.lower, law.upper, law.q, row_count(step.members, step.n, step.D), step.rules.associated,
        work.islands.mark, work.islands.numbers, work.islands.integers, error, 1e-11, p, u, answer.z,
    )  # fmt: skip
    assert solved
    assert after <= 1e-11 < error
    assert step.natural_residual(p) <= 1e-10


def spinning():
    """A cube that slides and turns on its four corners."""
    scene = ss.Scene()
    scene.add_plane(friction=0.7)
    scene.add_box(size=1.0, mass=2.0, position=(0, 0, 0.5), velocity=(1.0, 5.0, 0), spin=(0, 0, 3.0), friction=0.7)
    return scene, ss.Coulomb()


def cornered():
    """A box on the floor and against a wall, eight contacts, pushed along both and up."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    scene.add_plane(normal=(-1, 0, 0), offset=-0.5, friction=0.6)
    box = scene.add_box(size=(1.0, 0.6, 0.4), mass=3.0, position=(0, 0, 0.2), velocity=(0.1, 0, -0.05), friction=0.5)
    scene.apply(box, (40.0, 15.0, 6.0), (1.0, 2.0, 3.0))
    return scene, ss.Coulomb()


def on_springs():
    """Under the formulation whose tangents have a compliance of their own."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    box = scene.add_box(size=(1.0, 0.6, 0.4), mass=3.0, position=(0, 0, 0.1999), velocity=(0.5, 0, 0), spin=(0, 0, 2.0))
    scene.apply(box, (5.0, 9.0, 0.0))
    return scene, ss.Coulomb(ss.Relaxation(stiffness=1e5, damping=1e2))


ON_FOUR = [spinning, on_springs, carried]


def by_one_body(step, p, tol):
    """What engine/one_body.py makes of impulses p: those, their residual, whether it is solved, and u."""
    u, rows, law, islands, z = np.zeros_like(p), step.work.rows, step.work.law, step.work.islands, step.work.answer.z
    error, _ = step.judged(p, u)
    place = one_place(step.members, step.n, rows.start, rows.place)
    after, solved = find_loads(
        step.members, place, step.n, rows.start, rows.G, law.compliance, step.soft, law.mu, law.shift, law.scale,
        law.lower, law.upper, law.q, step.rules.associated, islands.numbers, islands.integers[:6], error, tol, p, u, z,
    )  # fmt: skip
    return after, solved, u


def test_islands_of_one_body_are_known():
    for made, contacts in ((spinning, 4), (cornered, 8), (on_springs, 4), (carried, 4)):
        step = Step(made)
        assert step.n == contacts
        assert one_place(step.members, step.n, step.work.rows.start, step.work.rows.place) >= 0
    for made in (stack, cart, arm):
        step = Step(made)
        assert one_place(step.members, step.n, step.work.rows.start, step.work.rows.place) == -1


@pytest.mark.core
@pytest.mark.parametrize("made", ON_FOUR, ids=lambda made: made.__name__)
def test_six_equations_find_the_loads_that_those_of_all_rows_find(made):
    """From impulses that are a tenth off."""
    step = Step(made)
    step.engine.march(1, 256)
    step.read()
    rows, law, work, answer = step.work.rows, step.work.law, step.work, step.work.answer
    found, rng = answer.p.copy(), np.random.default_rng(2)
    for _ in range(5):
        p = found * (1.0 + 0.1 * rng.uniform(-1, 1, found.size))
        q, v = p.copy(), np.zeros_like(p)
        after, solved, u = by_one_body(step, p, 1e-10)
        z = answer.z.copy()
        assert solved
        assert step.natural_residual(p) == pytest.approx(after, rel=1e-3, abs=1e-14)
        assert after <= 1e-10
        np.testing.assert_allclose(u[step.used], step.W @ p[step.used] + step.q, atol=1e-12)
        error, _ = step.judged(q, v)
        _, solved = newton(
            step.members, step.n, work.sign, rows.start, rows.place, rows.G, law.compliance, step.soft, law.mu,
            law.shift, law.scale, law.lower, law.upper, law.q, row_count(step.members, step.n, step.D), False,
            work.islands.mark, work.islands.numbers, work.islands.integers, error, 1e-10, q, v, answer.z,
        )  # fmt: skip
        assert solved
        np.testing.assert_allclose(z, answer.z, atol=1e-8 * np.abs(z).max())  # the body moves alike
        np.testing.assert_allclose(p, q, atol=1e-4 * np.abs(q).max())  # and the loads are those of springs


@pytest.mark.parametrize("made", [*ON_FOUR, cornered], ids=lambda made: made.__name__)
def test_where_it_does_not_solve_impulses_are_as_they_were(made):
    step = Step(made)
    p = step.pressed()
    before, u = p.copy(), np.zeros_like(p)
    error, _ = step.judged(p, u)
    z, told = step.work.answer.z.copy(), u.copy()
    after, solved, u = by_one_body(step, p, 0.0)
    assert not solved
    assert after == error
    np.testing.assert_array_equal(p, before)
    np.testing.assert_allclose(step.work.answer.z, z, atol=1e-14)
    np.testing.assert_allclose(u, told, atol=1e-12)
