"""One contact, one law: a particle over a floor as a problem by hand, as a scene and as a system, against closed forms.

The closed forms are written from docs: 0 <= p_n ⊥ u_n + ε p_n + d >= 0 for one contact with m u⁺ = m (u - h g) + p, and
friction -μ p_n while it slides.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.names import FORMULATIONS
from stickslip.friction.active import spread
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.impact import poisson
from stickslip.solvers.solve import solve

pytestmark = pytest.mark.core
M, H, G, MU, SPEED = 2.0, 0.01, 9.81, 0.3, 4.0
STABILISATIONS = {
    "gap": ss.Gap(1.0),
    "gentle": ss.Gap(0.2),
    "braked": ss.Gap(0.2, brake=0.1),
    "springs": ss.Relaxation(),
    "none": None,
}
RESTITUTIONS, APPROACHES, GAPS = (0.0, 0.5), (-5e-4, -0.5), (2e-2, 5e-4, 0.0, -1e-3)
RIGID, SOFT = {}, {"stiffness": 1e4, "damping": 10.0, "stiffness_tangent": 1e4, "damping_tangent": 10.0}
CASES = list(product(RESTITUTIONS, APPROACHES, GAPS, (RIGID, SOFT)))
SLOW = 1e-3  # approach below which nothing bounces


def laws():
    for name, make in FORMULATIONS.items():
        for word, stabilisation in STABILISATIONS.items():
            if not name.startswith(("compliant", "cylinder")) or word == "springs":
                for impact in (ss.Newton(), ss.Poisson()):
                    rule = type(impact).__name__.lower()
                    law = replace(make(), stabilisation=stabilisation, impact=impact)
                    yield pytest.param(law, id=f"{name}-{word}-{rule}")


def bounces(e, u, gap):
    """In the step in which it would close, by its velocity without contact."""
    return e > 0 and -u > SLOW and gap + H * (u - H * G) < 0


def normal_velocity(law, e, u, gap, springs):
    """u_n at the end of the step, by the complementarity of one contact."""
    free = u - H * G
    if bounces(e, u, gap):
        return max(free, -e * u)
    if law.stabilisation is None:
        return free if gap > 0 else max(free, 0.0)
    if isinstance(law.stabilisation, ss.Gap) and gap > 0:
        return max(free, -gap / H)
    if isinstance(law.stabilisation, ss.Gap):
        comes_out = -law.stabilisation.recovery * gap / H
        return max(free, min(comes_out, np.sqrt(-2 * law.stabilisation.brake * gap)) if gap < 0 else 0.0)
    if not springs:
        return max(free, -gap / H)
    k, b = springs["stiffness"], springs["damping"]
    return max(free, (M * free - H * k * gap) / (M + H * b + H**2 * k))  # p = -h (k (gap + h u) + b u) if that pushes


def expected(law, e, u, gap, springs, slip):
    """(u_n, u_t) at the end, and p_n."""
    u_n = normal_velocity(law, e, u, gap, springs)
    p_n = bearing = M * (u_n - u + H * G)
    if (
        isinstance(law.impact, ss.Poisson)
        and bounces(e, u, gap)
        and not isinstance(law, ss.Box | ss.Hybrid | ss.Cylinder)
    ):
        bearing = p_n + e * M * u  # what is given back has no friction, but a bound that is known has all of it
    return np.array([u_n, slip - MU * bearing / M if slip else 0.0]), p_n


def by_hand(law, e, u, gap, springs, slip):
    d = 4 if law.spin else 3
    v = np.array([u, slip, 0.0])
    load = expected(law, e, u, gap, springs, 0.0)[1]  # of a step without friction, as that of the step before
    problem = ContactProblem(
        H, M * np.eye(3), M * (v - [H * G, 0.0, 0.0]), v, np.eye(3, d), [MU], gap=[gap], restitution=[e],
        previous=load * np.eye(d)[0] if law.lagged else None, **{name: [value] for name, value in springs.items()},
    )  # fmt: skip

    def solve_once(rows):
        posed = law.posed(rows)
        return posed.decode(solve(posed.problem, tol=1e-13, x0=posed.start).x)

    rows = law.rows(problem)
    impulses = spread(problem, rows.contacts, poisson(rows, solve_once))
    return problem.velocity_after(impulses)[:2]


def as_scene(law, e, u, gap, springs, slip):
    scene = ss.Scene(gravity=(0, 0, -G))
    scene.add_plane(friction=MU)
    scene.add_particle(M, position=(0, 0, gap), velocity=(slip, 0, u), name="p", restitution=e, **springs)
    return ss.simulate(scene, H, H, law, tol=1e-13, keep_going=True).velocity("p")[-1][[2, 0]]


def as_system(law, e, u, gap, springs, slip):
    rows = np.eye(3)[[2, 0, 1]]
    contact = ss.ContactPoint(lambda q: q[2], lambda q: rows, MU, restitution=e, **springs)
    system = ss.GeneralizedSystem(3, lambda q: M * np.eye(3), lambda q, v: [0.0, 0.0, M * G], (contact,))
    run = ss.simulate_system(system, [0, 0, gap], [slip, 0, u], H, H, law, tol=1e-13, keep_going=True)
    return run.v[-1][[2, 0]]


WORLDS = pytest.mark.parametrize("world", [by_hand, as_scene, as_system], ids=["by hand", "scene", "system"])


@WORLDS
@pytest.mark.parametrize("law", list(laws()))
def test_one_contact_has_one_law_in_every_world(law, world):
    slip = 0.0 if isinstance(law, ss.CompliantCone) else SPEED  # there a contact that slides lifts
    for e, u, gap, springs in CASES:
        known, _ = expected(law, e, u, gap, springs, slip)
        found = world(law, e, u, gap, springs, slip)
        case = f"e {e:g}, u_n {u:g}, gap {gap:g}, {'springs' if springs else 'rigid'}"
        np.testing.assert_allclose(found, known, atol=1e-10, rtol=0.0, err_msg=case)


def test_springs_of_a_contact_point_are_checked():
    with pytest.raises(ss.InputError, match=r"ContactPoint 'foot': stiffness is 0\.0, expected a positive number"):
        ss.ContactPoint(lambda q: 0.0, lambda q: np.eye(2), stiffness=0, name="foot")
    with pytest.raises(ss.InputError, match="ContactPoint: damping_tangent is -1, expected a number >= 0"):
        ss.ContactPoint(lambda q: 0.0, lambda q: np.eye(2), damping_tangent=-1, name="foot")
