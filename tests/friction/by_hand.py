"""Small mechanical systems built by hand as ContactProblems, and a time stepper of a few lines."""

import math
from dataclasses import replace

import numpy as np

from stickslip.engine.names import FORMULATIONS as NAMED
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.limit_surface import LimitSurface
from stickslip.solvers.solve import solve

G = 9.81

FORMULATIONS = [make() for make in NAMED.values() if make is not LimitSurface]  # which has tests of its own
KEEPS_CONTACT = [formulation for formulation in FORMULATIONS if not isinstance(formulation, CompliantCone)]


def name(formulation):
    return type(formulation).__name__


TOLERANCES = {"ConeProblem": 1e-12, "CylinderProblem": 1e-12, "LCP": 1e-10, "MixedLCP": 1e-10}


def impulses_of(formulation, problem, method=None, tol=None):
    """Impulses of a step; the solve must succeed."""
    posed = formulation.pose(problem)
    tol = TOLERANCES[type(posed).__name__] if tol is None else tol
    answer = solve(posed, method or formulation.solver, tol=tol, x0=formulation.start(problem)).require()
    return formulation.impulses(problem, answer.x)


def velocity_of(formulation, problem, method=None, tol=None):
    return problem.velocity_after(impulses_of(formulation, problem, method, tol))


def particle(v, force=(0.0, 0.0, 0.0), h=0.01, m=1.0, mu=0.5, **fields):
    """A point mass whose axes are those of its one contact (n, t, o), or (n, t); the force is without weight."""
    d = len(v)
    M = m * np.eye(d)
    f = M @ np.asarray(v, float) + h * (np.asarray(force, float)[:d] - m * G * np.eye(d)[0])
    given = {"previous": h * m * G * np.eye(d)[0]} | fields
    return ContactProblem(h, M, f, np.asarray(v, float), np.eye(d), [mu], **given)


def slide(formulation, problem, steps, force=(0.0, 0.0, 0.0)):
    """Steps of `particle`: velocity, gap and travel along the tangents at the end, and the last impulses."""
    d, h, M = problem.dimension, problem.h, problem.M
    push = h * (np.asarray(force, float)[:d] - M[0, 0] * G * np.eye(d)[0])
    travel = np.zeros(d)
    for _ in range(steps):
        impulses = impulses_of(formulation, problem)
        v = problem.velocity_after(impulses)
        travel += h * v
        problem = replace(problem, v=v, f=M @ v + push, gap=problem.gap + h * v[0], previous=impulses.p)
    return v, problem.gap[0], travel[1:], impulses


def cross(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def contact_columns(arms):
    """H of contacts with a floor, normal +z, tangents +x and +y, at the given arms from the centre of mass."""
    frame = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # columns n, t, o
    return np.hstack([np.vstack([frame, cross(arm) @ frame]) for arm in arms])


def rotation(w):
    """exp of the cross product with w."""
    angle = float(np.linalg.norm(w))
    if angle == 0.0:
        return np.eye(3)
    K = cross(w / angle)
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


CORNERS = 0.5 * np.array([[1, 1, -1], [-1, 1, -1], [-1, -1, -1], [1, -1, -1]])
SPRINGS = {"stiffness": 1e10, "damping": 1e8, "stiffness_tangent": 1e8, "damping_tangent": 1e5}


def cube_problem(h, position, R, v, previous, mu=1.0, springs=SPRINGS):
    """The cube of Peiret 2017 on its four lower corners."""
    M = np.diag([1.0, 1.0, 1.0, 1 / 6, 1 / 6, 1 / 6])
    arms = CORNERS @ R.T
    f = M @ v - h * G * np.eye(6)[2]
    values = {key: np.full(4, value) for key, value in springs.items()}
    gap = position[2] + arms[:, 2]
    return ContactProblem(h, M, f, v, contact_columns(arms), np.full(4, mu), gap=gap, previous=previous, **values)


def cube_problems(formulation, h, duration, method=None, tol=None):
    """Steps of the sliding, spinning cube: yields the problem, and then position, rotation and velocity after it."""
    position, R, v = np.array([0.0, 0.0, 0.5]), np.eye(3), np.array([0.0, 5.0, 0.0, 0.0, 0.0, 2 * math.pi])
    previous = np.kron(np.full(4, h * G / 4), [1.0, 0.0, 0.0])
    for _ in range(round(duration / h)):
        problem = cube_problem(h, position, R, v, previous)
        impulses = impulses_of(formulation, problem, method, tol)
        v, previous = problem.velocity_after(impulses), impulses.p
        position, R = position + h * v[:3], rotation(h * v[3:]) @ R
        yield problem, position, R, v


def cube_end(formulation, h, duration=0.8, method=None, tol=None):
    """x, y and yaw at the end."""
    *_, (_, position, R, _) = cube_problems(formulation, h, duration, method, tol)
    return np.array([position[0], position[1], math.atan2(R[1, 0], R[0, 0])])
