"""From bodies, contacts and joints to the ContactProblem of a step: the waist, after which no body is in sight.

A row of v stands for each velocity that can change: six for a free body, three for a particle or in the plane, none for
a body that is fixed or moved as prescribed; the velocities of those go into w and b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.collision.contacts import Contacts
from stickslip.dynamics.contact_rows import ContactRows
from stickslip.dynamics.joints import JointRows
from stickslip.dynamics.motion import Bodies
from stickslip.friction.contact_problem import ContactProblem
from stickslip.scene.model import Floats, Kind, Model, State


class FreeRows(NamedTuple):
    """The rows of v and the velocities of bodies behind them."""

    number: NDArray[np.int64]  # (nb, 6)   row of v, -1 where there is none
    body: NDArray[np.int64]  # (nv,)
    component: NDArray[np.int64]  # (nv,)

    @property
    def size(self) -> int:
        return self.body.size


def free_rows(model: Model) -> FreeRows:
    moves = np.concatenate([model.inverse_mass > 0, np.abs(model.inverse_inertia).sum(axis=2) > 0], axis=1)
    moves[model.kind != Kind.FREE] = False
    body, component = np.nonzero(moves)
    number = np.full(moves.shape, -1)
    number[body, component] = np.arange(body.size)
    return FreeRows(number, body, component)


def contact_problem(
    model: Model,
    state: State,
    h: float,
    free: FreeRows,
    bodies: Bodies,
    contacts: Contacts,
    rows: ContactRows,
    count: int,
    previous: Floats,
    joints: JointRows,
    joint_count: int,
    spin: bool = False,
    grain: Floats | None = None,
    time: float = 0.0,
) -> ContactProblem:
    """The problem of one step from the kernels' arrays, `bodies` as `free_motion` left it.

    With `spin`, each contact has a fourth row, the relative angular velocity about its normal.
    """
    d = 2 if model.planar else 3
    M = mass_matrix(model, free, bodies.R)
    body, jacobian = rows.body[:count], rows.jacobian[:count, :, :d]
    if spin:
        jacobian = np.concatenate([jacobian, spin_rows(rows, count)], axis=2)
    fixed = np.where(model.kind[:, None] == Kind.FREE, 0.0, state.velocity)
    a, b = (model.shape_material[shape[:count]] for shape in (contacts.shape_a, contacts.shape_b))
    G, drift = jacobian_of_joints(free, joints, joint_count, fixed)
    return ContactProblem(
        h=h,
        M=M,
        f=M @ bodies.v[free.body, free.component],
        v=state.velocity[free.body, free.component],
        H=generalized(free, body, jacobian),
        mu=model.friction_static[a, b],
        mu_kinetic=model.friction_kinetic[a, b],
        w=np.einsum("isck,isk->ic", jacobian, fixed[body]).ravel(),
        gap=contacts.gap[:count].copy(),
        restitution=model.restitution[a, b],
        stiffness=model.stiffness[a, b],
        damping=model.damping[a, b],
        stiffness_tangent=model.stiffness_tangent[a, b],
        damping_tangent=model.damping_tangent[a, b],
        previous=previous,
        patch=model.patch[a, b],
        grain=grain,
        point=contacts.point[:count].ravel(),
        time=time,
        G=G,
        b=joints.bias[:joint_count] + drift,
        compliance=joints.compliance[:joint_count].copy(),
        lower=joints.lower[:joint_count].copy(),
        upper=joints.upper[:joint_count].copy(),
    )


def spin_rows(rows: ContactRows, count: int) -> Floats:
    """(nc, 2, 1, 6): the angular velocity about the normal, of A and with a minus sign of B."""
    spin = np.zeros((count, 2, 1, 6))
    spin[:, 0, 0, 3:], spin[:, 1, 0, 3:] = rows.frame[:count, 0], -rows.frame[:count, 0]
    return spin


def grain_angles(rows: ContactRows, count: int, R: Floats, axis: Floats, second: bool) -> Floats:
    """(nc,) the angle, from t towards o, of an axis fixed in the first or second body of each contact; 0 where the axis
    stands on the contact."""
    body = rows.body[:count]
    owner = body.max(axis=1) if second else body.min(axis=1)
    along = np.einsum("ckj,cj->ck", rows.frame[:count, 1:], R[owner] @ axis)
    return np.arctan2(along[:, 1], along[:, 0])


def mass_matrix(model: Model, free: FreeRows, R: Floats) -> sparse.csr_array:
    """M of the rows of v: masses, and inertias in world axes."""
    inertia = R @ model.inertia @ R.transpose(0, 2, 1)
    whole = np.zeros((model.kind.size, 6, 6))
    for k in range(3):
        whole[:, k, k] = np.where(model.kind == Kind.FREE, model.mass, 0.0)
    whole[:, 3:, 3:] = inertia
    body = np.flatnonzero((free.number >= 0).any(axis=1))
    number = free.number[body]
    row, column = np.broadcast_arrays(number[:, :, None], number[:, None, :])
    kept = (row >= 0) & (column >= 0) & (whole[body] != 0)
    return sparse.csr_array((whole[body][kept], (row[kept], column[kept])), shape=(free.size, free.size))


def generalized(free: FreeRows, body: NDArray[np.int64], jacobian: Floats) -> sparse.csr_array:
    """H (nv, d nc) from the bodies (nc, 2) and Jacobians (nc, 2, d, 6) of the two sides."""
    count, _, d, _ = jacobian.shape
    row = np.broadcast_to(free.number[body][:, :, None, :], jacobian.shape)
    column = np.broadcast_to((d * np.arange(count)[:, None] + np.arange(d))[:, None, :, None], jacobian.shape)
    kept = (row >= 0) & (jacobian != 0)
    return sparse.csr_array((jacobian[kept], (row[kept], column[kept])), shape=(free.size, d * count))


def jacobian_of_joints(free: FreeRows, joints: JointRows, count: int, fixed: Floats) -> tuple[sparse.csr_array, Floats]:
    """G (nv, nj), and the velocities that bodies moved as prescribed add to the rows."""
    body = np.stack([joints.body_a[:count], joints.body_b[:count]], axis=1)
    jacobian = np.stack([joints.jacobian_a[:count], joints.jacobian_b[:count]], axis=1)[:, :, None, :]
    return generalized(free, body, jacobian), np.einsum("isck,isk->i", jacobian, fixed[body])


def spread(free: FreeRows, v: Floats, velocity: Floats) -> Floats:
    """Velocities of all bodies (nb, 6): the rows v where they are free, `velocity` elsewhere."""
    whole = velocity.copy()
    whole[free.body, free.component] = v
    return whole
