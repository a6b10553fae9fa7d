"""Where contacts can share a load in many ways, small islands have the loads of equal, stiff springs: least Σ p²."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stickslip as ss

G = 9.81


def least_loads(points, force, moment):
    """The least impulses at these points, relative to the centre of mass, with this sum and moment."""
    cross = [np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) for x, y, z in points]
    balance = np.vstack([np.hstack([np.eye(3)] * len(points)), np.hstack(cross)])
    return np.linalg.lstsq(balance, np.concatenate([force, moment]), rcond=None)[0].reshape(-1, 3)


def world_impulses(contacts):
    n, t = contacts.normal, contacts.tangent
    return np.einsum("ic,icr->ir", contacts.impulse, np.stack([n, t, np.cross(n, t)], axis=1))


@pytest.mark.core
@pytest.mark.parametrize(
    ("push", "at"),
    [((0, 0, 0), (0, 0, 0)), ((3, 0, 0), (0, 0, 0)), ((2, 1, -5), (0.1, 0.05, 0)), ((0, 2, 3), (-0.1, 0, 0.02))],
    ids=["alone", "pushed", "pushed off its middle", "lifted"],
)
def test_a_box_at_rest_has_the_least_loads(push, at):
    scene = ss.Scene()
    scene.add_plane(friction=0.8)
    box = scene.add_box((0.3, 0.2, 0.1), mass=2.0, position=(0, 0, 0.05), friction=0.8)
    push, at, dt = np.array(push, float), np.array(at, float), 1e-2
    scene.apply(box, push, np.cross(at, push))
    run = ss.simulate(scene, 0.5, dt, progress=False)
    contacts = run.contacts(step=-1)
    assert contacts.gap.size == 4
    arms = contacts.point - run.position(box)[-1]
    expected = least_loads(arms, -dt * (push - np.array([0, 0, 2.0 * G])), -dt * np.cross(at, push))
    np.testing.assert_allclose(world_impulses(contacts), expected, atol=1e-7 * dt * 2.0 * G)


def way_of_a_plate(half, height, mass, mu, v, w, until):
    """Where a plate that slides and spins on its four corners is, by its equations of motion: x, y, angle."""
    inertia = mass * (half**2 * 8 / 12)
    corners = half * np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])

    def rate(_, y):
        turn = np.array([[math.cos(y[2]), -math.sin(y[2])], [math.sin(y[2]), math.cos(y[2])]])
        arm = corners @ turn.T
        u = y[3:5] + y[5] * np.column_stack([-arm[:, 1], arm[:, 0]])
        direction = -u / np.linalg.norm(u, axis=1, keepdims=True)
        # N = a + b·arm; its sum is the weight, and the moments of N and of friction, `height` below the centre, cancel
        shape = np.column_stack([np.ones(4), arm])
        balance = np.vstack([np.ones(4), (arm + height * mu * direction).T])
        N = shape @ np.linalg.solve(balance @ shape, [mass * G, 0, 0])
        friction = mu * N[:, None] * direction
        moment = arm[:, 0] @ friction[:, 1] - arm[:, 1] @ friction[:, 0]
        return [*y[3:], *(friction.sum(axis=0) / mass), moment / inertia]

    return solve_ivp(rate, (0, until), [0, 0, 0, *v, w], rtol=1e-10, atol=1e-12).y[:3, -1]


def test_a_plate_that_slides_and_spins_goes_the_way_of_the_least_loads():
    """To first order in the step: its loads, and so its friction, are those of springs."""
    half, height, mu = 0.5, 0.2, 0.5
    x, y, angle = way_of_a_plate(half, height, 3.0, mu, (3, 0), 4.0, 0.3)
    errors = []
    for dt in (2e-3, 1e-3):
        scene = ss.Scene()
        scene.add_plane(friction=mu)
        plate = scene.add_box(
            (2 * half, 2 * half, 2 * height),
            mass=3.0,
            position=(0, 0, height),
            velocity=(3, 0, 0),
            spin=(0, 0, 4),
            friction=mu,
        )
        run = ss.simulate(scene, 0.3, dt, progress=False)
        w, _, _, z = run.quaternion(plate)[-1]
        off = run.position(plate)[-1, :2] - (x, y)
        errors.append(math.hypot(*off, half * (2 * math.atan2(z, w) - angle)))
    assert errors[0] < 2e-3
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.1)
