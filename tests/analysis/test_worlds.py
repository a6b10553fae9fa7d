"""The same questions to scenes, systems and robots: they agree with each other, with closed forms and with steps."""

import math
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import stickslip as ss
from stickslip.dynamics.generalized import evaluate
from stickslip.dynamics.mechanisms import rod_on_its_foot
from stickslip.scene.shapes import Point, Sphere

G = 9.81
H = 1e-3


def rod_scene(theta, friction, gravity=G, slide=-1.0):
    """Painlevé's rod of the papers as a body with a point."""
    scene = ss.Scene(gravity=(0, 0, -gravity))
    scene.add_plane(friction=friction, name="ground")
    scene.add_body(
        [Point((-0.5, 0, 0))], mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12), centre=(0, 0, 0), name="rod",
        position=(0.5 * math.cos(theta), 0, 0.5 * math.sin(theta)), orientation=((0, 1, 0), -theta),
        velocity=(slide, 0, 0), friction=friction,
    )  # fmt: skip
    return scene


# solvability and existence


@pytest.mark.core
@pytest.mark.parametrize(("mu", "gravity", "count"), [(1.0, G, 1), (1.0, -G, 1), (2.0, G, 0), (2.0, -G, 2)])
@pytest.mark.parametrize("degrees", [45.0, 60.0])
def test_a_rod_as_a_scene_and_as_a_system(mu, gravity, count, degrees):
    theta = math.radians(degrees)
    scene = ss.solvability(rod_scene(theta, mu, gravity))
    system = ss.solvability(ss.rod(friction=mu, gravity=gravity), q=rod_on_its_foot(theta), v=[-1.0, 0, 0, 0, 0])
    assert scene.count == system.count == count
    np.testing.assert_allclose(scene.W, system.W, atol=1e-10)
    np.testing.assert_allclose(scene.free, system.free, atol=1e-9)
    for one, other in zip(scene.solutions, system.solutions, strict=True):
        np.testing.assert_allclose(one.force, other.force, atol=1e-8)
    assert scene.names == ("contact 0 between rod and ground",)


@pytest.mark.core
def test_centrifugal_and_gyroscopic_accelerations_of_a_scene():
    """The foot of a rod that swings and turns: a scene has no functions to differentiate, and agrees all the same."""
    theta, rates = 0.9, np.array([0.0, 0.0, 0.0, 0.4, 0.7])
    scene = rod_scene(theta, 0.5, slide=0.3)
    c, s = math.cos(theta), math.sin(theta)
    along, swing = np.array([c, 0, s]), np.array([-s * rates[3], c * rates[4], c * rates[3]])
    scene.place("rod", velocity=(0.3, -0.2, 0.5 * c * rates[3]), spin=tuple(np.cross(along, swing)))
    v = rates + np.array([0.3, -0.2, 0.5 * c * rates[3], 0, 0])
    found = ss.solvability(scene)
    expected = ss.solvability(ss.rod(friction=0.5), q=rod_on_its_foot(theta), v=v)
    np.testing.assert_allclose(found.free, expected.free, atol=1e-7)
    np.testing.assert_allclose(found.solutions[0].normal, expected.solutions[0].normal, rtol=1e-7)


@pytest.mark.parametrize("spin", [(0, 3.0, 0), (0, 0, 5.0), (2.0, -1.0, 4.0)])
def test_a_ball_that_rolls_or_slides_keeps_its_height(spin):
    """The contact moves over the ball: its normal acceleration is that of the centre, whatever the spin."""
    scene = ss.Scene()
    scene.add_plane(friction=0.3)
    scene.add_sphere(0.2, mass=2.0, position=(0, 0, 0.2), spin=spin, velocity=(0.2, 0, 0))
    found = ss.solvability(scene)
    np.testing.assert_allclose(found.free, [-G, 0, 0], atol=1e-8)
    np.testing.assert_allclose(found.solutions[0].normal, 2.0 * G, rtol=1e-9)


def test_a_shaken_floor_accelerates_what_stands_on_it():
    """z = a sin(Ω t) / Ω: at t = 0 it moves up with a; at the speed of the floor the weight is what a step says."""
    for lift in (0.0, 3.0):
        scene = ss.Scene()
        scene.add_plane(moving=True, velocity=lambda t, lift=lift: (0, 0, lift * t), name="floor")
        scene.add_sphere(0.2, mass=2.0, position=(0, 0, 0.2))
        found = ss.solvability(scene)
        np.testing.assert_allclose(found.solutions[0].normal, 2.0 * (G + lift), rtol=1e-8)


def test_joints_hold_at_acceleration_level():
    """A bob on a hinge pressed onto the ground by its weight: the moments about the hinge."""
    scene, angle = ss.Scene(), 0.4
    scene.add_plane(friction=0.0, name="ground")
    along = np.array([math.cos(angle), 0, -math.sin(angle)])
    place = np.array([0, 0, 0.5 * math.sin(angle)])
    scene.add_body(
        [Point((0.25, 0, 0))], mass=2.0, inertia=(1e-3, 0.02, 0.02), centre=(0, 0, 0), name="bob",
        position=tuple(place + 0.25 * along), orientation=((0, 1, 0), angle), friction=0.0,
    )  # fmt: skip
    scene.add_hinge("bob", position=tuple(place), axis=(0, 1, 0))
    found = ss.solvability(scene)
    np.testing.assert_allclose(found.solutions[0].normal, 2.0 * G / 2, rtol=1e-9)
    limited = ss.Scene()
    limited.add_plane(friction=0.0)
    limited.add_sphere(0.2, mass=1.0, position=(0, 0, 0.2), name="ball")
    limited.add_slider("ball", position=(0, 0, 0.2), axis=(1, 0, 0), strength=2.0, speed=1.0)
    with pytest.raises(ss.InputError, match=r"joint 'joint 0' \(motor\) would act, expected rigid joints"):
        ss.solvability(limited)
    assert ss.solvability(limited, dt=H).names[-1] == "bounded joint row 0"


@pytest.mark.parametrize("speed", [0.0, 0.4])
def test_velocity_level_is_the_step(speed):
    scene = ss.Scene(planar=True)
    scene.add_plane(friction=0.3)
    scene.add_box((0.4, 0.2), mass=2.0, position=(0, 0.1), velocity=(speed, 0), name="box")
    found = ss.solvability(scene, dt=H)
    run = ss.simulate(scene, H, H, tol=1e-12)
    p = run.contacts(0).impulse[:, :1].sum()
    for one in found.solutions:
        assert one.normal.sum() == pytest.approx(p, rel=1e-9)
        assert one.normal.sum() == pytest.approx(2.0 * G * H, rel=1e-9)


def spinning_ball(spin, patch=0.05, mu=0.4):
    scene = ss.Scene()
    scene.add_plane(friction=mu)
    scene.add_sphere(0.2, mass=2.0, position=(0, 0, 0.2), spin=(0, 0, spin), patch=patch, friction=mu, name="ball")
    return scene


def test_patches_have_moments():
    """A ball that spins on the spot: the moment is μ N e_r against it; at rest there is none."""
    found = ss.solvability(spinning_ball(3.0))
    assert found.solutions[0].modes == ("slide",)
    np.testing.assert_allclose(found.solutions[0].force, 2 * G * np.array([1, 0, 0, -0.4 * 0.05]), atol=1e-7)
    rest = ss.solvability(spinning_ball(0.0))
    np.testing.assert_allclose(rest.solutions[0].force, [2 * G, 0, 0, 0], atol=1e-7)
    step = ss.solvability(spinning_ball(3.0), dt=H)
    np.testing.assert_allclose(step.solutions[0].force, 2 * G * H * np.array([1, 0, 0, -0.4 * 0.05]), atol=1e-9)
    assert not found.certificate.complete


@pytest.mark.core
def test_existence_of_worlds():
    """At rest a motion opens the contact; where it slides, Trinkle and Pang's bound on friction decides; a step always
    has a solution."""
    assert ss.existence(rod_scene(0.8, 5.0, slide=0.0)).guaranteed
    sliding = ss.existence(rod_scene(math.radians(45), 2.0))
    assert isinstance(sliding, ss.LimitSurfaceExistence)
    assert not sliding.guaranteed
    assert ss.existence(rod_scene(math.radians(45), 0.05)).guaranteed
    assert ss.existence(rod_scene(math.radians(45), 2.0), dt=H).guaranteed
    assert ss.existence(ss.rod(friction=2.0), q=rod_on_its_foot(0.8)).guaranteed
    assert isinstance(ss.existence(spinning_ball(0.0)), ss.LimitSurfaceExistence)
    with pytest.raises(ss.InputError, match="existence: the problem is 3, expected a ConeProblem"):
        ss.existence(3)


def test_a_scene_that_has_come_to_rest_is_at_rest():
    """What the tolerance of its steps leaves of velocities and overlaps is neither slip nor approach."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5, name="floor")
    scene.add_box((0.4, 0.3, 0.2), mass=2.0, position=(0, 0, 0.1), velocity=(0.3, 0.1, 0), spin=(0, 0, 1), name="box")
    run = ss.simulate(scene, 0.5, 1e-3)
    end = {"position": run.position("box")[-1], "orientation": tuple(run.quaternion("box")[-1])}
    scene.place("box", velocity=tuple(run.velocity("box")[-1]), spin=tuple(run.spin("box")[-1]), **end)
    found = ss.determinacy(scene, dt=None)
    assert found.problem.contacts == 4
    np.testing.assert_allclose(found.upper[::3], 2.0 * G / 2, rtol=1e-4)
    assert ss.distributed_contacts(scene).rolling == (0, 1, 2, 3)
    assert not ss.jamming_diagram(
        scene, ("box", (0, 0, 0), (0, 0, 0)), ("box", (1, 0, 0), (0, 0, 0)), ("box", (0, 1, 0), (0, 0, 0))
    ).wedges


# determinacy and stiff springs


def block(friction=0.5):
    """A planar block on two corners, q = (x, z, φ)."""
    a, b, m = 0.3, 0.2, 2.0

    def corner(s):
        def gap(q):
            return q[1] - b * math.cos(q[2]) - s * a * math.sin(q[2])

        def rows(q):
            c, t = math.cos(q[2]), math.sin(q[2])
            return [[0, 1, b * t - s * a * c], [1, 0, -b * c - s * a * t]]

        return ss.ContactPoint(gap, rows, friction, name=f"corner {s}")

    mass = np.diag([m, m, m * (a * a + b * b) / 3])
    return ss.GeneralizedSystem(3, lambda q: mass, lambda q, v: [0, m * G, 0], (corner(-1), corner(1)), name="block")


@pytest.mark.parametrize("dt", [H, None])
def test_determinacy_of_a_block_as_a_system_and_as_a_scene(dt):
    """Loads m g / 2 each; the two friction forces cancel, up to μ m g / 2."""
    system = ss.determinacy(block(), q=[0, 0.2, 0], dt=dt)
    scene = ss.Scene(planar=True)
    scene.add_plane(friction=0.5)
    scene.add_box((0.6, 0.4), mass=2.0, position=(0, 0.2), friction=0.5, name="block")
    for found in (system, ss.determinacy(scene, dt=dt)):
        np.testing.assert_allclose(found.lower[::2], G, rtol=1e-7)
        np.testing.assert_allclose(found.upper[1::2], 0.5 * G, rtol=1e-6)
        np.testing.assert_allclose(found.lower[1::2], -0.5 * G, rtol=1e-6)


def test_a_sliding_block_has_determined_forces_at_acceleration_level():
    """Friction μ m g acts below the centre: loads m g / 2 (1 ± μ b / a)."""
    found = ss.determinacy(block(), q=[0, 0.2, 0], v=[1.0, 0, 0], dt=None)
    assert found.determined
    loads = G * np.array([1 - 0.5 * 0.2 / 0.3, 1 + 0.5 * 0.2 / 0.3])
    np.testing.assert_allclose(found.lower[::2], loads, rtol=1e-9)
    np.testing.assert_allclose(found.lower[1::2], -0.5 * loads, rtol=1e-9)
    np.testing.assert_allclose(found.motion, [-0.5 * G, 0, 0], atol=1e-9)
    with pytest.raises(ss.InputError, match="there is not one motion: theorem: no normal force"):
        ss.determinacy(rod_scene(math.radians(45), 2.0), dt=None)


@pytest.mark.parametrize("dt", [H, None])
def test_moments_of_two_patches_oppose_each_other(dt):
    """Two balls on one body: each may carry up to μ N e_r if the other carries the opposite."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    shapes = [Sphere(0.1, position=(x, 0, 0)) for x in (-0.3, 0.3)]
    scene.add_body(
        shapes, mass=3.0, inertia=0.1, centre=(0, 0, 0), position=(0, 0, 0.1), patch=0.02, friction=0.4, name="dumbbell"
    )
    found = ss.determinacy(scene, dt=dt)
    spin = [i for i, name in enumerate(found.names) if name.endswith("spin")]
    assert len(spin) == 2
    np.testing.assert_allclose(found.upper[spin], 0.4 * 1.5 * G * 0.02, rtol=1e-6)
    np.testing.assert_allclose(found.lower[spin], -0.4 * 1.5 * G * 0.02, rtol=1e-6)
    np.testing.assert_allclose(found.lower[::4], 1.5 * G, rtol=1e-8)


def table(friction=0.5):
    scene = ss.Scene()
    scene.add_plane(friction=friction)
    feet = [Point((x, y, -0.7)) for x, y in ((0.5, 0.4), (-0.5, 0.4), (-0.5, -0.4), (0.5, -0.4))]
    scene.add_body(
        feet, mass=10.0, inertia=(1.0, 1.5, 2.0), centre=(0, 0, 0), position=(0, 0, 0.7), friction=friction,
        stiffness=1e6, stiffness_tangent=1e6, name="table",
    )  # fmt: skip
    scene.apply("table", (0, 0, -20.0), point=(0.2, 0.1, 0.0))
    return scene


@pytest.mark.parametrize("dt", [H, None])
def test_stiff_springs_under_a_table(dt):
    """Even springs: loads are linear in the place of the foot, F/4 + M_y x / Σx² + M_x y / Σy²."""
    found = ss.stiff_limit(table(), dt=dt)
    x, y = np.array([0.5, -0.5, -0.5, 0.5]), np.array([0.4, 0.4, -0.4, -0.4])
    loads = (10 * G + 20) / 4 + 20 * (0.2 * x / (x @ x) + 0.1 * y / (y @ y))
    np.testing.assert_allclose(np.sort(found.forces[::3]), np.sort(loads), rtol=1e-8)
    system = ss.stiff_limit(block(), weights=np.ones(4), q=[0, 0.2, 0], dt=dt)
    np.testing.assert_allclose(system.forces, [G, 0, G, 0], atol=1e-8)
    with pytest.raises(ss.InputError, match="corner -1' slides, expected contacts at rest at acceleration level"):
        ss.stiff_limit(block(), weights=np.ones(4), q=[0, 0.2, 0], v=[1, 0, 0], dt=None)
    with pytest.raises(ss.InputError, match="stiff_limit: the problem is 3, expected a ContactProblem"):
        ss.stiff_limit(3)


@pytest.mark.parametrize("dt", [H, None])
def test_stiff_springs_share_a_moment_between_patches_and_a_couple(dt):
    """A torque about the normal: with even springs spin and couple share it as e_r² to a², a the arm."""
    scene, arm, patch, torque = ss.Scene(), 0.3, 0.1, 0.5
    scene.add_plane(friction=0.4)
    shapes = [Sphere(0.1, position=(x, 0, 0)) for x in (-arm, arm)]
    said = {"patch": patch, "friction": 0.4, "stiffness": 1e6, "stiffness_tangent": 1e6, "name": "dumbbell"}
    scene.add_body(shapes, mass=3.0, inertia=0.1, centre=(0, 0, 0), position=(0, 0, 0.1), **said)
    scene.apply("dumbbell", torque=(0, 0, torque))
    found = ss.stiff_limit(scene, dt=dt)
    forces = found.forces.reshape(-1, 4)
    np.testing.assert_allclose(forces[:, 0], 1.5 * G, rtol=1e-8)
    share = torque / (2 * (arm**2 + patch**2))
    np.testing.assert_allclose(np.linalg.norm(forces[:, 1:3], axis=1), share * arm, rtol=1e-7)
    np.testing.assert_allclose(np.abs(forces[:, 3]), share * patch**2, rtol=1e-7)
    with pytest.raises(ss.InputError, match="contacts have patches, expected points for the way to the limit"):
        found.path([1.0])
    scene.apply("dumbbell", force=(9.0, 0, 0))
    scene.apply("dumbbell", force=(9.0, 0, 0))
    with pytest.raises(ss.InputError, match="a contact over a patch slides, expected all of them at rest"):
        ss.stiff_limit(scene, dt=dt)


# coupling with what else is closed


def ladder(theta, foot, head, rate=-1.0):
    """A rod whose head leans on a wall x = const and slides down, q, and v."""
    rod, wall = ss.planar_rod(friction=foot), 0.5 * math.cos(theta)

    def gap(q):
        return wall - q[0] - 0.5 * math.cos(q[2])

    def rows(q):
        return [[-1, 0, 0.5 * math.sin(q[2])], [0, 1, 0.5 * math.cos(q[2])]]

    system = replace(rod, contacts=(*rod.contacts, ss.ContactPoint(gap, rows, head, name="head")), name="ladder")
    v = rate * np.array([0.5 * math.sin(theta), 0.5 * math.cos(theta), 1.0])
    return system, [0.0, 0.5 * math.sin(theta), theta], v


@pytest.mark.core
def test_other_closed_contacts_are_held_as_they_move():
    system, q, v = ladder(0.8, 2.0, 0.3)
    sliding = ss.friction_coupling(system, q=q, v=v)
    said = ss.friction_coupling(system, q=q, held={1: ss.Sliding((-1.0,), 0.3)})
    np.testing.assert_allclose(sliding.W, said.W, atol=1e-14)
    assert "contact 'head' sliding along (-1) with mu = 0.3" in sliding.held
    rest = ss.friction_coupling(system, q=q)
    stuck = ss.friction_coupling(system, q=q, held={1: "sticking"})
    np.testing.assert_allclose(rest.W, stuck.W, atol=1e-14)
    alone = ss.friction_coupling(system, q=q, held={1: "open"})
    np.testing.assert_allclose(alone.W, alone.W_alone)
    assert alone.left_out == ("contact 'head', said to be open",)
    parting = ss.friction_coupling(system, q=q, v=v + np.array([-1.0, 0, 0]))
    np.testing.assert_allclose(parting.W, alone.W)


def test_a_jam_map_holds_what_is_closed():
    """A rod whose middle rests on a rail at half height: closed in one pose only."""
    rod = ss.planar_rod()
    rail = ss.ContactPoint(lambda q: abs(q[2] - 0.8), lambda q: [[0, 0, 1], [0, 0, 0]], name="rail")
    system = replace(rod, contacts=(*rod.contacts, rail))
    family = ss.Family(system, lambda a: [0, 0.5 * math.sin(a), a], {"theta": (0.6, 1.0)}, ("rad",))
    found = ss.jam_map(family, resolution=5)
    alone = ss.jam_map(family, resolution=5, held={1: "open"})
    np.testing.assert_allclose(np.delete(found.mu_jam, 2), np.delete(alone.mu_jam, 2))
    assert math.isinf(found.mu_jam[2])  # it cannot turn there: nothing couples
    assert math.isfinite(alone.mu_jam[2])


def test_a_jam_map_of_scenes():
    """Painlevé's rod as scenes: its closed form, and its minimum 4/3 at tan θ = 2."""
    family = ss.scene_family(lambda theta: rod_scene(theta, 0.5, slide=0.0), {"theta": (0.9, 1.3)}, ("rad",), "rod")
    found = ss.jam_map(family, resolution=9, contact=("rod", "ground"))
    s, k = np.sin(found.axes[0]), np.cos(found.axes[0])
    np.testing.assert_allclose(found.mu_jam, (1 + 3 * k * k) / (3 * s * k), rtol=1e-9)
    (worst,) = found.minima
    assert worst.mu_jam == pytest.approx(4 / 3, abs=1e-9)
    assert math.tan(worst.parameters[0]) == pytest.approx(2.0, abs=1e-4)
    assert found.contact_name == "rod and ground"


def test_patches_couple_by_their_spin():
    """mu_jam = a / |(h_t, h_o, e_r h_r)|: of a bar that leans, a moment about the normal does nothing to the normal."""
    scene = rod_scene(1.0, 0.5, slide=0.0)
    plain = ss.friction_coupling(scene)
    scene.set_pair("rod", "ground", patch=0.03)
    found = ss.friction_coupling(scene)
    assert found.W.shape == (4, 4)
    np.testing.assert_allclose(found.W[:3, :3], plain.W, atol=1e-12)
    assert found.W[3, 3] == pytest.approx(0.03**2 * (math.cos(1.0) ** 2 * 12 + math.sin(1.0) ** 2 * 1e3), rel=1e-9)
    assert found.mu_jam == pytest.approx(plain.mu_jam, rel=1e-9)


# through the jam


@pytest.mark.core
@pytest.mark.parametrize("head", [0.0, 0.4])
@pytest.mark.parametrize(("theta", "foot"), [(0.6, 2.0), (0.8, 1.5), (1.0, 3.0), (1.2, 2.0)])
def test_a_ladder_does_not_go_through_the_wall(theta, foot, head):
    """The head stays on the wall, or leaves it. A rigid step, which knows both contacts, ends with the same motion."""
    system, q, v = ladder(theta, foot, head)
    jam = ss.through_jam(system, q, v, slip_speed=1e-7)
    u = evaluate(system, q, jam.v).u
    assert u[2] > -1e-8
    assert u[0] > -1e-8
    step = ss.simulate(system, 1e-7, 1e-7, q=q, v=v, tol=1e-12)
    np.testing.assert_allclose(jam.v, step.v[-1], atol=2e-5)
    assert -jam.normal_work - jam.friction_work == pytest.approx(jam.energy_lost, rel=1e-6)
    at = evaluate(system, q, v)
    impulses = np.concatenate([jam.impulse, jam.others["contact 'head'"]])
    np.testing.assert_allclose(at.M @ (jam.v - v), at.A.T @ impulses, atol=1e-9)


def test_a_contact_that_is_about_to_be_hit_is_refused():
    system, q, v = ladder(0.8, 2.0, 0.3)
    with pytest.raises(ss.InputError, match=r"contact 'head' approaches with 1 m/s, expected one that is at rest"):
        ss.through_jam(system, q, v + np.array([1.0, 0, 0]))


def test_through_the_jam_of_a_scene():
    theta = math.radians(45)
    scene = ss.through_jam(rod_scene(theta, 2.0), slip_speed=1e-7)
    system = ss.through_jam(ss.rod(friction=2.0), rod_on_its_foot(theta), [-1.0, 0, 0, 0, 0], slip_speed=1e-7)
    np.testing.assert_allclose(scene.impulse, system.impulse, atol=1e-7)
    np.testing.assert_allclose(scene.v[:3], system.v[:3], atol=1e-6)
    assert scene.energy_lost == pytest.approx(0.3125, abs=1e-6)


# robots


@pytest.mark.skipif(not find_spec("pinocchio"), reason="needs the extra robots")
def test_a_robot_answers_like_the_rod(tmp_path):
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1e-6" iyy="0.0833333333333" izz="0.0833333333333" '
        'ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    (tmp_path / "stick.urdf").write_text(f'<robot name="stick"><link name="stick">{inertial}</link></robot>')
    stick = ss.load_robot(
        tmp_path / "stick.urdf", ss.FramePoint("stick", point=(-0.5, 0, 0), friction=2.0), floating=True
    )
    theta = math.radians(45)
    q = stick.pose()
    q[:3] = 0.5 * math.cos(theta), 0, 0.5 * math.sin(theta)
    q[3:7] = [0, -math.sin(theta / 2), 0, math.cos(theta / 2)]
    v = np.array([-math.cos(theta), 0, math.sin(theta), 0, 0, 0])  # -x of the world in the axes of the body
    assert ss.solvability(stick, q=q, v=v).count == 0
    assert ss.friction_coupling(stick, q=q).mu_jam == pytest.approx(5 / 3, rel=1e-6)
    jam = ss.through_jam(stick, q, v)
    assert jam.energy_lost == pytest.approx(0.3125, abs=1e-5)
    assert ss.existence(stick, q=q).guaranteed
    rest = ss.determinacy(stick, q=q, dt=None)
    assert rest.determined
    assert ss.stiff_limit(stick, weights=np.ones(3), q=q).forces[0] == pytest.approx(rest.lower[0], rel=1e-6)
    assert ss.trinkle_matrices(stick, H, 5, q=q, v=v).G_f.shape == (6, 5)
    assert ss.lead_matrix(stick, H, q=q).rank == 13
    assert ss.distributed_contacts(stick, q=q, v=v).sliding == (0,)


def test_a_patch_on_top_of_corners_leaves_their_loads_as_they_are():
    """A ball with a patch on a box: three combinations of the box's four loads, and the ball's, are determined."""
    scene = ss.Scene()
    scene.add_plane(friction=0.45)
    scene.add_box((0.6, 0.5, 0.2), mass=4.1, position=(0, 0, 0.1), friction=0.45)
    scene.add_sphere(0.13, mass=0.9, position=(0.05, 0.02, 0.33), friction=0.3, patch=0.01)
    for dt in (None, 7e-3):
        found = ss.determinacy(scene, dt=dt)
        assert (found.loads_determined, int(found.unique[found.loads].sum())) == (4, 1)


def test_rigid_worlds_have_the_limit_of_equal_springs():
    """Without compliances: least Σ λ² with Σ λ = m g and the moments of an eccentric load; some rigid, some not, is
    refused."""
    x, y, load = 0.1, -0.05, 7.0
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    box = scene.add_box((0.6, 0.4, 0.2), mass=3.0, position=(0, 0, 0.1), friction=0.5)
    scene.apply(box, (0, 0, -load), np.cross([x, y, 0], [0, 0, -load]))
    corners = np.array([(sx * 0.3, sy * 0.2) for sx in (-1, 1) for sy in (-1, 1)])
    expected = (3.0 * 9.81 + load) / 4 + load * corners @ np.array([x / (4 * 0.3**2), y / (4 * 0.2**2)])
    for dt in (None, 2e-3):
        limit = ss.stiff_limit(scene, dt=dt)
        np.testing.assert_allclose(np.sort(limit.forces[::3]), np.sort(expected), rtol=1e-6)
    scene.set_pair("plane_0", box, stiffness=1e6)
    with pytest.raises(ss.InputError, match=r"weights\[1\] is 0, expected a positive compliance: from stiffness and"):
        ss.stiff_limit(scene)


def test_nothing_touches_or_nothing_slides():
    """One sentence each, or the answer that there are no forces."""
    high = ss.Scene()
    high.add_plane(friction=0.5)
    high.add_sphere(0.1, mass=1.0, position=(0, 0, 2.0))
    with pytest.raises(ss.InputError, match=r"no contact is found within a step of 0\.007 s"):
        ss.distributed_contacts(high, dt=7e-3)
    above = ss.planar_rod(friction=0.5)
    q = [0.0, 3.0, 0.7]
    assert np.allclose(ss.determinacy(above, q=q, v=np.zeros(3), dt=7e-3).upper, 0.0)
    assert np.allclose(ss.stiff_limit(above, q=q, v=np.zeros(3)).forces, 0.0)
    resting = ss.Scene()
    resting.add_plane(friction=0.5)
    resting.add_box(0.2, mass=1.0, position=(0, 0, 0.1))
    with pytest.raises(ss.InputError, match="through_jam: contact 0 is at rest, expected one that slides"):
        ss.through_jam(resting)


def test_many_contacts_at_rest_end_in_time():
    """Eight corners of two boxes: more branches than are followed, and the certificate says so."""
    scene = ss.Scene()
    scene.add_plane(friction=0.6)
    for x in (0.0, 1.0):
        scene.add_box((0.4, 0.3, 0.2), mass=2.0, position=(x, 0, 0.1), friction=0.6)
    found = ss.solvability(scene, max_nodes=2000)
    assert not found.certificate.complete
    assert "there may be more" in str(found)
    for solution in found.solutions:
        assert solution.normal.sum() == pytest.approx(4.0 * 9.81)
