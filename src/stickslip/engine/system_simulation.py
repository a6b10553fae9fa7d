"""`Simulation` of a system: one in generalized coordinates that runs step by step.

    sim = ss.Simulation(ss.load_model("arm.xml"), dt=2e-3)
    while sim.time < 2.0:
        sim.control[:] = policy(sim.q, sim.v)
        sim.step()

Its steps are those of `simulate`. What is set, of q, v, forces and controls, holds from the next step on. Where q or v
is set the impulses of the step before are forgotten: what follows depends on the state alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.checks import checked, positive, several, shown, text, truth, vector, whole
from stickslip.dynamics.generalized import System, a_system
from stickslip.engine.arguments import FORMULATION, SCHEME, THREADS, seconds
from stickslip.engine.engine import accepted, step_tolerance
from stickslip.engine.recorder import Header
from stickslip.engine.running import MOST_STEPS, step_failed
from stickslip.engine.steppers import How, ModelStepper, Step, stepper_of
from stickslip.engine.systems import USED, SystemStep, applied
from stickslip.engine.trajectory import ContactTable, own_contacts, table_of
from stickslip.errors import InputError
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.formulation import Formulation, Scheme
from stickslip.problems.matrix import Dense, Vector
from stickslip.solvers.solution import Solver
from stickslip.solvers.solve import known_method
from stickslip.solvers.status import Status

THREE = several(3, "three numbers")


class SystemSimulation:
    """A system under way.

    system        a GeneralizedSystem, a Robot or a LoadedModel
    dt            step   [s]
    friction      a formulation, Coulomb() where None
    q, v          where it starts: a model at home where there is no q, at rest where there is no v
    solver, tol, scheme, keep_going, accept      as in `simulate`
    """

    @checked(
        system=a_system, dt=seconds, friction=FORMULATION, solver=known_method, tol=positive, scheme=SCHEME,
        keep_going=truth, accept=positive, threads=THREADS, q=vector, v=vector,
    )  # fmt: skip
    def __init__(
        self,
        system: System,
        dt: float,
        friction: Formulation | None = None,
        solver: str | Solver | None = None,
        tol: float | None = None,
        scheme: Scheme | None = None,
        keep_going: bool = False,
        accept: float | None = None,
        effort: int | None = None,
        threads: int = 1,
        *,
        q: Any = None,
        v: Any = None,
    ) -> None:
        for name, given in (("effort", effort), ("threads", None if threads == 1 else threads)):
            if given is not None:
                raise InputError(f"Simulation: {name} is {shown(given)}, expected it for a Scene only")
        formulation: Formulation = Coulomb() if friction is None else friction
        method = formulation.solver if solver is None else solver
        tol = step_tolerance(formulation, method, tol)
        self._how = How(dt, formulation, method, tol, scheme, accepted(tol, accept))
        self.system, self._keep_going = system, keep_going
        self._stepper = stepper_of(system, q, v, self._how, None, None)
        self._first = self.q, self.v
        self._last: tuple[Step, Status] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "Simulation: a simulation under way holds a simulator and is not copied; expected its system, and sim.q and"
            " sim.v to go on from"
        )

    # steps

    def step(self, n: int = 1) -> None:
        """Make n steps. Where one is not solved StepFailed is raised, and the state is that before this step."""
        stepper = self._stepper
        for _ in range(whole("Simulation", "n", n, 1, MOST_STEPS)):
            one = stepper.step()
            status = one.graded(self._how.accept)
            if isinstance(one, SystemStep) and status not in USED and not self._keep_going:
                raise step_failed(one.answer, stepper.number, f"of {self.system.name!r} at time {self.time:g} s")
            stepper.accept(one)
            self._last = one, status

    def reset(self) -> None:
        """Back to the beginning: time 0, the first q and v, no controls and no forces."""
        self._stepper.number = 0
        if isinstance(self._stepper, ModelStepper):
            self._stepper.run.reset()
        else:
            self.force = np.zeros(self.system.velocities)
        self._stepper.put(*self._first)
        self._last = None

    @property
    def time(self) -> float:
        """[s]"""
        return self._stepper.number * self._how.h

    @property
    def dt(self) -> float:
        """Step   [s]"""
        return self._how.h

    # where it is

    @property
    def q(self) -> Vector:
        """(p,) the coordinates now, a copy; may be set."""
        return self._stepper.q.copy()

    @q.setter
    def q(self, given: Any) -> None:
        self._stepper.put(given, self.v)

    @property
    def v(self) -> Vector:
        """(n,) the velocities now, a copy; may be set."""
        return self._stepper.v.copy()

    @v.setter
    def v(self, given: Any) -> None:
        self._stepper.put(self.q, given)

    @property
    def kinetic(self) -> float:
        """½ vᵀ M v now   [J]"""
        v = self.v
        return float(v @ np.asarray(self.system.mass(self.q)) @ v) / 2

    def position(self, body: str) -> Vector:
        """(3,) the origin of a body of a model now   [m]"""
        model = self._model("position")
        model.run.place(self.q, self.v)
        return np.array(model.run.data.xpos[model.system.body(body)])

    def rotation(self, body: str) -> Dense:
        """(3, 3) the axes of a body of a model now, as columns"""
        model = self._model("rotation")
        model.run.place(self.q, self.v)
        return np.array(model.run.data.xmat[model.system.body(body)]).reshape(3, 3)

    # what acts on it

    @property
    def control(self) -> Vector:
        """(nu,) the controls of a model's actuators, in the order of `model.actuators`; set its entries."""
        return self._model("control").run.data.ctrl

    @control.setter
    def control(self, given: Any) -> None:
        model = self._model("control")
        model.run.data.ctrl[:] = vector(self.system.name, "control", given, model.controls)

    @property
    def force(self) -> Vector:
        """(n,) generalized forces beside the system's own, from the next step on; 0 at the start."""
        if isinstance(self._stepper, ModelStepper):
            return self._stepper.run.data.qfrc_applied.copy()
        return self._stepper.force(self.time, self.q, self.v).copy()

    @force.setter
    def force(self, given: Any) -> None:
        force = applied(self.system, "force", given, self.system.velocities)
        if isinstance(self._stepper, ModelStepper):
            self._stepper.run.data.qfrc_applied[:] = force(self.time, self.q, self.v)
        else:
            self._stepper.force = force

    @checked(body=text, force=THREE, torque=THREE)
    def apply(self, body: str, force: Any = (0.0, 0.0, 0.0), torque: Any = (0.0, 0.0, 0.0)) -> None:
        """A force and a torque on a body of a model, world axes, at its centre of mass, in all steps from now on; they
        replace what was applied to it here before.

        force      [N]
        torque     [N m]
        """
        model = self._model("apply")
        model.run.data.xfrc_applied[model.system.body(body)] = (*force, *torque)

    def _model(self, asked: str) -> ModelStepper:
        if not isinstance(self._stepper, ModelStepper):
            raise InputError(f"Simulation: {self.system.name!r} has no {asked}, expected a model of load_model")
        return self._stepper

    # a record of it

    @property
    def header(self) -> Header:
        """What a record of this run begins with: names, dt, formulation, solver, tol."""
        return self._stepper.header()

    def columns(self) -> dict[str, Any]:
        """The last step as a `Recorder` takes it, state and contacts with it."""
        if self._last is None:
            raise InputError("Simulation: there is no last step, expected `step()` before `columns()`")
        return self._stepper.block([self._stepper.kept(*self._last)])

    # what the last step was like

    @property
    def contacts(self) -> ContactTable:
        """The contacts of the last step; none before the first."""
        if self._last is None:
            return table_of((), np.zeros(0, np.int64), {}, np.zeros(0, np.int64))
        stepper, columns = self._stepper, own_contacts(self.columns())
        names = stepper.system.geoms if isinstance(stepper, ModelStepper) else stepper.names()
        return table_of(names, np.arange(len(names)), columns, np.full(len(columns["gap"]), stepper.number - 1))

    @property
    def residual(self) -> float:
        """Of the last step, by the yardstick of the problem that was solved"""
        return float("nan") if self._last is None else self._last[0].residual

    @property
    def status(self) -> Status | None:
        """Of the last step: SOLVED, or INEXACT where it missed tol; other words only with `keep_going`"""
        return None if self._last is None else self._last[1]

    @property
    def iterations(self) -> int:
        """Of the last step"""
        return 0 if self._last is None else self._last[0].iterations

    @property
    def unrecovered(self) -> int:
        """Steps of a model that left overlaps as they were, because no solution was found that parts them"""
        return getattr(self._stepper, "unrecovered", 0)

    def __repr__(self) -> str:
        formulation = type(self._how.formulation).__name__
        return f"SystemSimulation({self.system.name!r} at {self.time:.6g} s, dt={self.dt:g}, {formulation})"
