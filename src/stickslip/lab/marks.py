"""Contacts as instances of unit meshes: forces, friction cones, states, gaps and patches.

A state is told by colour and by shape: a ring where a contact is open, a cube where it sticks, a dart along the slip
where it slips. A cone is as high as the normal force; the force of a contact that sticks lies anywhere in it, that of
one that slips on its mantle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.dynamics.joints import FORCES
from stickslip.engine.recorder import Header
from stickslip.engine.trajectory import ContactTable
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.model import Floats, Integers, Model, State
from stickslip.scene.values import rotated
from stickslip.view.figures import COLOUR, OPEN, SLIP, STICK
from stickslip.view.solids import along, product, quaternions, rgb, rods

HEAD = 6.0  # length of an arrow's head, in radii of its shaft
MARK = {OPEN: "ring", STICK: "box", SLIP: "dart"}  # the mesh of a state
JOINT_COLOUR = (142, 91, 192)

Colours = NDArray[np.uint8]


class Instances(NamedTuple):
    position: Floats  # (n, 3)
    quaternion: Floats  # (n, 4)
    scale: Floats  # (n, 3)
    colour: Colours  # (n, 3)
    which: Integers  # (n,)   the contact of each

    @classmethod
    def none(cls) -> Instances:
        return cls(np.zeros((0, 3)), np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3), np.uint8), np.zeros(0, int))


class Look(NamedTuple):
    """What is drawn, and how large."""

    thin: float  # radius of a shaft   [m]
    per_newton: float  # length of an arrow   [m/N]
    least: float  # forces below are not drawn   [N]
    forces: bool = True
    cones: bool = False
    states: bool = True
    gaps: bool = False
    patches: bool = True


STATE_COLOURS = np.array([rgb(COLOUR[state]) for state in ContactState], np.uint8)


def usual_force(force: Floats) -> float:
    """By which arrows are scaled: the 80 % quantile of those that there are   [N]."""
    size = np.linalg.norm(force, axis=1)
    size = size[np.isfinite(size) & (size > 0)]
    return float(np.quantile(size, 0.8)) if size.size else 0.0


def arrows(start: Floats, vector: Floats, colour: Colours, which: Integers, thin: float) -> tuple[Instances, Instances]:
    """Shafts and heads."""
    length = np.linalg.norm(vector, axis=1)
    head = np.minimum(HEAD * thin, 0.5 * length)
    wide = np.full(len(length), 2.4 * thin)
    neck = start + vector * (1.0 - head / np.where(length > 0, length, 1.0))[:, None]
    heads = Instances(neck, along(vector), np.column_stack([wide, wide, head]), colour, which)
    return Instances(*rods(start, neck, thin), colour, which), heads


def marked(table: ContactTable, lasted: float, look: Look, patch: Floats) -> dict[str, Instances]:
    """The instances of each layer: shafts, heads, cones, ring, box, dart, gaps, patches."""
    layers = dict.fromkeys(("shafts", "heads", "cones", "ring", "box", "dart", "gaps", "patches"), Instances.none())
    colour, every = STATE_COLOURS[table.state], np.arange(len(table))
    force, upright = table.vector / lasted, along(table.normal)

    def upon(own: Integers, turn: Floats, x: Any, y: Any, z: Any) -> Instances:
        """At some contacts, as large as this."""
        scale = np.column_stack([np.broadcast_to(size, own.size) for size in (x, y, z)])
        return Instances(table.point[own], turn, scale, colour[own], own)

    size = np.linalg.norm(force, axis=1)
    finite = np.isfinite(force).all(axis=1) & np.isfinite(table.point).all(axis=1)
    strong = np.flatnonzero(finite & (size > max(look.least, 0.0)) & (size * look.per_newton > 1e-2 * look.thin))
    if look.forces:
        vector = force[strong] * look.per_newton
        layers["shafts"], layers["heads"] = arrows(table.point[strong], vector, colour[strong], strong, look.thin)
    if look.cones:
        tall = table.impulse[strong, 0] / lasted * look.per_newton
        wide = table.friction[strong] * tall
        layers["cones"] = upon(strong, upright[strong], wide, wide, tall)
    if look.states:
        other = np.cross(table.normal, table.tangent)
        slide = table.velocity[:, 1:2] * table.tangent + table.velocity[:, 2:] * other
        wide = 2.4 * look.thin
        for state, mesh in MARK.items():
            own = every[finite & (table.state == state)]
            turn, tall = (along(slide[own]), 4.0 * wide) if state == SLIP else (upright[own], wide)
            layers[mesh] = upon(own, turn, wide, wide, tall)
    if look.gaps:
        own = every[finite & (table.gap > 0)]
        layers["gaps"] = upon(own, upright[own], 0.6 * look.thin, 0.6 * look.thin, table.gap[own] / 2)
    if look.patches:
        own = every[finite & (patch > 0)]
        layers["patches"] = upon(own, upright[own], patch[own], patch[own], look.thin)
    return layers


def joint_forces(header: Header, model: Model, state: State, impulse: Floats, lasted: float) -> tuple[Floats, Floats]:
    """Where joints act on their bodies a, and with which forces: (nj, 3) each, in the world   [m], [N]."""
    local = np.zeros((model.joint.size, 3))
    for row, (joint, kind) in enumerate(zip(header.joint_row, header.joint_row_kind, strict=True)):
        if kind in FORCES:
            local[joint, FORCES.index(kind)] = impulse[row] / lasted
    turn = product(state.quaternion[model.joint_b], quaternions(model.joint_frame_b))
    place = state.position[model.joint_a] + rotated(state.quaternion[model.joint_a], model.joint_anchor_a)
    return place, rotated(turn, local)
