"""Laws of friction with closed forms, for every solver of friction problems."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import InputError
from stickslip.problems.cone import ConeProblem
from stickslip.problems.lcp import LCP
from stickslip.problems.mechanical import box_stack, sphere_pile
from stickslip.solvers.admm import ADMM
from stickslip.solvers.apgd import APGD
from stickslip.solvers.cone_interior_point import ConeInteriorPoint
from stickslip.solvers.cone_newton import ConeNewton
from stickslip.solvers.conic import Conic
from stickslip.solvers.fixed_point import CylinderGaussSeidel, DeSaxceFixedPoint, Tresca
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.nsgs_bodies import BodyNSGS
from stickslip.solvers.solution import Status

# a new solver of friction problems is one more entry, with a tol that it reaches
BOTH_LAWS = [
    NSGS(tol=1e-12),
    BodyNSGS(tol=1e-12),
    APGD(tol=1e-12),
    ADMM(tol=1e-12),
    ConeNewton(tol=1e-12),
    ConeInteriorPoint(tol=1e-10),
    Conic(tol=1e-7),
    DeSaxceFixedPoint(tol=1e-12),
]
CONE_SOLVERS = [
    *BOTH_LAWS,
    ConeNewton(tol=1e-12, equation="alart_curnier"),
    Tresca(tol=1e-12, inner=CylinderGaussSeidel(max_iter=2000)),
]
H, G = 0.01, 9.81  # step and gravity


def name(solver):
    equation = getattr(solver, "equation", "natural_map")
    return type(solver).__name__ + ("" if equation == "natural_map" else f"-{equation}")


every_solver = pytest.mark.parametrize("solver", CONE_SOLVERS, ids=name)
every_solver_of_both_laws = pytest.mark.parametrize("solver", BOTH_LAWS, ids=name)


def accuracy(solver):
    """What is asked of velocities and of shares of impulses, of order 0.1 and 1."""
    return 100 * solver.tol


def block(mass, mu, fall, slide, dimension=3):
    """A point mass on the ground, with free velocity -fall along the normal and -slide along the first tangent."""
    momentum = mass * np.array([-fall, -slide, 0.0])[:dimension]
    return ConeProblem.from_bodies(mass * np.eye(dimension), np.eye(dimension), momentum, [mu])


def column(masses, mu, push=0.0):
    """Point masses on top of each other, contact i under mass i; the lowest stands on the ground."""
    n = len(masses)
    support = np.eye(n) - np.diag(np.ones(n - 1), -1)  # contact i: mass i relative to mass i - 1
    jacobian = np.kron(support, np.eye(3))
    mass = np.repeat(masses, 3)
    force = np.kron(np.ones(n), [-H * G, 0.0, 0.0]) * mass
    force[-2] += push  # along the first tangent, on the highest
    return ConeProblem.from_bodies(sparse.diags_array(mass), jacobian.T, force, np.full(n, mu))


def closing_walls(mu, law):
    """A point mass between two walls, one at rest, one that comes closer: no velocity satisfies both."""
    across = np.hstack([np.eye(3), -np.eye(3)])
    return ConeProblem.from_bodies(np.eye(3), across, np.zeros(3), [mu, mu], [0.0, 0.0, 0.0, -1.0, 0.0, 0.0], law)


@pytest.mark.core
@every_solver
@pytest.mark.parametrize("angle", [0.0, 0.2, 0.4635, 0.4638, 1.0])  # atan(0.5) = 0.46365
@pytest.mark.parametrize("dimension", [2, 3])
def test_block_sticks_iff_slope_is_below_friction_angle(solver, angle, dimension):
    mu, fall, slide = 0.5, H * G * math.cos(angle), H * G * math.sin(angle)
    answer = solver.solve(block(2.0, mu, fall, slide, dimension)).require()
    slip = max(0.0, slide - mu * fall)
    np.testing.assert_allclose(answer.y, [0.0, -slip, 0.0][:dimension], atol=accuracy(solver))


@pytest.mark.core
@every_solver
def test_a_column_carries_the_weight_above_each_contact(solver):
    masses = np.array([5.0, 2.0, 1.0, 3.0])
    answer = solver.solve(column(masses, mu=0.3)).require()
    weight_above = H * G * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(answer.x.reshape(-1, 3)[:, 0], weight_above, rtol=10 * accuracy(solver))
    np.testing.assert_allclose(answer.y, 0.0, atol=accuracy(solver))


@pytest.mark.core
@every_solver
@pytest.mark.parametrize(("share", "moves"), [(0.99, False), (1.01, True)])
def test_the_top_of_a_column_slides_when_pushed_beyond_friction(solver, share, moves):
    masses, mu = np.array([5.0, 2.0]), 0.3
    limit = mu * masses[1] * H * G
    answer = solver.solve(column(masses, mu, push=share * limit)).require()
    expected = (share - 1) * limit / masses[1] if moves else 0.0  # the rest of the push, as velocity
    np.testing.assert_allclose(answer.y.reshape(-1, 3)[:, 1], [0.0, expected], atol=accuracy(solver))


@pytest.mark.core
@every_solver
def test_a_solution_as_start_needs_no_iteration(solver):
    problem = column(np.array([5.0, 2.0, 1.0]), 0.3, push=0.1)
    answer = solver.solve(problem).require()
    again = solver.solve(problem, x0=answer.x)
    assert again.iterations == 0
    np.testing.assert_array_equal(again.x, answer.x)
    assert again.x is not answer.x


@pytest.mark.core
@every_solver
def test_no_contacts(solver):
    answer = solver.solve(ConeProblem.from_bodies(np.eye(6), np.zeros((6, 0)), np.ones(6), []))
    assert answer.solved
    assert answer.x.size == 0


@pytest.mark.core
@every_solver
def test_other_problems_are_refused(solver):
    with pytest.raises(InputError, match="expected a ConeProblem"):
        solver.solve(LCP(np.eye(2), [1.0, 1.0]))


@pytest.mark.core
@every_solver
@pytest.mark.parametrize("mass", [1e-9, 1e9])
def test_a_heavy_block_and_a_light_one_come_to_rest(solver, mass):
    """Beside impulses of 1e8 velocities are 1e-8 even if they are quite wrong: the residual alone would be content."""
    answer = replace(solver, tol=1e-6).solve(block(mass, 0.5, H * G, 0.2 * H * G)).require()
    np.testing.assert_allclose(answer.y, 0.0, atol=2e-3 * H * G)


@every_solver
def test_an_immovable_contact_that_closes_is_never_called_solved(solver):
    problem = ConeProblem.from_bodies(np.eye(1), np.zeros((1, 3)), [0.0], [0.5], [-1.0, 0.0, 0.0])  # u = w, always
    assert solver.solve(problem).status is not Status.SOLVED


@every_solver
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_impulses_without_bound_are_never_called_solved(solver, tol, mu):
    """Relative to impulses that grow the residual falls to any tolerance."""
    assert replace(solver, tol=tol).solve(closing_walls(mu, "coulomb")).status is not Status.SOLVED


@every_solver_of_both_laws
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_nor_are_they_under_the_associated_law(solver, tol):
    assert replace(solver, tol=tol).solve(closing_walls(0.5, "associated")).status is not Status.SOLVED


@pytest.mark.core
@every_solver_of_both_laws
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_block_that_slips_lifts_off_under_the_associated_law(solver, dimension):
    """Its velocity is that of free motion, projected on K*: u_n = μ |u_t|."""
    mu, fall, slide = 0.5, 0.3, 1.0
    answer = solver.solve(replace(block(2.0, mu, fall, slide, dimension), law="associated")).require()
    speed = (slide - mu * fall) / (1 + mu**2)
    np.testing.assert_allclose(answer.y, [mu * speed, -speed, 0.0][:dimension], atol=accuracy(solver))


PILES = {"spheres": sphere_pile(2, mu=0.5, stir=0.05), "boxes": box_stack(2, tilt=0.6, stir=0.1)}


@pytest.mark.core
@every_solver_of_both_laws
@pytest.mark.parametrize("pile", PILES.values(), ids=PILES.keys())
def test_the_associated_law_is_a_minimum(solver, pile):
    """r ∈ K, u ∈ K*, rᵀ u = 0, contact by contact: that r minimises ½ rᵀ W r + qᵀ r over K is equivalent to it."""
    answer = solver.solve(replace(pile, law="associated")).require()
    r, u = answer.x.reshape(-1, 3), answer.y.reshape(-1, 3)
    error = accuracy(solver) * max(np.abs(pile.q).max(), np.abs(r).max())
    assert (np.hypot(r[:, 1], r[:, 2]) <= pile.mu * r[:, 0] + error).all()
    assert (pile.mu * np.hypot(u[:, 1], u[:, 2]) <= u[:, 0] + error).all()
    np.testing.assert_allclose((r * u).sum(axis=1), 0.0, atol=error)


@pytest.mark.core
@every_solver
@pytest.mark.parametrize("pile", PILES.values(), ids=PILES.keys())
def test_coulomb_slip_is_opposed_and_keeps_contact(solver, pile):
    """0 <= r_n ⊥ u_n >= 0, |r_t| <= μ r_n, and r_t · u_t = -μ r_n |u_t|."""
    answer = solver.solve(pile).require()
    r, u = answer.x.reshape(-1, 3), answer.y.reshape(-1, 3)
    error = accuracy(solver) * max(np.abs(pile.q).max(), np.abs(r).max())
    assert (r[:, 0] >= -error).all()
    assert (u[:, 0] >= -error).all()
    np.testing.assert_allclose(r[:, 0] * u[:, 0], 0.0, atol=error)
    assert (np.hypot(r[:, 1], r[:, 2]) <= pile.mu * r[:, 0] + error).all()
    slip = np.hypot(u[:, 1], u[:, 2])
    np.testing.assert_allclose((r[:, 1:] * u[:, 1:]).sum(axis=1), -pile.mu * r[:, 0] * slip, atol=error)


@every_solver_of_both_laws
@pytest.mark.parametrize("pile", PILES.values(), ids=PILES.keys())
def test_all_find_the_velocities_of_the_associated_law(solver, pile):
    """They are unique, the impulses need not be."""
    problem = replace(pile, law="associated")
    expected = ConeNewton(tol=1e-13).solve(problem).require()
    answer = solver.solve(problem).require()
    np.testing.assert_allclose(answer.y, expected.y, atol=10 * accuracy(solver) * np.abs(pile.q).max())
