"""A scene as flat arrays. The Model never changes while it runs, the State does; kernels read both.

Bodies are numbered in the order in which they were added. Every body has six velocities, linear of the centre of mass
and angular, both in world axes; what does not move freely has an inverse mass and an inverse inertia of zero. The body
frame has its origin at the centre of mass and the axes that the scene gave it, so an inertia need not be diagonal.

A planar scene is the same in the plane y = 0: its bodies have no inverse mass along y and no inverse inertia about x
and z, and a contact has two components, normal and tangent, instead of three.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Kind(IntEnum):
    """How a body moves."""

    STATIC, MOVING, FREE = range(3)  # not at all, as prescribed, by the forces on it


class Shape(IntEnum):
    """The shapes, and what the three numbers of `shape_size` mean."""

    PLANE, SPHERE, BOX, CAPSULE, CYLINDER, HULL = range(6)
    # PLANE     -                          the half space below its local z = 0
    # SPHERE    radius                     0 for a point particle
    # BOX       half lengths along x, y, z
    # CAPSULE   radius, half length        of the axis, along local z, caps not counted
    # CYLINDER  radius, half length        axis along local z
    # HULL      half lengths of the box about it, whose centre is that of the shape


class Joint(IntEnum):
    """The joints; the axis of a hinge or slider is the local z of its frames."""

    FIXED, BALL, HINGE, SLIDER = range(4)


class Model(NamedTuple):
    # the world
    gravity: Floats  # (3,)                              [m/s²]
    planar: bool  # contacts have two components, motion stays in y = 0
    # bodies
    kind: Integers  # (nb,)       of Kind
    mass: Floats  # (nb,)         infinite where the body is not free   [kg]
    inverse_mass: Floats  # (nb, 3)      of the three directions: planar bodies have none along y   [1/kg]
    inertia: Floats  # (nb, 3, 3)   about the centre of mass, body axes; zeros where not free or a particle   [kg m²]
    inverse_inertia: Floats  # (nb, 3, 3)   zeros where the body does not turn   [1/(kg m²)]
    centre: Floats  # (nb, 3)      of mass, seen from the origin that the scene gave the body, body axes   [m]
    force: Floats  # (nb, 3)       constant, at the centre of mass, world axes   [N]
    torque: Floats  # (nb, 3)      constant, world axes   [N m]
    # shapes, in the order of their bodies
    shape: Integers  # (ns,)        of Shape
    shape_body: Integers  # (ns,)
    shape_size: Floats  # (ns, 3)   see Shape   [m]
    shape_position: Floats  # (ns, 3)      seen from the centre of mass, body axes   [m]
    shape_rotation: Floats  # (ns, 3, 3)   shape axes to body axes
    shape_bound: Floats  # (ns,)    radius of a ball about shape_position that holds the shape; inf for a plane   [m]
    shape_material: Integers  # (ns,)
    # what two materials do together, (nm, nm), symmetric
    friction_static: Floats  # [-]
    friction_kinetic: Floats  # [-]
    restitution: Floats  # [-]
    stiffness: Floats  # normal; inf where rigid   [N/m]
    damping: Floats  # normal   [N s/m]
    stiffness_tangent: Floats  # inf where rigid   [N/m]
    damping_tangent: Floats  # [N s/m]
    patch: Floats  # e_r, 0 for a point contact   [m]
    # pairs of bodies that never touch, as a * nb + b with a < b, sorted
    apart: Integers
    # joints
    joint: Integers  # (nj,)        of Joint
    joint_a: Integers  # (nj,)      bodies
    joint_b: Integers  # (nj,)
    joint_anchor_a: Floats  # (nj, 3)   seen from the centre of mass of a, its axes   [m]
    joint_anchor_b: Floats  # (nj, 3)
    joint_frame_a: Floats  # (nj, 3, 3)   joint axes to body axes of a
    joint_frame_b: Floats  # (nj, 3, 3)   equal in world axes to that of a where the joint is at zero
    joint_lower: Floats  # (nj,)    -inf where there is no limit; angle of a hinge, travel of a slider, a seen from b
    joint_upper: Floats  # (nj,)    +inf where there is no limit
    joint_target: Floats  # (nj,)   speed of the motor   [m/s, rad/s]
    joint_strength: Floats  # (nj,)   largest force or torque of the motor, 0 where there is none   [N, N m]
    joint_compliance: Floats  # (nj, 6)   along x, y, z and about them, joint axes; 0 where rigid   [m/N, rad/(N m)]
    joint_damping: Floats  # (nj, 6)   where it is compliant   [N s/m, N m s]
    # convex hulls, in the axes of their shapes and seen from their centres
    hull_range: Integers  # (ns, 4)   first corner, last + 1, first face, last + 1; zeros for other shapes
    hull_corner: Floats  # (nc, 3)   [m]
    hull_face: Floats  # (nf, 6)   outward normal, height over the centre, first of its rows in hull_rim, how many
    hull_rim: Floats  # (nr, 4)   corners of the faces, counter-clockwise from outside, and their numbers in the hull


class Motors(NamedTuple):
    """What drives the joints. Beside the Model, for it may change from step to step; see dynamics/joints.py."""

    target: Floats  # (nj,)   position that a servo wants   [m, rad]
    speed: Floats  # (nj,)   that a motor or servo wants   [m/s, rad/s]
    stiffness: Floats  # (nj,)   of a servo; a motor without it and `gain` keeps its speed exactly   [N/m, N m/rad]
    gain: Floats  # (nj,)   of a servo, by which it follows the speed   [N s/m, N m s/rad]
    strength: Floats  # (nj,)   largest force or torque, where the Model's joint_strength is not 0   [N, N m]
    effort: Floats  # (nj,)   force or torque along the coordinate, with or without a motor   [N, N m]

    def copy(self) -> Motors:
        return Motors(*(values.copy() for values in self))


def motors_of(model: Model) -> Motors:
    """Those of the Model alone: speed and strength."""
    none = Motors(*np.zeros((len(Motors._fields), model.joint.size)))
    return none._replace(speed=model.joint_target.copy(), strength=model.joint_strength.copy())


class State(NamedTuple):
    """What changes. Kernels write into these arrays."""

    position: Floats  # (nb, 3)      of the centre of mass   [m]
    quaternion: Floats  # (nb, 4)    scalar first, body axes to world axes
    velocity: Floats  # (nb, 6)      linear of the centre of mass, then angular, world axes   [m/s, rad/s]

    def copy(self) -> State:
        return State(self.position.copy(), self.quaternion.copy(), self.velocity.copy())
