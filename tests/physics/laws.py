"""What the laws of this folder are tried on, every formulation of friction, and what several of them measure."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stickslip as ss
from stickslip.collision.broadphase import find_contacts, workspace
from stickslip.collision.contacts import room_for
from stickslip.engine.names import FORMULATIONS as NAMED
from stickslip.scene.compile import compile_scene

G = 9.81

FORMULATIONS = [make() for make in NAMED.values() if make not in (ss.Cylinder, ss.LimitSurface)]  # of these elsewhere
CONES = (ss.CompliantCone, ss.CompliantCylinder, ss.Coulomb)  # solved by iteration, to a tolerance that one chooses
SQUARE = (ss.Box, ss.Hybrid, ss.Phantom)  # a contact that sticks has bounds along two axes, not a round cone


def name(formulation):
    return type(formulation).__name__


def over(formulations):
    return pytest.mark.parametrize("friction", formulations, ids=name)


def but(*excluded):
    return [formulation for formulation in FORMULATIONS if not isinstance(formulation, excluded)]


EVERY = over(FORMULATIONS)


def simulate(scene, duration, dt, friction, **settings):
    """A run that is exact but for rounding; those that pivot are so at any tolerance."""
    if isinstance(friction, CONES):
        settings = {"tol": 1e-11} | settings
    return ss.simulate(scene, duration, dt, friction=friction, **settings)


def displacement(run, body):
    x = run.position(body)
    return x[-1] - x[0]


def momenta(run):
    """Linear and angular momentum (about the origin) of the free bodies at every instant, (n + 1, 3) each."""
    header = run.header
    linear, angular = np.zeros((len(run) + 1, 3)), np.zeros((len(run) + 1, 3))
    for i in np.flatnonzero(np.isfinite(header.mass)):
        turn = Rotation.from_quat(run.quaternion(int(i)), scalar_first=True)
        p = header.mass[i] * run.velocity(int(i))
        centre = run.position(int(i)) + turn.apply(header.centre[i])
        spin = turn.apply(run.spin(int(i)), inverse=True)
        linear += p
        angular += np.cross(centre, p) + turn.apply(spin @ header.inertia[i].T)
    return linear, angular


def deepest(scene, run):
    """The deepest overlap of a run, by the collision of its poses alone."""
    model = compile_scene(scene)[0]
    room, reach = room_for(512), np.zeros(model.kind.size)
    depths = []
    for k in range(len(run) + 1):
        found = find_contacts(run.state(k), reach, workspace(model), room)
        depths.append(-room.gap[:found].min(initial=0.0))
    return max(depths)
