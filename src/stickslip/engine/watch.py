"""A look at every step: which sliding contacts enter their locking sector?

Contact i slides along e with friction μ. What a unit of its normal force does to its normal velocity, together with its
friction and with the other closed contacts kept as they are, is its margin

    s = a - μ hᵀ e,      a = W_nn, h = W_nt of   W_i = W_ii - W_iF (C W F)⁺ C W_i                                   (1)

C the rows that stay still, of sliding contacts the normal, of sticking ones all, and F the forces that keep them so: of
a sliding one the normal less μ times its direction. Below zero the contact jams, and μ_jam = a / |h| [1]. The matrix is
that of the closed contacts, dense: a watch is for mechanisms, not for piles.

[1] Peiret, Kövecses, Font-Llagunes, Analysis of friction coupling and the Painlevé paradox in multibody systems,
    Multibody System Dynamics 45 (2019) 361-378, (36) and (38).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stickslip.errors import InputError
from stickslip.problems.contact_states import State
from stickslip.problems.matrix import Dense, Indices, Vector

RANK = 1e-10  # singular values of C W F, and margins, below this share of their terms are zero


@dataclass(frozen=True)
class JamEvent:
    """A sliding contact has entered its locking sector."""

    time: float  # at the start of the step   [s]
    step: int
    contact: int  # its number among the contacts of the step
    name: str  # of the contact, or of the two bodies
    mu: float  # that holds
    mu_jam: float
    margin: float  # s of (1), negative   [1/kg]

    def __str__(self) -> str:
        return f"{self.time:g} s: {self.name} jams, mu {self.mu:g}, mu_jam {self.mu_jam:.6g}, margin {self.margin:.3g}"


@dataclass(eq=False)
class JamWatch:
    """Remembers which contacts were in their sectors, so that an event is an entry."""

    inside: set[Hashable] = field(default_factory=set)

    def look(
        self,
        W: Dense,
        mu: Vector,
        slip: Dense,
        sliding: NDArray[np.bool_],
        states: Indices,
        time: float,
        step: int,
        contacts: Sequence[tuple[Hashable, str]],
    ) -> list[JamEvent]:
        """The events of a step, with the response W (d nc, d nc) of rigid contacts and their slip (nc, d - 1) at its
        start: `states` are those it led to, `contacts` a key that persists and a name for each."""
        closed = np.flatnonzero(states != State.OPEN)
        now: set[Hashable] = set()
        events: list[JamEvent] = []
        for i in closed[sliding[closed]]:
            mu_jam, margin = sector(W, mu, slip, sliding, closed, int(i))
            if margin >= 0:
                continue
            key, name = contacts[i]
            now.add(key)
            if key not in self.inside:
                events.append(JamEvent(time, step, int(i), name, float(mu[i]), mu_jam, margin))
        self.inside = now
        return events


def sector(
    W: Dense, mu: Vector, slip: Dense, sliding: NDArray[np.bool_], closed: Indices, i: int
) -> tuple[float, float]:
    """μ_jam and the margin (1) of contact i; the margin is zero where rounding hides it."""
    d = slip.shape[1] + 1
    own = slice(d * i, d * (i + 1))
    still, forces = [], []
    for j in closed[closed != i]:
        rows = np.eye(len(W))[d * j : d * (j + 1)]
        if sliding[j]:
            still.append(rows[0])
            forces.append(rows[0] - mu[j] * slip[j] / np.linalg.norm(slip[j]) @ rows[1:])
        else:
            kept = rows if mu[j] > 0 else rows[:1]
            still.extend(kept)
            forces.extend(kept)
    block = W[own, own]
    if still:
        C, F = np.array(still), np.array(forces).T
        block = block - W[own] @ F @ np.linalg.pinv(C @ W @ F, rcond=RANK) @ C @ W[:, own]
    a, h = float(block[0, 0]), block[0, 1:]
    coupling = float(np.linalg.norm(h))
    margin = a - float(mu[i] * h @ slip[i] / np.linalg.norm(slip[i]))
    if abs(margin) <= RANK * float(np.trace(W[own, own])) * (1 + float(mu[i])):
        margin = 0.0
    return (a / coupling if coupling > 0 else np.inf), margin


def watch_for(what: str | None, inside: Iterable[Hashable] = ()) -> JamWatch | None:
    """The watch that a word stands for, which has seen some contacts in their locking sectors."""
    if what is None:
        return None
    if what != "jamming":
        raise InputError(f"simulate: watch is {what!r}, expected 'jamming' or None")
    return JamWatch(inside=set(inside))
