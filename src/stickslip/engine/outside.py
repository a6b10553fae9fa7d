"""The solve of an island outside of the compiled loop: any formulation, by any solver of the library.

The arrays of engine/rows.py become the ActiveRows of friction/active.py, with W over the blocks of the island;
the formulation poses its problem, the solver answers, and the impulses go back into the arrays. Joint rows without
bounds, motors of infinite strength, are eliminated first: with W = [A B; Bᵀ C], A theirs,

    λ = -A⁻¹ (q_λ + B p),     W <- C - Bᵀ A⁻¹ B,     q <- q_p - Bᵀ A⁻¹ q_λ

Rigid contacts that repeat each other can share a load in many ways. Friction that depends on the step before, by its
bounds or bristles, would follow every whim of the solver there, and what should rest would creep. Such steps have the
loads of equal, stiff springs, the least Σ p_n²: with springs of a small compliance e, W_nn + e, the loads are unique;
then a few proximal steps, q_n - e p_n with p_n of the step before, take back what e does to the velocities and leave
alone how the load is shared.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.dynamics.contact_rows import contact_velocity
from stickslip.engine.ahead import NOTABLE
from stickslip.engine.apart import carried_off
from stickslip.engine.correct import CONTACTS_A_BODY
from stickslip.engine.places import delassus, felt, set_unit
from stickslip.engine.rows import ACTIVE, BOUNDED, ISLAND, Rules, Work
from stickslip.engine.sweep import STRAIN, find_velocities, respond, sweep
from stickslip.engine.sweep import strained as strained_blocks
from stickslip.friction.active import ActiveRows
from stickslip.friction.formulation import Formulation, Posed
from stickslip.friction.impact import RowImpulses, stepped
from stickslip.jit import kernel
from stickslip.problems.friction_sets import FrictionSet
from stickslip.problems.matrix import Dense, Indices, Matrix, Vector, affine_dense, as_dense
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import judge, judge_box
from stickslip.scene.friction_law import SetTable
from stickslip.solvers.block_lu import MOST_CONTACTS
from stickslip.solvers.body_lu import Legs
from stickslip.solvers.body_newton import approach
from stickslip.solvers.cone_interior_point import ConeInteriorPoint, iterate
from stickslip.solvers.cone_newton import ConeNewton
from stickslip.solvers.cone_system import judge as judge_bodies
from stickslip.solvers.cone_system import own_only
from stickslip.solvers.judice_pires import SMALL, sides_from
from stickslip.solvers.judice_pires import run_small as pivot_small
from stickslip.solvers.nsgs import NSGS
from stickslip.solvers.solution import Solution, Solver, Status, conclude
from stickslip.solvers.solve import WARM as WARM_PIVOTS
from stickslip.solvers.solve import Auto, chosen, solve, solver_of
from stickslip.solvers.status import SOLVED

STEPS = 100  # of the interior point method, and of Newton's: where it converges, it does in fewer
FEW_STEPS, MANY_STEPS = 10, 200  # of Newton's method over the bodies, each time, and where tol is asked for
LONG = 200  # sweeps over an island whose overlaps are let be
IN_TURN = 3  # times that sweeps and Newton's method over the bodies go on where velocities carry bodies into each other
MORE_STEPS, ROUGH = 40, 1e-6  # of the interior point method over the bodies, and where rounding ends it
PROXIMAL = 1e-2  # its first α
DENSE = 256  # rows up to which W is dense
CLOSER = 0.1  # share of tol that the interior point method goes down to, lest the next step start just above tol
WARM = 10.0  # times accept: a start that is further off costs the interior point method more steps than none
SOFT, BACK = 1e-6, 4  # e as a share of the mean of W_nn, and proximal steps at most
REPEATED = 1e-9  # eigenvalues of W_nn below this share of the largest: rows that repeat others


class Solved(NamedTuple):
    """What the outside found for an island."""

    impulses: RowImpulses
    states: Indices  # (k,)   of the contacts
    answer: Any  # Solution of the mathematical problem, the worst of several under Poisson's and Routh's rule, or None
    iterations: int  # of all that ran
    status: Status  # SOLVED, INEXACT where the residual is accepted, or the answer's
    q: Vector | None = None  # that of the rows which were solved instead, see `finish_sweeps`
    solver: Any = None  # and its residual, where no mathematical problem was posed
    residual: float = np.inf

    @property
    def ok(self) -> bool:
        return self.status in (Status.SOLVED, Status.INEXACT)


def graded(answer: Solution, accept: float) -> Status:
    """How good an answer is for a run that accepts this residual."""
    if answer.solved or not judge(answer.problem, answer.x, accept)[2]:
        return answer.status
    return Status.INEXACT


def rows_of(
    work: Work,
    rules: Rules,
    members: Indices,
    time: float,
    grain: tuple[Dense, bool] | None = None,
    sets: SetTable | None = None,
) -> ActiveRows:
    """The blocks as a formulation sees them; `grain` is an axis fixed in the first or, where True, the second body,
    `sets` the friction sets of pairs of materials."""
    law, answer, contacts, surfaces = work.law, work.answer, work.contacts, work.surfaces
    k, D = contacts_among(members, int(work.count[ACTIVE])), work.rows.jacobian.shape[2]
    m, found, sliding = members.size - k, np.empty(k, np.int64), np.empty(k, np.bool_)
    numbers, vectors, tangents, point = np.empty((7, k)), np.empty((2, k, D)), np.empty((2, k, D - 1)), np.empty((k, 3))
    whole, bounds = np.empty((2, D * k + m)), np.empty((2, m))
    gather(
        members, k, work.rows.found, work.rows.body, work.rows.jacobian, work.moving, contacts.shape_a,
        contacts.shape_b, contacts.gap, contacts.point, surfaces.material, surfaces.friction_static,
        surfaces.restitution, surfaces.patch, law.q, law.before, law.runs, law.lower, law.upper, law.mu, law.sliding,
        law.compliance_tangent, law.damped, law.restitution, answer.free, answer.start, bool(rules.law.answers),
        found, sliding, numbers, vectors, tangents, point, whole, bounds,
    )  # fmt: skip
    mu, mu_static, compliance_tangent, returned, restitution, gap, patch = numbers
    chosen: tuple[FrictionSet | None, ...] = ()
    if sets is not None:
        a, b = (surfaces.material[shape[found]].tolist() for shape in (contacts.shape_a, contacts.shape_b))
        chosen = tuple(sets[pair] for pair in zip(a, b, strict=True))
    return ActiveRows(
        contacts=found,
        dimension=D,
        h=rules.law.h,
        W=matrix_of(work, members, D * k + m),
        q=whole[0],
        lower=bounds[0],
        upper=bounds[1],
        mu=mu,
        mu_static=mu_static,
        sliding=sliding,
        slip=tangents[0],
        previous=vectors[1],
        compliance_tangent=compliance_tangent,
        bristle=tangents[1],
        returned=returned,
        restitution=restitution,
        gap=gap,
        before=vectors[0],
        falls=whole[1],
        patch=patch,
        grain=np.zeros(k) if grain is None else grain_angles(work, members[:k], *grain),
        point=point,
        time=time,
        surfaces=chosen,
    )


def contacts_among(members: Indices, n: int) -> int:
    """How many of the blocks are contacts, which come first."""
    return members.size if members.size == 0 or members[-1] < n else int(np.searchsorted(members, n))


@kernel
def gather(
    members, k, found, body, J, moving, shape_a, shape_b, gap, point, material, static, restitution, patch, q, before,
    runs, lower, upper, mu, sliding, soft, damped, bounced, free, start, answers,
    number, slides, numbers, vectors, tangents, places, whole, bounds,
):  # fmt: skip
    """The fields of ActiveRows, of k contacts and the joint rows behind them; those of the last line are filled."""
    D = J.shape[2]
    for x in range(k):
        i = members[x]
        f = number[x] = found[i]
        a, b = material[shape_a[f]], material[shape_b[f]]
        slides[x] = sliding[i]
        numbers[0, x], numbers[1, x], numbers[2, x] = mu[i], static[a, b], soft[i]
        numbers[3, x], numbers[4, x] = 0.0 if answers else bounced[i], restitution[a, b]
        numbers[5, x], numbers[6, x] = gap[f], patch[a, b]
        for c in range(3):
            places[x, c] = point[f, c]
        for c in range(D):
            at = D * i + c
            vectors[0, x, c], vectors[1, x, c] = before[at], start[at]
            whole[0, D * x + c] = q[at]
            whole[1, D * x + c] = contact_velocity(body, J, moving, i, c, free) + runs[at] - before[at]
        for c in range(D - 1):
            tangents[0, x, c] = before[D * i + 1 + c]
            tangents[1, x, c] = -(soft[i] * start[D * i + 1 + c] + damped[i] * before[D * i + 1 + c])
    for x in range(members.size - k):
        i = members[k + x]
        whole[0, D * k + x], whole[1, D * k + x], bounds[0, x], bounds[1, x] = q[D * i], 0.0, lower[i], upper[i]


def matrix_of(work: Work, members: Indices, size: int, rigid: bool = False) -> Matrix:
    """W with ε of normals, unless they are taken as rigid, and Σ of bounded rows; dense where it is small."""
    rows, n = work.rows, int(work.count[ACTIVE])
    compliance = np.zeros_like(work.law.compliance) if rigid else work.law.compliance
    if size <= DENSE:
        return dense_matrix(rows.start, rows.place, work.sign, rows.G, compliance, members, n, work.islands.mark)
    start = first_rows(members, n, rows.G.shape[1])
    arrays = work.sign, rows.start, rows.place, rows.G, compliance, members, start
    values, row, column = sparse_entries(*arrays, *coupled(work, members))
    return sparse.csr_array((values, (row, column)), shape=(size, size))


@kernel
def first_rows(members, n, D):
    """Where the rows of each block begin, and where the last end; contacts, below n, have D."""
    start = np.zeros(members.size + 1, np.int64)
    for x in range(members.size):
        start[x + 1] = start[x] + (D if members[x] < n else 1)
    return start


@kernel
def dense_matrix(begin, place, sign, G, compliance, members, n, mark):
    start = first_rows(members, n, G.shape[1])
    W = delassus(begin, place, sign, G, members, start, mark)
    for x in range(members.size):
        W[start[x], start[x]] += compliance[members[x]]
    return W


def coupled(work: Work, members: Indices) -> tuple[Indices, Indices]:
    """Pairs (x, y) of members, x >= y, that share a place: where those of each y begin, and their x."""
    blocks = int(work.count[ACTIVE] + work.count[BOUNDED])
    start, place = work.rows.start[: blocks + 1], work.rows.place
    stands = sparse.csr_array((np.ones(start[-1]), place[: start[-1]], start), shape=(blocks, work.sign.size))[members]
    pairs = sparse.tril(stands @ stands.T, format="csc")
    return pairs.indptr.astype(np.int64), pairs.indices.astype(np.int64)


@kernel
def sparse_entries(sign, begin, place, G, compliance, members, start, first, other):
    """Of the pairs (other[t], y), first[y] <= t < first[y + 1]."""
    total, z = 0, np.zeros((sign.size, 6))
    for y in range(members.size):
        for t in range(first[y], first[y + 1]):
            x = other[t]
            total += (start[x + 1] - start[x]) * (start[y + 1] - start[y]) * (1 if x == y else 2)
    values, at_row, at_column = np.empty(total), np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for y in range(members.size):
        for k in range(start[y + 1] - start[y]):
            set_unit(begin, place, sign, G, members[y], k, 1.0, z)
            for t in range(first[y], first[y + 1]):
                x = other[t]
                for c in range(start[x + 1] - start[x]):
                    value = felt(begin, place, G, members[x], c, z)
                    if x == y and c == 0 and k == 0:
                        value += compliance[members[x]]
                    values[at], at_row[at], at_column[at] = value, start[x] + c, start[y] + k
                    at += 1
                    if x != y:
                        values[at], at_row[at], at_column[at] = value, start[y] + k, start[x] + c
                        at += 1
            set_unit(begin, place, sign, G, members[y], k, 0.0, z)
    return values, at_row, at_column


def grain_angles(work: Work, i: Indices, axis: Dense, second: bool) -> Dense:
    """The angle, from t towards o, of an axis fixed in the first or second body of each contact; 0 where the axis
    stands on the contact."""
    body = work.rows.body[i]
    owner = body.max(axis=1) if second else body.min(axis=1)
    along = np.einsum("ckj,cj->ck", work.rows.frame[i, 1:], work.bodies.R[owner] @ axis)
    return np.arctan2(along[:, 1], along[:, 0])


def solve_rows(
    formulation: Formulation,
    rows: ActiveRows,
    solver: str | Solver,
    tol: float,
    accept: float,
    new: NDArray[np.bool_] | None = None,
) -> Solved:
    """The impulses of rows. Contacts that are new have no normal impulse of the step before: where friction is bounded
    by that, it is taken from a solve without friction."""
    answers: list[Solution] = []
    method = solver_of(solver, tol)

    def solve_once(rows: ActiveRows) -> RowImpulses:
        posed = pose(formulation, rows)
        e = 0.0 if posed.normal is None else softness(rows)
        answer = least_loads(posed, method, e) if e > 0.0 else None
        answers.append(answer or method.solve(posed.problem, posed.start))
        return posed.decode(answers[-1].x)

    if formulation.lagged and new is not None and new.any():
        smooth = stepped(formulation.impact, replace(rows, mu=np.zeros(rows.count)), solve_once)
        answers.clear()
        previous = rows.previous.copy()
        previous[new, 0] = smooth.p[new, 0]
        rows = replace(rows, previous=previous)
    impulses = stepped(formulation.impact, rows, solve_once)
    worst = answers[0] if len(answers) == 1 else min(answers, key=lambda answer: (answer.solved, -answer.residual))
    states = formulation.states(rows, impulses, tol)
    return Solved(impulses, states, worst, sum(answer.iterations for answer in answers), graded(worst, accept))


def softness(rows: ActiveRows) -> float:
    """e where normals repeat each other, so that they can share a load in many ways; 0 elsewhere."""
    if rows.count < 2 or not isinstance(rows.W, np.ndarray):
        return 0.0
    return softness_of(rows.W, rows.dimension, rows.count)


@kernel
def softness_of(W, d, k):
    """By Cholesky's factors of W_nn with the greatest pivot first: the rank is where no pivot is left."""
    A, first, e = np.empty((k, k)), 0.0, 0.0
    for i in range(k):
        e += SOFT * W[d * i, d * i] / k
        for j in range(k):
            A[i, j] = W[d * i, d * j]
    for s in range(k):
        best = s
        for i in range(s, k):
            if A[i, i] > A[best, best]:
                best = i
        pivot = A[best, best]
        first = max(first, pivot)
        if pivot <= REPEATED * first:
            return e
        for j in range(k):
            A[s, j], A[best, j] = A[best, j], A[s, j]
        for i in range(k):
            A[i, s], A[i, best] = A[i, best], A[i, s]
        for i in range(s + 1, k):
            for j in range(s + 1, k):
                A[i, j] -= A[i, s] * A[s, j] / pivot
    return 0.0


def least_loads(posed: Posed, method: Solver, e: float) -> Solution | None:
    """The solution with the loads of equal, stiff springs, or None where the proximal steps do not lead to one."""
    started, iterations, x = time.perf_counter(), 0, posed.start
    problem: Any = posed.problem  # a MixedLCP, of friction with bristles
    normal: Any = posed.normal
    if isinstance(method, Auto) and problem.size <= SMALL:
        pivoting: Any = chosen("judice_pires", method.tol, max_iter=WARM_PIVOTS)  # what Auto does first, from a start
        z, solved, made = least_by_pivoting(
            problem.M, problem.q, problem.lower, problem.upper, normal, e, x, pivoting.patience, WARM_PIVOTS,
            method.tol,
        )  # fmt: skip
        answer = conclude(problem, pivoting, z, Status.SOLVED, made, started) if solved else None
        if answer is not None and answer.solved:
            return answer
    M, loads = np.array(problem.M), np.zeros(normal.size)
    M[normal, normal] += e
    for _ in range(BACK):
        q = problem.q.copy()
        q[normal] -= e * loads
        answer = method.solve(MixedLCP(M, q, problem.lower, problem.upper), x)
        iterations += answer.iterations
        if not answer.solved:
            return None
        x, loads = answer.x, answer.x[normal]
        if judge(problem, x, method.tol)[2]:
            return conclude(problem, answer.solver, x, Status.SOLVED, iterations, started)
    return None


@kernel
def least_by_pivoting(M, q, lower, upper, normal, e, start, patience, limit, tol):
    """The same of a small dense problem by block pivoting: z, whether it solves the problem, and factorisations."""
    soft, b, z, w, made = M.copy(), q.copy(), start.copy(), np.empty_like(q), 0
    for j in normal:
        soft[j, j] += e
    for _ in range(BACK):
        sides = sides_from(soft, b, lower, upper, z)
        z, ended, more = pivot_small(soft, b, lower, upper, sides, patience, limit, tol)
        made += more
        if ended != SOLVED:
            return z, False, made
        affine_dense(M, z, q, w)
        if judge_box(M, q, lower, upper, tol, z, w)[1]:
            return z, True, made
        for j in normal:
            b[j] = q[j] - e * z[j]
    return z, False, made


def pose(formulation: Formulation, rows: ActiveRows) -> Posed:
    """The problem of the rows, those without bounds eliminated."""
    unbounded = np.isinf(rows.lower) & np.isinf(rows.upper)
    if not (unbounded.size and unbounded.any()):
        return formulation.posed(rows)
    out = rows.joint[unbounded]
    kept = np.setdiff1d(np.arange(rows.q.size), out)
    W = np.asarray(as_dense(rows.W))
    X = np.linalg.lstsq(W[np.ix_(out, out)], np.column_stack([W[np.ix_(out, kept)], rows.q[out]]), rcond=None)[0]
    C, B = W[np.ix_(kept, kept)], W[np.ix_(out, kept)]
    rest = replace(rows, lower=rows.lower[~unbounded], upper=rows.upper[~unbounded])
    posed = formulation.posed(replace(rest, W=C - B.T @ X[:, :-1], q=rows.q[kept] - B.T @ X[:, -1]))

    def decode(x: NDArray[np.float64]) -> RowImpulses:
        found = posed.decode(x)
        bounded = np.empty(unbounded.size)
        bounded[~unbounded], bounded[unbounded] = found.bounded, -(X[:, :-1] @ found.x + X[:, -1])
        return RowImpulses(found.p, bounded)

    return Posed(posed.problem, posed.start, decode, posed.normal)


def finish_sweeps(
    formulation: Formulation, rows: ActiveRows, before: Dense, tol: float, accept: float, exact: bool, due: bool
) -> Solved:
    """What compiled sweeps left: by the interior point method, where that comes close but not to the end by Newton's
    from there, and where they fail or there are too many contacts by all that `auto` knows. All aim for tol where the
    island is to be solved `exact`, for accept otherwise; where it is `due`, the first two aim for tol in any case.

    Friction can grip: contacts press on each other and move nothing, whatever the impulses, as those of a ball between
    floor and wall with μ > 1 do. If they overlap, or are to bounce, they should open, and no impulse opens them: there
    is no solution, and impulses grow without bound. Such an island is solved without that, as INEXACT: see `let_be`.
    A heap with μ = 5 grips in nearly every step. So where nothing bounces, and an island is not to be solved exactly,
    overlaps wait rather than that all methods are tried. `before` are the impulses of the step before."""
    posed = pose(formulation, rows)
    states = np.zeros(rows.count, np.int64)  # which the loop tells itself, of cones
    problem: Any = posed.problem  # a ConeProblem, or sweeps would not have begun
    start: Any = posed.start
    iterations, goal, calm = 0, tol if exact else accept, let_be(rows) if accept > tol else None
    can_wait = calm is not None and not exact and not rows.restitution.any()
    if problem.contacts <= MOST_CONTACTS and (due or not can_wait):
        answer = approached(problem, start, tol, accept, due)
        iterations = answer.iterations
        grips = calm is not None and strained(problem, answer.x)
        if calm is not None and grips and not can_wait:
            eased = pose(formulation, calm)
            other = approached(eased.problem, eased.start, tol, accept, due)
            iterations += other.iterations
            if judge(eased.problem, other.x, goal)[2] and relieved(answer.x, other.x):
                return Solved(eased.decode(other.x), states, other, iterations, Status.INEXACT, calm.q)
        if not (grips and can_wait):
            if judge(problem, answer.x, tol)[2]:  # close enough to tol, if not to the share of it that was aimed for
                method: Any = answer.solver
                answer = replace(answer, status=Status.SOLVED, solver=replace(method, tol=tol))
                return Solved(posed.decode(answer.x), states, answer, iterations, Status.SOLVED)
            better = start is None or not judge(problem, start, accept)[1] <= answer.residual
            if not exact and better and judge(problem, answer.x, accept)[2]:
                return Solved(posed.decode(answer.x), states, answer, iterations, Status.INEXACT)
            if better and answer.residual < np.inf:
                start = answer.x
    if calm is not None and can_wait:
        waited = without_overlaps(formulation, calm, before, accept)
        if waited is not None:
            return waited._replace(iterations=iterations + waited.iterations)
    answer = solve(problem, method="auto", tol=goal, x0=start)
    status = graded(answer, accept)
    if status == Status.SOLVED and not judge(problem, answer.x, tol)[2]:
        status = Status.INEXACT
    if status not in (Status.SOLVED, Status.INEXACT) and calm is not None:
        eased = pose(formulation, calm)
        other = solve(eased.problem, method="auto", tol=goal, x0=eased.start)
        if graded(other, accept) in (Status.SOLVED, Status.INEXACT):
            iterations += answer.iterations + other.iterations
            return Solved(eased.decode(other.x), states, other, iterations, Status.INEXACT, calm.q)
    return Solved(posed.decode(answer.x), states, answer, iterations + answer.iterations, status)


def without_overlaps(formulation: Formulation, calm: ActiveRows, before: Dense, accept: float) -> Solved | None:
    """A large island whose overlaps are let be: by sweeps from the impulses of the step before, half of them where they
    are strained, or else by the interior point method; None where neither leads to what is accepted."""
    posed = pose(formulation, replace(calm, previous=before))
    problem: Any = posed.problem
    start: Any = posed.start
    share = 0.5 if strained(problem, start, 1.0) else 1.0
    answer = NSGS(tol=accept, max_iter=LONG).solve(problem, share * start)
    iterations = answer.iterations
    if not answer.solved and problem.contacts <= MOST_CONTACTS:
        answer = ConeInteriorPoint(tol=accept, max_iter=STEPS).solve(problem)
        iterations += answer.iterations
    if not judge(problem, answer.x, accept)[2]:
        return None
    states = np.zeros(calm.count, np.int64)
    return Solved(posed.decode(answer.x), states, answer, iterations, Status.INEXACT, calm.q)


def finish_by_bodies(work: Work, rules: Rules, members: Indices, exact: bool) -> Solved | None:
    """The same of an island without joints, factorised over its bodies; None where it has too few contacts a body for
    that to be of use, or it does not lead to what is aimed for: tol where the island is to be solved `exact`, accept
    otherwise.

    Newton's method goes on from what sweeps left. Where that is not enough, from the answer of the interior point
    method. A residual is that of all masses together: where bodies would go notably into each other by velocities that
    it hides, as a bullet into a brick, sweeps and Newton's method go on in turn."""
    rows, law, answer, n = work.rows, work.law, work.answer, int(work.count[ACTIVE])
    d = rows.G.shape[1]
    if d > 3 or members[-1] >= n or work.islands.stiff[work.count[ISLAND]]:
        return None
    soft = law.compliance_tangent if rules.relaxes_friction else law.compliance_tangent[:0]
    legs = legs_of(members, rows.start, rows.place, rows.G, law.compliance, soft, work.islands.mark)
    if members.size < CONTACTS_A_BODY * legs.bodies:
        return None
    component = (d * members[:, None] + np.arange(d)).ravel()
    q, mu, shift, r = law.q[component], law.mu[members], law.shift[members], answer.p[component]
    if not np.isfinite(r).all():
        r = answer.start[component]
    aim, near, W, u = CLOSER * rules.tol, CLOSER * rules.accept, own_only(legs, d), np.empty_like(q)

    def judged_at(tol: float) -> tuple[float, bool]:
        return judge_bodies(W, legs, q, mu, shift, tol, r, u)

    def carried() -> float:
        judged_at(rules.tol)
        every, body, scale = np.arange(members.size), rows.body[members], law.scale[members]
        h, radius = rules.law.h, work.bodies.radius
        return float(carried_off(every, every.size, body, radius, work.width, h, mu, shift, scale, r, u))

    method: Solver = ConeNewton(tol=aim, max_iter=FEW_STEPS)
    iterations = newton_over_bodies(legs, q, mu, shift, aim, FEW_STEPS, r)
    if not judged_at(rules.tol)[1] and (exact or not judged_at(near)[1]):
        if exact or not judged_at(rules.accept)[1]:
            far = ROUGH if exact else near
            method = ConeInteriorPoint(tol=far, max_iter=MORE_STEPS)
            r[:] = 0.0
            iterations += iterate(W, legs, q, mu, shift, far, MORE_STEPS, method.restarts, r)[1]
        iterations += newton_over_bodies(legs, q, mu, shift, aim, MANY_STEPS if exact else FEW_STEPS, r)
    best, least = r.copy(), carried()
    for _ in range(IN_TURN):
        if least <= NOTABLE:
            break
        answer.p[component] = r
        respond(members, n, work.sign, rows.start, rows.place, rows.G, answer.p, answer.z)
        for _ in range(FEW_STEPS):
            sweep(
                members, n, work.sign, rows.start, rows.place, rows.G, law.q, law.compliance, soft, law.mu, law.own,
                law.inverse, law.lower, law.upper, rules.associated, 1.0, answer.p, answer.z,
            )  # fmt: skip
        r[:] = answer.p[component]
        iterations += FEW_STEPS + newton_over_bodies(legs, q, mu, shift, aim, FEW_STEPS, r)
        now = carried()
        if now < least and judged_at(rules.accept)[1]:
            best[:], least = r, now
    r = best
    error, solved = judged_at(rules.tol)
    if strained_blocks(np.arange(members.size), members.size, law.scale[members], q, r):
        return None
    if not solved and (exact or not judged_at(rules.accept)[1]):
        return None
    p, states = r.reshape(-1, d), np.zeros(members.size, np.int64)
    status = Status.SOLVED if solved else Status.INEXACT
    return Solved(RowImpulses(p, np.zeros(0)), states, None, iterations, status, None, method, float(error))


def newton_over_bodies(legs: Legs, q: Vector, mu: Vector, shift: Vector, tol: float, steps: int, r: Vector) -> int:
    """Newton's method from r, in place."""
    d = q.size // mu.size
    full, start = (np.zeros((mu.size, 3)) for _ in range(2))
    full[:, :d], start[:, :d] = q.reshape(-1, d), r.reshape(-1, d)
    x = start.ravel()
    made = int(approach(legs, full.ravel(), mu, shift, tol, PROXIMAL, steps, x))
    cut_back(mu, x.reshape(-1, 3))
    r[:] = x.reshape(-1, 3)[:, :d].ravel()
    return made


@kernel
def legs_of(members, start, place, G, compliance, soft, mark):
    """The legs of some contacts; `mark` (places,) is zero, and so it is left."""
    n, d, count = members.size, G.shape[1], 0
    first = np.zeros(n + 1, np.int64)
    for k in range(n):
        first[k + 1] = first[k] + start[members[k] + 1] - start[members[k]]
    body, rows, give = np.empty(first[n], np.int64), np.zeros((first[n], 3, 6)), np.zeros((n, 3))
    for k in range(n):
        i = members[k]
        give[k, 0] = compliance[i]
        if soft.size > 0:
            give[k, 1:d] = soft[i]
        for t in range(start[i], start[i + 1]):
            if mark[place[t]] == 0:
                count += 1
                mark[place[t]] = count
            at = first[k] + t - start[i]
            body[at] = mark[place[t]] - 1
            rows[at, :d] = G[t]
    for k in range(n):
        for t in range(start[members[k]], start[members[k] + 1]):
            mark[place[t]] = 0
    return Legs(first, body, rows, give, count)


def approached(problem: Any, start: Vector | None, tol: float, accept: float, due: bool) -> Solution:
    """By the interior point method, and where it is `due` and that does not reach tol by Newton's from there."""
    aim = CLOSER * (tol if due else accept)
    warm = start is not None and judge(problem, start, accept)[1] <= WARM * accept
    answer = ConeInteriorPoint(tol=aim, max_iter=STEPS).solve(problem, start if warm else None)
    if not due or judge(problem, answer.x, tol)[2] or strained(problem, answer.x):
        return answer
    started, method, before = time.perf_counter(), ConeNewton(tol=aim, max_iter=STEPS), answer.iterations
    answer = method.solve(problem, answer.x)
    r = answer.x.reshape(-1, problem.dimension).copy()
    cut_back(problem.mu, r)
    return conclude(problem, method, r.ravel(), answer.status, before + answer.iterations, started)


def let_be(rows: ActiveRows) -> ActiveRows | None:
    """The rows without what would open contacts that overlap or bounce, d < 0 in friction/terms.py, from no impulses;
    None where there is nothing of that."""
    normal = rows.normal
    d = rows.q[normal] - rows.before[:, 0] - rows.falls[normal]
    if not (d < 0).any():
        return None
    q = rows.q.copy()
    q[normal] -= np.minimum(d, 0.0)
    return replace(rows, q=q, previous=np.zeros_like(rows.previous))


def strained(problem: Any, x: Vector, times: float = STRAIN) -> bool:
    """Is an impulse so many times greater than those of all contacts together that would stop each alone?"""
    return not np.abs(x).max() <= times * float(
        problem.weights @ np.abs(problem.q).reshape(problem.contacts, -1).sum(1)
    )


def relieved(x: Vector, y: Vector) -> bool:
    """Are the impulses y clearly less than x?"""
    return not np.abs(x).max() <= STRAIN * np.abs(y).max()


def cut_back(mu: Vector, r: Dense) -> None:
    """Bring impulses back to their cones, which Newton's method leaves by as much as its tolerance."""
    r[:, 0] = np.maximum(r[:, 0], 0.0)
    most, friction = mu * r[:, 0], np.linalg.norm(r[:, 1:], axis=1)
    r[:, 1:] *= np.divide(most, friction, out=np.ones_like(most), where=friction > most)[:, None]


def put_back(work: Work, members: Indices, impulses: RowImpulses, states: Indices) -> None:
    """Write the impulses and states of members into the answer, and the velocities u that come of them."""
    rows, law, answer, n = work.rows, work.law, work.answer, int(work.count[ACTIVE])
    write_back(
        members, n, impulses.p, impulses.bounded, states, work.sign, rows.start, rows.place, rows.G, law.compliance,
        law.compliance_tangent[:0], law.q, answer.p, answer.state, answer.z, answer.u,
    )  # fmt: skip


@kernel
def write_back(members, n, found, bounded, states, sign, start, place, G, compliance, soft, q, p, state, z, u):
    k, D = found.shape
    for x in range(k):
        state[members[x]] = states[x]
        for c in range(D):
            p[D * members[x] + c] = found[x, c]
    for x in range(members.size - k):
        p[D * members[k + x]] = bounded[x]
    respond(members, n, sign, start, place, G, p, z)
    find_velocities(members, n, start, place, G, compliance, soft, q, z, p, u)


def whole_step(work: Work) -> Indices:
    """All blocks, whatever their island."""
    return np.arange(int(work.count[ACTIVE] + work.count[BOUNDED]))
