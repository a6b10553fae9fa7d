"""Simulations with spin friction against closed forms.

A puck is a body on one patch that cannot tip: a ball with a huge inertia about x and y. It touches the ground at its
lowest point, with the force that friction holds there and e_r times as much moment.
"""

import math

import numpy as np
import pytest

import stickslip as ss

G, MU, E, M, H = 9.81, 0.4, 0.05, 2.0, 1e-3
STILL = 1e-9


def puck(velocity=(0.0, 0.0, 0.0), spin=0.0, inertia=M * E**2, steps=300, friction=None, patch=E, mu=MU, turn=0.0):
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    scene.add_sphere(
        0.1,
        mass=M,
        inertia=(1e9, 1e9, inertia),
        position=(0, 0, 0.1),
        orientation=(math.cos(turn / 2), 0, 0, math.sin(turn / 2)),
        velocity=velocity,
        spin=(0, 0, spin),
        patch=patch,
        name="puck",
    )
    law = ss.LimitSurface(stabilisation=None) if friction is None else friction
    run = ss.simulate(scene, steps * H, H, law, tol=1e-12)
    return run, run.velocity("puck"), run.spin("puck")[:, 2]


def first(true):
    return int(np.argmax(true)) if np.any(true) else -1


def test_a_spinning_disc_stops_when_its_limit_surface_says():
    """I dω/dt = -μ m g e_r."""
    inertia, spin = 0.01, 10.0
    _, v, w = puck(spin=spin, inertia=inertia)
    slowing = MU * M * G * E / inertia
    steps = np.arange(w.size)
    np.testing.assert_allclose(w, np.maximum(spin - slowing * H * steps, 0.0), atol=1e-9)
    assert first(w < STILL) == math.ceil(spin / (slowing * H))
    np.testing.assert_allclose(v, 0.0, atol=1e-9)


def test_a_disc_that_slides_and_spins_goes_straight_and_stops_at_once():
    """With I = m e_r², (v, e_r ω) shrinks along itself at the rate μ g."""
    velocity, spin = np.array([0.6, 0.8, 0.0]), 7.0
    _, v, w = puck(velocity, spin)
    whole = math.hypot(1.0, E * spin)
    share = np.maximum(1 - MU * G * H * np.arange(w.size) / whole, 0.0)
    np.testing.assert_allclose(v, share[:, None] * velocity, atol=1e-9)
    np.testing.assert_allclose(w, share * spin, atol=1e-8)
    stop = math.ceil(whole / (MU * G * H))
    assert first(np.abs(w) < STILL) == first(np.linalg.norm(v, axis=1) < STILL) == stop


@pytest.mark.parametrize("inertia", [0.4 * M * E**2, 3 * M * E**2])
def test_both_motions_end_together_whatever_the_inertia(inertia):
    """d(ln v) / d(ln ω) = I / (m e_r²): neither is zero before the other. And the way is straight."""
    _, v, w = puck((0.6, 0.8, 0.0), 9.0, inertia, steps=700)
    speed = np.linalg.norm(v, axis=1)
    assert first(np.abs(w) < STILL) == first(speed < STILL) > 100
    np.testing.assert_allclose(v[:, 0] * 0.8, v[:, 1] * 0.6, atol=1e-10)
    # the law of powers, to the first order of the step
    power = np.log(speed[100] / speed[0]) / np.log(w[100] / w[0])
    assert power == pytest.approx(inertia / (M * E**2), rel=1e-2)


def test_spin_makes_sliding_easier():
    _, still, _ = puck((1.0, 0, 0))
    _, spun, _ = puck((1.0, 0, 0), spin=40.0)
    assert still[100, 0] == pytest.approx(1 - MU * G * H * 100, abs=1e-9)
    assert spun[100, 0] == pytest.approx(1 - MU * G * H * 100 / math.hypot(1.0, 40.0 * E), abs=1e-9)


def test_mixed_friction_does_not_share():
    """Force and moment each have all of their own."""
    _, v, w = puck(
        (1.0, 0, 0), spin=8.0, inertia=0.01, steps=100, friction=ss.LimitSurface(ss.Mixed(), stabilisation=None)
    )
    steps = np.arange(w.size)
    np.testing.assert_allclose(v[:, 0], 1 - MU * G * H * steps, atol=1e-9)
    np.testing.assert_allclose(w, 8.0 - MU * M * G * E / 0.01 * H * steps, atol=1e-8)


@pytest.mark.parametrize("patch", [0.0, 1e-9])
def test_without_a_patch_it_is_coulomb_friction(patch):
    """A ball thrown sliding and spinning, a box that tips and slides, 1e-8 apart at most."""

    def run(law, patch):
        scene = ss.Scene()
        scene.add_plane(friction=0.3)
        scene.add_sphere(
            0.2, mass=1.0, position=(0, 0, 0.2), velocity=(3, 1, 0), spin=(5, -3, 9), patch=patch, name="ball"
        )
        scene.add_capsule(
            0.1, 0.4, mass=1.0, position=(3, 0, 0.35), velocity=(0, 1, 0), spin=(1, 0, 2), patch=patch, name="rod"
        )
        run = ss.simulate(scene, 0.4, 1e-3, law, tol=1e-12)
        return np.hstack([run.velocity("ball"), run.spin("ball"), run.velocity("rod"), run.spin("rod")])

    np.testing.assert_allclose(run(ss.LimitSurface(), patch), run(ss.Coulomb(), 0.0), atol=1e-8)


@pytest.mark.parametrize(("turn", "along"), [(0.0, True), (math.pi / 2, False), (math.pi / 6, None)])
def test_friction_along_and_across_the_grain_of_a_body(turn, along):
    """The grain is the puck's own x: across it friction is half as large. Maximum work: force ∝ e² v."""
    law = ss.LimitSurface(sizes=(1.0, 0.5), grain=(1, 0, 0), grain_of="second", stabilisation=None)
    _, v, _ = puck((1.0, 0, 0), inertia=1e9, steps=1, friction=law, patch=0.0, turn=turn)
    if along is not None:
        share = 1.0 if along else 0.5
        np.testing.assert_allclose(v[1], [1 - share * MU * G * H, 0, 0], atol=1e-9)
    change = v[1] - v[0]
    a, b = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    work = np.array([a @ v[1, :2], 0.25 * b @ v[1, :2]])  # e² v at the end of the step
    force = -MU * G * H * work / math.hypot(work[0], 2 * work[1])
    np.testing.assert_allclose(change[:2], force[0] * a + force[1] * b, atol=1e-9)


def test_the_grain_of_the_ground_does_not_turn():
    law = ss.LimitSurface(sizes=(1.0, 0.5), grain=(0, 1, 0), stabilisation=None)
    _, v, _ = puck((1.0, 0, 0), inertia=1e9, steps=50, friction=law, patch=0.0, turn=0.7)
    np.testing.assert_allclose(v[-1], [1 - 0.5 * MU * G * H * 50, 0, 0], atol=1e-9)


def test_stribeck_friction():
    """v' = v - h g (μ_k + (μ_s - μ_k) exp(-v / v_s)), with the friction of the speed at the start of the step."""
    law = ss.LimitSurface(ss.stribeck(0.6, 0.3, 0.5), stabilisation=None)
    _, v, _ = puck((1.0, 0, 0), steps=40, friction=law, mu=1.0)
    speed = [1.0]
    for _ in range(40):
        speed.append(speed[-1] - H * G * (0.3 + 0.3 * math.exp(-speed[-1] / 0.5)))
    np.testing.assert_allclose(v[:, 0], speed, atol=1e-9)


def test_static_friction_holds_more_than_kinetic():
    """On a slope of 0.45 with μ_s = 0.5 and μ_k = 0.4 it stays where it is still, and speeds up where it slides."""

    def slid(speed):
        scene = ss.Scene(gravity=(G * math.sin(0.4229), 0, -G * math.cos(0.4229)))
        scene.add_plane(friction=1.0)
        scene.add_sphere(
            0.1, mass=M, inertia=(1e9, 1e9, 1.0), position=(0, 0, 0.1), velocity=(speed, 0, 0), name="puck"
        )
        law = ss.LimitSurface(ss.static_kinetic(0.5, 0.4), stabilisation=None)
        return ss.simulate(scene, 0.1, H, law, tol=1e-12).velocity("puck")[-1, 0]

    assert slid(0.0) == pytest.approx(0.0, abs=1e-9)
    gain = G * (math.sin(0.4229) - 0.4 * math.cos(0.4229))
    assert slid(0.5) == pytest.approx(0.5 + 0.1 * gain, abs=1e-9)


def uneven(t, o, r, speed, x, y, z, time):
    """Friction that doubles beyond x = 0.05 and fades with time."""
    mu = (0.2 if x < 0.05 else 0.4) / (1.0 + time)
    length = math.sqrt(t * t + o * o + r * r)
    if length == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return length / mu, t / (length * mu), o / (length * mu), r / (length * mu)


def test_friction_may_depend_on_place_and_time():
    run, v, _ = puck(
        (1.0, 0, 0), steps=100, friction=ss.LimitSurface(ss.FrictionMap(uneven), stabilisation=None), mu=1.0
    )
    x = run.position("puck")[:, 0]
    slowing = -np.diff(v[:, 0]) / (H * G)
    known = np.where(x[:-1] < 0.05, 0.2, 0.4) / (1.0 + H * np.arange(100))
    np.testing.assert_allclose(slowing, known, atol=1e-8)


def test_energy_never_grows():
    _, v, w = puck((0.5, -0.3, 0.0), 11.0, 0.02)
    energy = 0.5 * M * (v**2).sum(axis=1) + 0.5 * 0.02 * w**2
    assert (np.diff(energy) <= 1e-12).all()


def test_patches_of_materials():
    assert ss.Material(patch=0.02).patch == 0.02
    with pytest.raises(ss.InputError, match="patch"):
        ss.Material(patch=-1.0)
    scene = ss.Scene()
    scene.add_plane(patch=0.01, name="ground")
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0.1), patch=0.03)
    assert ss.compile_scene(scene)[0].patch.max() == 0.03
    scene.set_pair("ground", ball, patch=0.5)
    assert 0.5 in ss.compile_scene(scene)[0].patch


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sizes": (1.0, 0.0)}, "expected two positive numbers"),
        ({"sizes": (1.0, 0.5)}, "grain is None"),
        ({"grain": (0, 0, 0)}, "expected a direction"),
        ({"grain": (1, 0, 0), "grain_of": "third"}, "expected 'first' or 'second'"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(ss.InputError, match=words):
        ss.LimitSurface(**settings)


def test_a_saved_problem_comes_back(tmp_path):
    random = np.random.default_rng(0)
    for surface in (ss.Ellipsoid(), ss.Mixed(), ss.Polyhedron(np.vstack([np.eye(3), -np.eye(3)]))):
        A = random.normal(size=(8, 8))
        problem = ss.LimitSurfaceProblem(A, A[0], [0.1, 0.2], random.random((2, 3)), random.random((2, 3)), surface)
        ss.save(problem, tmp_path / "problem.h5")
        again = ss.load(tmp_path / "problem.h5")
        for name in ("A", "b", "mu", "e", "slip", "state"):
            assert (getattr(again, name) == getattr(problem, name)).all()
        assert type(again.surface) is type(surface)
    with pytest.raises(ss.InputError, match="FrictionMap"):
        ss.save(
            ss.LimitSurfaceProblem(A, A[0], [0.1, 0.2], np.ones((2, 3)), surface=ss.stribeck(0.5, 0.4, 1.0)),
            tmp_path / "x.h5",
        )
    assert not (tmp_path / "x.h5").exists()
