"""What a formulation of friction is: a frozen value that makes a mathematical problem of a ContactProblem."""

from __future__ import annotations

from typing import Protocol

from stickslip.friction.contact_problem import ContactProblem, Impulses
from stickslip.friction.impact import Impact
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Vector
from stickslip.problems.mixed import MixedLCP


class Formulation(Protocol):
    @property
    def solver(self) -> str:
        """The name of a method that suits the problem it makes."""

    @property
    def impact(self) -> Impact:
        """Newton's or Poisson's rule; under Poisson's a step is made by friction.impact.poisson."""

    @property
    def slip_speed(self) -> float:
        """Above which a contact slides, and friction is kinetic   [m/s]"""

    def pose(self, problem: ContactProblem) -> LCP | MixedLCP | ConeProblem | LimitSurfaceProblem:
        """The mathematical problem of a step."""

    def impulses(self, problem: ContactProblem, x: Vector) -> Impulses:
        """The impulses that a solution x of it stands for."""

    def start(self, problem: ContactProblem) -> Vector | None:
        """A starting point from the impulses of the step before, or None."""
