"""What a run aims for, what it accepts, and what it says of the difference."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.engine import EXACT, Engine
from stickslip.engine.outside import matrix_of, whole_step
from stickslip.engine.rows import ACTIVE
from stickslip.errors import InexactWarning, InputError
from stickslip.problems.matrix import as_dense
from stickslip.problems.residual import project_cone
from stickslip.scene.compile import compile_scene

R = 0.05


def heap(count=80, seed=0, friction=0.5):
    """Balls that fall into a narrow shaft."""
    random, scene = np.random.default_rng(seed), ss.Scene()
    scene.add_plane(friction=friction)
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        scene.add_plane(normal, -0.17, friction=friction)
    for i in range(count):
        x, y = (0.11 * (k - 1) + random.uniform(-3e-3, 3e-3) for k in (i % 3, i // 3 % 3))
        scene.add_sphere(R, mass=1.0, position=(x, y, R + 0.11 * (i // 9)), friction=friction)
    return scene


def test_a_heap_runs_to_its_end_and_says_what_it_missed():
    """Steps are solved to tol or to what is accepted, are marked so, and the worst is named."""
    with pytest.warns(InexactWarning, match=r"steps inexact \(tol 1e-08, accept 1e-02\); the worst, at .* between '"):
        run = ss.simulate(heap(), 0.6, 0.005)
    assert run.contact_count.max() > EXACT
    assert run.finished
    assert len(run) == 120
    assert not run.failures.size
    assert run.inexact.size
    missed = np.isin(np.arange(len(run)), run.inexact)
    assert (run.residual[~missed] <= 1e-8).all()
    assert (run.residual[missed] > 1e-8).all()
    assert (run.residual <= 1e-2).all()
    assert (run.force_error < 1e-12).all()
    assert (run.velocity_error[missed] > 0.0).all()
    assert "inexact" in repr(run)
    gaps = [run.contacts(step=step).gap.min(initial=0.0) for step in range(len(run))]
    assert min(gaps) > -0.01 * R


def test_a_heap_that_grips_has_no_loads_without_bound():
    """With μ = 5 no impulse opens what overlaps: there is no solution, and answers had impulses of 1e8 N s."""
    with pytest.warns(InexactWarning):
        run = ss.simulate(heap(friction=5.0), 0.6, 0.005)
    assert run.contact_count.max() > EXACT
    assert not run.failures.size
    contacts = run.contacts()
    assert contacts.impulse[contacts.step >= 80, 0].max() < 1e3 * 80 * 9.81 * 0.005  # times the weight of all


def test_heavy_bodies_do_not_hide_that_a_light_one_is_wrong():
    """Bullets hit a wall of bricks: a residual of 2e-4 left them wrong by a quarter of their speed."""
    scene, random, speed = ss.Scene(), np.random.default_rng(30), 290.0
    scene.add_plane(friction=0.5)
    for row in range(6):
        for k in range(5):
            place = (0, 0.2 * k - 0.4 + 0.1 * (row % 2), 0.05 + 0.1 * row)
            scene.add_box((0.1, 0.2, 0.1), density=1800.0, position=place)
    for k in range(10):
        y, z = random.uniform(-0.3, 0.3), random.uniform(0.05, 0.45)
        scene.add_sphere(0.005, density=7800.0, position=(2 + 0.5 * k, y, z), velocity=(-speed, 0, 0))
    with pytest.warns(InexactWarning):
        run = ss.simulate(scene, 0.04, 2e-3)
    assert run.velocity_error.max() < 0.05 * speed


def test_without_mercy_a_step_that_misses_tol_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where its problem is saved
    with pytest.raises(ss.StepFailed, match="larger tol or accept") as failed:
        ss.simulate(heap(), 0.6, 0.005, tol=1e-15, accept=1e-15)
    assert failed.value.trajectory.residual.max(initial=0.0) <= 1e-15


def test_more_effort_leaves_less():
    """Mean residuals over the same fall."""
    left = []
    for effort in (10, 400):
        with pytest.warns(InexactWarning):
            run = ss.simulate(heap(), 0.5, 0.005, effort=effort)
        left.append(run.residual.mean())
    assert left[1] < 0.5 * left[0]


def test_small_islands_are_solved_to_tol_whatever_is_accepted():
    """No step of a stack is inexact: fewer blocks than EXACT are solved by all that there is."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(6):
        scene.add_box(size=0.2, mass=1.0, position=(0.02 * i, 0.0, 0.1 + 0.2 * i), friction=0.5)
    run = ss.simulate(scene, 0.3, 0.005)
    assert not run.inexact.size
    assert run.residual.max() <= 1e-8
    assert run.accuracy == f"every step solved to {run.residual.max():.1e}"


@pytest.mark.parametrize("friction", [ss.Coulomb(), ss.CompliantCone()], ids=lambda law: type(law).__name__)
def test_the_wrong_velocity_is_that_of_the_natural_map(friction):
    """|p - P_K(p - ρ ũ)| / ρ of the worst contact, with ρ = d / tr W_ii, from W p + q."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    for i in range(3):
        scene.add_box(size=(0.4, 0.3, 0.2), mass=1.0 + i, position=(0.05 * i, 0, 0.1 + 0.2 * i), velocity=(1.0, 0.5, 0))
    engine = Engine(*compile_scene(scene), 0.01, friction, tol=1e-3)
    record, _, _ = engine.march(1, 64)
    work, n = engine.work, int(engine.work.count[ACTIVE])
    W = as_dense(matrix_of(work, whole_step(work), 3 * n)).copy()
    if friction.relaxes_friction:
        tangents = np.arange(3 * n) % 3 > 0
        W[tangents, tangents] += np.repeat(work.law.compliance_tangent[:n], 3)[tangents]
    p = work.answer.p[: 3 * n]
    u = (W @ p + work.law.q[: 3 * n]).reshape(n, 3)
    rho = 3.0 / W.diagonal().reshape(n, 3).sum(axis=1)
    shifted = u.copy()
    shifted[:, 0] += work.law.shift[:n] * np.linalg.norm(u[:, 1:], axis=1)
    y = p.reshape(n, 3) - rho[:, None] * shifted
    wrong = [
        np.linalg.norm(p[3 * i : 3 * i + 3] - np.array(project_cone(work.law.mu[i], *y[i]))) / rho[i] for i in range(n)
    ]
    assert max(wrong) > 0.0
    assert record.velocity_error[0] == pytest.approx(max(wrong), rel=1e-6, abs=1e-15)
    assert record.worst[0] == work.rows.found[int(np.argmax(wrong))]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"accept": 1e-9}, r"accept is 1e-09, expected a number that is not below tol, 1e-08"),
        ({"accept": float("nan")}, "accept is nan"),
        ({"accept": "much"}, "accept is 'much'"),
        ({"effort": 0}, "effort is 0, expected a whole number of at least 1"),
        ({"effort": 1.5}, "effort is 1.5"),
        ({"tol": "little"}, "tol is 'little', expected a positive number"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ss.simulate(heap(1), 0.01, 0.005, **settings)
    with pytest.raises(InputError, match=message):
        ss.Simulation(heap(1), 0.005, **settings)


def pressed(**surface):
    """A cube of 10 cm on the floor, and a plate that comes down with 0.5 m/s from 5 cm above it."""
    scene = ss.Scene()
    scene.add_plane(**surface)
    cube = scene.add_box(0.1, mass=1.0, position=(0, 0, 0.05), **surface)
    scene.add_box((1, 1, 0.1), moving=True, position=(0, 0, 0.2), velocity=(0, 0, -0.5), **surface)
    return scene, cube


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_what_is_pressed_from_two_sides_is_said_to_be(friction, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ss.StepFailed, match=r"impulses grow .* pressed from two sides; springs, those of Comp"):
        ss.simulate(pressed(friction=friction)[0], 0.2, 5e-3)


def test_what_is_pressed_from_two_sides_gives_way_by_its_springs():
    """Four springs k below and four above, pressed together by d in all: 4 k (x - y) = m g with x + y = d."""
    k, h = 1e5, 1e-3
    scene, cube = pressed(stiffness=k, damping=1e3)
    run = ss.simulate(scene, 0.11, h, friction=ss.CompliantCone())
    below = 0.5 * (0.5 * (0.11 - 0.1) + 9.81 / (4 * k))
    assert abs(0.05 - run.position(cube)[-1, 2] - below) < 0.05 * below
