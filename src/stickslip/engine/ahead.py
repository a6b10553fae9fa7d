"""What a step would end in: overlaps that the rows at its start do not see.

Rows tell velocities where bodies are at the start of a step. An edge or a rim that turns by h ω leaves what they say by
about ½ (h ω)² of its size: a capsule of 40 rad/s, which is 0.2 rad in 5 ms, goes into another by 2 % of its length with
every gap of the rows closed exactly, and two boxes may meet with edges that were not nearest before. Joints bend the
way of what hangs on them, too. So where a body turns notably, all are moved for a trial with the velocities v' that
were found, and joints put where they belong. A rigid pair that gets notably deeper, to a gap ψ' < ψ, with ψ <= 0 that
of the start, or what its rows were left with, gets one more row, at the point and along the normal of the end,

    ψ' - ψ + h J (v - v') >= 0,                                                                                    (1)

beside all others, and the step is made again: Newton's method for gaps that are not negative at the end of the step.
J acts where that point is on average over the step, about which it turns; and (1) asks a point to stop at most, never
to come back: one that turns by a radian or more is told little by it, and would be thrown.
"""

from __future__ import annotations

import math

from stickslip.collision.contacts import AT_THE_END
from stickslip.collision.vectors import about, minus
from stickslip.dynamics.motion import FREE
from stickslip.engine.prepare import approach
from stickslip.friction.terms import rigid
from stickslip.jit import bare

NOTABLE = 2e-3  # of the least width of a body: by how much overlaps may grow in a step unseen
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
def note_missed(state, trial, law, v, width, surfaces, contacts, found, ahead, seen, added, missed):
    """Rows (1) for the contacts `ahead` of the trial, of which `seen` were found, become those number `added` and on of
    `missed`; the step had the `contacts`. Returns how many rows there are then."""
    at, h, material = 0, law.h, surfaces.material
    for k in range(min(seen, ahead.gap.size)):
        a, b = ahead.shape_a[k], ahead.shape_b[k]
        if not (ahead.gap[k] < 0.0 and rigid(law, surfaces.stiffness[material[a], material[b]])):
            continue
        at = first_of_pair(contacts, found, at, a, b)
        was, m, body_a, body_b = 0.0, at, surfaces.body[a], surfaces.body[b]
        while m < found and contacts.shape_a[m] == a and contacts.shape_b[m] == b:
            closes = h * approach(contacts.point[m], contacts.normal[m], state.position, v, body_a, body_b)
            told = contacts.feature[m] >= AT_THE_END  # its gap is none of the start
            was = min(was, was if told else contacts.gap[m], contacts.gap[m] + closes)
            m += 1
        deeper, notable = ahead.gap[k] - was, NOTABLE * min(width[body_a], width[body_b])
        if not deeper < (-notable if ahead.gap[k] > -DEEP * notable else -GROWS * notable):
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
    r, spin = minus(point, moved), math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    angle = h * spin
    if angle > 0.0:
        cosine, sine = math.sin(angle) / angle, (math.cos(angle) - 1.0) / angle  # means of these, back from the end
        r = about((v[3] / spin, v[4] / spin, v[5] / spin), cosine, sine, r)
    for c in range(3):
        x[c] += 0.5 * (position[c] + r[c])
