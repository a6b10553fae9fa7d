"""Wrong arguments to every public name: one sentence each, never a raw error, and nothing taken that is not meant.

What is called comes from the signatures of the public names, so a new one joins by itself: functions, classes that a
caller makes, and their methods. Each parameter gets each of WRONG in turn, the others stay good. What the annotation
of a parameter admits may be taken; all else is an InputError of one line that names the parameter. ODD are the values
that look unusual and are right.
"""

from __future__ import annotations

import inspect
import math
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import stickslip as ss
from stickslip.checks import shown
from stickslip.errors import InputError
from stickslip.scene.shapes import Sphere

MODEL = """<mujoco model="walked"><worldbody><body name="upper"><joint name="shoulder" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="1"/></body></worldbody>
    <actuator><motor name="motor" joint="shoulder"/></actuator>
    <keyframe><key name="still" qpos="0"/></keyframe></mujoco>"""
ROBOT = Path(__file__).parents[1] / "examples" / "robots" / "arm.urdf"
SECONDS = 20  # after which a call counts as hanging
DELIBERATE = (ss.SolveFailed, ss.IntegrationFailed, ss.RangeFailed)  # a sentence too: the values were taken

# made by the package and handed out; a caller reads their fields
RESULTS = {
    "Audit", "Body", "Certificate", "ContactSolution", "ContactState", "Determinacy", "Diagnosis",
    "DistributedContacts", "Ensemble", "Existence", "FrictionCone", "FrictionCoupling", "Impulses", "Jam",
    "JamEvent", "JamMap", "JammingDiagram", "LeadMatrix", "LimitSurfaceExistence", "LoadedModel", "ModeSolutions",
    "ModelTrajectory", "PenaltyRun", "Robot", "Solution", "Solvability", "State", "Status", "Sweep", "System",
    "SystemTrajectory", "Trajectory", "TrinkleMatrices", "WorstPose",
}  # fmt: skip

SERVERS = {"Lab", "view"}  # what they open stays open: tests/lab has them

# what solvers and the engine call in every step, with arrays that are checked: callers do not
INNER = {
    "Family.coupling", "FrictionLaw.values", "Lemke.run", "LoadedModel.contact_names", "LoadedModel.row_words",
    "Penalty.force", "Penalty.stored", "PotentialReduction.reduce", "Simulation.columns",
}  # fmt: skip
INNER_OF_ALL = {  # formulations, systems and contacts, whichever class they are of
    "bias", "check", "error_at", "law", "left", "mass", "moved", "posed", "rows", "sets", "states", "velocity_map",
    "velocity_rows",
}  # fmt: skip
SAID_BY_VALUE = {"Sweep.map", "Sweep.plot"}  # names of columns: the message says which one is not there
CALLED = {  # as a message calls a parameter that the signature calls `name`, for that says more
    "LoadedModel.actuator": "actuator", "LoadedModel.body": "body", "LoadedModel.keyframe": "keyframe",
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------- good arguments


def ground_and_box() -> ss.Scene:
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box((1.0, 1.0, 1.0), mass=1.0, position=(0.0, 0.0, 0.5), name="block")
    return scene


def hinged() -> ss.Scene:
    scene = ground_and_box()
    scene.add_hinge("block", position=(0.0, 0.0, 2.0), axis=(0.0, 1.0, 0.0), name="pin")
    return scene


def cones() -> ss.ConeProblem:
    return ss.ConeProblem(np.eye(3), [-1.0, 0.3, 0.0], [0.5])


def limit_surface() -> ss.LimitSurfaceProblem:
    return ss.LimitSurfaceProblem(np.eye(4), [-1.0, 0.3, 0.0, 0.1], [0.5], [[1.0, 1.0, 0.1]])


def contacts() -> ss.ContactProblem:
    return ss.ContactProblem(1e-2, np.eye(3), [0.0, 0.0, -9.81], np.zeros(3), np.eye(3)[[2, 0, 1]].T, [0.5])


def lcp() -> ss.LCP:
    return ss.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])


def sliding() -> dict[str, Any]:
    return {"q": [0.0, 0.5 * math.sin(1.0), 1.0], "v": [0.5, 0.0, 0.0]}


@cache
def run() -> ss.Trajectory:
    return ss.simulate(hinged(), 0.02, 0.01)


@cache
def coupling() -> ss.FrictionCoupling:
    return ss.friction_coupling(ss.planar_rod(), q=sliding()["q"])


@cache
def robot() -> Any:
    pytest.importorskip("pinocchio")
    return ss.load_robot(ROBOT, ss.FramePoint("tip"))


# of a parameter by its name, where nothing below says it for one callable
ARGUMENTS: dict[str, Callable[[], Any]] = {
    "M": lambda: np.eye(2),
    "a": lambda: "block",
    "b": lambda: None,
    "body": lambda: "block",
    "contact": lambda: 0,
    "contacts": lambda: 3,
    "direction": lambda: [1.0, 0.0],
    "directions": lambda: 4,
    "dt": lambda: 0.01,
    "duration": lambda: 0.02,
    "e": lambda: [[1.0, 1.0, 0.1]],
    "family": ss.rod_family,
    "formulation": ss.Coulomb,
    "i": lambda: 0,
    "instant": lambda: 0,
    "inertia": lambda: 1.0,
    "joint": lambda: "pin",
    "kinetic": lambda: 0.3,
    "corners": lambda: [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "length": lambda: 1.0,
    "mass": lambda: 1.0,
    "mesh": lambda: np.array(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0])).reshape(3, -1).T,
    "mu": lambda: [0.5],
    "path": lambda: "file.h5",
    "position": lambda: (0.0, 0.0, 2.0),
    "axis": lambda: (0.0, 1.0, 0.0),
    "problem": cones,
    "q": lambda: [-1.0, 0.3, 0.0],
    "r": lambda: np.ones(3),
    "radius": lambda: 0.5,
    "rho": lambda: 1.0,
    "scene": ground_and_box,
    "size": lambda: (1.0, 1.0, 1.0),
    "speed": lambda: 0.1,
    "static": lambda: 0.5,
    "system": ss.planar_rod,
    "world": ground_and_box,
    "x": lambda: np.ones(3),
    "z": lambda: np.ones(2),
}


def near_plane(q: Any) -> float:
    return float(q[2])


def mass_of(q: Any) -> Any:
    return np.eye(3)


def constant(speed: float, x: float, y: float, z: float, time: float) -> float:
    return 0.5


def ball(t: float, o: float, r: float, speed: float, x: float, y: float, z: float, time: float) -> Any:
    size = math.sqrt(t * t + o * o + r * r)
    return size, t / size, o / size, r / size


def jamming_rod() -> ss.System:
    return ss.planar_rod(friction=3.0)


JAMMING = {"q": lambda: [0.0, 0.5 * math.sin(1.0), 1.0], "v": lambda: [-1.0, 0.0, 0.0]}
BODY = {"mass": lambda: 1.0}
BLOCK = {"body": lambda: "block"}
OF_SYSTEM = {"q": lambda: sliding()["q"], "v": lambda: sliding()["v"]}
CALLS: dict[str, dict[str, Callable[[], Any]]] = {
    "BodyForm": {"M": lambda: np.eye(2), "H": lambda: np.eye(2), "f": lambda: np.ones(2), "w": lambda: np.ones(2)},
    "ConeProblem": {"W": lambda: np.eye(3)},
    "ConeProblem.from_bodies": {"M": lambda: np.eye(3), "H": lambda: np.eye(3), "f": lambda: np.ones(3)},
    "Constraint": {"rows": lambda: mass_of},
    "ContactPoint": {"gap": lambda: near_plane, "rows": lambda: mass_of},
    "ContactProblem": {
        "h": lambda: 0.01,
        "M": lambda: np.eye(3),
        "f": lambda: np.ones(3),
        "v": lambda: np.ones(3),
        "H": lambda: np.eye(3),
    },
    "CylinderProblem": {"W": lambda: np.eye(3), "bound": lambda: [0.5]},
    "Diagnosis.count": {"state": lambda: ss.State.STICK},
    "Family": {
        "system": ss.planar_rod,
        "pose": lambda: lambda angle: [0.0, 0.5 * math.sin(angle), angle],
        "ranges": lambda: {"angle": (0.1, 1.0)},
        "units": lambda: ("rad",),
    },
    "Formulation.impulses": {"problem": contacts, "x": lambda: np.ones(3)},
    "Formulation.pose": {"problem": contacts},
    "Formulation.start": {"problem": contacts},
    "FramePoint": {"frame": lambda: "tip"},
    "FrictionCoupling.cone": {"mu": lambda: 0.5},
    "FrictionCoupling.jams": {"direction": lambda: [1.0], "mu": lambda: 0.5},
    "FrictionCoupling.locking_angle": {"mu": lambda: 0.5},
    "FrictionCoupling.margin": {"direction": lambda: [1.0], "mu": lambda: 0.5},
    "FrictionLaw": {"f": lambda: constant},
    "FrictionMap": {"f": lambda: ball},
    "FrictionSets": {"sets": lambda: (ss.Ellipsoid(),)},
    "GeneralizedSystem": {
        "velocities": lambda: 3,
        "mass": lambda: mass_of,
        "bias": lambda: lambda q, v: np.zeros(3),
        "contacts": lambda: (),
    },
    "JamMap.share_that_jams": {"mu": lambda: 0.5},
    "JammingDiagram.verdict": {"x": lambda: 0.1, "y": lambda: 0.1},
    "JammingDiagram.verdict_of": {"push": lambda: [0.1, 0.0, 0.0]},
    "LCP": {"q": lambda: np.ones(2)},
    "LeadMatrix.over": {"inertias": lambda: [1.0, 2.0]},
    "LimitSurfaceProblem.value": {"c": lambda: np.ones(4)},
    "LimitSurfaceProblem": {"A": lambda: np.eye(4), "b": lambda: np.ones(4)},
    "MixedLCP": {"q": lambda: np.ones(2), "lower": lambda: np.zeros(2), "upper": lambda: np.ones(2)},
    "Mixed": {"sets": lambda: (ss.Ellipsoid(), ss.Ellipsoid()), "weights": lambda: (0.5, 0.5)},
    "Polyhedron": {"planes": lambda: np.vstack([np.eye(3), -np.eye(3)])},
    "Polyhedron.inside_ellipsoid": {"directions": lambda: np.vstack([np.eye(3), -np.eye(3)])},
    "Robot.is_prismatic": {"name": lambda: robot().joints[0]},
    "Robot.joint": {"name": lambda: robot().joints[0]},
    "Robot.limits": {"name": lambda: robot().joints[0]},
    "Robot.pose": {},
    "Robot.set_joint": {"q": lambda: robot().pose(), "name": lambda: robot().joints[0], "value": lambda: 0.1},
    "Robot.touching": {"q": lambda: robot().pose(), "joint": lambda: robot().joints[1]},
    "Scene.add_body": {"shapes": lambda: (Sphere(1.0),), **BODY},
    "Scene.add_box": BODY,
    "Scene.add_capsule": BODY,
    "Scene.add_cylinder": BODY,
    "Scene.add_mesh": BODY,
    "Scene.add_sphere": BODY,
    "Scene.set_pair": {"b": lambda: "plane_0"},
    "Penalty": {"stiffness": lambda: 1e3},
    "Scene.body": {"name": lambda: "block"},
    "Scene.add_hinge": {"axis": lambda: (0.0, 1.0, 0.0)},
    "Sliding": {"direction": lambda: (1.0, 0.0), "mu": lambda: 0.5},
    "Solvability.choose": {"rule": lambda: "painleve"},
    "Solvability.friction_power": {"solution": lambda: RECEIVERS["Solvability"]().solutions[0]},
    "Audit.greatest": {"measure": lambda: "penetration"},
    "Audit.typical": {"measure": lambda: "penetration"},
    "ContactProblem.inverse_mass": {"momentum": lambda: np.ones(3)},
    "ContactProblem.velocity_after": {"impulses": lambda: ss.Coulomb().impulses(contacts(), np.ones(3))},
    "Ensemble.position": BLOCK,
    "Ensemble.quaternion": BLOCK,
    "Ensemble.velocity": BLOCK,
    "Ensemble.spin": BLOCK,
    "LoadedModel.actuator": {"name": lambda: loaded().actuators[0]},
    "LoadedModel.body": {"name": lambda: loaded().bodies[1]},
    "LoadedModel.coordinate": {"joint": lambda: loaded().joints[0]},
    "LoadedModel.instant": {"q": lambda: loaded().home, "v": lambda: np.zeros(loaded().velocities)},
    "LoadedModel.keyframe": {"name": lambda: "still"},
    "LoadedModel.with_points": {"points": lambda: ss.FramePoint(loaded().bodies[1])},
    "ModelTrajectory.origin": {"body": lambda: loaded().bodies[1]},
    "Family.exists": {"parameters": lambda: 0.5},
    "Sweep.load": {"path": lambda: saved_sweep()},
    "Sweep.map": {"x": lambda: "a", "y": lambda: "b", "z": lambda: "sum"},
    "Sweep.plot": {"x": lambda: "a", "y": lambda: "sum"},
    "Sweep.reason": {"number": lambda: 0},
    "TrinkleMatrices.velocity": {"z": lambda: np.ones(RECEIVERS["TrinkleMatrices"]().vector.size)},
    "Sweep.run": {"number": lambda: 0},
    "Sweep.save_csv": {"path": lambda: "table.csv"},
    "SystemSimulation.apply": {"body": lambda: loaded().bodies[1]},
    "SystemSimulation.position": {"body": lambda: loaded().bodies[1]},
    "SystemSimulation.rotation": {"body": lambda: loaded().bodies[1]},
    "Trajectory.load": {"path": lambda: stopped_run()},
    "Trajectory.export": {"path": lambda: "replay.html"},
    "Trajectory.plot": {"path": lambda: "picture.svg"},
    "all_solutions": {"problem": lcp},
    "audit": {"model": lambda: loaded(), "seconds": lambda: 0.01},
    "audit_settings": {"model": lambda: loaded(), "seconds": lambda: 0.01},
    "ensemble": {"over": lambda: {"friction": [0.1, 0.2]}},
    "load_model": {"path": lambda: ROBOT, "quiet": lambda: True},
    "resume": {"path": lambda: stopped_run(), "duration": lambda: 0.03},
    "sweep": {"what": lambda: product, "over": lambda: {"a": [1.0, 2.0]}, "progress": lambda: False},
    "determinacy": {"problem": contacts},
    "draw_audit": {"audit": lambda: ss.audit(loaded(), seconds=0.01), "path": lambda: "picture.svg"},
    "draw_cone": {"coupling": lambda: spatial_coupling(), "mu": lambda: 0.5, "path": lambda: "picture.svg"},
    "draw_jam_map": {"jam_map": lambda: RECEIVERS["JamMap"](), "path": lambda: "picture.svg"},
    "draw_jamming_diagram": {"diagram": lambda: RECEIVERS["JammingDiagram"](), "path": lambda: "picture.svg"},
    "draw_limit_surface": {
        "problem": limit_surface,
        "forces": lambda: [1.0, 0.1, 0.1, 0.0],
        "path": lambda: "picture.svg",
    },
    "draw_solutions": {"found": lambda: RECEIVERS["Solvability"](), "path": lambda: "picture.svg"},
    "friction_coupling": {"M": lambda: np.eye(3), "A": lambda: np.eye(3)[:2]},
    "integrate_scene": {"scene": lambda: one_contact(), "contact": lambda: ss.Penalty(1e3, 10.0)},
    "integrate_system": {"contact": lambda: ss.Penalty(1e3, 10.0), **OF_SYSTEM},
    "jam_map": {"resolution": lambda: 5},
    "jamming_diagram": {
        "base": lambda: ("block", (0.0, 0.0, -1.0), (0.0, 0.0, 0.0)),
        "across": lambda: ("block", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        "up": lambda: ("block", (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        "directions": lambda: 8,
    },
    "jamming_factor": {"problem": limit_surface},
    "load": {"path": lambda: saved_problem()},
    "load_robot": {"path": lambda: ROBOT, "gravity": lambda: (0.0, 0.0, -9.81)},
    "load_run": {"path": lambda: saved_scene()},
    "load_scene": {"path": lambda: saved_scene()},
    "random_cone": {"kind": lambda: "bodies"},
    "robot_family": {"robot": robot, "ranges": lambda: {robot().joints[1]: (0.1, 1.0)}},
    "save": {"problem": lcp},
    "save_scene": {"path": lambda: "scene.yaml"},
    "scene_coupling": {"scene": lambda: one_contact()},
    "scene_family": {
        "scene": lambda: lambda height: one_contact(),
        "ranges": lambda: {"height": (0.1, 1.0)},
        "units": lambda: ("m",),
    },
    "search_modes": {"problem": limit_surface},
    "simulate_system": OF_SYSTEM,
    "SystemSimulation": OF_SYSTEM,
    "solvability_at": OF_SYSTEM,
    "stiff_limit": {"problem": contacts, "weights": lambda: np.ones(3)},
    "system_coupling": {"q": OF_SYSTEM["q"]},
    "through_jam": {"world": jamming_rod, **JAMMING},
}


@cache
def one_contact() -> ss.Scene:
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_sphere(0.5, mass=1.0, position=(0.0, 0.0, 0.5))
    return scene


@cache
def spatial_coupling() -> ss.FrictionCoupling:
    return ss.scene_coupling(one_contact())


def saved_problem() -> str:
    ss.save(lcp(), "good.h5")
    return "good.h5"


def saved_scene() -> str:
    ss.save_scene(ground_and_box(), "good.yaml")
    return "good.yaml"


@cache
def bytes_of_a_run() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.h5")
        ss.simulate(ground_and_box(), 0.02, 0.01, path=path).close()
        return path.read_bytes()


def stopped_run() -> str:
    """A file of its own for each call, which may go on with it, and leave it open."""
    path = Path("stopped.h5")
    path.unlink(missing_ok=True)
    path.write_bytes(bytes_of_a_run())
    return str(path)


def product(a: float) -> float:
    return 2 * a


def twice(a: float, b: float) -> dict[str, float]:
    return {"sum": a + b}


def swept() -> ss.Sweep:
    return ss.sweep(twice, {"a": [1.0, 2.0], "b": [1.0, 2.0]}, progress=False, workers=1)


def saved_sweep() -> str:
    swept().save("good_sweep.h5")
    return "good_sweep.h5"


def runs_kept() -> ss.Sweep:
    over, run = {"friction": [0.1]}, {"duration": 0.02, "dt": 0.01}
    return ss.sweep(ground_and_box(), over, keep="runs", progress=False, workers=1, **run)


@cache
def loaded() -> Any:
    pytest.importorskip("mujoco")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.xml"
        file.write_text(MODEL)
        return ss.load_model(file, quiet=True)


# of a class whose methods are called: a value of it
RECEIVERS: dict[str, Callable[[], Any]] = {
    "SystemSimulation": lambda: ss.SystemSimulation(loaded(), 0.001),
    "Audit": cache(lambda: ss.audit(loaded(), seconds=0.01)),
    "Ensemble": cache(lambda: ss.ensemble(ground_and_box(), 0.02, 0.01, over={"friction": [0.1, 0.2]})),
    "LoadedModel": lambda: loaded(),
    "ModelTrajectory": cache(lambda: ss.simulate(loaded(), 0.01, 0.001)),
    "Sweep": lambda: swept(),
    "Sweep.run": lambda: runs_kept(),
    "Determinacy": cache(lambda: ss.determinacy(contacts())),
    "Diagnosis": cache(lambda: ss.solve(cones()).explain()),
    "Family": ss.rod_family,
    "FrictionCone": lambda: spatial_coupling().cone(0.5),
    "FrictionCoupling": coupling,
    "JamMap": cache(lambda: ss.jam_map(ss.rod_family(), 5)),
    "JammingDiagram": cache(ss.peg_diagram),
    "LeadMatrix": cache(lambda: ss.lead_matrix(ground_and_box(), 0.01)),
    "Robot": robot,
    "Scene": hinged,
    "Simulation": lambda: ss.Simulation(hinged(), 0.01),
    "Solvability": cache(lambda: ss.solvability(cones(), np.zeros((1, 2)))),
    "Trajectory": run,
    "SystemTrajectory": run,
    "TrinkleMatrices": cache(lambda: ss.trinkle_matrices(ground_and_box(), 0.01)),
}


class Case(NamedTuple):
    """One public callable: how to call it, and with what."""

    label: str
    call: Callable[..., Any]
    parameters: dict[str, inspect.Parameter]
    good: Callable[[], dict[str, Any]]


SEEN: set[Any] = set()


def cases() -> Iterator[Case]:
    order = {name: getattr(ss, name) for name in ss.__all__ if name != "shapes"}
    order |= {f"shapes.{shape.__name__}": shape for shape in ss.shapes.SHAPES.values()}
    for name, public in sorted(order.items(), key=lambda item: len(getattr(item[1], "__mro__", ()))):
        if name in SERVERS or (inspect.isclass(public) and issubclass(public, BaseException)):
            continue
        if name not in RESULTS:
            yield case(name, lambda public=public: public, public)
        if inspect.isclass(public):
            yield from methods(name, public)


def methods(name: str, public: type) -> Iterator[Case]:
    """Those that are its own; what it inherits is called once, of the first public class that has it."""
    for method, written in inspect.getmembers(public):
        function = getattr(written, "__func__", written)
        ours = str(getattr(function, "__module__", "")).startswith("stickslip")
        if (
            method.startswith("_")
            or method in INNER_OF_ALL
            or f"{name}.{method}" in INNER
            or not inspect.isfunction(function)
            or not ours
            or function in SEEN
        ):
            continue
        SEEN.add(function)
        bound_to_class = inspect.ismethod(written)
        if not parameters_of(written):
            continue

        def receive(name: str = name, public: type = public, method: str = method, own: bool = bound_to_class) -> Any:
            return getattr(public if own else receiver(f"{name}.{method}", name, public), method)

        yield case(f"{name}.{method}", receive, written)


def receiver(label: str, name: str, public: type) -> Any:
    if label in RECEIVERS:
        return RECEIVERS[label]()
    if name in RECEIVERS:
        return RECEIVERS[name]()
    return public(**good_arguments(name, parameters_of(public)))


def parameters_of(written: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """By name; keywords of a TypedDict, **settings, stand for themselves."""
    found: dict[str, inspect.Parameter] = {}
    if inspect.isclass(written) and inspect.isfunction(written.__init__):
        written = written.__init__  # a class may have a __new__ that takes anything
    for name, each in inspect.signature(written).parameters.items():
        if each.kind is inspect.Parameter.VAR_KEYWORD and not str(each.annotation).startswith("Unpack"):
            continue
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            keywords = getattr(
                inspect.getmodule(written), str(each.annotation).removeprefix("Unpack[").removesuffix("]")
            )
            for keyword, annotation in keywords.__annotations__.items():
                said = annotation.__forward_arg__ if hasattr(annotation, "__forward_arg__") else str(annotation)
                found[keyword] = inspect.Parameter(
                    keyword, inspect.Parameter.KEYWORD_ONLY, default=..., annotation=said
                )
        elif name not in ("self", "cls"):
            found[name] = each
    return found


def case(label: str, call: Callable[[], Callable[..., Any]], written: Callable[..., Any]) -> Case:
    parameters = parameters_of(written)
    several = [name for name, each in parameters.items() if each.kind is inspect.Parameter.VAR_POSITIONAL]

    def called(**given: Any) -> Any:
        if not several or several[0] not in given:
            return call()(**given)
        before = [given.pop(name) for name in list(parameters) if name in given and name != several[0]][:1]
        return call()(*before, given.pop(several[0]), **given)

    return Case(label, called, parameters, lambda: good_arguments(label, parameters))


def good_arguments(label: str, parameters: dict[str, inspect.Parameter]) -> dict[str, Any]:
    """A good value for each parameter that needs one."""
    own = CALLS.get(label, {})
    if "." in label:
        method = label.split(".")[1]
        own = CALLS.get(f"Formulation.{method}", {}) | own if method in ("pose", "start", "impulses") else own
        if method == "solve":
            own = {"problem": lambda: problem_for(label.split(".")[0])} | own
    given = {}
    for name, parameter in parameters.items():
        if name in own:
            given[name] = own[name]()
        elif parameter.default is inspect.Parameter.empty and parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            assert name in ARGUMENTS, f"{label}: say in ARGUMENTS or CALLS what a good {name!r} is"
            given[name] = ARGUMENTS[name]()
    return given


def problem_for(solver: str) -> Any:
    """A problem of the class that a solver takes."""
    annotation = str(inspect.signature(getattr(ss, solver).solve).parameters["problem"].annotation)
    if "Cylinder" in annotation:
        return ss.CylinderProblem(np.eye(3), [-1.0, 0.3, 0.0], [0.5])
    if "BodyNSGS" in solver:
        return ss.ConeProblem.from_bodies(np.eye(3), np.eye(3), [-1.0, 0.3, 0.0], [0.5])
    return limit_surface() if "LimitSurface" in annotation else cones() if "Cone" in annotation else lcp()


# ---------------------------------------------------------------------------------------------------- wrong arguments


class NoArray:
    def __array__(self, *given: Any, **named: Any) -> Any:
        raise RuntimeError("none of me")


WRONG: dict[str, Any] = {
    "text": "abc",
    "digits": "1",
    "bytes": b"1",
    "complex": 1j,
    "true": True,
    "none": None,
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "negative": -1.0,
    "whole negative": -1,
    "half": 0.5,
    "huge": 10**400,
    "large": 1e300,
    "object": object(),
    "class": int,
    "dict": {},
    "function": lambda *given: "abc",
    "empty": [],
    "ragged": [[1.0], [1.0, 2.0]],
    "texts": ["a", "b", "c"],
    "nans": [math.nan, math.nan, math.nan],
    "complexes": np.array([1j, 1j, 1j]),
    "truths": np.array([True, False, True]),
    "objects": np.array([None, "1", object()], dtype=object),
    "long": np.ones(7),
    "large ones": np.full(3, 1e300),
    "deep": np.ones((2, 3, 4)),
    "sparse": sparse.csr_array(np.ones((2, 3))),
    "duration": np.timedelta64(1, "s"),
    "bytes to change": bytearray(b"abc"),
    "very huge": 10**5000,  # more digits than Python writes
    "dates": np.array(["2026-01-01"] * 3, dtype="datetime64[D]"),
    "masked": np.ma.masked_array(np.ones(3), mask=[False, True, False]),
    "no array": NoArray(),
    "long text": "abc\n" * 10_000,
}
DIVERGED = ("residual", "unit_free_residual", "contact_states", "contact_residuals")
VALUES = ("LCP.value", "MixedLCP.value", "ConeProblem.value", "LimitSurfaceProblem.value")
UNUSUAL = {  # an iterate that diverged has an infinite residual, contacts that are open, and a value
    **{label: {"nans"} for label in (*DIVERGED, *VALUES)},
    "ContactProblem": {"empty"},  # of no joints
    "audit": {"empty"},  # of no actuators
    "sweep": {"text", "digits", "texts", "long text"},  # a run without such a measure is a row with its reason
}
NEVER = {"complex", "nan", "minus inf", "huge", "object", "class", "ragged", "texts", "nans", "complexes", "truths"}
NEVER |= {"objects", "deep", "bytes", "duration", "dates", "masked", "no array", "bytes to change"}
NEVER |= {"very huge"}
TEXT = {"keep", "name", "out", "title", "path", "file", "frame", "labels"}  # parameters that any text suits
NOT_NEGATIVE = {
    "tol", "max_iter", "dt", "duration", "mass", "radius", "length", "mu", "friction", "h", "rest_speed", "slip_speed",
    "stiffness", "damping", "restitution", "recovery", "brake", "accept", "resolution", "directions",
    "starts", "max_nodes", "n", "refactor", "patience", "restarts", "memory", "max_outer", "penalty", "proximal",
    "density", "scale", "count", "rtol", "static", "kinetic", "speed", "max_bytes", "depth",
}  # fmt: skip


def admits(parameter: inspect.Parameter, kind: str) -> bool:
    """May a wrong value of this kind be taken, for it is right here?"""
    annotation = str(parameter.annotation)
    words = set(annotation.replace("[", " ").replace("]", " ").replace(",", " ").replace("|", " ").split())
    number = bool(words & {"float", "int"})
    if kind in NEVER:
        return kind == "class" and "Callable" in annotation
    if kind == "none":
        return (
            "None" in words or parameter.default is None or words & {"Given", "Filled", "Stabilisation", "Any"} != set()
        )
    if kind in ("text", "digits", "long text"):
        return parameter.name in TEXT or words & {"MeshLike"} != set()
    if kind == "true":
        return "bool" in words
    if kind == "inf":
        return parameter.default == math.inf or parameter.name in INFINITE
    if kind in ("negative", "whole negative"):
        return (number and parameter.name not in NOT_NEGATIVE and (kind != "negative" or "float" in words)) or (
            not number and "Like" in annotation
        )
    if kind == "large ones":
        return True  # an answer, or a sentence
    if kind in ("half", "large"):
        return "float" in words or "Like" in annotation
    if kind == "function":
        return "Callable" in annotation or words & {"Force", "Gauge", "VectorLike", "Any"} != set()
    if kind == "dict":
        return "Mapping" in annotation or "dict" in annotation
    if kind == "empty":
        return "Sequence" in annotation or "tuple" in annotation
    if kind == "long":
        return parameter.name in ("inertias",)
    if kind == "sparse":
        return "Matrix" in words or "Sparse" in words or "Any" in words
    raise AssertionError(kind)


INFINITE = {
    "strength",
    "stiffness",
    "stiffness_tangent",
    "brake",
    "max_force",
    "accept",
    "upper",
    "lower",
    "mu_kinetic",
}


class Hanging(BaseException):
    pass


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Hanging after so many seconds, inside the block and never later: the bell is taken off with the block."""

    def ring(signum: int, frame: Any) -> None:
        raise Hanging

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # first: one that is on its way goes nowhere
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(case: Case, given: dict[str, Any], name: str, admitted: bool) -> str:
    """What is wrong with what came of a call; empty where nothing is."""
    try:
        with limited(SECONDS):
            case.call(**given)
    except InputError as error:
        said = str(error)
        if "\n" in said or len(said) > 500:
            return f"said in {said.count(chr(10)) + 1} lines of {len(said)} characters: {said[:200]}"
        by_value = case.label in SAID_BY_VALUE and shown(given.get(name)) in said
        named = by_value or name in said or "problem" in name
        return "" if admitted or named else f"the parameter is not named: {said}"
    except DELIBERATE as error:
        return "" if admitted else f"taken: {type(error).__name__}"
    except Hanging:
        return "hangs"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]!r}"
    return "" if admitted else "taken"


CASES = {each.label: each for each in cases()}


SLOW = {
    "draw_audit", "draw_cone", "draw_jam_map", "draw_jamming_diagram", "draw_limit_surface", "draw_solutions",
    "integrate_scene", "integrate_system", "jamming_diagram", "peg_diagram", "audit", "audit_settings", "search_modes",
    "all_solutions",
}  # fmt: skip


def kinds_of(label: str, name: str, thorough: bool) -> list[str]:
    """The wrong values to try: all of them, or a few that go through all from parameter to parameter."""
    if thorough:
        return list(WRONG)
    step = 11 if label in SLOW else 5
    return list(WRONG)[(len(label) + len(name)) % step :: step]


@pytest.mark.parametrize("label", CASES)
def test_the_arguments_that_all_else_is_held_against_are_good(label, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    each = CASES[label]
    each.call(**each.good())


@pytest.mark.parametrize("label", [label for label, each in CASES.items() if each.parameters])
def test_wrong_arguments_get_one_sentence(label, tmp_path, monkeypatch, pytestconfig):
    monkeypatch.chdir(tmp_path)
    thorough = pytestconfig.getoption("thorough")
    each, found = CASES[label], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, parameter in each.parameters.items():
            for kind in kinds_of(label, name, thorough):
                admitted = admits(parameter, kind) or kind in UNUSUAL.get(label, ())
                said = outcome(each, each.good() | {name: WRONG[kind]}, CALLED.get(label, name), admitted)
                if said:
                    found[name, kind] = said
    assert not found, "\n".join(f"{label}({name}={kind}): {said}" for (name, kind), said in found.items())


LIMITED = {"tol": (1.0, 1e30), "rtol": (1.0, 1e30), "accept": (1.0, 1e30), "threads": (10**6,), "workers": (10**6,)}


@pytest.mark.parametrize("label", [label for label, each in CASES.items() if LIMITED.keys() & each.parameters.keys()])
def test_what_is_too_large_to_mean_anything_is_refused(label, tmp_path, monkeypatch):
    """A residual of 1 is that of no answer at all, and nobody has a million threads."""
    monkeypatch.chdir(tmp_path)
    each = CASES[label]
    for name in LIMITED.keys() & each.parameters.keys():
        for value in LIMITED[name]:
            assert not outcome(each, each.good() | {name: value}, CALLED.get(label, name), False)


# ---------------------------------------------------------------------------------------------------- odd and right


class Name:
    """A path that is no text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __fspath__(self) -> str:
        return self.name


def odd(value: Any, parameter: inspect.Parameter) -> dict[str, Any]:
    """The same value in other clothes."""
    words = str(parameter.annotation)
    if isinstance(value, bool) or value is None:
        return {}
    if type(value) is int and "Sequence" not in words and "Body" not in words:
        plain = {"without dimensions": np.array(value), "NumPy's integer": np.int64(value)}
        return plain | {"a short one": np.int8(value)} if 0 <= value < 128 else {}
    if isinstance(value, float):
        single = {"single precision": np.float32(value)} if float(np.float32(value)) == value else {}
        exact = {"a fraction": Fraction(value)} if math.isfinite(value) else {}
        return {"without dimensions": np.array(value)} | single | exact | {"NumPy's number": np.float64(value)}
    if isinstance(value, str) and "PathLike" in words:
        return {"a Path": Path(value), "a path-like": Name(value)}
    if isinstance(value, list | np.ndarray) and np.asarray(value).dtype.kind == "f":
        return odd_arrays(np.asarray(value))
    return {}


def odd_arrays(array: np.ndarray) -> dict[str, Any]:
    fixed = array.copy()
    fixed.flags.writeable = False
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    found = {
        "a list": array.tolist(),
        "read-only": fixed,
        "strided": wide[..., ::2],
        "Fortran's order": np.asfortranarray(array),
        "backwards": array[..., ::-1].copy()[..., ::-1],
        "big-endian": array.astype(">f8"),
        "objects": array.astype(object),
    }
    if (array.astype(np.float32) == array).all():
        found["single precision"] = array.astype(np.float32)
    if (array == np.round(array)).all():
        found["whole numbers"] = array.astype(int)
    return found


def usual_value(each: Case, name: str) -> Any:
    """What the walk gives, or the default."""
    return each.good().get(name, each.parameters[name].default)


NEEDS_ROOM = {("Robot.set_joint", "q")}  # is written to


@pytest.mark.parametrize("label", [label for label, each in CASES.items() if each.parameters])
def test_odd_arguments_that_are_right_are_taken(label, tmp_path, monkeypatch, pytestconfig):
    monkeypatch.chdir(tmp_path)
    thorough = pytestconfig.getoption("thorough")
    each, found = CASES[label], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, parameter in each.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL or (label, name) in NEEDS_ROOM:
                continue
            clothes = odd(usual_value(each, name), parameter)
            for kind in list(clothes)[:: 1 if thorough else 3]:
                try:
                    each.call(**each.good() | {name: clothes[kind]})
                except Exception as error:
                    found[name, kind] = f"{type(error).__name__}: {error}"
    assert not found, "\n".join(f"{label}({name}={kind}): {said}" for (name, kind), said in found.items())


def test_the_bell_rings_inside_its_block_and_not_later():
    def hang() -> None:
        with limited(1):
            while True:
                pass

    with pytest.raises(Hanging):
        hang()
    before = signal.getsignal(signal.SIGALRM)
    with limited(1):
        pass
    assert signal.alarm(0) == 0  # none is left over
    assert signal.getsignal(signal.SIGALRM) is before
