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
    from stickslip.errors import FileError as FileError
    from stickslip.errors import InputError as InputError
    from stickslip.errors import SolveFailed as SolveFailed
    from stickslip.problems.cone import BodyForm as BodyForm
    from stickslip.problems.cone import ConeProblem as ConeProblem
    from stickslip.problems.contact_states import State as State
    from stickslip.problems.contact_states import contact_residuals as contact_residuals
    from stickslip.problems.contact_states import contact_states as contact_states
    from stickslip.problems.cylinder import CylinderProblem as CylinderProblem
    from stickslip.problems.files import load as load
    from stickslip.problems.files import save as save
    from stickslip.problems.lcp import LCP as LCP
    from stickslip.problems.mixed import MixedLCP as MixedLCP
    from stickslip.problems.random_cones import random_cone as random_cone
    from stickslip.problems.residual import residual as residual
    from stickslip.problems.residual import unit_free_residual as unit_free_residual
    from stickslip.solvers.admm import ADMM as ADMM
    from stickslip.solvers.apgd import APGD as APGD
    from stickslip.solvers.cone_interior_point import ConeInteriorPoint as ConeInteriorPoint
    from stickslip.solvers.cone_newton import ConeNewton as ConeNewton
    from stickslip.solvers.conic import Conic as Conic
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
    from stickslip.solvers.murty import Murty as Murty
    from stickslip.solvers.newton import SemismoothNewton as SemismoothNewton
    from stickslip.solvers.nsgs import NSGS as NSGS
    from stickslip.solvers.nsgs_bodies import BodyNSGS as BodyNSGS
    from stickslip.solvers.pgs import PGS as PGS
    from stickslip.solvers.solution import Solution as Solution
    from stickslip.solvers.solution import Status as Status
    from stickslip.solvers.solve import Auto as Auto
    from stickslip.solvers.solve import solve as solve

__version__ = "0.1.0"

# each public name and the module that defines it
_HOME = {
    "FileError": "errors",
    "InputError": "errors",
    "SolveFailed": "errors",
    "BodyForm": "problems.cone",
    "ConeProblem": "problems.cone",
    "State": "problems.contact_states",
    "contact_residuals": "problems.contact_states",
    "contact_states": "problems.contact_states",
    "CylinderProblem": "problems.cylinder",
    "load": "problems.files",
    "save": "problems.files",
    "LCP": "problems.lcp",
    "MixedLCP": "problems.mixed",
    "random_cone": "problems.random_cones",
    "residual": "problems.residual",
    "unit_free_residual": "problems.residual",
    "ADMM": "solvers.admm",
    "APGD": "solvers.apgd",
    "ConeInteriorPoint": "solvers.cone_interior_point",
    "ConeNewton": "solvers.cone_newton",
    "Conic": "solvers.conic",
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
    "Murty": "solvers.murty",
    "SemismoothNewton": "solvers.newton",
    "NSGS": "solvers.nsgs",
    "BodyNSGS": "solvers.nsgs_bodies",
    "PGS": "solvers.pgs",
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
