"""Models and states by hand, one free body for each shape unless told otherwise."""

import numpy as np

from stickslip.collision.broadphase import find_contacts, workspace
from stickslip.collision.contacts import room_for
from stickslip.scene.compile import hull_arrays
from stickslip.scene.model import Kind, Model, Shape, State
from stickslip.scene.shapes import Hull, model_size


def plane():
    return Shape.PLANE, (0.0, 0.0, 0.0)


def sphere(radius):
    return Shape.SPHERE, (radius, 0.0, 0.0)


def box(*half):
    return Shape.BOX, half


def capsule(radius, half):
    return Shape.CAPSULE, (radius, half, 0.0)


def cylinder(radius, half):
    return Shape.CYLINDER, (radius, half, 0.0)


class Corners(tuple):
    """Half lengths of the box about a hull, which lies about the origin, with its corners."""


def hull(points):
    shape = Hull(points)
    size = Corners(model_size(shape, False))
    size.shape = Hull(shape.hull.corners - shape.middle)
    return Shape.HULL, size


def bound(kind, size):
    """Radius of the ball about the centre that holds the shape."""
    match kind:
        case Shape.PLANE:
            return np.inf
        case Shape.CAPSULE:
            return size[0] + size[1]
        case _:
            return float(np.linalg.norm(size))


def model_of(shapes, *, kinds=None, bodies=None, positions=None, rotations=None, apart=(), planar=False):
    """A Model of (kind, size) shapes. `bodies` says whose they are, `positions` and `rotations` where in the body."""
    ns = len(shapes)
    bodies = np.arange(ns) if bodies is None else np.asarray(bodies)
    nb = int(bodies.max(initial=-1)) + 1
    kinds = np.full(nb, Kind.FREE) if kinds is None else np.asarray(kinds)
    pairs = sorted(min(a, b) * nb + max(a, b) for a, b in apart)
    none, whole = np.zeros(0), np.zeros(0, np.int64)
    return Model(
        gravity=np.array([0.0, 0.0, -9.81]),
        planar=planar,
        kind=kinds.astype(np.int64),
        mass=np.ones(nb),
        inverse_mass=np.ones((nb, 3)),
        inertia=np.tile(np.eye(3), (nb, 1, 1)),
        inverse_inertia=np.tile(np.eye(3), (nb, 1, 1)),
        centre=np.zeros((nb, 3)),
        force=np.zeros((nb, 3)),
        torque=np.zeros((nb, 3)),
        shape=np.array([int(kind) for kind, _ in shapes], np.int64),
        shape_body=bodies.astype(np.int64),
        shape_size=np.array([size for _, size in shapes], float).reshape(ns, 3),
        shape_position=np.zeros((ns, 3)) if positions is None else np.array(positions, float),
        shape_rotation=np.tile(np.eye(3), (ns, 1, 1)) if rotations is None else np.array(rotations, float),
        shape_bound=np.array([bound(kind, size) for kind, size in shapes]),
        shape_material=np.zeros(ns, np.int64),
        **hull_arrays([size.shape if kind == Shape.HULL else None for kind, size in shapes]),
        friction_static=np.zeros((1, 1)),
        friction_kinetic=np.zeros((1, 1)),
        restitution=np.zeros((1, 1)),
        stiffness=np.full((1, 1), np.inf),
        damping=np.zeros((1, 1)),
        stiffness_tangent=np.full((1, 1), np.inf),
        damping_tangent=np.zeros((1, 1)),
        patch=np.zeros((1, 1)),
        apart=np.array(pairs, np.int64),
        joint=whole,
        joint_a=whole,
        joint_b=whole,
        joint_anchor_a=np.zeros((0, 3)),
        joint_anchor_b=np.zeros((0, 3)),
        joint_frame_a=np.zeros((0, 3, 3)),
        joint_frame_b=np.zeros((0, 3, 3)),
        joint_lower=none,
        joint_upper=none,
        joint_target=none,
        joint_strength=none,
        joint_compliance=np.zeros((0, 6)),
        joint_damping=np.zeros((0, 6)),
    )


def state_of(positions, quaternions=None):
    positions = np.array(positions, float).reshape(-1, 3)
    quaternions = np.tile([1.0, 0.0, 0.0, 0.0], (len(positions), 1)) if quaternions is None else quaternions
    return State(positions, np.array(quaternions, float), np.zeros((len(positions), 6)))


def contacts_of(model, state, reach=0.0, capacity=1000):
    """The contacts, cut to their number."""
    contacts = room_for(capacity)
    reach = np.full(model.kind.size, reach) if np.isscalar(reach) else reach
    count = find_contacts(state, reach, workspace(model), contacts)
    assert count <= capacity
    return type(contacts)(*(column[:count] for column in contacts))


def touching(first, second, position, quaternion=(1.0, 0.0, 0.0, 0.0), reach=100.0, planar=False):
    """Contacts of `second`, shape A, so placed, with `first` at the origin."""
    return contacts_of(
        model_of([first, second], planar=planar),
        state_of([(0, 0, 0), position], [(1.0, 0.0, 0.0, 0.0), quaternion]),
        reach,
    )


def turn(axis, angle):
    """The quaternion of a turn about an axis."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def product(p, q):
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])


def matrix(q):
    """The rotation of a unit quaternion, by Rodrigues' formula."""
    w, v = q[0], np.asarray(q[1:])
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def random_turn(rng):
    q = rng.standard_normal(4)
    return q / np.linalg.norm(q)
