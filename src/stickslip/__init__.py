"""stickslip: rigid bodies in frictional contact, treated as the complementarity problem it is.

    import stickslip as ss
    answer = ss.solve(ss.LCP([[2, 1], [1, 2]], [-5, -6]))
    answer.x, answer.status, answer.residual

Names are loaded on first use, so that `import stickslip` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.analysis.coupling import FrictionCone as FrictionCone
    from stickslip.analysis.coupling import FrictionCoupling as FrictionCoupling
    from stickslip.analysis.coupling import Sliding as Sliding
    from stickslip.analysis.coupling import friction_coupling as friction_coupling
    from stickslip.analysis.coupling import system_coupling as system_coupling
    from stickslip.analysis.determinacy import Determinacy as Determinacy
    from stickslip.analysis.determinacy import determinacy as determinacy
    from stickslip.analysis.jamming import Family as Family
    from stickslip.analysis.jamming import JamMap as JamMap
    from stickslip.analysis.jamming import WorstPose as WorstPose
    from stickslip.analysis.jamming import arm_family as arm_family
    from stickslip.analysis.jamming import jam_map as jam_map
    from stickslip.analysis.jamming import robot_family as robot_family
    from stickslip.analysis.jamming import rod_family as rod_family
    from stickslip.analysis.scene_coupling import scene_contacts as scene_contacts
    from stickslip.analysis.scene_coupling import scene_coupling as scene_coupling
    from stickslip.analysis.solvability import Certificate as Certificate
    from stickslip.analysis.solvability import ContactSolution as ContactSolution
    from stickslip.analysis.solvability import Solvability as Solvability
    from stickslip.analysis.solvability import acceleration_problem as acceleration_problem
    from stickslip.analysis.solvability import solvability as solvability
    from stickslip.analysis.solvability import solvability_at as solvability_at
    from stickslip.dynamics.generalized import Constraint as Constraint
    from stickslip.dynamics.generalized import ContactPoint as ContactPoint
    from stickslip.dynamics.generalized import GeneralizedSystem as GeneralizedSystem
    from stickslip.dynamics.generalized import System as System
    from stickslip.dynamics.mechanisms import arm as arm
    from stickslip.dynamics.mechanisms import planar_rod as planar_rod
    from stickslip.dynamics.mechanisms import rod as rod
    from stickslip.dynamics.pinocchio import FramePoint as FramePoint
    from stickslip.dynamics.pinocchio import Robot as Robot
    from stickslip.dynamics.pinocchio import load_robot as load_robot
    from stickslip.engine.integrate import integrate_system as integrate_system
    from stickslip.engine.jam import Jam as Jam
    from stickslip.engine.jam import through_jam as through_jam
    from stickslip.engine.simulate import simulate as simulate
    from stickslip.engine.simulation import Simulation as Simulation
    from stickslip.engine.stiff_limit import stiff_limit as stiff_limit
    from stickslip.engine.system_trajectory import PenaltyRun as PenaltyRun
    from stickslip.engine.system_trajectory import SystemTrajectory as SystemTrajectory
    from stickslip.engine.systems import simulate_system as simulate_system
    from stickslip.engine.trajectory import Trajectory as Trajectory
    from stickslip.engine.watch import JamEvent as JamEvent
    from stickslip.errors import FileError as FileError
    from stickslip.errors import InputError as InputError
    from stickslip.errors import IntegrationFailed as IntegrationFailed
    from stickslip.errors import RangeFailed as RangeFailed
    from stickslip.errors import SolveFailed as SolveFailed
    from stickslip.errors import StepFailed as StepFailed
    from stickslip.friction.anitescu_potra import AnitescuPotra as AnitescuPotra
    from stickslip.friction.box import Box as Box
    from stickslip.friction.compliant_cone import CompliantCone as CompliantCone
    from stickslip.friction.compliant_cylinder import CompliantCylinder as CompliantCylinder
    from stickslip.friction.contact_problem import ContactProblem as ContactProblem
    from stickslip.friction.contact_problem import Impulses as Impulses
    from stickslip.friction.coulomb import Coulomb as Coulomb
    from stickslip.friction.hybrid import Hybrid as Hybrid
    from stickslip.friction.impact import Newton as Newton
    from stickslip.friction.impact import Poisson as Poisson
    from stickslip.friction.limit_surface import LimitSurface as LimitSurface
    from stickslip.friction.limit_surface import static_kinetic as static_kinetic
    from stickslip.friction.limit_surface import stribeck as stribeck
    from stickslip.friction.penalty import Penalty as Penalty
    from stickslip.friction.phantom import Phantom as Phantom
    from stickslip.friction.stabilisation import Gap as Gap
    from stickslip.friction.stabilisation import Relaxation as Relaxation
    from stickslip.friction.stewart_trinkle import StewartTrinkle as StewartTrinkle
    from stickslip.problems.cone import BodyForm as BodyForm
    from stickslip.problems.cone import ConeProblem as ConeProblem
    from stickslip.problems.contact_states import State as State
    from stickslip.problems.contact_states import contact_residuals as contact_residuals
    from stickslip.problems.contact_states import contact_states as contact_states
    from stickslip.problems.cylinder import CylinderProblem as CylinderProblem
    from stickslip.problems.files import load as load
    from stickslip.problems.files import save as save
    from stickslip.problems.friction_sets import Ellipsoid as Ellipsoid
    from stickslip.problems.friction_sets import FrictionMap as FrictionMap
    from stickslip.problems.friction_sets import Mixed as Mixed
    from stickslip.problems.friction_sets import Polyhedron as Polyhedron
    from stickslip.problems.lcp import LCP as LCP
    from stickslip.problems.limit_surface import LimitSurfaceProblem as LimitSurfaceProblem
    from stickslip.problems.mixed import MixedLCP as MixedLCP
    from stickslip.problems.random_cones import random_cone as random_cone
    from stickslip.problems.residual import residual as residual
    from stickslip.problems.residual import unit_free_residual as unit_free_residual
    from stickslip.scene.compile import compile_scene as compile_scene
    from stickslip.scene.descriptions import Body as Body
    from stickslip.scene.files import load_run as load_run
    from stickslip.scene.files import load_scene as load_scene
    from stickslip.scene.files import save_scene as save_scene
    from stickslip.scene.materials import Material as Material
    from stickslip.scene.scene import Scene as Scene
    from stickslip.solvers.admm import ADMM as ADMM
    from stickslip.solvers.apgd import APGD as APGD
    from stickslip.solvers.cone_interior_point import ConeInteriorPoint as ConeInteriorPoint
    from stickslip.solvers.cone_newton import ConeNewton as ConeNewton
    from stickslip.solvers.conic import Conic as Conic
    from stickslip.solvers.contact_modes import ModeSolutions as ModeSolutions
    from stickslip.solvers.contact_modes import jamming_factor as jamming_factor
    from stickslip.solvers.contact_modes import search_modes as search_modes
    from stickslip.solvers.diagnosis import Diagnosis as Diagnosis
    from stickslip.solvers.enumeration import Enumeration as Enumeration
    from stickslip.solvers.enumeration import all_solutions as all_solutions
    from stickslip.solvers.existence import Existence as Existence
    from stickslip.solvers.existence import existence as existence
    from stickslip.solvers.fixed_point import CylinderGaussSeidel as CylinderGaussSeidel
    from stickslip.solvers.fixed_point import DeSaxceFixedPoint as DeSaxceFixedPoint
    from stickslip.solvers.fixed_point import Tresca as Tresca
    from stickslip.solvers.interior_point import InteriorPoint as InteriorPoint
    from stickslip.solvers.judice_pires import JudicePires as JudicePires
    from stickslip.solvers.lemke import Lemke as Lemke
    from stickslip.solvers.limit_surface_existence import LimitSurfaceExistence as LimitSurfaceExistence
    from stickslip.solvers.limit_surface_gauss_seidel import LimitSurfaceGaussSeidel as LimitSurfaceGaussSeidel
    from stickslip.solvers.limit_surface_newton import LimitSurfaceNewton as LimitSurfaceNewton
    from stickslip.solvers.murty import Murty as Murty
    from stickslip.solvers.newton import SemismoothNewton as SemismoothNewton
    from stickslip.solvers.nsgs import NSGS as NSGS
    from stickslip.solvers.nsgs_bodies import BodyNSGS as BodyNSGS
    from stickslip.solvers.pgs import PGS as PGS
    from stickslip.solvers.potential_reduction import PotentialReduction as PotentialReduction
    from stickslip.solvers.solution import Solution as Solution
    from stickslip.solvers.solution import Status as Status
    from stickslip.solvers.solve import Auto as Auto
    from stickslip.solvers.solve import solve as solve

__version__ = "0.1.0"

# each public name and the module that defines it
_HOME = {
    "FileError": "errors",
    "InputError": "errors",
    "IntegrationFailed": "errors",
    "RangeFailed": "errors",
    "SolveFailed": "errors",
    "StepFailed": "errors",
    "FrictionCone": "analysis.coupling",
    "FrictionCoupling": "analysis.coupling",
    "Sliding": "analysis.coupling",
    "friction_coupling": "analysis.coupling",
    "system_coupling": "analysis.coupling",
    "Determinacy": "analysis.determinacy",
    "determinacy": "analysis.determinacy",
    "Family": "analysis.jamming",
    "JamMap": "analysis.jamming",
    "WorstPose": "analysis.jamming",
    "arm_family": "analysis.jamming",
    "jam_map": "analysis.jamming",
    "robot_family": "analysis.jamming",
    "rod_family": "analysis.jamming",
    "scene_contacts": "analysis.scene_coupling",
    "scene_coupling": "analysis.scene_coupling",
    "Certificate": "analysis.solvability",
    "ContactSolution": "analysis.solvability",
    "Solvability": "analysis.solvability",
    "acceleration_problem": "analysis.solvability",
    "solvability": "analysis.solvability",
    "solvability_at": "analysis.solvability",
    "Constraint": "dynamics.generalized",
    "ContactPoint": "dynamics.generalized",
    "GeneralizedSystem": "dynamics.generalized",
    "System": "dynamics.generalized",
    "arm": "dynamics.mechanisms",
    "planar_rod": "dynamics.mechanisms",
    "rod": "dynamics.mechanisms",
    "FramePoint": "dynamics.pinocchio",
    "Robot": "dynamics.pinocchio",
    "load_robot": "dynamics.pinocchio",
    "AnitescuPotra": "friction.anitescu_potra",
    "Box": "friction.box",
    "CompliantCone": "friction.compliant_cone",
    "CompliantCylinder": "friction.compliant_cylinder",
    "ContactProblem": "friction.contact_problem",
    "Impulses": "friction.contact_problem",
    "Coulomb": "friction.coulomb",
    "Hybrid": "friction.hybrid",
    "Newton": "friction.impact",
    "Poisson": "friction.impact",
    "LimitSurface": "friction.limit_surface",
    "static_kinetic": "friction.limit_surface",
    "stribeck": "friction.limit_surface",
    "Penalty": "friction.penalty",
    "Phantom": "friction.phantom",
    "Gap": "friction.stabilisation",
    "Relaxation": "friction.stabilisation",
    "StewartTrinkle": "friction.stewart_trinkle",
    "BodyForm": "problems.cone",
    "ConeProblem": "problems.cone",
    "State": "problems.contact_states",
    "contact_residuals": "problems.contact_states",
    "contact_states": "problems.contact_states",
    "CylinderProblem": "problems.cylinder",
    "load": "problems.files",
    "save": "problems.files",
    "Ellipsoid": "problems.friction_sets",
    "FrictionMap": "problems.friction_sets",
    "Mixed": "problems.friction_sets",
    "Polyhedron": "problems.friction_sets",
    "LCP": "problems.lcp",
    "LimitSurfaceProblem": "problems.limit_surface",
    "MixedLCP": "problems.mixed",
    "random_cone": "problems.random_cones",
    "residual": "problems.residual",
    "unit_free_residual": "problems.residual",
    "compile_scene": "scene.compile",
    "Body": "scene.descriptions",
    "load_run": "scene.files",
    "load_scene": "scene.files",
    "save_scene": "scene.files",
    "Material": "scene.materials",
    "Scene": "scene.scene",
    "PenaltyRun": "engine.system_trajectory",
    "integrate_system": "engine.integrate",
    "Jam": "engine.jam",
    "through_jam": "engine.jam",
    "simulate": "engine.simulate",
    "Simulation": "engine.simulation",
    "stiff_limit": "engine.stiff_limit",
    "SystemTrajectory": "engine.system_trajectory",
    "simulate_system": "engine.systems",
    "Trajectory": "engine.trajectory",
    "JamEvent": "engine.watch",
    "ADMM": "solvers.admm",
    "APGD": "solvers.apgd",
    "ConeInteriorPoint": "solvers.cone_interior_point",
    "ConeNewton": "solvers.cone_newton",
    "Conic": "solvers.conic",
    "ModeSolutions": "solvers.contact_modes",
    "jamming_factor": "solvers.contact_modes",
    "search_modes": "solvers.contact_modes",
    "Diagnosis": "solvers.diagnosis",
    "Enumeration": "solvers.enumeration",
    "all_solutions": "solvers.enumeration",
    "Existence": "solvers.existence",
    "existence": "solvers.existence",
    "CylinderGaussSeidel": "solvers.fixed_point",
    "DeSaxceFixedPoint": "solvers.fixed_point",
    "Tresca": "solvers.fixed_point",
    "InteriorPoint": "solvers.interior_point",
    "JudicePires": "solvers.judice_pires",
    "Lemke": "solvers.lemke",
    "LimitSurfaceExistence": "solvers.limit_surface_existence",
    "LimitSurfaceGaussSeidel": "solvers.limit_surface_gauss_seidel",
    "LimitSurfaceNewton": "solvers.limit_surface_newton",
    "Murty": "solvers.murty",
    "SemismoothNewton": "solvers.newton",
    "NSGS": "solvers.nsgs",
    "BodyNSGS": "solvers.nsgs_bodies",
    "PGS": "solvers.pgs",
    "PotentialReduction": "solvers.potential_reduction",
    "Solution": "solvers.solution",
    "Status": "solvers.solution",
    "Auto": "solvers.solve",
    "solve": "solvers.solve",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"stickslip has no {name!r}")
    value = getattr(import_module(f"stickslip.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
