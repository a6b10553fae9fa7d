"""`contact_problem(world, dt)`: the ContactProblem of the step that a scene, a system or a robot would make next.

It has all joint rows, and nothing is eliminated. Of a scene a row of v stands for each velocity that can change: six
for a free body, three for a particle or in the plane, none for a body that is fixed or moved as prescribed; the
velocities of those go into w and b. All contacts that were found take part, whatever a formulation would make of
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.checks import checked, vector
from stickslip.dynamics.generalized import Given, System, evaluate
from stickslip.dynamics.joints import asked
from stickslip.dynamics.mujoco import LoadedModel
from stickslip.dynamics.rotations import to_matrices
from stickslip.engine.arguments import FORMULATION, refuse_state, seconds
from stickslip.engine.arguments import world as world_kind
from stickslip.engine.engine import Engine
from stickslip.engine.rows import FOUND
from stickslip.engine.steppers import How, ModelStepper
from stickslip.engine.systems import applied, free_velocity, system_problem
from stickslip.errors import InputError
from stickslip.friction.contact_problem import MATERIAL, ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation
from stickslip.scene.compile import compile_scene
from stickslip.scene.model import Floats, Kind, Model
from stickslip.scene.scene import Scene


class SceneProblem(NamedTuple):
    """A step of a scene, and the bodies of each of its contacts, by name."""

    problem: ContactProblem
    pairs: list[tuple[str, str]]


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


@checked(q=vector, v=vector, force=vector, formulation=FORMULATION)
def contact_problem(
    world: Scene | System,
    dt: float,
    q: Given = None,
    v: Given = None,
    force: Given = None,
    formulation: Formulation | None = None,
) -> ContactProblem:
    """The problem of the next step of size dt: of a scene as it stands, of a system or robot at (q, v).

    `force`: generalized forces on a system beside its bias. Contacts have spin rows where the formulation has them.
    """
    return named_problem("contact_problem", world, dt, q, v, force, formulation)[0]


def named_problem(
    owner: str, world: Scene | System, dt: float, q: Given, v: Given, force: Given, formulation: Formulation | None
) -> tuple[ContactProblem, tuple[str, ...]]:
    """The same, and the names of its contacts; of a model with its constraints, dry friction and limits."""
    world, dt = world_kind(owner, "world", world), seconds(owner, "dt", dt)
    if isinstance(world, Scene):
        refuse_state(owner, q=q, v=v, force=force)
        problem, pairs = scene_problem(world, dt, formulation)
        return problem, tuple(f"contact {i}, {a} on {b}" for i, (a, b) in enumerate(pairs))
    if q is None:
        raise InputError(f"{owner}: q is missing, expected the coordinates of {world.name!r}")
    if isinstance(world, LoadedModel):
        how = How(dt, Coulomb() if formulation is None else formulation, "auto", 1e-8, None)
        stepper = ModelStepper(world, q, v, how, force, None)
        now = stepper.look()
        names = tuple(f"contact {i}, {name}" for i, name in enumerate(world.contact_names(now.geom)))
        return stepper.problem(now), names
    at = evaluate(world, q, v)
    free = free_velocity(world, at, dt, applied(world, "force", force, world.velocities), 0.0)
    names = tuple(f"contact {i}, {point.name}" for i, point in enumerate(world.contacts))
    return system_problem(world, at, dt, free, None, 0.0, spin=False), names


def scene_problem(scene: Scene, h: float, formulation: Formulation | None = None) -> SceneProblem:
    """The ContactProblem of a step of size h from the scene as it stands. Contacts have spin rows where the formulation
    has them."""
    model, state, drives = compile_scene(scene)
    engine = Engine(model, state, drives, h, Coulomb() if formulation is None else formulation)
    problem = engine_problem(engine)
    return SceneProblem(problem, touching_bodies(engine, scene))


def touching_bodies(engine: Engine, scene: Scene) -> list[tuple[str, str]]:
    """The two bodies of each contact of the step that was looked at last."""
    contacts, body, n = engine.work.contacts, engine.model.shape_body, int(engine.work.count[FOUND])
    sides = (body[shape[:n]] for shape in (contacts.shape_a, contacts.shape_b))
    return [(scene.names[a], scene.names[b]) for a, b in zip(*sides, strict=True)]


def engine_problem(engine: Engine) -> ContactProblem:
    """The problem of the engine's next step."""
    engine.look_ahead()
    model, state, work = engine.model, engine.state, engine.work
    rows, contacts, joints = work.rows, work.contacts, work.held.rows
    n, D, free = int(work.count[FOUND]), rows.jacobian.shape[2], free_rows(model)
    M = mass_matrix(model, free, state.quaternion)
    body, jacobian = rows.body[:n], rows.jacobian[:n]
    fixed = np.where(model.kind[:, None] == Kind.FREE, 0.0, state.velocity)
    a, b = (model.shape_material[shape[:n]] for shape in (contacts.shape_a, contacts.shape_b))
    of_joints = np.stack([joints.jacobian_a, joints.jacobian_b], axis=1)[:, :, None, :]
    ends = np.stack([joints.body_a, joints.body_b], axis=1)
    drift = np.einsum("isck,isk->i", of_joints, fixed[ends])  # by bodies that move as prescribed
    return ContactProblem(
        h=engine.h,
        M=M,
        f=M @ work.bodies.v[free.body, free.component],
        v=state.velocity[free.body, free.component],
        H=generalized(free, body, jacobian),
        **engine.frictions(a, b),
        w=np.einsum("isck,isk->ic", jacobian, fixed[body]).ravel(),
        gap=contacts.gap[:n].copy(),
        **{name: getattr(model, name)[a, b] for name in MATERIAL},
        previous=work.answer.start[: D * n].copy(),
        grain=engine.rows().grain,
        surface=engine.rows().surfaces,
        point=contacts.point[:n].ravel(),
        time=engine.time,
        G=generalized(free, ends, of_joints),
        b=np.array([asked(joints, i, engine.h, engine.rules.law.brake) for i in range(drift.size)]) + drift,
        compliance=joints.compliance.copy(),
        lower=joints.lower.copy(),
        upper=joints.upper.copy(),
    )


def mass_matrix(model: Model, free: FreeRows, quaternion: Floats) -> sparse.csr_array:
    """M of the rows of v: masses, and inertias in world axes."""
    whole = np.zeros((model.kind.size, 6, 6))
    for k in range(3):
        whole[:, k, k] = np.where(model.kind == Kind.FREE, model.mass, 0.0)
    whole[:, 3:, 3:] = world_inertia(model, quaternion)
    body = np.flatnonzero((free.number >= 0).any(axis=1))
    number = free.number[body]
    row, column = np.broadcast_arrays(number[:, :, None], number[:, None, :])
    kept = (row >= 0) & (column >= 0) & (whole[body] != 0)
    return sparse.csr_array((whole[body][kept], (row[kept], column[kept])), shape=(free.size, free.size))


def world_inertia(model: Model, quaternion: Floats) -> Floats:
    """(nb, 3, 3) inertias in world axes."""
    R = to_matrices(quaternion, np.empty((len(quaternion), 3, 3)))
    return R @ model.inertia @ R.transpose(0, 2, 1)


def gyroscopic(model: Model, quaternion: Floats, spin: Floats) -> Floats:
    """(nb, 3) ω × I ω of the bodies, world axes; none in the plane."""
    if model.planar:
        return np.zeros_like(spin)
    return np.cross(spin, np.einsum("bij,bj->bi", world_inertia(model, quaternion), spin))


def generalized(free: FreeRows, body: NDArray[np.int64], jacobian: Floats) -> sparse.csr_array:
    """H (nv, d nc) from the bodies (nc, 2) and Jacobians (nc, 2, d, 6) of the two sides."""
    count, _, d, _ = jacobian.shape
    row = np.broadcast_to(free.number[body][:, :, None, :], jacobian.shape)
    column = np.broadcast_to((d * np.arange(count)[:, None] + np.arange(d))[:, None, :, None], jacobian.shape)
    kept = (row >= 0) & (jacobian != 0)
    return sparse.csr_array((jacobian[kept], (row[kept], column[kept])), shape=(free.size, d * count))
