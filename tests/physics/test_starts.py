"""Bodies that start in each other part gently: what is pushed out comes to rest at the surface."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.engine import Engine
from stickslip.scene.compile import compile_scene

BRAKE = ss.Coulomb().stabilisation.brake


def speed_from(depth):
    return np.sqrt(2 * BRAKE * depth)


@pytest.mark.parametrize("h", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("size", [2e-3, 0.2, 20.0])
def test_a_box_in_the_floor_comes_up_and_does_not_jump(size, h):
    """A quarter of it is in the floor. Its centre never rises above where the box stands."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    box = scene.add_box(size, density=1000.0, position=(0, 0, size / 4))
    run = ss.simulate(scene, 1.0, h)
    z, v = run.position(box)[:, 2], run.velocity(box)[:, 2]
    assert np.diff(z).min() > -1e-9 * size
    assert z[-1] > z[0]
    assert z.max() <= size / 2 * (1 + 1e-9)
    assert v.max() <= speed_from(size / 4) * (1 + 1e-6)  # as far as a step is solved
    if size <= 0.2:
        assert z[-1] > 0.495 * size


@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_coincident_bodies_part_at_the_speed_of_the_brake(h):
    """In free space they keep the speed of the first push, and nothing else is left behind."""
    scene = ss.Scene(gravity=(0, 0, 0))
    balls = [scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0)) for _ in range(2)]
    run = ss.simulate(scene, 1.0, h)
    away = np.linalg.norm(run.velocity(balls[1]) - run.velocity(balls[0]), axis=1)
    np.testing.assert_allclose(away[1:], speed_from(0.2), rtol=1e-6)
    assert np.linalg.norm(run.position(balls[1])[-1] - run.position(balls[0])[-1]) > 0.2


def test_without_a_brake_the_push_is_that_of_the_recovery():
    scene = ss.Scene()
    scene.add_plane()
    ball = scene.add_sphere(0.1, mass=1.0, position=(0, 0, 0.05))
    run = ss.simulate(scene, 0.01, 0.01, ss.Coulomb(ss.Gap(0.2)))
    assert run.velocity(ball)[-1, 2] == pytest.approx(0.2 * 0.05 / 0.01)


@pytest.mark.parametrize("h", [1e-3, 1e-2])
@pytest.mark.parametrize("kind", ["hinge", "slider"])
def test_a_joint_that_starts_beyond_its_limit_comes_back_at_the_speed_of_the_brake(kind, h):
    """Nothing else acts: it leaves with √(2 brake x) and keeps that speed; without a brake with half of x in a step."""
    scene, beyond, hinge = ss.Scene(gravity=(0, 0, 0)), 0.3, kind == "hinge"
    body = scene.add_box((0.4, 0.1, 0.1), mass=1.0, position=(0, 0, 0))
    arm, add = body.index, scene.add_hinge if hinge else scene.add_slider
    add(body, position=(0, 0, 0), axis=(0, 0, 1), limits=(0.0, 2.0))

    def speed_after(steps, friction):
        model, state, drives = compile_scene(scene)
        if hinge:
            state.quaternion[arm] = np.cos(beyond / 2), 0, 0, -np.sin(beyond / 2)
        else:
            state.position[arm, 2] = -beyond
        Engine(model, state, drives, h, friction).march(steps, 64)
        return state.velocity[arm, 5 if hinge else 2]

    for steps in (1, 20):
        assert speed_after(steps, ss.Coulomb()) == pytest.approx(speed_from(beyond), rel=1e-9)
    assert speed_after(1, ss.Coulomb(ss.Gap(0.2))) == pytest.approx(0.5 * beyond / h, rel=1e-9)
