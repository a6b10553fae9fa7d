"""`Simulation`: a scene that runs step by step, under the eyes and hands of its caller.

    sim = ss.Simulation(scene, dt=1e-3)
    elbow = sim.joint("elbow")
    while sim.time < 2.0:
        elbow.effort = -10.0 * (elbow.coordinate - 0.5) - 1.0 * elbow.velocity
        sim.step()

Its steps are those of `simulate`, to the last bit, however many are made in a call. All that a step needs is kept
between steps, in one object that compiled code takes as it is (engine/boxed.py), so that a small scene makes a step in
a few microseconds more than `simulate` does.

What is set, of bodies, motors and forces, holds from the next step on. Where the state is set, joints are fitted anew,
velocities that break them are made to keep to them, and the impulses of the step before are forgotten: what follows
depends on the state alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.checks import LARGEST, Refused, bound, floats, not_negative, number, whole
from stickslip.dynamics.joints import joint_row_names
from stickslip.engine.arguments import SCENE, checked_run, world
from stickslip.engine.boxed import ALONE, boxed
from stickslip.engine.engine import StepNotSolved
from stickslip.engine.march import FRESH, Ended
from stickslip.engine.recorder import Header
from stickslip.engine.rows import FOUND, METHODS, room_to_record
from stickslip.engine.running import MOST_STEPS as MOST
from stickslip.engine.running import in_words, not_finite
from stickslip.engine.simulate import columns_of, contacts_of, engine_of, failure
from stickslip.engine.threads import one_thread
from stickslip.engine.trajectory import ContactTable, Named, index_of, kinetic_energy, potential_energy, table_of
from stickslip.errors import InputError, RunFailed
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.scene.compile import StateView
from stickslip.scene.model import Floats, Joint, Kind, Model, State
from stickslip.scene.scene import Scene
from stickslip.scene.values import ORIGIN, rotated, turning, vector
from stickslip.scene.values import orientation as turn_of
from stickslip.solvers.solution import Solver, Status

ROOM = 64  # contacts that a step may have before the record grows
MOST_STEPS = 1024  # in one compiled call, which Ctrl-C does not end
UNIT = 1e-6  # how far from 1 the length of a quaternion may be


class Simulation:
    """A scene under way.

    scene         is compiled as it is now; what is done to it later does not matter here. A System, also a Robot or a
                  model of `load_model`, becomes a SystemSimulation
    dt            step   [s]
    friction      a formulation, Coulomb() where None
    solver, tol, scheme, keep_going, accept, effort, threads      as in `simulate`
    """

    def __new__(cls, scene: Any, *settings: Any, **named: Any) -> Any:
        if isinstance(scene, Scene):
            return super().__new__(cls)
        from stickslip.engine.system_simulation import SystemSimulation

        world("Simulation", "scene", scene)
        return SystemSimulation(scene, *settings, **named)

    @checked_run(scene=SCENE)
    def __init__(
        self,
        scene: Scene,
        dt: float,
        friction: Formulation | None = None,
        solver: str | Solver | None = None,
        tol: float | None = None,
        scheme: Scheme | None = None,
        keep_going: bool = False,
        accept: float | None = None,
        effort: int | None = None,
        threads: int = 1,
    ) -> None:
        how: Any = {"keep_going": keep_going, "scheme": scheme, "accept": accept, "effort": effort, "threads": threads}
        self._engine, self._first = engine_of("Simulation", scene, dt, friction, solver, tol, **how)
        model, state = self._engine.model, self._engine.state
        self._names, self._joint_names = scene.names, scene.joint_names
        self._motors = self._engine.work.held.motors.copy()
        self._forces = model.force.copy(), model.torque.copy()  # of the scene
        self._view = StateNow(state, model.centre, self._names)
        self._make_record(ROOM)

    # steps

    def step(self, n: int = 1) -> None:
        """Make n steps. Where one is not solved StepFailed is raised, and the state is that before this step."""
        if n.__class__ is not int or not 1 <= n <= MOST:
            n = whole("Simulation", "n", n, 1, MOST)
        engine = self._engine
        if engine.drives:
            for _ in range(n):
                engine.drive()
                self._advance(1)
        else:
            while n > 0:
                self._advance(min(n, MOST_STEPS))
                n -= MOST_STEPS

    def _advance(self, steps: int) -> None:
        """Steps under the same forces; the record keeps the last."""
        engine, left, island = self._engine, steps, FRESH
        while True:
            made, _, ended = engine.advance(self._box, left, 0, island)
            engine.made += made
            left -= made
            if left == 0:
                if not math.isfinite(engine.state.velocity.sum()):
                    raise self._no_numbers()
                return
            island = FRESH
            if ended == Ended.FULL:
                self._make_record(2 * int(engine.work.count[FOUND]))
                continue
            try:
                with one_thread():
                    island = engine.give(Ended(ended))
            except StepNotSolved as stopped:
                raise failure(engine, self._names, stopped) from None
            if ended == Ended.NO_ROOM:
                self._make_box()

    def _no_numbers(self) -> RunFailed:
        """The error of a step that left no numbers."""
        velocity = self._engine.state.velocity
        body = int(np.argmin(np.isfinite(velocity).all(axis=1)))
        made, name = self._engine.made - 1, self._names[body]
        return not_finite(made, made * self.dt, f"the velocity of {name!r}", velocity[body])

    def _make_record(self, room: int) -> None:
        self._record = room_to_record(self._engine.work, 1, room)
        self._make_box()

    def _make_box(self) -> None:
        engine = self._engine
        self._box = boxed(engine.state, engine.rules, engine.work, engine.memory, self._record, ALONE)

    def reset(self) -> None:
        """Back to the beginning: time 0, and the state, motors and forces of the scene."""
        engine = self._engine
        engine.made = 0
        for motor, first in zip(engine.work.held.motors, self._motors, strict=True):
            motor[:] = first
        for i in range(len(self._names)):
            self._push(i, np.zeros(3), np.zeros(3))
        self.state = self._first
        self._make_record(self._record.gap.size)

    # where bodies are

    @property
    def time(self) -> float:
        """[s]"""
        return self._engine.made * self._engine.rules.law.h

    @time.setter
    def time(self, seconds: float) -> None:
        """Go on as if it were another time, to the nearest step: for what is a function of time."""
        self._engine.made = round(not_negative("Simulation", "time", seconds) / self.dt)

    @property
    def dt(self) -> float:
        """Step   [s]"""
        return self._engine.rules.law.h

    @property
    def state(self) -> StateNow:
        """The bodies as they are now: sim.state.position(body), .quaternion(body), .velocity(body), .spin(body), and
        sim.state.copy(), a State that may be set again. One may set any State of this scene, also one of a
        Trajectory."""
        return self._view

    @state.setter
    def state(self, given: State | StateNow) -> None:
        new = checked_state(given, self._view.state, self._engine.model, self._names)
        for array, value in zip(self._view.state, new, strict=True):
            array[:] = value
        self._begin()

    def set(
        self, body: Named, *, position: Any = None, orientation: Any = None, velocity: Any = None, spin: Any = None
    ) -> None:
        """Put a body elsewhere, or give it another velocity; what is None stays. Arguments as in `Scene.place`."""
        i, model, now = self._body(body), self._engine.model, self._view.state
        owner, planar = f"set {self._names[i]!r}", model.planar
        if model.kind[i] == Kind.STATIC and not (velocity is None and spin is None):
            raise Refused(owner, "velocity", velocity if spin is None else spin, "none for a static body")
        origin = self._view.position(i) if position is None else np.array(vector(owner, "position", position, planar))
        turned = now.quaternion[i].copy() if orientation is None else np.array(turn_of(owner, orientation, planar))
        moving = now.velocity[i].copy()
        if velocity is not None:
            moving[:3] = vector(owner, "velocity", velocity, planar)
        if spin is not None:
            moving[3:] = turning(owner, "spin", spin, planar)
            if model.kind[i] == Kind.FREE and not model.inverse_inertia[i].any() and moving[3:].any():
                raise Refused(owner, "spin", spin, "none, because a particle does not turn")
        now.position[i] = origin + rotated(turned, model.centre[i])
        now.quaternion[i], now.velocity[i] = turned, moving
        self._begin()

    def _begin(self) -> None:
        """From a new state on: joints fitted, the last step forgotten."""
        engine = self._engine
        engine.memory.known[0] = 0
        engine.memory.joint[:] = 0.0
        engine.restart()

    def _body(self, body: Named) -> int:
        return index_of("body", self._names, body, "Simulation")

    # what acts on them

    def apply(self, body: Named, force: Any = ORIGIN, torque: Any = ORIGIN) -> None:
        """A force and a torque on a free body, world axes, at its centre of mass, in all steps from now on beside those
        of the scene; they replace what was applied to it here before.

        force      [N]
        torque     [N m]
        """
        i, model = self._body(body), self._engine.model
        owner = f"apply to {self._names[i]!r}"
        if model.kind[i] != Kind.FREE:
            raise Refused(owner, "body", f"{Kind(model.kind[i]).name.lower()} body", "a free one")
        f = np.array(vector(owner, "force", force, model.planar))
        t = np.array(ORIGIN if torque is ORIGIN else turning(owner, "torque", torque, model.planar))
        if t.any() and not model.inverse_inertia[i].any():
            raise Refused(owner, "torque", torque, "none, because a particle does not turn")
        self._push(i, f, t)

    def _push(self, i: int, force: Floats, torque: Floats) -> None:
        model, both = self._engine.model, self._engine.work.bodies.force[i]
        both[:3] = model.force[i] = self._forces[0][i] + force
        both[3:] = model.torque[i] = self._forces[1][i] + torque

    def joint(self, joint: Named) -> JointNow:
        """A joint, named by its name, its index or its handle: what it does, and what drives it."""
        return JointNow(self, index_of("joint", self._joint_names, joint, "Simulation"))

    # for those who keep what happened

    @property
    def header(self) -> Header:
        """What a record of this run begins with: names, shapes, dt, formulation, solver, tol."""
        return Header.of(self._engine.model, self._names, self._joint_names, **in_words(self._engine))

    def columns(self, seconds: float = 0.0) -> dict[str, Any]:
        """The last step as a `Recorder` takes it; `seconds` is how long it took. Arrays are those at work: copy them
        before the next step."""
        return columns_of(self._record, 1, self._engine.made - 1, self.dt, seconds)

    # what the last step was like

    @property
    def contacts(self) -> ContactTable:
        """The contacts of the last step, with those that were found but took no part; none before the first step."""
        columns = contacts_of(self._record, 1)
        steps = np.full(columns["gap"].size, self._engine.made - 1)
        return table_of(self._names, self._engine.model.shape_body, columns, steps)

    @property
    def residual(self) -> float:
        """Of the last step, by the yardstick of the problem that was solved"""
        return float(self._record.residual[0])

    @property
    def velocity_error(self) -> float:
        """Of the last step: the worst velocity at a contact that its law does not allow   [m/s]"""
        return float(self._record.velocity_error[0])

    @property
    def status(self) -> Status:
        """Of the last step: SOLVED, or INEXACT where it missed tol; other words only with `keep_going`"""
        return Status(int(self._record.status[0]))

    @property
    def iterations(self) -> int:
        """Of the last step"""
        return int(self._record.iterations[0])

    @property
    def method(self) -> str:
        """The name of what solved the last step"""
        return METHODS[int(self._record.method[0])]

    @property
    def kinetic(self) -> float:
        """Energy of the free bodies now, Σ m v²/2 + ω·I ω/2   [J]"""
        now = self._view.state
        return float(kinetic_energy(self._engine.model, now.quaternion[None], now.velocity[None])[0])

    @property
    def potential(self) -> float:
        """Energy of the free bodies in gravity now, -Σ m g·x   [J]"""
        return float(potential_energy(self._engine.model, self._view.state.position[None])[0])

    @property
    def energy(self) -> float:
        """Kinetic and potential   [J]"""
        return self.kinetic + self.potential

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "Simulation: a simulation under way holds compiled arrays and is not copied; expected its scene, and "
            "sim.state.copy() to go on from"
        )

    def __repr__(self) -> str:
        formulation = type(self._engine.formulation).__name__
        return f"Simulation({len(self._names)} bodies at {self.time:.6g} s, dt={self.dt:g}, {formulation})"


class StateNow(StateView):
    """The bodies of a simulation as they are whenever it is asked. A body is named by its handle, index or name."""

    def __init__(self, now: State, centre: Floats, names: tuple[str, ...]) -> None:
        super().__init__(now, centre)
        self._names = names
        self._shifted: list[bool] = np.any(centre, axis=1).tolist()

    def index(self, body: Named) -> int:
        return index_of("body", self._names, body, "Simulation")

    def position(self, body: Named) -> Floats:
        """(3,) of the origin of the body, as the scene placed it   [m]"""
        i = self.index(body)
        return super().position(i) if self._shifted[i] else self.state.position[i].copy()

    def copy(self) -> State:
        """All bodies: centres of mass, quaternions and velocities."""
        return self.state.copy()


class Driven:
    """A number of the motor of a joint, an attribute of JointNow: read, and checked where it is set."""

    def __init__(self, check: Callable[[str, str, Any], float], meaning: str) -> None:
        self.check, self.__doc__ = check, meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, joint: Any, owner: type | None = None) -> float:
        if joint is None:
            return self  # type: ignore[return-value]
        return getattr(joint._motors, self.name).item(joint.index)

    def __set__(self, joint: JointNow, value: float) -> None:
        found = self.check(joint._owner, self.name, value)
        if not joint._driven:
            expected = "none, because the scene gave this joint no motor (strength=...)"
            raise Refused(joint._owner, self.name, found, expected)
        getattr(joint._motors, self.name)[joint.index] = found


class JointNow:
    """A joint of a simulation: what it does now, and what drives it from the next step on. Worth keeping in a loop."""

    def __init__(self, sim: Simulation, index: int) -> None:
        model, held = sim._engine.model, sim._engine.work.held
        self.index, self.name, self.kind = index, sim._joint_names[index], Joint(int(model.joint[index]))
        #: what the components of `force` are: "force x", ..., "motor"
        self.rows = tuple(name for j, name in joint_row_names(model) if j == index)
        self._sim = sim
        self._own = np.flatnonzero(held.rows.joint == index)
        self._coordinate = held.coordinate[index]
        self._motors = held.motors
        self._driven = bool(held.motor[index] >= 0)

    @property
    def coordinate(self) -> float:
        """Angle of a hinge, travel of a slider, a seen from b, now. Without two limits an angle is between -π and π.
        [rad, m]"""
        return self._of_coordinate(0)

    @property
    def velocity(self) -> float:
        """The rate of the coordinate now   [rad/s, m/s]"""
        return self._of_coordinate(1)

    @property
    def force(self) -> Floats:
        """(rows,) forces and moments that the joint put on body a in the last step, its mean; `rows` says which.
        The effort is not among them.   [N, N m]"""
        return self._sim._record.joint_impulse[0, self._own] / self._sim.dt

    @property
    def effort(self) -> float:
        """Torque on a about the axis of a hinge, force along that of a slider, and the opposite on b   [N m, N]"""
        return self._motors.effort.item(self.index)

    @effort.setter
    def effort(self, value: float) -> None:
        self._of_coordinate(0)  # it has one
        self._motors.effort[self.index] = number(self._owner, "effort", value)

    target = Driven(number, "Position that the servo wants   [rad, m]")
    speed = Driven(number, "Speed that the motor or servo wants   [rad/s, m/s]")
    stiffness = Driven(
        not_negative, "Of the servo; where this and `gain` are 0 it is a motor, which keeps its speed   [N m/rad, N/m]"
    )
    gain = Driven(not_negative, "Of the servo, by which it follows the speed   [N m s/rad, N s/m]")
    strength = Driven(bound, "Most torque or force of the motor; 0 switches it off, inf is no bound   [N m, N]")

    @property
    def _owner(self) -> str:
        return f"joint {self.name!r}"

    def _of_coordinate(self, which: int) -> float:
        if self.kind < Joint.HINGE:
            kind = self.kind.name.lower()
            raise InputError(
                f"{self._owner}: its kind is {kind}, expected a hinge or a slider, which have a coordinate"
            )
        return self._coordinate.item(which)

    def __repr__(self) -> str:
        moves = "" if self.kind < Joint.HINGE else f" at {self.coordinate:.6g}, {self.velocity:.6g} a second"
        return f"JointNow({self.name!r}, {self.kind.name.lower()}{moves})"


def checked_state(given: Any, like: State, model: Model, names: tuple[str, ...]) -> State:
    """A state of the same shapes, finite, with unit quaternions, static bodies at rest, and in the plane where the
    scene is."""
    if not isinstance(given, State | StateView):
        raise Refused("Simulation", "state", given, "a State of this scene, such as sim.state.copy()")
    arrays = given.state if isinstance(given, StateView) else given
    new = State(*(floats("Simulation", field, value) for field, value in zip(State._fields, arrays, strict=True)))
    for field, value, known in zip(State._fields, new, like, strict=True):
        if value.shape != known.shape:
            raise InputError(f"Simulation: {field} has shape {value.shape}, expected {known.shape}")
        if np.abs(value).max(initial=0.0) > LARGEST:
            far = names[int(np.argmax(np.abs(value).max(axis=1)))]
            raise Refused("Simulation", f"{field} of {far!r}", np.abs(value).max(), f"numbers up to {LARGEST:g}")
    length = np.linalg.norm(new.quaternion, axis=1)
    if (np.abs(length - 1.0) > UNIT).any():
        worst = int(np.argmax(np.abs(length - 1.0)))
        raise InputError(f"Simulation: the quaternion of {names[worst]!r} has length {length[worst]:g}, expected 1")
    for i in np.flatnonzero((model.kind == Kind.STATIC) & new.velocity.any(axis=1)):
        raise Refused("Simulation", f"velocity of {names[i]!r}", new.velocity[i], "none for a static body")
    if model.planar:
        across = new.position[:, 1].any() or new.quaternion[:, [1, 3]].any() or new.velocity[:, [1, 3, 5]].any()
        if across:
            raise InputError(
                "Simulation: the state leaves the plane y = 0, expected one in it, for the scene is planar"
            )
    return new
