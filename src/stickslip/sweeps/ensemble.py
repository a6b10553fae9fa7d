"""`ensemble(scene, ...)`: many copies of one small scene from other starts, or with other materials, on all cores.

    tosses = ensemble(scene, duration=1.0, dt=1e-3, samples={"die.velocity": v, "die.spin": w, "friction": mu})
    tosses.position("die")[:, -1]                      (n, 3) where they end

The arrays of a run are set up once for each thread, and the compiled loop goes from copy to copy by itself
(engine/copies.py): a copy costs a microsecond or two beside its steps, where a run of `simulate` costs one or two
milliseconds. Each copy is, to the bit, the run that `simulate` makes of it. What may vary is what the compiled loop can
be told between two copies: where bodies start and how they move, what materials are like, and gravity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np

from stickslip.checks import LARGEST, Refused, count, mapping
from stickslip.engine.arguments import FORMULATION, SCENE, checked_run
from stickslip.engine.boxed import advance, boxed
from stickslip.engine.copies import Copies, no_tables, room_for_copies
from stickslip.engine.engine import Engine, StepNotSolved
from stickslip.engine.march import FRESH, Ended
from stickslip.engine.rows import FOUND, room_to_record
from stickslip.engine.running import count_steps, progress_bar
from stickslip.engine.simulate import check_fall, failure
from stickslip.engine.threads import one_thread
from stickslip.engine.trajectory import Named, index_of, kinetic_energy, potential_energy
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.scene.compile import Drives, compile_scene
from stickslip.scene.descriptions import is_particle
from stickslip.scene.materials import FIELDS, NUMBERS, PairTable, coefficient, columns_of, pair_table
from stickslip.scene.model import Floats, Integers, Kind, Model, State
from stickslip.scene.scene import Scene
from stickslip.scene.values import orientation, rotated
from stickslip.scene.vary import Place, place_of
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import known_method
from stickslip.sweeps.plan import Plan, plan_of
from stickslip.sweeps.run import cores

MOST = 256  # copies in one call of the loop: progress and Ctrl-C in between
STARTS = ("position", "orientation", "velocity", "spin")


@dataclass(frozen=True, eq=False)
class Ensemble:
    """What n copies left: instants from the start to the end, and how good their steps were."""

    parameters: dict[str, Any]  # (n, …) by name
    names: tuple[str, ...]  # of the bodies
    steps: int  # of each copy
    time: Floats  # (frames,)   [s]
    residual: Floats  # (n,)   the worst of the steps of each copy
    velocity_error: Floats  # (n,)   likewise   [m/s]
    missed: Integers  # (n,)   steps that missed tol
    reasons: dict[int, str] = field(repr=False)  # of the copies that failed, why; from there on they are nan
    model: Model = field(repr=False)
    gravity: Floats = field(repr=False)  # (n, 3)   [m/s²]
    state: State = field(repr=False)  # (n, frames, nb, …)

    def __len__(self) -> int:
        return self.residual.size

    def position(self, body: Named) -> Floats:
        """(n, frames, 3) of the origin of the body, as the scene placed it   [m]"""
        i = self._index(body)
        return self.state.position[:, :, i] - rotated(self.state.quaternion[:, :, i], self.model.centre[i])

    def quaternion(self, body: Named) -> Floats:
        """(n, frames, 4) scalar first, body axes to world axes"""
        return self.state.quaternion[:, :, self._index(body)].copy()

    def velocity(self, body: Named) -> Floats:
        """(n, frames, 3) of the centre of mass, world axes   [m/s]"""
        return self.state.velocity[:, :, self._index(body), :3].copy()

    def spin(self, body: Named) -> Floats:
        """(n, frames, 3) angular velocity, world axes   [rad/s]"""
        return self.state.velocity[:, :, self._index(body), 3:].copy()

    @property
    def energy(self) -> Floats:
        """(n, frames) kinetic and potential   [J]"""
        return self.kinetic + self.potential

    @property
    def kinetic(self) -> Floats:
        """(n, frames) of the free bodies   [J]"""
        quaternion, velocity = (array.reshape(-1, *array.shape[2:]) for array in self.state[1:])
        return kinetic_energy(self.model, quaternion, velocity).reshape(len(self), -1)

    @property
    def potential(self) -> Floats:
        """(n, frames) of the free bodies in gravity   [J]"""
        copies = zip(self.gravity, self.state.position, strict=True)
        return np.array([potential_energy(self.model._replace(gravity=g), position) for g, position in copies])

    def _index(self, body: Named) -> int:
        return index_of("body", self.names, body, "Ensemble")

    def __repr__(self) -> str:
        failed = f", {len(self.reasons)} failed" if self.reasons else ""
        return f"Ensemble({len(self)} copies to {self.time[-1]:g} s{failed}: {', '.join(self.parameters)})"


@checked_run(scene=SCENE, over=mapping, every=count, law=FORMULATION, solver=known_method)
def ensemble(
    scene: Scene,
    duration: float,
    dt: float,
    over: Mapping[str, Any] | None = None,
    *,
    samples: Any = None,
    every: int | None = None,
    threads: int | None = None,
    law: Formulation | None = None,
    solver: str | Solver | None = None,
    tol: float | None = None,
    accept: float | None = None,
    effort: int | None = None,
    scheme: Scheme | None = None,
    keep_going: bool = False,
    progress: bool | None = None,
) -> Ensemble:
    """Run many copies of a scene, which differ in some of its numbers, in compiled code on all cores.

    over, samples    what varies, by name, as in `sweep`: position, orientation, velocity and spin of bodies
                     (`die.velocity`, or one component, `die.velocity.z`), fields of the material of all bodies or of
                     one (`friction`, `die.restitution`), and gravity
    every            steps from one instant that is kept to the next; where None only the start and the end are kept
    threads          as many as there are cores where None; the bits do not depend on it
    law, solver, …   as in `simulate`, where the law is called friction

    A copy with a step that is not solved ends there: `reasons` says why, and its later instants are nan. Scenes that
    call Python functions (forces, motions, friction laws, friction sets) are for `sweep`.
    """
    plan = plan_of("ensemble", over, samples, 1)
    if over is not None and not over:
        raise Refused("ensemble", "over", over, "values of at least one number by its name")
    steps = count_steps(duration, dt)
    frame = steps if every is None else every
    if steps % frame:
        raise InputError(f"ensemble: every is {every!r}, expected a whole number of steps that divides all {steps}")
    model, state, drives = compile_scene(scene)
    check_functions(drives)
    given = numbers_of(scene, plan)
    model, tables = material_tables(scene, model, given)
    gravity = gravities(scene, given, len(plan))
    copies = room_for_copies(starts(scene, model, state, given, len(plan)), tables, gravity, steps, frame)
    formulation: Formulation = Coulomb() if law is None else law

    def member() -> Member:
        own = model._replace(
            gravity=model.gravity.copy(), **{name: getattr(model, name).copy() for name in PairTable._fields}
        )
        engine = Engine(
            own, state.copy(), drives, float(dt), formulation, solver or formulation.solver, tol, keep_going, scheme,
            accept, effort,
        )  # fmt: skip
        check_fall("ensemble", engine, scene.names, gravity if len(gravity) else own.gravity)
        return Member(engine, scene.names, copies._replace(made=copies.made.copy()))

    reasons = run_copies(len(plan), member, threads or cores(), progress)
    time = float(dt) * np.arange(0.0, steps + 1.0, frame)
    kept = State(copies.positions, copies.quaternions, copies.velocities)
    return Ensemble(
        plan.columns(), scene.names, steps, time, copies.residual, copies.velocity_error, copies.missed, reasons, model,
        gravity if len(gravity) else np.repeat(model.gravity[None], len(plan), axis=0), kept,
    )  # fmt: skip


def run_copies(total: int, member: Callable[[], Member], threads: int, progress: bool | None) -> dict[int, str]:
    """Run them all, block by block, each thread in arrays of its own. Returns why copies ended early, by number."""
    size = min(MOST, max(1, total // (8 * threads)))
    blocks = [(first, min(first + size, total)) for first in range(0, total, size)]
    members: SimpleQueue[Member] = SimpleQueue()
    for _ in range(min(threads, len(blocks))):
        members.put(member())
    reasons: dict[int, str] = {}

    def run(block: tuple[int, int]) -> int:
        own = members.get()
        reasons.update(own.run(*block))
        members.put(own)
        return block[1] - block[0]

    bar = progress_bar(total, progress, "running", "copies")
    with one_thread(), bar as done, ThreadPoolExecutor(threads) as pool:
        try:
            for made in pool.map(run, blocks):
                done(made)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return dict(sorted(reasons.items()))


@dataclass(eq=False)
class Member:
    """The arrays of one thread, in which its copies run one after another."""

    engine: Engine
    names: tuple[str, ...]
    copies: Copies  # all of them, with `made` for this thread
    room: int = 64  # contacts of a step that are recorded
    box: Any = None

    def run(self, first: int, behind: int) -> dict[int, str]:
        """The copies from the first on; returns why some failed."""
        engine, copies, island = self.engine, self.copies, FRESH
        reasons: dict[int, str] = {}
        copies.made[0], end = first * copies.steps, behind * copies.steps
        while copies.made[0] < end:
            if self.box is None:
                record = room_to_record(engine.work, 1, self.room)
                self.box = boxed(engine.state, engine.rules, engine.work, engine.memory, record, copies)
            _, _, ended = advance(self.box, end - int(copies.made[0]), 0, island)
            island = FRESH
            copy, step = divmod(int(copies.made[0]), copies.steps)
            engine.made = step
            match Ended(ended):
                case Ended.DONE:
                    continue
                case Ended.FULL:
                    self.room = 2 * int(engine.work.count[FOUND])
                case why:
                    try:
                        island = engine.give(why)
                    except StepNotSolved as stopped:
                        reasons[copy] = str(failure(engine, self.names, stopped, save=False))
                        copies.made[0] = (copy + 1) * copies.steps
            if ended in (Ended.FULL, Ended.NO_ROOM):
                self.box = None
        return reasons


# what varies


def check_functions(drives: Drives) -> None:
    for there, what in (
        (bool(drives), "forces or motions"),
        (drives.frictions is not None, "friction"),
        (drives.surfaces is not None, "friction sets"),
    ):
        if there:
            raise InputError(f"ensemble: the scene has {what} by Python functions, expected none; sweep takes it")


def numbers_of(scene: Scene, plan: Plan) -> dict[Place, Floats]:
    """The values of all copies by what they are values of."""
    found = {}
    for name, column in plan.columns().items():
        place = place_of(scene, name)
        starts = place.body is not None and place.field in STARTS
        if not (starts or place.field in NUMBERS or place.field == "gravity") or place.joint is not None:
            expected = "position, orientation, velocity or spin of a body, a field of materials, or gravity"
            raise InputError(f"ensemble: {name} varies, expected {expected}; sweep varies everything else")
        if place.field in ("position", "orientation") and any(place.body in (each.a, each.b) for each in scene.joints):
            expected = "a body without joints, which are made where it starts"
            raise InputError(f"ensemble: {name} varies, expected {expected}; sweep varies it")
        if column.dtype.kind != "f":
            raise InputError(f"ensemble: {name} has values that are no numbers, expected numbers")
        found[place] = column
    return found


def starts(scene: Scene, model: Model, state: State, given: Mapping[Place, Floats], count: int) -> State:
    """The states (n, nb, …) that the copies start from."""
    position, quaternion, velocity = (np.repeat(array[None], count, axis=0) for array in state)
    origins: dict[int, Floats] = {}
    for place, values in given.items():
        i = place.body
        if i is None or place.field not in STARTS:
            continue
        body = scene.descriptions[i]
        owner = f"body {body.name!r}"
        if place.field in ("velocity", "spin"):
            if body.kind is Kind.STATIC or (place.field == "spin" and is_particle(body)):
                raise InputError(f"ensemble: {owner}: {place.field} varies, expected a body that moves so")
            columns = slice(0, 3) if place.field == "velocity" else slice(3, 6)
            velocity[:, i, columns] = vectors(owner, place, values, velocity[:, i, columns], scene.planar)
        else:
            origins.setdefault(i, np.repeat(np.array([body.position]), count, axis=0))
            if place.field == "orientation":
                quaternion[:, i] = [orientation(owner, value, scene.planar) for value in values.tolist()]
            else:
                origins[i] = vectors(owner, place, values, origins[i], scene.planar)
    for i, origin in origins.items():
        position[:, i] = origin + rotated(quaternion[:, i], model.centre[i])
    return State(position, quaternion, velocity)


def vectors(owner: str, place: Place, values: Floats, old: Floats, planar: bool) -> Floats:
    """(n, 3) of vectors, of one component of them, or in the plane of (x, z) or of what turns about y."""
    if not (np.abs(values) <= LARGEST).all():
        expected = f"numbers up to {LARGEST:g}"
        raise InputError(
            f"ensemble: {owner}: {place.field} has entries that are not finite or huge, expected {expected}"
        )
    new = old.copy()
    about = planar and place.field == "spin"
    if values.ndim == 1 and (place.axis is not None or about):
        new[:, 1 if place.axis is None else place.axis] = values
    elif values.shape[1:] == (3,) and place.axis is None:
        new[:] = values
    elif values.shape[1:] == (2,) and planar and place.axis is None and not about:
        new[:, ::2] = values
    else:
        shape = values.shape[1:] or "()"
        raise InputError(f"ensemble: {owner}: {place.field} has values of shape {shape}, expected three numbers each")
    across = new[:, [0, 2]] if about else new[:, [1]]
    if planar and across.any():
        raise InputError(f"ensemble: {owner}: {place.field} leaves the plane y = 0, expected values in it")
    return new


def gravities(scene: Scene, given: Mapping[Place, Floats], count: int) -> Floats:
    """(n, 3), or none where gravity does not vary."""
    varied = [place for place in given if place.field == "gravity"]
    gravity = np.repeat(np.array([scene.gravity]), count if varied else 0, axis=0)
    for place in varied:
        gravity = vectors("Scene", place, given[place], gravity, scene.planar)
    return gravity


def material_tables(scene: Scene, model: Model, given: Mapping[Place, Floats]) -> tuple[Model, Floats]:
    """The tables (n, 8, nb, nb) of what each two bodies do, and the model in which every body has a material of its
    own; no tables and the model as it is where materials do not vary."""
    varied = {place: values for place, values in given.items() if place.field in FIELDS}
    if not varied:
        return model, no_tables()
    bodies = model.kind.size
    kinds = [body.material for body in scene.descriptions]
    kinds += [type(kinds[0])()] * (bodies - len(kinds))  # the world's
    count = len(next(iter(varied.values())))
    columns = {name: np.repeat(column[None], count, axis=0) for name, column in columns_of(kinds).items()}
    for place, values in varied.items():
        for value in (values.min(), values.max()):
            coefficient("ensemble", place.field, float(value))
        columns[place.field][:, slice(None) if place.body is None else place.body] = (
            values[:, None] if place.body is None else values
        )
    if (columns["friction_kinetic"] > columns["friction"]).any():
        raise InputError("ensemble: friction_kinetic is above friction in a copy, expected at most that")
    table = pair_table(columns)
    everywhere = {place.field: values for place, values in varied.items() if place.body is None}
    for pair, said in scene.overrides.items():
        told = {name: everywhere.get(name, value) for name, value in said.items()}
        if "friction" in told:
            told = {"friction_kinetic": told["friction"]} | told
        for name, value in told.items():
            cells = getattr(table, "friction_static" if name == "friction" else name)
            cells[:, pair[0], pair[1]] = cells[:, pair[1], pair[0]] = value
    own = {name: column[0].copy() for name, column in table._asdict().items()}
    return model._replace(shape_material=model.shape_body.copy(), **own), np.stack(table, axis=1)
