"""Newton's method over all blocks of a small island at once, where sweeps are slow: in mechanisms, whose rows all hang
together, and under bodies that slide on several contacts.

Contacts obey (1) of solvers/cone_newton.py, or (2) under the associated law, and bounded joint rows λ = P(λ - u), all
in the scaled variables r = p/s and s u: F(r, u) = 0 with u = W r + q. With A and B the derivatives of F a step solves

    (A + B (W + α)) dr = -F                                                                                    (a)

dense, over the rows whose B is not zero: of the others, open contacts and joint rows at their bounds, dr = -F is known.
W is singular where contacts share a load, and F is far from linear where contacts begin to slip or part. So this is the
proximal point method: F(r, u + α (r - c)) = 0 has a regular matrix, with α > 0 and a centre c that is held, and its
solution is the next centre. First eagerly: each step that makes the residual smaller moves the centre, and lowers α. A
step that makes the residual CHORD times as small, or smaller, is followed by one with the same factors, which costs a
quarter; that is taken back where it does not help. After EAGER steps with care: from the best impulses, with steps
halved down to SHORTEST where |F| does not fall, and with a centre that moves once |F| has fallen to the share
REDUCTION; where INNER steps do not do that, α is raised, and beyond HIGHEST it is given up. Impulses are cut back to
their cones and bounds where they are judged, not in between: Newton's steps go there and back through the outside.

Which of many impulses that move the bodies alike? Those of springs, equally stiff at all blocks, in the limit of stiff
ones: the least Σ p² [1]. They solve F(r, u + e r) = 0 with e -> 0, e = ε s². In islands of up to SPREAD_ROWS a few
steps of Newton's method at a small ε find them; then steps (a) with e for α, which leave loads that move nothing as
they are, take back what ε does to the velocities.

[1] Preclik, Popa, Rüde, Regularizing a time-stepping method for rigid multibody dynamics, Multibody Dynamics 2011,
    (24).
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.engine.places import fill_delassus
from stickslip.engine.sweep import into_cone, judged, measured, respond
from stickslip.jit import bare, dense
from stickslip.solvers.cone_newton import alart_curnier, natural_map
from stickslip.solvers.linear import eliminate, substitute

STEPS, EAGER, INNER = 100, 12, 12  # in all, without care, and around one centre at most
CHORD, REDUCTION, SHORTEST = 0.5, 0.1, 0.25
ALPHA, LEAST, HIGHEST = 1e-3, 1e-7, 1.0  # α at first, at least and at most
LOWER, LOWER_WITH_CARE, RAISE = 0.1, 0.3, 10.0  # what it is multiplied by
MOST_ROWS = 150
SOFT = 1e-6  # ε, of the largest that e becomes
SPREAD_ROWS = 24  # up to which the least loads are found: those of a body on eight contacts
SPREADS, BACK = 4, 2  # steps at ε at most, and back
VECTORS = 14
NUMBERS, INTEGERS = 2 * MOST_ROWS**2 + (VECTORS + 14) * MOST_ROWS, 4 * MOST_ROWS + 1  # of room that it needs


@bare
def newton(
    member, n, sign, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, size, associated, mark,
    numbers, integers, error, tol, p, u, z,
):  # fmt: skip
    """Impulses with a smaller residual, in place, where there are some; u, which is that of p, and z become theirs.
    `size` rows in all; `mark` (places,) is zero, and so it is left; `numbers` (NUMBERS,) and `integers` (INTEGERS,) are
    room. Returns the residual, and whether the island is solved."""
    d, square = G.shape[1], size * size
    contacts = (size - member.size) // (d - 1)
    W, M = numbers[:square].reshape(size, size), numbers[square : 2 * square]
    used = 2 * square + VECTORS * size
    vectors = numbers[2 * square : used].reshape(VECTORS, size)
    r, v, s, kept = vectors[0], vectors[1], vectors[2], vectors[3]
    blocks = numbers[used : used + 4 * contacts * d * d].reshape(4, contacts, d, d)
    bounds = numbers[used + 4 * contacts * d * d : used + 4 * contacts * d * d + 2 * member.size]
    mu_of, shift_of = bounds[:contacts], bounds[contacts : 2 * contacts]
    low, high = bounds[2 * contacts : contacts + member.size], bounds[contacts + member.size :]
    at, active, swaps, row = (
        integers[:size], integers[size : 2 * size], integers[2 * size : 3 * size], integers[3 * size :],
    )  # fmt: skip
    gather(member, n, d, scale, mu, shift, lower, upper, row, at, s, mu_of, shift_of, low, high)
    fill_delassus(start, place, sign, G, member, row, mark, W)
    scale_matrix(member, compliance, soft, row, s, W)
    for i in range(size):
        kept[i], r[i], v[i] = p[at[i]], p[at[i]] / s[i], s[i] * u[at[i]]
    solved = size <= SPREAD_ROWS and find_least(
        member, n, mu, shift, scale, lower, upper, q, associated, tol, at, vectors, blocks[0], blocks[1],
        blocks[2], blocks[3], mu_of, shift_of, low, high, W, M, active, swaps, p, u,
    )  # fmt: skip
    if not solved:
        proximal_point(
            member, n, mu, shift, scale, lower, upper, q, associated, tol, error, at, vectors, blocks[0],
            blocks[1], blocks[2], blocks[3], mu_of, shift_of, low, high, W, M, active, swaps, p, u,
        )  # fmt: skip
    for i in range(size):
        p[at[i]] = kept[i]
    respond(member, n, sign, start, place, G, p, z)
    return judged(member, n, start, place, G, compliance, soft, mu, shift, scale, lower, upper, q, z, tol, p, u)


@bare
def find_least(
    member, n, mu, shift, scale, lower, upper, q, associated, tol, at, vectors, A, B, A_now, B_now, mu_of, shift_of,
    low, high, W, M, active, swaps, p, u,
):  # fmt: skip
    """The least of the loads that solve it to tol, from those at hand; or else these. Returns whether it is solved."""
    r, v, s, kept, F, x, e, change, r_first, v_first = (
        vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5], vectors[6], vectors[7], vectors[8],
        vectors[9],
    )  # fmt: skip
    softly, largest, count, d, size = True, 0.0, 0, A.shape[1], r.size
    for i in range(size):
        largest = max(largest, s[i])
        r_first[i], v_first[i] = r[i], v[i]
    for i in range(size):
        e[i] = SOFT * (s[i] / largest) ** 2
    for k in range(SPREADS + BACK):
        if softly:
            for i in range(size):
                x[i] = v[i] + e[i] * r[i]
            linearise(associated, mu_of, shift_of, low, high, s, r, x, F, A_now, B_now)
            softly = k == 0 or (k < SPREADS and length(F) > tol * length(r))
            if softly:
                A, B, A_now, B_now = A_now, B_now, A, B
                count = fill_active(e, A, B, W, low, high, s, r, x, active, M)
                if not eliminate(M[: count * count].reshape(count, count), swaps):
                    break
        if not softly:
            linearise(associated, mu_of, shift_of, low, high, s, r, v, F, A_now, B_now)
        solve(B, W, active, count, M, swaps, F, x)
        multiply(W, F, change)
        for i in range(size):
            r[i], v[i] = r[i] - F[i], v[i] - change[i]
        cut(d, mu_of, low, high, s, W, x, r, v)
        if not softly:
            put(at, s, r, v, p, u)
            _, solved = measured(member, n, mu, shift, scale, lower, upper, q, tol, p, u)
            if solved:
                for i in range(size):
                    kept[i] = p[at[i]]
                return True
    for i in range(size):
        r[i], v[i] = r_first[i], v_first[i]
    return False


@bare
def proximal_point(
    member, n, mu, shift, scale, lower, upper, q, associated, tol, error, at, vectors, A, B, A_now, B_now, mu_of,
    shift_of, low, high, W, M, active, swaps, p, u,
):  # fmt: skip
    """`kept` becomes the impulses with the least residual that are met on the way to tol."""
    r, v, s, kept, F, x, e, way, change, r_last, v_last, centre, v_centre, v_kept = (
        vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5], vectors[6], vectors[7], vectors[8],
        vectors[9], vectors[10], vectors[11], vectors[12], vectors[13],
    )  # fmt: skip
    careful, again, inner, count, d, size = False, False, 0, 0, A.shape[1], r.size
    alpha, first, far = ALPHA, np.inf, np.inf  # |F| at the centre, and now
    for i in range(size):
        v_kept[i] = v[i]
    for k in range(STEPS):
        if inner == 0:
            for i in range(size):
                centre[i], v_centre[i], x[i] = r[i], v[i], v[i]
            linearise(associated, mu_of, shift_of, low, high, s, r, x, F, A_now, B_now)
            first = far = length(F)
        if not again:
            A, B, A_now, B_now = A_now, B_now, A, B
            for i in range(size):
                e[i] = alpha
            count = fill_active(e, A, B, W, low, high, s, r, x, active, M)
            if not eliminate(M[: count * count].reshape(count, count), swaps):
                return
        solve(B, W, active, count, M, swaps, F, x)
        multiply(W, F, change)
        for i in range(size):
            way[i], r_last[i], v_last[i] = F[i], r[i], v[i]
        share, last = 1.0, far
        while True:
            for i in range(size):
                r[i], v[i] = r_last[i] - share * way[i], v_last[i] - share * change[i]
                x[i] = v[i] + alpha * (r[i] - centre[i])
            linearise(associated, mu_of, shift_of, low, high, s, r, x, F, A_now, B_now)
            far = length(F)
            if far < last or share <= SHORTEST or again or (inner == 0 and not careful):
                break
            share *= 0.5
        for i in range(size):
            way[i], change[i] = r[i], v[i]
        cut(d, mu_of, low, high, s, W, e, way, change)
        put(at, s, way, change, p, u)
        now, solved = measured(member, n, mu, shift, scale, lower, upper, q, tol, p, u)
        helped = now < error
        if again and not helped:
            again, far = False, last
            for i in range(size):
                r[i], v[i] = r_last[i], v_last[i]
                x[i] = v[i] + alpha * (r[i] - centre[i])
            linearise(associated, mu_of, shift_of, low, high, s, r, x, F, A_now, B_now)
            continue
        again = now < CHORD * error and not careful
        inner += 1
        if helped:
            error = now
            for i in range(size):
                kept[i], v_kept[i] = p[at[i]], change[i]
        if solved:
            return
        if far <= REDUCTION * first or (helped and not careful):
            inner = 0
            if not again:
                alpha = max((LOWER_WITH_CARE if careful else LOWER) * alpha, LEAST)
        elif inner == INNER:
            inner, alpha = 0, RAISE * alpha
            if alpha > HIGHEST:
                return
            if not helped:
                for i in range(size):
                    r[i], v[i] = centre[i], v_centre[i]
        if not careful and k + 1 >= EAGER:
            careful, again, inner, alpha = True, False, 0, ALPHA
            for i in range(size):
                r[i], v[i] = kept[i] / s[i], v_kept[i]


@bare
def gather(member, n, d, scale, mu, shift, lower, upper, row, at, s, mu_of, shift_of, low, high):
    """Where the rows of each block begin, the place in p of each row, contacts first, its scale, and its law."""
    row[0] = 0
    for k in range(member.size):
        i = member[k]
        row[k + 1] = row[k] + (d if i < n else 1)
        for x in range(row[k], row[k + 1]):
            at[x], s[x] = d * i + x - row[k], scale[i]
        if i < n:
            mu_of[k], shift_of[k] = mu[i], shift[i]
        else:
            low[k - mu_of.size], high[k - mu_of.size] = lower[i], upper[i]


@dense
def scale_matrix(member, compliance, soft, row, s, W):
    """W <- s (W + ε) s of the rows of some blocks."""
    for k in range(member.size):
        for x in range(row[k], row[k + 1]):
            W[x, x] += compliance[member[k]] if x == row[k] else soft[member[k]] if soft.size > 0 else 0.0
    for x in range(s.size):
        for y in range(s.size):
            W[x, y] *= s[x] * s[y]


@bare
def length(F):
    square = 0.0
    for x in range(F.size):
        square += F[x] * F[x]
    return math.sqrt(square)


@bare
def put(at, s, r, v, p, u):
    """The scaled impulses and velocities of the rows in their places."""
    for x in range(at.size):
        p[at[x]], u[at[x]] = s[x] * r[x], v[x] / s[x]


@bare
def linearise(associated, mu, shift, low, high, s, r, u, F, A, B):
    """F of all rows, and its derivatives at contacts."""
    if associated:
        natural_map(r, u, mu, shift, F, A, B)
    else:
        alart_curnier(r, u, mu, shift, F, A, B)
    first = r.size - low.size
    for k in range(low.size):
        x = first + k
        F[x] = r[x] - min(max(r[x] - u[x], low[k] / s[x]), high[k] / s[x])


@dense
def fill_active(e, A, B, W, low, high, s, r, u, active, M):
    """A + B (W + e) of the rows whose B is not zero, and which these are: returns how many. A and B of a bounded row
    that is inside its bounds are 0 and 1."""
    contacts, d, size, count = A.shape[0], A.shape[1], r.size, 0
    for k in range(contacts):
        if B[k, 0, 0] != 0.0:
            for a in range(d):
                active[count] = d * k + a
                count += 1
    first = count
    for x in range(d * contacts, size):
        k = x - d * contacts
        if low[k] / s[x] < r[x] - u[x] < high[k] / s[x]:
            active[count] = x
            count += 1
    K = M[: count * count].reshape(count, count)
    for i in range(0, first, d):
        x = active[i]
        k = x // d
        w_n, w_1, w_2 = W[x], W[x + 1], W[x + d - 1]
        for a in range(d):
            b_n, b_1, b_2 = B[k, a, 0], B[k, a, 1], B[k, a, 2] if d == 3 else 0.0
            row = K[i + a]
            if count == size:
                for j in range(count):
                    row[j] = b_n * w_n[j] + b_1 * w_1[j] + b_2 * w_2[j]
            else:
                for j in range(count):
                    y = active[j]
                    row[j] = b_n * w_n[y] + b_1 * w_1[y] + b_2 * w_2[y]
            for c in range(d):
                row[i + c] += A[k, a, c] + e[x + c] * B[k, a, c]
    for i in range(first, count):
        row, w = K[i], W[active[i]]
        for j in range(count):
            row[j] = w[active[j]]
        row[i] += e[active[i]]
    return count


@dense
def solve(B, W, active, count, M, swaps, F, x):
    """F <- (A + B (W + e))⁻¹ F, from the factors of its active rows; x is room."""
    contacts, d, known = B.shape[0], B.shape[1], False
    for i in range(count):
        x[i] = F[active[i]]
        F[active[i]] = 0.0
    for y in range(F.size):
        known = known or F[y] != 0.0
    if known:  # what the other rows do
        for i in range(count):
            y = active[i]
            if y >= d * contacts:
                x[i] -= product(W[y], F)
            elif y % d == 0:
                for c in range(d):
                    done = product(W[y + c], F)
                    for a in range(d):
                        x[i + a] -= B[y // d, a, c] * done
    substitute(M[: count * count].reshape(count, count), swaps, x[:count])
    for i in range(count):
        F[active[i]] = x[i]


@dense
def product(w, F):
    total = 0.0
    for y in range(F.size):
        total += w[y] * F[y]
    return total


@dense
def multiply(W, F, x):
    """x <- W F."""
    for y in range(F.size):
        x[y] = product(W[y], F)


@dense
def cut(d, mu, low, high, s, W, x, r, v):
    """Cut r back to cones and bounds, and v with it; x is room."""
    for y in range(r.size):
        x[y] = r[y]
    for k in range(mu.size):
        into_cone(mu[k], d, d * k, r)
    for k in range(low.size):
        y = d * mu.size + k
        r[y] = min(max(r[y], low[k] / s[y]), high[k] / s[y])
    for y in range(r.size):
        change = r[y] - x[y]
        if change != 0.0:
            for k in range(v.size):
                v[k] += W[y, k] * change
