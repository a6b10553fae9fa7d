"""Bristles hold inside their cone, however fast they give way; states are judged by the set that bounds friction."""

import numpy as np
import pytest

import stickslip as ss

SPRINGS = {"stiffness": 1e8, "damping": 1e5}
BRISTLED = [ss.Phantom(), ss.Hybrid(), ss.Box(), ss.Phantom(directions=4, sliding_directions=4)]


def pushed_box(gravity, friction, planar=False, mu=0.6, k=1e5, b=1e3, dt=2e-3, duration=0.5, springs=SPRINGS):
    scene = ss.Scene(gravity=gravity, planar=planar)
    scene.add_plane(friction=mu)
    place = (0.0, 0.1) if planar else (0.0, 0.0, 0.1)
    size = (0.2, 0.2) if planar else 0.2
    scene.add_box(size, mass=2.0, position=place, name="box", stiffness_tangent=k, damping_tangent=b, **springs)
    return ss.simulate(scene, duration, dt, friction=friction)


@pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
@pytest.mark.parametrize("friction", BRISTLED, ids=repr)
def test_a_bristle_inside_the_cone_sticks(friction, planar):
    """6 N against 11.8 N of friction: it rests, displaced by F / Σ k_t, and tilted by F height / (Σ k_n width²/4)."""
    gravity = (3.0, -9.81) if planar else (3.0, 0.0, -9.81)
    run = pushed_box(gravity, friction, planar)
    count = 2 if planar else 4
    tilt = 6.0 * 0.1 / (count * 1e8 * 0.1**2)
    shift = 6.0 / (count * 1e5) + 0.1 * tilt
    assert run.position("box")[-1, 0] == pytest.approx(shift, rel=1e-4)
    assert np.abs(run.velocity("box")[-1]).max() < 1e-9
    assert (run.contacts(step=-1).state == ss.State.STICK).all()


@pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])
@pytest.mark.parametrize("friction", BRISTLED, ids=repr)
def test_a_bristle_on_rigid_normals_sticks(friction, planar):
    """Four rigid corners can share the weight in many ways: they have the loads of equal springs in every step, and so
    the box rests where its bristles hold it."""
    gravity = (3.0, -9.81) if planar else (3.0, 0.0, -9.81)
    run = pushed_box(gravity, friction, planar, springs={})
    count = 2 if planar else 4
    assert run.position("box")[-1, 0] == pytest.approx(6.0 / (count * 1e5), rel=1e-4)
    assert np.abs(run.velocity("box")[-1]).max() < 1e-9
    contacts = run.contacts(step=-1)
    assert (contacts.state == ss.State.STICK).all()
    away = np.sign(contacts.point[:, 0])
    np.testing.assert_allclose(
        contacts.impulse[:, 0], 2e-3 * (19.62 / count + away * 6.0 * 0.1 / (count * 0.1)), rtol=1e-6
    )


def test_a_tower_of_bristles_on_rigid_normals_leans_and_rests():
    """Three boxes, held by the bristles of their four corners, which give way by the pull from above: Σ m g_x / 4 k."""
    scene = ss.Scene(gravity=(1.0, 0.0, -9.81))
    scene.add_plane(friction=0.5)
    for i in range(3):
        place = (0, 0, 0.05 + 0.1 * i)
        scene.add_box(
            (0.4 - 0.1 * i, 0.3 - 0.05 * i, 0.1),
            mass=1.5,
            position=place,
            name=f"box {i}",
            stiffness_tangent=3e5,
            damping_tangent=2e3,
        )
    # between two boxes the bristles of both are in series, and the plane has none
    moved = np.array([4.5 / 12e5, 4.5 / 12e5 + 3.0 / 6e5, 4.5 / 12e5 + 3.0 / 6e5 + 1.5 / 6e5])
    for friction in BRISTLED:
        run = ss.simulate(scene, 0.5, 2e-3, friction=friction)
        places = [run.position(f"box {i}")[-1, 0] for i in range(3)]
        np.testing.assert_allclose(places, moved, rtol=1e-4, err_msg=repr(friction))


@pytest.mark.parametrize("friction", BRISTLED, ids=repr)
def test_beyond_the_cone_it_slides(friction):
    """g_x > μ g: it slides with a = g_x - μ g, but for what the bristles take at first."""
    run = pushed_box((8.0, 0.0, -9.81), friction)
    assert run.velocity("box")[-1, 0] == pytest.approx((8.0 - 0.6 * 9.81) * 0.5, rel=2e-2)
    assert (run.contacts(step=-1).state == ss.State.SLIP).all()


def test_a_pure_damper_creeps_as_it_is_told():
    """stiffness_tangent = 0: 6 N on four dampers of 1 kN s/m."""
    for friction in (*BRISTLED, ss.CompliantCylinder(), ss.Cylinder(), ss.Cylinder(fixed_point=True)):
        run = pushed_box((3.0, 0.0, -9.81), friction, k=0.0, duration=0.2)
        assert run.velocity("box")[-1, 0] == pytest.approx(6.0 / 4e3, rel=1e-6)


def test_dampers_and_springs_in_series():
    """Two pure dampers: 1/γ = 1/γ₁ + 1/γ₂; with a rigid surface the other's; with nothing at all it is refused."""
    scene = ss.Scene()
    ground = scene.add_plane(stiffness_tangent=0.0, damping_tangent=30.0)
    one = scene.add_box(1.0, mass=1.0, stiffness_tangent=0.0, damping_tangent=60.0)
    two = scene.add_box(1.0, mass=1.0)
    model, _, _ = ss.compile_scene(scene)
    material = model.shape_material
    pair = lambda a, b: (material[a.index], material[b.index])  # noqa: E731
    assert model.damping_tangent[pair(ground, one)] == pytest.approx(20.0)
    assert model.stiffness_tangent[pair(ground, one)] == 0.0
    assert model.damping_tangent[pair(ground, two)] == pytest.approx(30.0)
    with pytest.raises(
        ss.InputError, match=r"damping_tangent is 0\.0, expected a positive number where stiffness_tangent"
    ):
        ss.Material(stiffness_tangent=0.0)
    scene.set_pair(ground, two, stiffness_tangent=0.0, damping_tangent=0.0)
    with pytest.raises(ss.InputError, match=r"damping_tangent is 0\.0, expected a positive number"):
        ss.compile_scene(scene)


SQUARE_SLIP = [
    (ss.StewartTrinkle(directions=4), 0.4),
    (ss.AnitescuPotra(directions=4), 1.1),
    (ss.StewartTrinkle(directions=3), 2.0),
    (ss.Box(), 0.6),
    (ss.Hybrid(), 0.6),
    (ss.Phantom(directions=3), 0.6),
    (ss.CompliantCylinder(), 0.6),
    (ss.Cylinder(), 0.6),
    (ss.LimitSurface(ss.Polyhedron.inside_ellipsoid(np.vstack([np.eye(3), -np.eye(3)]))), 0.6),
    (ss.LimitSurface(ss.Mixed()), 0.6),
]


@pytest.mark.parametrize(("friction", "angle"), SQUARE_SLIP, ids=lambda value: repr(value)[:40])
def test_what_moves_slips_and_what_rests_sticks(friction, angle):
    """A particle that is pushed along a direction that is none of the formulation's: by its own cone."""
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_particle(1.0, velocity=tuple(0.3 * along), name="particle")
    run = ss.simulate(scene, 0.2, 1e-2, friction=friction)
    table = run.contacts()
    moves = np.linalg.norm(table.velocity[:, 1:], axis=1) > 1e-6
    assert moves[0]
    assert not moves[-1]
    np.testing.assert_array_equal(table.state[moves], ss.State.SLIP)
    np.testing.assert_array_equal(table.state[~moves], ss.State.STICK)


def test_more_axes_while_sliding_turn_friction_towards_the_velocity():
    """k axes from the velocity on are a polygon: the friction of a particle that is pushed sideways is off by an angle
    of up to π/2k, four times less with four times as many."""
    ends = {}
    for name, friction in {
        "coulomb": ss.Coulomb(ss.Relaxation()),
        4: ss.Phantom(sliding_directions=4),
        16: ss.Phantom(sliding_directions=16),
    }.items():
        scene = ss.Scene(gravity=(0.0, 2.0, -9.81))
        scene.add_plane(friction=0.5)
        scene.add_particle(1.0, velocity=(2.0, 0.0, 0.0), name="particle")
        run = ss.simulate(scene, 0.3, 1e-2, friction=friction, scheme="euler", tol=1e-10)
        ends[name] = run.position("particle")[-1, :2]
    off = {name: np.linalg.norm(end - ends["coulomb"]) for name, end in ends.items()}
    assert off[16] < 0.4 * off[4]
    with pytest.raises(ss.InputError, match="sliding_directions is 3 without lateral friction"):
        ss.Phantom(sliding_directions=3, lateral=False)
