"""Laws with closed forms, over all formulations of friction for which they hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from by_hand import FORMULATIONS, KEEPS_CONTACT, G, impulses_of, name, particle, slide, velocity_of
from scipy import sparse

import stickslip.friction.elimination as elimination
from stickslip.errors import InputError
from stickslip.friction.anitescu_potra import AnitescuPotra
from stickslip.friction.box import Box
from stickslip.friction.compliant_cone import CompliantCone
from stickslip.friction.contact_problem import ContactProblem
from stickslip.friction.coulomb import Coulomb
from stickslip.friction.hybrid import Hybrid
from stickslip.friction.impact import Newton
from stickslip.friction.phantom import Phantom
from stickslip.friction.stabilisation import Gap, Relaxation
from stickslip.friction.stewart_trinkle import StewartTrinkle
from stickslip.problems.lcp import LCP
from stickslip.solvers.judice_pires import JudicePires

pytestmark = pytest.mark.core
H = 0.01

every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS, ids=name)
every_formulation_that_keeps_contact = pytest.mark.parametrize("formulation", KEEPS_CONTACT, ids=name)
both_dimensions = pytest.mark.parametrize("dimension", [2, 3])


def on_slope(angle, dimension, m=2.0, mu=0.5):
    """A block at rest on a slope: what gravity lacks of `particle`'s weight is a force."""
    force = m * G * np.array([1 - math.cos(angle), math.sin(angle), 0.0])
    previous = H * m * G * math.cos(angle) * np.eye(dimension)[0]
    return particle([0.0, 0.0, 0.0][:dimension], force, m=m, mu=mu, previous=previous), force


@every_formulation
@both_dimensions
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.46])  # atan(0.5) = 0.46365
def test_a_block_sticks_below_the_friction_angle(formulation, dimension, angle):
    block, force = on_slope(angle, dimension)
    v, gap, travel, _ = slide(formulation, block, 20, force)
    np.testing.assert_allclose(v, 0.0, atol=1e-10)
    np.testing.assert_allclose(travel, 0.0, atol=1e-10)
    assert gap == pytest.approx(0.0, abs=1e-12)


@every_formulation_that_keeps_contact
@both_dimensions
@pytest.mark.parametrize("angle", [0.47, 1.0])
def test_a_block_slides_above_the_friction_angle(formulation, dimension, angle):
    block, force = on_slope(angle, dimension)
    v, _, travel, _ = slide(formulation, block, 20, force)
    acceleration = G * (math.sin(angle) - 0.5 * math.cos(angle))
    np.testing.assert_allclose(v[:2], [0.0, 20 * H * acceleration], atol=1e-8)
    assert travel[0] == pytest.approx(H**2 * acceleration * 20 * 21 / 2, abs=1e-8)


@every_formulation_that_keeps_contact
def test_kinetic_friction_holds_while_a_contact_slides_and_static_friction_while_it_sticks(formulation):
    force = np.array([0.0, 0.4 * G, 0.0])  # between the two
    at_rest = particle([0.0, 0.0, 0.0], force, mu=0.5, mu_kinetic=[0.3])
    np.testing.assert_allclose(velocity_of(formulation, at_rest), 0.0, atol=1e-10)
    moving = particle([0.0, 1.0, 0.0], force, mu=0.5, mu_kinetic=[0.3])
    np.testing.assert_allclose(velocity_of(formulation, moving), [0.0, 1.0 + H * 0.1 * G, 0.0], atol=1e-8)


@pytest.mark.parametrize("formulation", [Coulomb(), Hybrid(), Phantom()], ids=name)
@pytest.mark.parametrize("angle", [0.3, 1.0, 2.5])
def test_round_friction_is_against_the_velocity_whatever_its_direction(formulation, angle):
    direction = np.array([0.0, math.cos(angle), math.sin(angle)])
    v = velocity_of(formulation, particle(2 * direction))
    np.testing.assert_allclose(v, (2 - 0.5 * H * G) * direction, atol=1e-8)


@pytest.mark.parametrize("directions", [4, 8, 16])
def test_polyhedral_friction_is_weak_between_its_directions(directions):
    """Between two directions friction is μ cos(π / n_d) at rest: what holds a block there is less than μ m g."""
    formulation, angle = StewartTrinkle(directions=directions), math.pi / directions
    between = np.array([0.0, math.cos(angle), math.sin(angle)])
    for share, moves in [(0.999, False), (1.001, True)]:
        push = share * 0.5 * math.cos(angle) * G * between
        v = velocity_of(formulation, particle([0.0, 0.0, 0.0], push))
        assert (np.linalg.norm(v) > 1e-6) == moves


@pytest.mark.parametrize("formulation", [Box(), Hybrid()], ids=name)
def test_bounds_of_the_step_before_give_a_new_contact_no_friction(formulation):
    new = particle([0.0, 1.0, 0.0], previous=np.zeros(3))
    np.testing.assert_allclose(velocity_of(formulation, new), [0.0, 1.0, 0.0], atol=1e-8)


# stabilisation


def with_stabilisation(formulation, stabilisation):
    return replace(formulation, stabilisation=stabilisation)


@pytest.mark.parametrize(
    "formulation", [f for f in KEEPS_CONTACT if name(f) not in ("CompliantCylinder", "Cylinder")], ids=name
)
def test_an_overlap_is_taken_back_as_chosen(formulation):
    deep = particle([0.0, 0.0, 0.0], gap=[-0.004])
    for stabilisation, v_n in [(Gap(1.0), 0.4), (Gap(0.2), 0.08), (Gap(0.0), 0.0), (None, 0.0)]:
        v = velocity_of(with_stabilisation(formulation, stabilisation), deep)
        assert v[0] == pytest.approx(v_n, abs=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=name)
def test_a_spring_and_damper_give_the_implicit_euler_step(formulation):
    """p = h λ with λ = -k ψ⁺ - b v⁺ and ψ⁺ = ψ + h v⁺, m v⁺ = m v - h m g + p."""
    k, b, m, gap, v = 2e4, 30.0, 1.5, -1e-3, -0.02
    relaxed = with_stabilisation(formulation, Relaxation())
    spring = particle([v, 0.0, 0.0], m=m, gap=[gap], stiffness=[k], damping=[b])
    v_n = (m * (v - H * G) - H * k * gap) / (m + H * b + H**2 * k)
    assert velocity_of(relaxed, spring)[0] == pytest.approx(v_n, abs=1e-9)
    other = particle([v, 0.0, 0.0], m=m, gap=[gap])
    named = with_stabilisation(formulation, Relaxation(stiffness=k, damping=b))
    assert velocity_of(named, other)[0] == pytest.approx(v_n, abs=1e-9)


def test_a_bristle_holds_a_load_at_its_stretch():
    """Under a push F a contact that sticks moves to k_t x = F, where the bristle carries F, and stays."""
    push, k, b = 2.0, 1e4, 200.0
    block = particle(
        [0.0, 0.0, 0.0], (0.0, push, 0.0), stiffness=[np.inf], stiffness_tangent=[k], damping_tangent=[b], mu=0.5
    )
    v, _, travel, impulses = slide(Phantom(slip_speed=1.0), block, 60, (0.0, push, 0.0))
    assert travel[0] == pytest.approx(push / k, rel=1e-6)
    assert impulses.p[1] == pytest.approx(-H * push, rel=1e-6)
    assert v[1] == pytest.approx(0.0, abs=1e-9)


def test_at_velocity_level_an_open_contact_is_left_out():
    falls = particle([0.0, 1.0, 0.0], gap=[1e-4])
    v = velocity_of(AnitescuPotra(), falls)
    np.testing.assert_allclose(v, [-H * G, 1.0, 0.0], atol=1e-12)
    assert velocity_of(StewartTrinkle(), falls)[0] == pytest.approx(-1e-4 / H, abs=1e-12)


def test_settings_are_checked():
    with pytest.raises(InputError, match="Gap: recovery is 2, expected a number from 0 to 1"):
        Gap(2)
    with pytest.raises(InputError, match="Gap: brake is 0, expected a positive deceleration, or inf"):
        Gap(0.2, brake=0)
    with pytest.raises(InputError, match=r"Relaxation: damping is -1, expected a number >= 0"):
        Relaxation(damping=-1)
    with pytest.raises(InputError, match=r"Coulomb: stabilisation is 0\.2, expected Gap"):
        Coulomb(stabilisation=0.2)
    with pytest.raises(InputError, match="CompliantCone: stabilisation is None, expected Relaxation"):
        CompliantCone(stabilisation=None)
    with pytest.raises(InputError, match="Box: impact is 'newton', expected Newton"):
        Box(impact="newton")
    with pytest.raises(InputError, match="Newton: rest_speed is -1, expected a number >= 0"):
        Newton(rest_speed=-1)
    with pytest.raises(InputError, match="stiffness and damping of contact 0 are both 0"):
        Coulomb(stabilisation=Relaxation()).pose(particle([0.0, 0.0, 0.0], stiffness=[0.0], damping=[0.0]))


# joints


def coupled(mu=(0.2, 0.6), speed=1.0, copies=1, dimension=3, **fields):
    """Two point masses of 1 and 3 kg on the floor, held together along the first tangent by a rod."""
    d = dimension
    masses = np.repeat([1.0, 3.0], d)
    v = np.tile(np.eye(d)[1] * speed, 2)
    f = masses * (v - H * G * np.tile(np.eye(d)[0], 2))
    rod = np.zeros((2 * d, copies))
    rod[1], rod[d + 1] = 1.0, -1.0
    previous = np.concatenate([H * G * np.eye(d)[0], 3 * H * G * np.eye(d)[0]])
    return ContactProblem(
        H, np.diag(masses), f, v, np.eye(2 * d), mu, previous=previous, G=rod, b=np.zeros(copies), **fields
    )


@every_formulation_that_keeps_contact
@both_dimensions
@pytest.mark.parametrize("copies", [1, 2])
def test_a_rod_shares_the_friction_of_two_blocks(formulation, dimension, copies):
    """Both slow down with g (μ₁ m₁ + μ₂ m₂) / (m₁ + m₂); the rod carries the rest, twice the same rod half each."""
    problem = coupled(copies=copies, dimension=dimension)
    impulses = impulses_of(formulation, problem)
    v = problem.velocity_after(impulses).reshape(2, dimension)
    np.testing.assert_allclose(v[:, 1], 1.0 - H * G * 0.5, atol=1e-8)
    np.testing.assert_allclose(v[:, 0], 0.0, atol=1e-8)
    np.testing.assert_allclose(impulses.joints, -H * G * 0.3 / copies, atol=1e-8)


@every_formulation
def test_a_compliant_rod_is_a_spring(formulation):
    """g = Gᵀ v⁺ + Σ λ + b = 0 without contacts in the way."""
    problem = replace(coupled(mu=(0.0, 0.0)), compliance=[0.5], b=[0.2])
    impulses = impulses_of(formulation, problem)
    v = problem.velocity_after(impulses)
    assert v[1] - v[4] + 0.5 * impulses.joints[0] + 0.2 == pytest.approx(0.0, abs=1e-9)
    assert impulses.joints[0] == pytest.approx(-0.2 / (1.0 + 1 / 3 + 0.5), abs=1e-9)


def driven(strength, target=1.0, mu=0.5, dimension=3, **fields):
    """A point mass of 1 kg on the floor with a motor along the first tangent that can give `strength` newtons."""
    d = dimension
    bounds = {"lower": [-H * strength], "upper": [H * strength]} | fields
    return replace(particle(np.zeros(d), mu=mu), G=np.eye(d)[:, 1:2], b=[-target], compliance=None, **bounds)


@every_formulation_that_keeps_contact
@both_dimensions
@pytest.mark.parametrize(("strength", "speed"), [(4.0, 0.0), (6.0, H * (6.0 - 0.5 * G)), (1000.0, 1.0)])
def test_a_motor_pushes_with_its_strength_until_it_has_its_speed(formulation, dimension, strength, speed):
    problem = driven(strength, dimension=dimension)
    impulses = impulses_of(formulation, problem)
    v = problem.velocity_after(impulses)
    np.testing.assert_allclose(v[:2], [0.0, speed], atol=1e-8)
    expected = H * strength if strength < 1000 else 1.0 + 0.5 * H * G
    assert impulses.joints[0] == pytest.approx(expected, abs=1e-8)


def test_a_motor_with_uneven_bounds():
    problem = driven(0.0, lower=[-0.01], upper=[0.07])
    for formulation in (Coulomb(), StewartTrinkle()):
        assert impulses_of(formulation, problem).joints[0] == pytest.approx(0.07, abs=1e-9)
    backwards = driven(0.0, target=-1.0, lower=[-0.06], upper=[0.07])
    for formulation in (Coulomb(), StewartTrinkle()):
        assert impulses_of(formulation, backwards).joints[0] == pytest.approx(-0.06, abs=1e-9)


def test_under_the_associated_law_a_motor_exceeds_its_bound_by_a_thousandth():
    problem = driven(6.0, mu=0.0)
    impulse = impulses_of(CompliantCone(), problem).joints[0]
    assert H * 6.0 <= impulse <= H * 6.0 * 1.0011


@every_formulation
@both_dimensions
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_a_limit_stops_what_runs_into_it_and_does_not_pull(formulation, dimension, sense):
    """One bound, [0, ∞) or (-∞, 0]; the way left is 2 mm, b = 0.002 / h."""
    d = dimension
    row = sense * np.eye(d)[:, 1:2]
    bounds = {"lower": [0.0], "upper": [np.inf]} if sense > 0 else {"lower": [-np.inf], "upper": [0.0]}
    for speed, end in [(-1.0, -0.2), (-0.1, -0.1)]:
        free = particle(np.eye(d)[1] * speed, mu=0.0)
        problem = replace(free, G=row, b=[sense * 0.2], compliance=None, **bounds)
        impulses = impulses_of(formulation, problem)
        assert problem.velocity_after(impulses)[1] == pytest.approx(end, abs=1e-8)
        assert sense * impulses.joints[0] == pytest.approx(end - speed, abs=1e-8)


@every_formulation
def test_joints_without_any_contact(formulation):
    problem = ContactProblem(
        H, np.diag([1.0, 3.0]), [1.0, 0.0], [1.0, 0.0], np.zeros((2, 0)), np.zeros(0),
        G=np.array([[1.0, 1.0], [-1.0, 0.0]]), b=[0.0, -2.0], lower=[-np.inf, -0.4], upper=[np.inf, 0.4],
    )  # fmt: skip
    impulses = impulses_of(formulation, problem)
    share = 1e-3 if isinstance(formulation, CompliantCone) else 1e-9
    np.testing.assert_allclose(problem.velocity_after(impulses), 1.4 / 4, rtol=share)


# elimination


def random_problem(seed, redundant):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(12, 12))
    G = rng.normal(size=(12, 4))
    b = rng.normal(size=4)
    if redundant:
        G, b = np.hstack([G, G[:, :2] @ rng.normal(size=(2, 1))]), np.append(b, 0.0)
        b[4] = np.linalg.lstsq(G[:, :2], G[:, 4], rcond=None)[0] @ b[:2]
    bounds = np.where(np.arange(b.size) == 3, 0.1, np.inf)
    return ContactProblem(
        H, root @ root.T + np.eye(12), rng.normal(size=12), rng.normal(size=12), rng.normal(size=(12, 9)),
        [0.5, 0.0, 1.0], w=rng.normal(size=9), G=G, b=b, lower=-bounds, upper=bounds,
        compliance=np.where(np.arange(b.size) == 2, 0.1, 0.0),
    )  # fmt: skip


@pytest.mark.parametrize("redundant", [False, True])
def test_bilateral_rows_hold_whatever_the_impulses(redundant):
    problem = random_problem(1, redundant)
    rng = np.random.default_rng(2)
    x = rng.normal(size=10)  # of nine contact components and the bounded row
    response = problem.response
    joints = response.joints(x)
    v = np.linalg.solve(problem.M, problem.f + problem.H @ x[:9] + problem.G @ joints)
    g = problem.G.T @ v + problem.compliance * joints + problem.b
    np.testing.assert_allclose(np.delete(g, 3), 0.0, atol=1e-9)
    expected = [*(problem.H.T @ v + problem.w), g[3]]
    np.testing.assert_allclose(response.W @ x + response.q, expected, atol=1e-9)


@pytest.mark.parametrize("redundant", [False, True])
@every_formulation
def test_sparse_and_dense_problems_are_the_same(formulation, redundant, monkeypatch):
    problem = random_problem(3, redundant)
    dense = formulation.pose(problem)
    monkeypatch.setattr(elimination, "DENSE", 0)
    parts = {key: sparse.csr_array(getattr(problem, key)) for key in ("M", "H", "G")}
    same = formulation.pose(replace(problem, **parts))
    matrix = "W" if hasattr(same, "W") else "M"
    assert sparse.issparse(getattr(same, matrix))
    np.testing.assert_allclose(getattr(same, matrix).toarray(), getattr(dense, matrix), atol=1e-10)
    np.testing.assert_allclose(same.q, dense.q, atol=1e-10)


def test_a_contact_that_joints_hold_does_not_move_at_all(monkeypatch):
    """Its rows of W and q are zero, and not rounding of either sign; sparse too."""
    rng = np.random.default_rng(5)
    root, H_c = rng.normal(size=(6, 6)), rng.normal(size=(6, 6))
    M = root @ root.T + np.eye(6)
    held = H_c[:, :3] @ rng.normal(size=(3, 3))  # spans the rows of the first contact
    problem = ContactProblem(H, M, rng.normal(size=6), np.zeros(6), H_c, [0.5, 0.5], G=held)
    for limit in (elimination.DENSE, 0):
        monkeypatch.setattr(elimination, "DENSE", limit)
        response = replace(problem).response
        W = response.W if limit else response.W.toarray()
        assert not W[:3].any()
        assert not response.q[:3].any()
        assert (np.linalg.eigvalsh(W[3:, 3:]) > 0).all()


def test_large_groups_of_joints_are_factorised_sparsely(monkeypatch):
    problem = random_problem(4, redundant=False)
    dense = problem.response
    monkeypatch.setattr(elimination, "DENSE", 0)
    monkeypatch.setattr(elimination, "LARGEST_GROUP", 0)
    response = replace(problem).response
    np.testing.assert_allclose(response.W.toarray(), dense.W, atol=1e-10)
    monkeypatch.setattr(elimination, "LARGEST_GROUP", 1)
    twice = replace(coupled(copies=2), M=sparse.csr_array(coupled().M))
    with pytest.raises(InputError, match="2 joint rows that hang together are redundant"):
        twice.response  # noqa: B018


def test_a_mass_matrix_must_be_symmetric_and_regular():
    good = particle([0.0, 0.0, 0.0])
    with pytest.raises(InputError, match=r"M - Mᵀ has entries of 1\.0e-03, expected a symmetric mass matrix"):
        Coulomb().pose(replace(good, M=good.M + 1e-3 * np.eye(3, k=1)))
    with pytest.raises(InputError, match="M is singular, expected an invertible mass matrix"):
        Coulomb().pose(replace(good, M=np.zeros((3, 3))))


@every_formulation
def test_a_start_from_the_solution_has_its_impulses(formulation):
    """Impulses of the step before are read into the starting point: it stands for them."""
    start = formulation.start(particle([0.0, 0.0, 0.0], previous=[0.3, 0.05, -0.02]))
    if start is None:
        assert isinstance(formulation, StewartTrinkle | AnitescuPotra)  # Lemke's method takes none
        return
    same = particle([0.0, 0.0, 0.0], previous=[0.3, 0.05, -0.02])
    np.testing.assert_allclose(formulation.impulses(same, start).p, [0.3, 0.05, -0.02], atol=1e-14)


def test_of_two_contacts_in_one_place_that_which_carried_nothing_still_does():
    """Block pivoting, started from the step before, leaves them so, though rounding says that the second is pressed."""
    pressed = LCP(np.ones((2, 2)), np.array([-1.0, -1.0 - 2e-16]))
    assert pressed.value(np.array([1.0, 0.0]))[1] < 0
    answer = JudicePires(max_iter=1).solve(pressed, np.array([1.0, 0.0]))
    assert answer.solved
    assert answer.x.tolist() == [1.0, 0.0]
