"""Mechanical problems of any size: a pile of balls, a stack of boxes, a chain, and what can be derived from them.

One time step of length h: M v = M v0 + h f + H r with velocities v = (linear, angular) of each body, contact impulses r
in the order normal, tangent, other tangent, and contact velocities u = Hᵀ v. The normal points from body B to body A,
r acts on A and -r on B; body -1 is the floor z = 0. SI units, z up, g = 9.81.

From a ConeProblem come the LCP without friction, the LCP over a polyhedral friction cone [1], the mixed LCP that keeps
the velocities as unknowns, and the mixed LCP of box friction with given normal impulses.

[1] Stewart, Trinkle, An implicit time-stepping scheme for rigid body dynamics with inelastic collisions and Coulomb
    friction, International Journal for Numerical Methods in Engineering 39 (1996) 2673-2691.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from stickslip.checks import vector
from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.matrix import Dense, Indices, Sparse, Vector, as_sparse
from stickslip.problems.mixed import MixedLCP

STEP = 1e-3  # h [s]
GRAVITY = 9.81  # [m/s²]
FLOOR = -1


def sphere_pile(
    layers: int, mu: float = 0.5, seed: int = 0, *, radius: float = 0.05, stir: float = 0.02
) -> ConeProblem:
    """A cannonball pyramid on the floor: layers² balls below, one on top, L (L + 1) (2 L + 1) / 6 in all.

    The balls (2500 kg/m³) weigh on each other for one step and start with velocities drawn of size `stir` [m/s], and
    spins of stir / radius, so that some contacts open, some slip and some stick.
    """
    centres, pairs = pile_positions(layers, radius)
    on_floor = pairs[:, 1] == FLOOR
    upper, lower = centres[pairs[:, 0]], centres[pairs[:, 1]]
    normals = np.where(on_floor[:, None], [0.0, 0.0, 1.0], (upper - lower) / (2 * radius))
    H = contact_map(centres, pairs, upper - radius * normals, frames(normals))
    mass = 2500.0 * 4 / 3 * math.pi * radius**3
    inertia = np.full(3, 0.4 * mass * radius**2)
    momentum = stirred_momentum(len(centres), mass, inertia, seed, stir, stir / radius, [0.0, 0.0, -GRAVITY])
    return ConeProblem.from_bodies(mass_matrix(len(centres), mass, inertia), H, momentum, np.full(len(pairs), mu))


def pile_positions(layers: int, radius: float = 0.05) -> tuple[Dense, Indices]:
    """Centres (nb, 3) of the balls of `sphere_pile`, and the pairs (nc, 2) of bodies A, B in the order of its contacts.

    Layer k is a square of layers - k balls a side that sits in the hollows of the layer below, r √2 higher. A ball
    touches its neighbours in the square and the four balls below it. A ball's B is -1 where it stands on the floor.
    """
    require_positive("pile_positions", "layers", layers)
    if not 0 < radius < math.inf:
        raise InputError(f"pile_positions: radius is {radius:g}, expected a positive length")
    centres, pairs = [], []
    first = below_first = 0  # number of the first ball of this layer, and of the one below
    for layer in range(layers):
        side = layers - layer
        i, j = (index.ravel() for index in np.indices((side, side)))
        height = np.full(i.size, radius * (1 + layer * math.sqrt(2)))
        centres.append(np.column_stack([radius * (2 * i + layer), radius * (2 * j + layer), height]))
        ball = first + side * i + j
        pairs += [
            np.column_stack([ball[i > 0], ball[i > 0] - side]),
            np.column_stack([ball[j > 0], ball[j > 0] - 1]),
        ]
        if layer == 0:
            pairs.append(np.column_stack([ball, np.full(ball.size, FLOOR)]))
        else:
            below = below_first + (side + 1) * i + j
            pairs += [np.column_stack([ball, below + corner]) for corner in (0, 1, side + 1, side + 2)]
        first, below_first = first + side**2, first
    return np.concatenate(centres), np.concatenate(pairs).astype(np.int64)


def box_stack(count: int, mu: float = 0.5, seed: int = 0, *, tilt: float = 0.0, stir: float = 0.0) -> ConeProblem:
    """A tower of unit boxes of 1 kg: four contacts a face, so the impulses are not determined (hyperstatic).

    Gravity is turned by `tilt` [rad] towards +x, as on a slope. `stir` [m/s, rad/s] adds random velocities.
    """
    require_positive("box_stack", "count", count)
    centres = np.column_stack([np.zeros((count, 2)), 0.5 + np.arange(count)])
    corners = np.array([[x, y, -0.5] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    box = np.repeat(np.arange(count), 4)
    points = centres[box] + np.tile(corners, (count, 1))
    normals = np.tile([0.0, 0.0, 1.0], (4 * count, 1))
    H = contact_map(centres, np.column_stack([box, box - 1]), points, frames(normals))
    inertia = np.full(3, 1 / 6)
    gravity = [GRAVITY * math.sin(tilt), 0.0, -GRAVITY * math.cos(tilt)]
    momentum = stirred_momentum(count, 1.0, inertia, seed, stir, stir, gravity)
    return ConeProblem.from_bodies(mass_matrix(count, 1.0, inertia), H, momentum, np.full(4 * count, mu))


def chain(links: int, seed: int = 0, *, pinned: bool = False, stir: float = 0.1) -> MixedLCP:
    """Rods end to end along x on the floor, with ball joints between them and a frictionless contact under each end.

    Unknowns z = (v, j, p): 6 velocities a rod, 3 impulses a joint, both free; then 2 contact impulses a rod, p >= 0.
        M v - Jᵀ j - Nᵀ p = M v0 + h f,     J v = 0,     0 <= p ⊥ N v >= 0
    Neighbouring ends press on the same point, so p is not unique; v is, because M is positive definite. `pinned` ties
    the first end to the world. `stir` [m/s, rad/s] sizes the random velocities v0.
    """
    require_positive("chain", "links", links)
    length, radius, mass = 0.2, 0.01, 0.1
    across = mass * (3 * radius**2 + length**2) / 12
    inertia = np.array([mass * radius**2 / 2, across, across])
    centres = np.column_stack([length * (0.5 + np.arange(links)), np.zeros(links), np.full(links, radius)])
    reach, axes = np.array([length / 2, 0.0, 0.0]), np.eye(3)
    rod = np.arange(links)
    joined = np.column_stack([rod, rod - 1]) if pinned else np.column_stack([rod[1:], rod[:-1]])
    joints = contact_map(centres, joined, centres[joined[:, 0]] - reach, np.tile(axes, (len(joined), 1, 1)))
    ends = np.concatenate([centres - reach, centres + reach]) - [0.0, 0.0, radius]
    floor = np.column_stack([np.tile(rod, 2), np.full(2 * links, FLOOR)])
    contacts = contact_map(centres, floor, ends, np.tile(axes[2:], (2 * links, 1, 1)))
    M = mass_matrix(links, mass, inertia)
    momentum = stirred_momentum(links, mass, inertia, seed, stir, stir, [0.0, 0.0, -GRAVITY])
    constraints = sparse.hstack([joints, contacts])
    matrix = sparse.block_array([[M, -constraints], [constraints.T, None]], format="csr")
    free = 6 * links + joints.shape[1]
    lower = np.concatenate([np.full(free, -np.inf), np.zeros(2 * links)])
    return MixedLCP(matrix, pad(-momentum, lower.size), lower, np.full(lower.size, np.inf))


def normal_lcp(cone: ConeProblem) -> LCP:
    """Without friction: 0 <= p_n ⊥ W_nn p_n + q_n >= 0."""
    d = cone.dimension
    return LCP(cone.W[::d, ::d], cone.q[::d])


def polyhedral_lcp(cone: ConeProblem, directions: int = 4) -> LCP:
    """Friction in `directions` directions of the tangent plane a contact (2 of a line), unknowns (p_n, p_f, s) [1]:

        0 <= p_n ⊥ Nᵀ u >= 0,      0 <= p_f ⊥ Dᵀ u + E s >= 0,      0 <= s ⊥ μ p_n - Eᵀ p_f >= 0

    with u = W (N p_n + D p_f) + q. p_f is in contact order, `directions` entries each; s is the slip speed.
    """
    tangents = friction_directions(cone.dimension, directions)
    contact = sparse.eye_array(cone.contacts)
    N = sparse.kron(contact, np.eye(cone.dimension)[:, :1])
    D = sparse.kron(contact, np.vstack([np.zeros(directions), tangents]))
    E = sparse.kron(contact, np.ones((directions, 1)))
    basis = sparse.csr_array(sparse.hstack([N, D]))
    impulses = sparse.csr_array(basis.T @ as_sparse(cone.W) @ basis)
    slip = sparse.vstack([sparse.csr_array((cone.contacts, cone.contacts)), E])
    limit = sparse.hstack([sparse.diags_array(cone.mu), -E.T, sparse.csr_array((cone.contacts, cone.contacts))])
    matrix = sparse.csr_array(sparse.vstack([sparse.hstack([impulses, slip]), limit]))
    return LCP(matrix, pad(basis.T @ cone.q, matrix.shape[0]))


def friction_directions(dimension: int, directions: int) -> Dense:
    """Unit vectors (dimension - 1, directions) that span the tangent space with nonnegative weights."""
    if dimension == 2:
        if directions != 2:
            raise InputError(f"polyhedral_lcp: directions is {directions}, expected 2 in the plane")
        return np.array([[1.0, -1.0]])
    if directions < 3:
        raise InputError(f"polyhedral_lcp: directions is {directions}, expected at least 3 in space")
    angle = 2 * np.pi * np.arange(directions) / directions
    return np.array([np.cos(angle), np.sin(angle)]).round(15)  # cos(π/2) is 0


def normal_mixed(cone: ConeProblem) -> MixedLCP:
    """Without friction, velocities kept:  M v - H_n p = f  with v free,  0 <= p ⊥ H_nᵀ v + w_n >= 0."""
    if cone.bodies is None:
        raise InputError("normal_mixed: the problem has no bodies, expected one made by ConeProblem.from_bodies")
    bodies, d = cone.bodies, cone.dimension
    H = bodies.H[:, ::d]
    matrix = sparse.block_array([[bodies.M, -H], [H.T, None]], format="csr")
    lower = np.concatenate([np.full(bodies.f.size, -np.inf), np.zeros(cone.contacts)])
    return MixedLCP(matrix, np.concatenate([-bodies.f, bodies.w[::d]]), lower, np.full(lower.size, np.inf))


def box_friction(cone: ConeProblem, normal_impulse: ArrayLike) -> MixedLCP:
    """Each tangent impulse in [-μ p, μ p] with the given p (of the step before, say), each normal one in [0, inf)."""
    p = vector("box_friction", "normal_impulse", normal_impulse, cone.contacts)
    if (p < 0).any():
        i = int(np.argmax(p < 0))
        raise InputError(f"box_friction: normal_impulse[{i}] is {p[i]:g}, expected >= 0")
    bound = np.repeat((cone.mu * p)[:, None], cone.dimension, axis=1)
    lower, upper = -bound, bound.copy()
    lower[:, 0], upper[:, 0] = 0.0, np.inf
    return MixedLCP(cone.W, cone.q, lower.ravel(), upper.ravel())


def contact_map(centres: Dense, pairs: Indices, points: Dense, directions: Dense) -> Sparse:
    """H (6 nb, k nc): the force d at `points` acts on A as (d, arm × d) and on B as its opposite.

    `directions` (nc, k, 3) holds k unit vectors a contact; pairs (nc, 2) the bodies A, B, and -1 for the floor.
    """
    contacts, k, _ = directions.shape
    column = np.arange(contacts * k).reshape(contacts, k)
    rows, columns, values = [], [], []
    for side, sign in ((0, 1.0), (1, -1.0)):
        moving = pairs[:, side] != FLOOR
        body, d = pairs[moving, side], directions[moving]
        arm = (points[moving] - centres[body])[:, None, :]
        torque = np.cross(arm, d)
        rounding = 1e-14 * np.abs(arm).max(initial=0.0)
        torque[np.abs(torque) < rounding] = 0.0  # an arm along d has none
        values.append(sign * np.concatenate([d, torque], axis=2))
        shape = values[-1].shape
        rows.append(np.broadcast_to(6 * body[:, None, None] + np.arange(6), shape))
        columns.append(np.broadcast_to(column[moving][:, :, None], shape))
    row, col, data = (np.concatenate([part.ravel() for part in parts]) for parts in (rows, columns, values))
    H: Sparse = sparse.csr_array(sparse.coo_array((data, (row, col)), shape=(6 * len(centres), contacts * k)))
    H.eliminate_zeros()
    return H


def frames(normals: Dense) -> Dense:
    """Right-handed orthonormal frames (nc, 3, 3) with rows n, t, o; for n = z they are z, x, y."""
    across = np.where(np.abs(normals[:, 1:2]) < 0.9, [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    t = np.cross(across, normals)
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    return np.stack([normals, t, np.cross(normals, t)], axis=1)


def mass_matrix(count: int, mass: float, inertia: Vector) -> Sparse:
    return sparse.csr_array(sparse.diags_array(np.tile(np.concatenate([np.full(3, mass), inertia]), count)))


def stirred_momentum(
    count: int, mass: float, inertia: Vector, seed: int, speed: float, spin: float, gravity: list[float]
) -> Vector:
    """M v0 + h f: random velocities of the given sizes, and gravity for one step."""
    rng = np.random.default_rng(seed)
    linear = speed * rng.normal(size=(count, 3)) + STEP * np.array(gravity)
    angular = spin * rng.normal(size=(count, 3))
    return np.concatenate([mass * linear, inertia * angular], axis=1).ravel()


def require_positive(caller: str, name: str, value: int) -> None:
    if value < 1:
        raise InputError(f"{caller}: {name} is {value}, expected at least 1")


def pad(values: Vector, size: int) -> Vector:
    """The values, followed by zeros up to `size`."""
    return np.concatenate([values, np.zeros(size - values.size)])
