"""What the impulses of blocks do at the places they act on, and what blocks feel of it: see engine/rows.py.

z = Σ s G_jᵀ p_j,        u_i - q_i = G_i z
"""

from __future__ import annotations

from stickslip.jit import kernel


@kernel
def push(start, place, sign, G, i, components, p_n, p_1, p_2, z):
    """z <- z + s G_iᵀ p of an impulse with so many components."""
    for t in range(start[i], start[i + 1]):
        b = place[t]
        s = sign[b]
        for r in range(6):
            x = G[t, 0, r] * p_n
            if components > 1:
                x += G[t, 1, r] * p_1
            if components > 2:
                x += G[t, 2, r] * p_2
            z[b, r] += s * x


@kernel
def velocity(start, place, G, i, components, z):
    """G_i z in so many components, and zeros."""
    u_n, u_1, u_2 = 0.0, 0.0, 0.0
    for t in range(start[i], start[i + 1]):
        b = place[t]
        for r in range(6):
            u_n += G[t, 0, r] * z[b, r]
        if components > 1:
            for r in range(6):
                u_1 += G[t, 1, r] * z[b, r]
        if components > 2:
            for r in range(6):
                u_2 += G[t, 2, r] * z[b, r]
    return u_n, u_1, u_2


@kernel
def set_unit(start, place, sign, G, i, c, impulse, z):
    """z at the places of block i is that of an impulse in its component c, or none."""
    for t in range(start[i], start[i + 1]):
        b = place[t]
        for r in range(6):
            z[b, r] = sign[b] * impulse * G[t, c, r]


@kernel
def felt(start, place, G, i, c, z):
    """G_i z in component c."""
    total = 0.0
    for t in range(start[i], start[i + 1]):
        for r in range(6):
            total += G[t, c, r] * z[place[t], r]
    return total
