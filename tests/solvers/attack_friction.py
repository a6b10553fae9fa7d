"""Friction problems made to be hard, and plain arithmetic that judges answers to them; attack.py has those without.

`python tests/solvers/attack_friction.py --seed 7 --problems 1000` prints what is false, which contact is wrong for its
own speeds although the norm is small, and where a solution exists that `auto` does not find.
"""

import argparse
import time
import traceback

import numpy as np
from attack import Tally, length

import stickslip as ss

CONES = ("auto", "nsgs", "cone_interior_point", "cone_newton", "admm", "apgd", "tresca", "de_saxce", "conic")
CYLINDERS = ("auto", "cylinder_gauss_seidel", "cylinder_newton")
SURFACES = (
    "auto", "limit_surface_gauss_seidel", "limit_surface_interior_point", "limit_surface_newton", "potential_reduction",
)  # fmt: skip
OWN = 0.01  # share of its own speeds by which a contact's velocity may be wrong
LONG = 30.0  # seconds of processor time


def friction(rng, contacts):
    mu = 10.0 ** rng.uniform(-3, 1, contacts)
    return np.where(rng.random(contacts) < 0.15, 0.0, np.where(rng.random(contacts) < 0.3, 0.5, mu))


def bodies(rng, contacts, d):
    """Masses, H and the velocities without contact."""
    nv = int(rng.integers(1, 7)) if rng.random() < 0.5 else max(1, d * contacts - int(rng.integers(0, 4)))
    H = rng.standard_normal((nv, d * contacts))
    if contacts > 1 and rng.random() < 0.2:  # the same contact twice
        H[:, d : 2 * d] = H[:, :d]
    mass = 10.0 ** rng.uniform(-6, 6, nv) if rng.random() < 0.5 else rng.uniform(0.5, 2.0, nv)
    f = rng.standard_normal(nv) * (mass if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3))
    return np.diag(mass), H, f


def delassus(rng, n):
    A = rng.standard_normal((n, n))
    match rng.integers(5):
        case 0:
            W = A @ A.T
        case 1:
            W = A[:, : max(1, n // 2)] @ A[:, : max(1, n // 2)].T
        case 2:
            W = A @ A.T + A - A.T
        case 3:
            W = np.outer(A[0], A[0])
        case _:
            s = 10.0 ** rng.uniform(-3, 3, n)
            W = (A @ A.T) * np.outer(s, s)
    return W * 10.0 ** rng.uniform(-6, 6) if rng.random() < 0.3 else W


def random_cone(rng):
    d, contacts = int(rng.choice([2, 3])), int(rng.choice([1, 1, 2, 3, 4, 6, 10]))
    law, mu = str(rng.choice(["coulomb", "coulomb", "associated"])), friction(rng, contacts)
    if rng.random() < 0.6:
        M, H, f = bodies(rng, contacts, d)
        w = rng.standard_normal(d * contacts) * (rng.random() < 0.3)
        return ss.ConeProblem.from_bodies(M, H, f, mu, w, law)
    q = rng.standard_normal(d * contacts) * (10.0 ** rng.uniform(-6, 6) if rng.random() < 0.3 else 1.0)
    return ss.ConeProblem(delassus(rng, d * contacts), q, mu, law=law)


def random_cylinder(rng):
    cone = random_cone(rng)
    return ss.CylinderProblem(cone.W, cone.q, rng.choice([0.0, 1.0, 1e-3, 1e3], cone.contacts) * rng.random())


def random_surface(rng):
    contacts = int(rng.choice([1, 1, 2, 3, 5]))
    W, q = delassus(rng, 4 * contacts), rng.standard_normal(4 * contacts)
    e = np.column_stack([np.ones((contacts, 2)), rng.choice([0.0, 0.01, 0.1, 1.0], contacts)])
    surface = [ss.Ellipsoid(), ss.Mixed()][rng.integers(2)]
    return ss.LimitSurfaceProblem(W, q, friction(rng, contacts), e, surface=surface)


# ------------------------------------------------------------------------------------------------------------- judges


def nearest_in_cone(mu, y):
    tangent = length(y[1:])
    if mu * tangent <= -y[0]:
        return 0 * y
    if tangent <= mu * y[0]:
        return y
    ray = np.append(1.0, mu * y[1:] / tangent)
    return ray * (ray @ y) / (ray @ ray)


def nearest_in_cylinder(bound, y):
    tangent = length(y[1:])
    return np.append(max(y[0], 0.0), y[1:] * (bound / tangent if tangent > bound else 1.0))


def contact_map(problem, i, r, u, rho):
    """r - P(r - ρ ũ) of contact i."""
    if isinstance(problem, ss.CylinderProblem):
        return r - nearest_in_cylinder(problem.bound[i], r - rho * u)
    shifted = u.copy()
    if problem.law == "coulomb":
        shifted[0] += problem.mu[i] * length(u[1:])
    return r - nearest_in_cone(problem.mu[i], r - rho * shifted)


def dense(W):
    return W.toarray() if hasattr(W, "toarray") else W


def plain_residual(problem, r, number):
    W, q, r = (np.asarray(a, number) for a in (dense(problem.W), problem.q, r))
    u, d = W @ r + q, problem.dimension
    F = [contact_map(problem, i, r[d * i : d * i + d], u[d * i : d * i + d], 1) for i in range(problem.contacts)]
    scale = max(length(q), length(r), length(u))
    distance = length(np.concatenate(F))
    return float(distance / scale if scale > np.finfo(float).eps else distance)


def own_errors(problem, r):
    """By which share of its own speeds each contact's velocity is wrong: of all that adds up to it."""
    W, q = dense(problem.W), problem.q
    u, d = W @ r + q, problem.dimension
    terms = (np.abs(W) @ np.abs(r) + np.abs(q)).reshape(-1, d)
    found = []
    for i in range(problem.contacts):
        part = slice(d * i, d * i + d)
        trace = np.trace(W[part, part])
        rho = d / trace if trace > 0 else 1.0
        speeds = length(terms[i])
        found.append(length(contact_map(problem, i, r[part], u[part], rho)) / rho / speeds if speeds > 0 else 0.0)
    return np.array(found)


def attack(seed, tally, share=1.0):
    rng = np.random.default_rng(seed)
    kind = rng.random()
    problem = random_cone(rng) if kind < 0.7 else random_cylinder(rng) if kind < 0.85 else random_surface(rng)
    names = (
        CONES if isinstance(problem, ss.ConeProblem)
        else CYLINDERS if isinstance(problem, ss.CylinderProblem) else SURFACES
    )  # fmt: skip
    for name in names:
        if name != "auto" and rng.random() > share:
            continue
        started = time.thread_time()
        try:
            answer = ss.solve(problem, name)
        except ss.InputError:
            tally.counts["refused " + name] += 1
            continue
        except Exception as error:
            tally.note("crash", seed, name, repr(error), traceback.format_exc()[-500:])
            continue
        tally.solves += 1
        if time.thread_time() - started > LONG:
            tally.note("slow", seed, name, time.thread_time() - started)
        tally.counts["solved " + name] += answer.solved
        if answer.solved:
            judge(seed, problem, name, answer, tally)
        elif name == "auto" and not isinstance(problem, ss.CylinderProblem):
            verdict = ss.existence(problem)
            if verdict.verdict == "exists":
                tally.note("exists, not found", seed, repr(problem), answer.residual, verdict.reason[:60])


def judge(seed, problem, name, answer, tally):
    tol = answer.solver.tol
    if isinstance(problem, ss.LimitSurfaceProblem):
        if not ss.residual(problem, answer.x) <= tol:
            tally.note("false", seed, name, ss.residual(problem, answer.x))
        return
    errors = [plain_residual(problem, answer.x, number) for number in (np.float64, np.longdouble)]
    if not max(errors) <= tol * (1 + 1e-6) + 1e-15:
        tally.note("false", seed, name, answer.residual, errors)
    own = own_errors(problem, answer.x)
    if not own.max(initial=0.0) <= OWN:
        tally.note("wrong for its own speeds", seed, name, repr(problem), answer.residual, own.max())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.3, help="of the methods beside auto, tried on each problem")
    given = parser.parse_args()
    tally = Tally()
    with np.errstate(all="ignore"):
        for i in range(given.first, given.first + given.problems):
            before = len(tally.found)
            attack([given.seed, i], tally, given.share)
            for each in tally.found[before:]:
                print(*each, flush=True)
            if i % 500 == 499:
                print(f"# {i + 1} problems, {tally.solves} solves, {dict(tally.counts)}", flush=True)
    print(f"# {given.problems} problems, {tally.solves} solves, {dict(tally.counts)}")


if __name__ == "__main__":
    main()
