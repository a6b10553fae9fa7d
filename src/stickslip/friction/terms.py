"""The law of a contact, written once: what stabilisation, impact and static/kinetic friction make of one contact.

    0 <= p_n  ⊥  u_n + ε p_n + d >= 0          u_t + ε_t p_t + d_t: friction's own relaxation                    (1)

friction/stabilisation.py says what ε, d, ε_t and d_t are, friction/impact.py what a contact does that bounces. The
kernels here take one contact as numbers. `prepare` of the engine calls them contact by contact in compiled code,
`active_rows` of friction/active.py for matrices that a user brings; so every formulation and world has the same law.

A contact bounces in the step in which it would close: where it is approached faster than the rest speed and

    ψ + h u_f < 0,      u_f its normal velocity at the end of the step without contacts                              (2)

It has neither gap term nor spring: its velocity after the step answers that before it. Where it overlaps it parts as
fast as it would at rest at least, for what rolls is approached a little in every step. What bounces moves by the share
s of the velocity after the step and the share 1 - s of that before it, by which the gap at the end is e² ψ:

    ψ + h (s u⁺ + (1 - s) u) = e² ψ                                                                              (3)

As u⁺² = e² u² too, a ball over a floor has e² of its energy ½ u² + g ψ after a bounce, whatever the step: it rises to
e² of its height, and it never overlaps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stickslip.friction.impact import Impact, Newton
from stickslip.friction.stabilisation import TOUCHING, Gap, Relaxation, Stabilisation
from stickslip.jit import kernel

NOTHING, GAP, SPRINGS = range(3)  # what stabilises
TAKES_PART, APART = range(2)  # whether a contact is in the problem, and why not


class LawNumbers(NamedTuple):
    """The law of a formulation and step as numbers; a negative spring or damper stands for the contact's own."""

    h: float  # step   [s]
    stabilised: int  # NOTHING, GAP or SPRINGS
    recovery: float  # share of an overlap that a step takes back, by a gap term
    brake: float  # deceleration that stops at the surface what is pushed out by it   [m/s²]
    stiffness: float  # of normals   [N/m]
    damping: float  # [N s/m]
    stiffness_tangent: float  # [N/m]
    damping_tangent: float  # [N s/m]
    rest_speed: float  # approach below which nothing bounces   [m/s]
    answers: bool  # the velocity after an impact answers that before it (Newton), not the impulse (Poisson, Routh)
    slip_speed: float  # above which friction is kinetic   [m/s]


def law_numbers(h: float, stabilisation: Stabilisation, impact: Impact, slip_speed: float) -> LawNumbers:
    springs = stabilisation if isinstance(stabilisation, Relaxation) else Relaxation()
    gap = stabilisation if isinstance(stabilisation, Gap) else Gap()
    return LawNumbers(
        h=float(h),
        stabilised=NOTHING if stabilisation is None else GAP if isinstance(stabilisation, Gap) else SPRINGS,
        recovery=float(gap.recovery),
        brake=float(gap.brake),
        **{name: -1.0 if value is None else float(value) for name, value in vars(springs).items()},
        rest_speed=float(impact.rest_speed),
        answers=isinstance(impact, Newton),
        slip_speed=float(slip_speed),
    )


@kernel
def bounces(law, gap, restitution, u_n, free):
    """Does a contact of normal velocity u_n, and u_f `free` of (2), bounce in this step?"""
    return restitution > 0.0 and -u_n > law.rest_speed and gap + law.h * free < 0.0


@kernel
def part(law, gap, bouncing):
    """TAKES_PART, or APART where there is no stabilisation and the contact is open and does not bounce."""
    return APART if law.stabilised == NOTHING and gap > TOUCHING and not bouncing else TAKES_PART


@kernel
def normal_terms(law, gap, restitution, u_n, bouncing, stiffness, damping):
    """d and ε of (1) for a contact with the normal velocity u_n at the start; ε is inf without spring and damper."""
    if bouncing:
        return (min(restitution * u_n, -parting(law, gap)) if law.answers else 0.0), 0.0
    if law.stabilised == NOTHING:
        return 0.0, 0.0
    if law.stabilised == GAP:
        return (gap / law.h if gap > TOUCHING else recovered(law, gap)), 0.0
    k = spring(law, stiffness)
    b = damping if law.damping < 0.0 else law.damping
    share = 1.0 / law.h if k == math.inf else k / (law.h * k + b)
    return share * gap, compliance(law.h, k, b)


@kernel
def spring(law, stiffness):
    """The stiffness of a normal, between surfaces that have this one."""
    return stiffness if law.stiffness < 0.0 else law.stiffness


@kernel
def rigid(law, stiffness):
    """Does a step keep what touches there from going into each other?"""
    return law.stabilised == GAP or (law.stabilised == SPRINGS and spring(law, stiffness) == math.inf)


@kernel
def recovered(law, gap):
    """d of a gap term for an overlap, and for a gap that is rounding."""
    d = law.recovery * gap / law.h
    return max(d, -math.sqrt(-2.0 * law.brake * gap)) if gap < 0.0 else d


@kernel
def parting(law, gap):
    """The velocity that a gap term asks of an overlap; 0 where there is neither."""
    return -recovered(law, gap) if law.stabilised == GAP and gap < 0.0 else 0.0


@kernel
def returned(law, restitution, bouncing):
    """e of a contact that bounces by its impulse: under Poisson's and Routh's rule."""
    return restitution if bouncing and not law.answers else 0.0


@kernel
def bounced_share(law, gap, restitution, u_n, after):
    """s of (3) for a contact that bounced from u_n to `after`."""
    change = after - u_n
    wanted = (restitution * restitution - 1.0) * gap / law.h - u_n
    return min(max(wanted / change, 0.0), 1.0) if change > 0.0 else 1.0


@kernel
def tangent_terms(law, stiffness, damping):
    """ε_t of (1), and ε_t h b_t, by which the velocity at the start enters d_t."""
    if law.stabilised != SPRINGS:
        return 0.0, 0.0
    k = stiffness if law.stiffness_tangent < 0.0 else law.stiffness_tangent
    b = damping if law.damping_tangent < 0.0 else law.damping_tangent
    relaxed = compliance(law.h, k, b)
    return relaxed, relaxed * law.h * b if relaxed > 0.0 else 0.0


@kernel
def compliance(h, stiffness, damping):
    """ε = 1/(h² k + h b)."""
    resistance = h * (h * stiffness + damping)
    return 1.0 / resistance if resistance > 0.0 else math.inf


@kernel
def slip_of(u_t, u_o, u_r, patch):
    """The speed at which a contact slides, over a patch that of the point of it which slides fastest."""
    return math.sqrt(u_t * u_t + u_o * u_o + (patch * u_r) ** 2)


@kernel
def friction_of(law, static, kinetic, slip):
    """The coefficient that holds, and whether the contact slides, at the speed of slip at the start."""
    sliding = slip > law.slip_speed
    return (kinetic if sliding else static), sliding
