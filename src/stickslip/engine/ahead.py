"""What a step would end in: overlaps that the rows at its start do not see.

Rows tell velocities where bodies are at the start of a step. An edge or a rim that turns by h ω leaves what they say by
about ½ (h ω)² of its size: a capsule of 40 rad/s, which is 0.2 rad in 5 ms, goes into another by 2 % of its length with
every gap of the rows closed exactly, and two boxes may meet with edges that were not nearest before. Joints bend the
way of what hangs on them, too. So where a body turns notably, all are moved for a trial with the velocities v' that
were found, and joints put where they belong. A pair that gets notably deeper, to a gap ψ' < ψ, with ψ <= 0 that of the
start, or what its rows were left with, gets one more row, at the point and along the normal that it has in the end,

    ψ' - ψ + h J (v - v') >= 0,                                                                                    (1)

beside all others, and the step is made again: Newton's method for gaps that are not negative at the end of the step.
J acts where that point is on average over the step, about which it turns; and (1) asks a point to stop at most, never
to come back: one that turns by a radian or more is told little by it, and would be thrown.
Rims on planes roll, in every step a little lower than their row says, and (1) would brake them: they get it where they
end notably deeper than that.
"""

from __future__ import annotations

import math

from stickslip.collision.contacts import AT_THE_END
from stickslip.collision.placement import CYLINDER, PLANE
from stickslip.dynamics.motion import FREE
from stickslip.engine.prepare import approach
from stickslip.jit import bare

NOTABLE = 2e-3  # of the least width of a body: by how much overlaps may grow in a step unseen
ROLLS = 5e-3  # the same of rims on planes
MOST_LOOKS = 3  # of one step from its end
DEEP, GROWS = 2.0, 0.1  # of that: one that ends deeper than the first may grow by the other


@bare
def turns_notably(bodies, width, h, v):
    """Does a body turn so far in the step that its surface may be elsewhere than rows say?"""
    for i in range(v.shape[0]):
        if bodies.kind[i] == FREE:
            spin = math.sqrt(v[i, 3] ** 2 + v[i, 4] ** 2 + v[i, 5] ** 2)
            if h * spin * bodies.radius[i] > NOTABLE * width[i]:
                return True
    return False


@bare
def set_off(state, trial, reach):
    """Before a trial: where bodies are, and that contacts are those that touch."""
    for b in range(reach.size):
        reach[b] = 0.0
    put(state, trial)


@bare
def put(state, image):
    """image <- state."""
    for b in range(state.position.shape[0]):
        for r in range(3):
            image.position[b, r] = state.position[b, r]
        for r in range(4):
            image.quaternion[b, r] = state.quaternion[b, r]
        for r in range(6):
            image.velocity[b, r] = state.velocity[b, r]


@bare
def first_of_pair(contacts, found, at, a, b):
    """The first contact from `at` on of two shapes, or of what comes after them."""
    while at < found and (contacts.shape_a[at] < a or (contacts.shape_a[at] == a and contacts.shape_b[at] < b)):
        at += 1
    return at


@bare
def note_missed(kind, state, trial, h, v, width, shape_body, contacts, found, ahead, seen, added, missed):
    """Rows (1) for the contacts `ahead` of the trial, of which `seen` were found, become those number `added` and on of
    `missed`; the step had the `contacts`. Returns how many rows there are then."""
    at = 0
    for k in range(min(seen, ahead.gap.size)):
        a, b = ahead.shape_a[k], ahead.shape_b[k]
        rolls = (kind[a] == CYLINDER and kind[b] == PLANE) or (kind[a] == PLANE and kind[b] == CYLINDER)
        if not ahead.gap[k] < 0.0:
            continue
        at = first_of_pair(contacts, found, at, a, b)
        was, m, body_a, body_b = 0.0, at, shape_body[a], shape_body[b]
        while m < found and contacts.shape_a[m] == a and contacts.shape_b[m] == b:
            closes = h * approach(contacts.point[m], contacts.normal[m], state.position, v, body_a, body_b)
            told = contacts.feature[m] >= AT_THE_END  # its gap is none of the start
            was = min(was, was if told else contacts.gap[m], contacts.gap[m] + closes)
            m += 1
        deeper, notable = ahead.gap[k] - was, (ROLLS if rolls else NOTABLE) * min(width[body_a], width[body_b])
        if not deeper < (-notable if rolls or ahead.gap[k] > -DEEP * notable else -GROWS * notable):
            continue
        if added == missed.gap.size:
            break
        x, n = missed.point[added], missed.normal[added]
        for r in range(3):
            x[r], n[r] = 0.0, ahead.normal[k, r]
        bring_back(state.position[body_a], trial.position[body_a], v[body_a], h, ahead.point[k], x)
        bring_back(state.position[body_b], trial.position[body_b], v[body_b], h, ahead.point[k], x)
        missed.shape_a[added], missed.shape_b[added], missed.feature[added] = a, b, ahead.feature[k] + AT_THE_END
        missed.gap[added] = max(0.0, deeper - h * approach(x, n, state.position, v, body_a, body_b))
        added += 1
    return added


@bare
def bring_back(position, moved, v, h, point, x):
    """Add to x half of where, seen from the body at the start of the step, its point is on average over the step that
    is at `point` in the end: there a change of v acts on it."""
    r_x, r_y, r_z = point[0] - moved[0], point[1] - moved[1], point[2] - moved[2]
    spin = math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    angle = h * spin
    if angle > 0.0:
        k_x, k_y, k_z = v[3] / spin, v[4] / spin, v[5] / spin
        cosine, sine = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle  # means of these
        along = (1.0 - cosine) * (k_x * r_x + k_y * r_y + k_z * r_z)
        r_x, r_y, r_z = (
            cosine * r_x - sine * (k_y * r_z - k_z * r_y) + along * k_x,
            cosine * r_y - sine * (k_z * r_x - k_x * r_z) + along * k_y,
            cosine * r_z - sine * (k_x * r_y - k_y * r_x) + along * k_z,
        )
    x[0], x[1], x[2] = (
        x[0] + 0.5 * (position[0] + r_x),
        x[1] + 0.5 * (position[1] + r_y),
        x[2] + 0.5 * (position[2] + r_z),
    )
