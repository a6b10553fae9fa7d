"""The cylinder VI with given normal forces, and its fixed point, in the engine; stiffness by direction of a joint."""

import numpy as np
import pytest

import stickslip as ss

G = 9.81


def test_given_normal_forces_bound_friction_a_step_late():
    """A block that is pressed harder from step to step: |p_t| = μ p_n of the step before."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_particle(1.0, velocity=(5, 0, 0), name="block")
    scene.apply("block", lambda time, state: ((0, 0, -100.0 * time), (0, 0, 0)))
    h = 1e-2
    late = ss.simulate(scene, 0.1, h, friction=ss.Cylinder(), tol=1e-12)
    p = np.array([late.contacts(step=i).impulse[0] for i in range(10)])
    np.testing.assert_allclose(p[:, 0], h * (G + 100.0 * h * (np.arange(10) + 0.5)), rtol=1e-9)
    np.testing.assert_allclose(-p[1:, 1], 0.5 * p[:-1, 0], rtol=1e-9)
    both = [ss.simulate(scene, 0.1, h, friction=f, tol=1e-12) for f in (ss.Cylinder(True), ss.CompliantCylinder())]
    np.testing.assert_allclose(both[0].velocity("block"), both[1].velocity("block"), atol=1e-10)
    assert both[0].header.solver == "tresca"


@pytest.mark.parametrize("fixed_point", [False, True])
def test_a_box_on_springs_stops_where_coulombs_does(fixed_point):
    """The weight does not change: given and found normal forces agree, on four corners and under a motor's load."""
    ends = []
    for friction in (ss.Cylinder(fixed_point), ss.CompliantCylinder()):
        scene = ss.Scene()
        scene.add_plane(friction=0.4)
        springs = {"stiffness": 1e7, "damping": 1e4, "stiffness_tangent": 0.0, "damping_tangent": 1e5}
        scene.add_box((0.4, 0.4, 0.1), mass=3.0, position=(0, 0, 0.05), velocity=(1, 0.5, 0), name="box", **springs)
        scene.add_box(0.1, mass=1.0, position=(0, 0, 1.0), name="cart")
        scene.add_slider("cart", position=(0, 0, 1.0), axis=(1, 0, 0), speed=0.5, strength=2.0)
        run = ss.simulate(scene, 0.4, 2e-3, friction=friction, tol=1e-10)
        ends.append(run.position("box")[-1])
        assert run.velocity("cart")[-1, 0] == pytest.approx(0.5)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7 if fixed_point else 5e-4)


def test_no_contact_and_the_plane():
    scene = ss.Scene(planar=True)
    scene.add_plane(friction=0.4)
    scene.add_particle(1.0, position=(0, 1), velocity=(1, 0), name="high")
    scene.add_particle(1.0, velocity=(1, 0), name="low")
    for friction in (ss.Cylinder(), ss.Cylinder(True)):
        run = ss.simulate(scene, 0.1, 1e-2, friction=friction, tol=1e-11)
        assert run.velocity("low")[-1, 0] == pytest.approx(1 - 0.4 * G * 0.1)
        assert run.velocity("high")[-1, 0] == pytest.approx(1.0)


def test_a_cylinder_problem_is_saved(tmp_path):
    problem = ss.CylinderProblem(np.eye(6), np.arange(6.0) - 3, [0.1, 0.2])
    ss.save(problem, tmp_path / "cylinder.h5")
    again = ss.load(tmp_path / "cylinder.h5")
    np.testing.assert_array_equal(ss.solve(again).x, ss.solve(problem).x)
    with pytest.raises(ss.InputError, match="fixed_point is 3, expected True or False"):
        ss.Cylinder(3)


@pytest.mark.parametrize("kind", ["fixed", "ball", "slider"])
def test_a_joint_gives_way_by_its_stiffness_in_each_direction(kind):
    """A weight of 2 kg that gravity pulls in all directions hangs by λ_i / k_i, rigid where k = ∞; forces are told."""
    gravity, k = np.array([3.0, -2.0, -9.81]), np.array([2e4, 5e4, np.inf])
    scene = ss.Scene(gravity=tuple(gravity))
    scene.add_sphere(0.1, mass=2.0, position=(0, 0, 0), name="weight")
    compliance = (*(1 / k), 1e-3, 0.0, 0.0) if kind != "slider" else (1 / k[0], 1 / k[1], 0.0, 0.0, 0.0, 0.0)
    damping = tuple(2e2 if c and i < 3 else (1.0 if c else 0.0) for i, c in enumerate(compliance))
    settings = {"position": (0, 0, 0), "compliance": compliance, "damping": damping, "name": "held"}
    if kind == "slider":
        scene.add_slider("weight", axis=(0, 0, 1), limits=(0.0, 1.0), **settings)
    else:
        getattr(scene, f"add_{kind}")("weight", **settings)
    run = ss.simulate(scene, 2.0, 1e-3)
    np.testing.assert_allclose(run.position("weight")[-1], 2.0 * gravity / k, atol=1e-9)
    joint = run.joint("held")
    forces = dict(zip(joint.rows, joint.force[-1], strict=True))
    axis = [row for row in joint.rows if row.startswith("force")]
    np.testing.assert_allclose([abs(forces[row]) for row in axis], 2.0 * np.abs(gravity[: len(axis)]), rtol=1e-6)


def test_joint_directions_that_are_refused():
    scene = ss.Scene()
    box = scene.add_box(1.0, mass=1.0)
    with pytest.raises(ss.InputError, match="expected one number >= 0, or six"):
        scene.add_fixed(box, position=(0, 0, 0), compliance=(1.0, 2.0))
    with pytest.raises(ss.InputError, match=r"damping is .* expected 0 where compliance is 0"):
        scene.add_fixed(box, position=(0, 0, 0), compliance=(1, 0, 0, 0, 0, 0), damping=(0, 1, 0, 0, 0, 0))


def test_the_limit_by_a_conic_program_and_along_the_path():
    """A plank of 6 kg on five legs: Newton's method, the conic program and springs that stiffen agree."""
    arms = np.array([[0.8, 0.3, -0.5], [-0.7, 0.3, -0.5], [-0.6, -0.2, -0.5], [0.5, -0.3, -0.5], [0.1, 0.1, -0.5]])
    frame = np.eye(3)[[2, 0, 1]]
    H = np.hstack([np.vstack([frame.T, np.cross(arm, frame).T]) for arm in arms])
    M, h = np.diag([6.0, 6.0, 6.0, 0.4, 0.9, 1.1]), 5e-3
    f = h * np.concatenate([[4.0, 3.0, -6.0 * G], np.cross((0.1, 0.05, 0.0), (4.0, 3.0, -5.0))])
    k = 1e5 * np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    problem = ss.ContactProblem(h, M, f, np.zeros(6), H, np.full(5, 0.4), stiffness=k, stiffness_tangent=0.3 * k)
    limit = ss.stiff_limit(problem)
    np.testing.assert_allclose(limit.program, limit.forces, atol=1e-6)
    np.testing.assert_allclose(limit.orders([1e-2, 1e-3, 1e-4]), 1.0, atol=0.05)


def test_the_limit_with_weights_that_differ_along_the_tangents():
    """Only the conic program knows elliptic cones; the path of springs that stiffen leads there."""
    arms = np.array([[0.5, 0.4, -0.3], [-0.5, 0.4, -0.3], [-0.5, -0.4, -0.3], [0.5, -0.4, -0.3]])
    frame = np.eye(3)[[2, 0, 1]]
    H = np.hstack([np.vstack([frame.T, np.cross(arm, frame).T]) for arm in arms])
    f = 1e-2 * np.array([5.0, 2.0, -98.1, 1.0, 2.0, 0.5])
    problem = ss.ContactProblem(1e-2, np.diag([10.0, 10.0, 10.0, 1.0, 1.5, 2.0]), f, np.zeros(6), H, np.full(4, 0.5))
    weights = np.kron([1.0, 2.0, 3.0, 4.0], [1e-3, 2e-3, 7e-3])
    limit = ss.stiff_limit(problem, weights)
    errors = limit.errors([1e-2, 1e-3, 1e-4])
    assert errors[2] < 1e-2 * errors[0] * 1.5
    assert errors[2] < 1e-3
