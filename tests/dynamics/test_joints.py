"""The rows of joints against derivatives taken numerically, and mechanisms against their closed forms."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import agm

import stickslip as ss
from stickslip.dynamics.joints import (
    RECOVERY,
    joint_errors,
    joint_row_names,
    joint_rows,
    place,
    room_for_joints,
    rotation_between,
    unplaced,
)
from stickslip.dynamics.joints import coordinate as engine_coordinate
from stickslip.engine.engine import Engine
from stickslip.errors import InputError
from stickslip.scene.compile import Drives
from stickslip.scene.model import Joint, Kind, Model, State

FIXED, BALL, HINGE, SLIDER = Joint
GRAVITY = 9.81
HALF_LENGTH = 0.5  # of the rods
ABOUT_Y = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # joint axes x, y, z along z, x, y of the world
KINDS = pytest.mark.parametrize("kind", list(Joint), ids=lambda kind: kind.name)
PLANAR = pytest.mark.parametrize("planar", [False, True], ids=["space", "plane"])


def body(mass=1.0, inertia=(1.0, 1.0, 1.0), kind=Kind.FREE):
    return {"mass": mass, "inertia": np.diag(inertia), "kind": kind}


@pytest.mark.core
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 3.1e-3, 3.2e-3, 6.3e-3, 0.5, 2.0, 3.1])
def test_the_turn_from_one_frame_to_another(angle):
    """All of it, and that of the third axis alone, about what is across it; also where a series is taken."""
    rng, placement, turned = np.random.default_rng(3), unplaced(), np.zeros(3)
    for _ in range(5):
        b, axis = Rotation.random(random_state=rng), rng.normal(size=3)
        axis *= angle / np.linalg.norm(axis)
        placement.axes_b[:] = b.as_matrix().T
        placement.axes_a[:] = (Rotation.from_rotvec(axis) * b).as_matrix().T
        rotation_between(placement, 0, turned)
        np.testing.assert_allclose(turned, axis, atol=1e-15 + 1e-14 * angle / max(1e-3, math.pi - angle))
        across = np.cross(placement.axes_b[2], rng.normal(size=3))
        across *= angle / np.linalg.norm(across)
        placement.axes_a[2] = Rotation.from_rotvec(across).apply(placement.axes_b[2])
        rotation_between(placement, 2, turned)
        np.testing.assert_allclose(turned, across, atol=1e-15 + 1e-14 * angle / max(1e-3, math.pi - angle))


GROUND = body(kind=Kind.STATIC)
ROD = body(mass=2.0, inertia=(2 / 3 * HALF_LENGTH**2, 2 / 3 * HALF_LENGTH**2, 0.01))  # along z


def joint_coordinates(model, state):
    """Angle of each hinge, travel of each slider, of a seen from b; NaN for a fixed or ball joint, which has none."""
    placement, found = unplaced(), []
    for j in range(model.joint.size):
        place(model, state, j, placement, 0)
        found.append(engine_coordinate(model.joint[j], model.joint_lower[j], model.joint_upper[j], placement))
    return np.array(found)


def joint(kind, a=1, b=0, **given):
    defaults = {"anchor_a": np.zeros(3), "anchor_b": np.zeros(3), "frame_a": np.eye(3), "frame_b": np.eye(3)}
    defaults |= {"lower": -np.inf, "upper": np.inf, "target": 0.0, "strength": 0.0, "compliance": 0.0, "damping": 0.0}
    return {"joint": kind, "a": a, "b": b} | defaults | given


def model_of(bodies, joints, planar=False, gravity=0.0):
    """A model without shapes; gravity along -z."""
    kind = np.array([b["kind"] for b in bodies], np.int64)
    free = kind == Kind.FREE
    mass = np.where(free, [b["mass"] for b in bodies], np.inf)
    inertia = np.array([b["inertia"] * (b["kind"] == Kind.FREE) for b in bodies])
    inverse_mass = np.outer(1 / mass, [1.0, 0.0 if planar else 1.0, 1.0])
    inverse_inertia = np.array([np.linalg.inv(matrix) if matrix.any() else matrix for matrix in inertia])
    if planar:
        inverse_inertia *= np.diag([0.0, 1.0, 0.0])
    none, count = np.zeros(0), len(bodies)
    column = {name: np.array([j[name] for j in joints]) for name in (joints[0] if joints else joint(FIXED))}
    shape = {"anchor_a": (-1, 3), "anchor_b": (-1, 3), "frame_a": (-1, 3, 3), "frame_b": (-1, 3, 3)}
    whole = ("joint", "a", "b")
    column = {
        name: values.astype(np.int64 if name in whole else np.float64).reshape(shape.get(name, (-1,)))
        for name, values in column.items()
    }
    column |= {
        name: np.outer(column[name], np.ones(6)) for name in ("compliance", "damping")
    }  # alike in all directions
    return Model(
        np.array([0.0, 0.0, -gravity]), planar, kind, mass, inverse_mass, inertia, inverse_inertia,
        *(np.zeros((count, 3)) for _ in range(3)),
        none.astype(np.int64), none.astype(np.int64), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)), none,
        none.astype(np.int64), *(np.zeros((0, 0)) for _ in range(8)), none.astype(np.int64), *column.values(),
        np.zeros((0, 4), np.int64), np.zeros((0, 3)), np.zeros((0, 6)), np.zeros((0, 4)),
    )  # fmt: skip


def state_of(positions, rotations=None, velocities=None):
    count = len(positions)
    rotations = [Rotation.identity()] * count if rotations is None else rotations
    quaternions = np.array([r.as_quat(scalar_first=True) for r in rotations])
    velocities = np.zeros((count, 6)) if velocities is None else np.array(velocities, np.float64)
    return State(np.array(positions, np.float64), quaternions, velocities)


def rotation_of(state, body):
    return Rotation.from_quat(state.quaternion[body], scalar_first=True)


# --- the rows -------------------------------------------------------------------------------------------------------


def rows_of(model, state, h=0.01):
    rows = room_for_joints(model)
    joint_rows(model, state, h, rows)
    return rows


@PLANAR
@KINDS
@pytest.mark.parametrize("extras", [{}, {"lower": -1.0, "upper": 1.0}, {"upper": 1.0, "strength": 2.0}], ids=str)
@pytest.mark.parametrize("first", [GROUND, ROD], ids=["fixed", "free"])
def test_every_row_has_its_joint_and_its_name(planar, kind, extras, first):
    """A force row moves along its axis of b, a moment row turns about it; between fixed bodies there are none."""
    frame = ABOUT_Y if kind == HINGE else np.eye(3)
    held = joint(kind, frame_a=frame, frame_b=frame, **extras)
    model = model_of([GROUND, first, ROD], [held, joint(BALL, a=2)], planar)
    rows = rows_of(model, state_of([(0, 0, 0), (0, 0, 0), (1, 0, 0)]))
    names = joint_row_names(model)
    assert [j for j, _ in names] == rows.joint.tolist()
    for (j, name), jacobian in zip(names, rows.jacobian_a, strict=True):
        what, _, axis = name.partition(" ")
        if what in ("force", "moment"):
            along = (frame if j == 0 else np.eye(3))[:, "xyz".index(axis)]
            np.testing.assert_allclose(jacobian[slice(0, 3) if what == "force" else slice(3, 6)], along, atol=1e-15)
            assert what == "force" or not jacobian[:3].any()
        else:
            assert name in ("lower limit", "upper limit", "motor")
            assert np.abs(jacobian).sum() > 0


def dense(model, rows):
    """Row velocities are G v."""
    G = np.zeros((rows.bias.size, model.kind.size, 6))
    for i in range(rows.bias.size):
        G[i, rows.body_a[i]] += rows.jacobian_a[i]
        G[i, rows.body_b[i]] += rows.jacobian_b[i]
    return G


def seen_from_b(model, state):
    """Anchor of a less anchor of b, and the turn from the axes of b to those of a, of joint 0 in the axes of b."""
    a, b = model.joint_a[0], model.joint_b[0]
    R_a, R_b = rotation_of(state, a), rotation_of(state, b)
    apart = state.position[a] + R_a.apply(model.joint_anchor_a[0])
    apart -= state.position[b] + R_b.apply(model.joint_anchor_b[0])
    axes_a, axes_b = (R.as_matrix() @ F[0] for R, F in ((R_a, model.joint_frame_a), (R_b, model.joint_frame_b)))
    return axes_b.T @ apart, Rotation.from_matrix(axes_b.T @ axes_a)


def shortest_turn(z):
    """The rotation vector of the shortest way from (0, 0, 1) to z."""
    across = np.cross([0.0, 0.0, 1.0], z)
    return math.acos(z[2]) * across / np.linalg.norm(across)


def errors(model, state):
    """What a rigid joint keeps at zero: translations, then rotations."""
    apart, turn = seen_from_b(model, state)
    return {
        FIXED: (apart, turn.as_rotvec()),
        BALL: (apart, np.zeros(0)),
        HINGE: (apart, shortest_turn(turn.as_matrix()[:, 2])[:2]),
        SLIDER: (apart[:2], turn.as_rotvec()),
    }[Joint(model.joint[0])]


def coordinate(model, state):
    """Travel of a slider; angle of a hinge, by the swing and twist of the quaternion."""
    apart, turn = seen_from_b(model, state)
    if model.joint[0] == SLIDER:
        return apart[2]
    w, _, _, z = turn.as_quat(scalar_first=True)
    return math.remainder(2 * math.atan2(z, w), 2 * math.pi)


def moved(state, velocity, time):
    """Every body moves with its constant velocity."""
    turned = Rotation.from_rotvec(time * velocity[:, 3:]) * Rotation.from_quat(state.quaternion, scalar_first=True)
    return state_of(state.position + time * velocity[:, :3], list(turned))


def derivative(function, state, velocity, step=1e-5):
    return (function(moved(state, velocity, step)) - function(moved(state, velocity, -step))) / (2 * step)


def random_joint(kind, rng, **given):
    """Two free bodies anywhere and a joint anywhere in each, so that nothing fits."""
    frames = Rotation.random(2, rng=rng).as_matrix()
    anchors = rng.standard_normal((2, 3))
    parts = {"anchor_a": anchors[0], "anchor_b": anchors[1], "frame_a": frames[0], "frame_b": frames[1]}
    model = model_of([body(), body()], [joint(kind, **parts | given)])
    return model, state_of(rng.standard_normal((2, 3)), list(Rotation.random(2, rng=rng)))


def assembled(model, state, rng):
    """The same with body a put where the joint wants it, at a random coordinate."""
    kind = model.joint[0]
    turn = {
        BALL: Rotation.random(rng=rng),
        HINGE: Rotation.from_rotvec([0.0, 0.0, rng.uniform(-3, 3)]),
    }.get(kind, Rotation.identity())
    R_b, F_a, F_b = rotation_of(state, 0), *map(Rotation.from_matrix, (model.joint_frame_a[0], model.joint_frame_b[0]))
    R_a = R_b * F_b * turn * F_a.inv()
    travel = [0.0, 0.0, rng.standard_normal() if kind == SLIDER else 0.0]
    anchor = state.position[0] + R_b.apply(model.joint_anchor_b[0] + F_b.apply(travel))
    return state_of([state.position[0], anchor - R_a.apply(model.joint_anchor_a[0])], [R_b, R_a])


@pytest.mark.core
@KINDS
def test_rates_are_derivatives(kind):
    """Translations and travel everywhere, rotations and angles where the joint fits."""
    rng = np.random.default_rng(kind)
    for _ in range(5):
        model, state = random_joint(kind, rng, strength=1.0)
        velocity = rng.standard_normal((2, 6))
        rows = rows_of(model, state)
        rates = np.einsum("rbk,bk->r", dense(model, rows), velocity)
        apart = derivative(lambda s, model=model: errors(model, s)[0], state, velocity)
        np.testing.assert_allclose(rates[: apart.size], apart, atol=1e-8)
        if kind == SLIDER:
            travel = derivative(lambda s, model=model: coordinate(model, s), state, velocity)
            np.testing.assert_allclose(rates[-1], travel, atol=1e-8)

        state = assembled(model, state, rng)
        np.testing.assert_allclose(rows_of(model, state).error, 0.0, atol=1e-12)
        np.testing.assert_array_equal(rows_of(model, state).bias, 0.0)  # the motor stands still
        rates = np.einsum("rbk,bk->r", dense(model, rows_of(model, state)), velocity)

        def expected(s, model=model, kind=kind):
            linear = kind in (HINGE, SLIDER)
            return np.concatenate([*small_errors(model, s), [coordinate(model, s)] * linear])

        np.testing.assert_allclose(rates, derivative(expected, state, velocity), atol=1e-8)


def small_errors(model, state):
    """As `errors`, where they vanish: there the shortest turn has no axis, but its sine does."""
    apart, turn = seen_from_b(model, state)
    if model.joint[0] != HINGE:
        return errors(model, state)
    return apart, np.cross([0.0, 0.0, 1.0], turn.as_matrix()[:, 2])[:2]


@pytest.mark.core
@KINDS
def test_rows_have_their_errors_and_biases(kind):
    """With their signs and however large; rigid rows have an error and no bias, a limit and a motor, which come last,
    a bias and no error."""
    rng, h = np.random.default_rng(10 + kind), 0.01
    for _ in range(20):
        model, state = random_joint(kind, rng, lower=-9.0, upper=9.0, target=0.3, strength=2.0)
        rows = rows_of(model, state, h)
        error = np.concatenate(errors(model, state))
        np.testing.assert_allclose(rows.error[: error.size], error, atol=1e-7)
        assert (rows.bias[: error.size] == 0.0).all()
        assert (rows.error[error.size :] == 0.0).all()
        assert (rows.lower[: error.size] == -np.inf).all()
        assert (rows.upper[: error.size] == np.inf).all()
        if kind in (HINGE, SLIDER):
            q = coordinate(model, state)
            np.testing.assert_allclose(rows.bias[error.size :], [(q + 9) / h, (9 - q) / h, -0.3], rtol=1e-12)
            np.testing.assert_allclose(rows.lower[error.size :], [0, 0, -h * 2])
            np.testing.assert_allclose(rows.upper[error.size :], [np.inf, np.inf, h * 2])
            np.testing.assert_allclose(joint_coordinates(model, state), [q], atol=1e-12)
        else:
            assert rows.bias.size == error.size
            assert np.isnan(joint_coordinates(model, state)).all()


@pytest.mark.core
@KINDS
def test_errors_at_another_state_are_those_of_rows_filled_there(kind):
    """Also behind a compliant joint, which has none, and before another with limits."""
    rng = np.random.default_rng(50 + kind)
    model, state = random_joint(kind, rng, lower=-1.0, strength=1.0)
    column = {name: getattr(model, name).repeat(3, axis=0) for name in model._fields if name.startswith("joint")}
    model = model._replace(**column | {"joint_compliance": np.outer([0.0, 0.1, 0.0], np.ones(6))})
    rows, elsewhere = rows_of(model, state), random_joint(kind, rng)[1]
    joint_errors(model, elsewhere, rows, unplaced(), np.zeros(3))
    np.testing.assert_allclose(rows.error, rows_of(model, elsewhere).error, atol=1e-15)
    assert not rows.error[rows.joint == 1].any()
    assert rows.error[rows.joint == 2].any()


@pytest.mark.core
@KINDS
def test_a_compliant_joint_has_an_energy(kind):
    """Its forces -k error do the work that ½ k |error|² loses, wherever the bodies are."""
    rng, h, k = np.random.default_rng(20 + kind), 0.01, 7.0
    for _ in range(20):
        model, state = random_joint(kind, rng, compliance=1 / k)
        velocity = rng.standard_normal((2, 6))
        rows = rows_of(model, state, h)
        force = -rows.bias / rows.compliance / h  # where the row does not move
        power = force @ np.einsum("rbk,bk->r", dense(model, rows), velocity)
        lost = derivative(lambda s, m=model: k / 2 * (np.concatenate(errors(m, s)) ** 2).sum(), state, velocity)
        np.testing.assert_allclose(power, -lost, rtol=1e-5, atol=1e-5)


@pytest.mark.core
@KINDS
def test_impulses_keep_momentum_even_if_the_anchors_are_apart(kind):
    model, state = random_joint(kind, np.random.default_rng(30 + kind), lower=-1.0, upper=1.0, strength=1.0)
    G = dense(model, rows_of(model, state))
    moment = np.cross(state.position, G[:, :, :3]) + G[:, :, 3:]
    np.testing.assert_allclose(G[:, :, :3].sum(axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(moment.sum(axis=1), 0.0, atol=1e-14)


@pytest.mark.core
@pytest.mark.parametrize(
    ("kind", "planar", "count"),
    [
        *((FIXED, False, 6), (BALL, False, 3), (HINGE, False, 5), (SLIDER, False, 5)),
        *((FIXED, True, 3), (BALL, True, 2), (HINGE, True, 2), (SLIDER, True, 2)),
    ],
)
def test_number_and_rank_of_rows(kind, planar, count):
    """A joint leaves as many motions as it should, and no row is zero or a copy."""
    frame = ABOUT_Y if kind != SLIDER else np.eye(3)
    parts = {"frame_a": frame, "frame_b": frame, "anchor_a": np.array([0.3, 0, 0.2])}
    state = state_of([[0, 0, 0], [1, 0, 2]], [Rotation.from_rotvec([0, 0.4, 0]), Rotation.from_rotvec([0, 0.7, 0])])
    for bodies in ([body(), body()], [GROUND, body()], [body(), GROUND]):
        model = model_of(bodies, [joint(kind, **parts)], planar)
        rows = rows_of(model, state)
        assert rows.bias.size == count
        moving = np.concatenate([model.inverse_mass, np.einsum("bii->bi", model.inverse_inertia)], axis=1).ravel() > 0
        assert np.linalg.matrix_rank(dense(model, rows).reshape(count, -1)[:, moving]) == count
        for extra in ({"lower": -1.0}, {"upper": 1.0}, {"strength": 1.0}, {"lower": -1, "upper": 1, "strength": 1}):
            more = model_of(bodies, [joint(kind, **parts | extra)], planar)
            expected = count + (len(extra) if kind in (HINGE, SLIDER) else 0)
            assert rows_of(more, state).bias.size == expected


@pytest.mark.core
@KINDS
def test_no_rows_where_nothing_gives_way(kind):
    ends = [body(kind=Kind.MOVING), GROUND]
    model = model_of(ends, [joint(kind, lower=-1.0, strength=1.0)])
    assert rows_of(model, state_of(np.zeros((2, 3)))).bias.size == 0
    assert joint_coordinates(model, state_of(np.zeros((2, 3)))).size == 1


@pytest.mark.core
def test_a_particle_has_no_rotation_rows():
    """On a slider it is a bead on a wire."""
    particle = body(inertia=(0.0, 0.0, 0.0))
    state = state_of(np.zeros((2, 3)))
    assert rows_of(model_of([GROUND, particle], [joint(SLIDER, lower=0.0)]), state).bias.size == 3
    assert rows_of(model_of([GROUND, particle], [joint(HINGE, strength=1.0)]), state).bias.size == 3


@pytest.mark.core
def test_no_joints():
    model = model_of([GROUND, body()], [])
    assert rows_of(model, state_of(np.zeros((2, 3)))).bias.size == 0
    assert joint_coordinates(model, state_of(np.zeros((2, 3)))).size == 0


@pytest.mark.core
def test_rows_follow_the_order_of_joints_and_name_their_bodies():
    joints = [joint(BALL, a=2, b=1), joint(HINGE, a=1, b=0, frame_a=ABOUT_Y, frame_b=ABOUT_Y)]
    rows = rows_of(model_of([GROUND, body(), body()], joints), state_of(np.zeros((3, 3))))
    np.testing.assert_array_equal(rows.joint, [0, 0, 0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(rows.body_a, [2, 2, 2, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(rows.body_b, [1, 1, 1, 0, 0, 0, 0, 0])


@pytest.mark.core
@pytest.mark.parametrize(
    ("kind", "frame", "expected"),
    [
        (HINGE, np.eye(3), "joint 0, a HINGE of a planar scene, .* expected the third along y"),
        (SLIDER, ABOUT_Y, "joint 0, a SLIDER of a planar scene, .* expected the third in the plane y = 0"),
        (BALL, Rotation.from_rotvec([0.1, 0, 0]).as_matrix(), "expected one of them along y"),
    ],
)
def test_joints_out_of_the_plane_are_refused(kind, frame, expected):
    model = model_of([GROUND, body()], [joint(kind, frame_a=frame, frame_b=frame)], planar=True)
    with pytest.raises(InputError, match=expected):
        room_for_joints(model)


@pytest.mark.core
def test_an_angle_stays_within_half_a_turn_of_the_middle_of_its_limits():
    """Limits of 0.5 and 5 rad: the angle 4 is not -2.28, and there is as much room beyond either limit."""
    angles = [0.0, 0.5, 2.0, 4.0, 5.0, 5.8]
    model = model_of([GROUND, body()], [joint(HINGE, lower=0.5, upper=5.0)])
    for angle in angles:
        state = state_of(np.zeros((2, 3)), [Rotation.identity(), Rotation.from_rotvec([0, 0, angle])])
        np.testing.assert_allclose(joint_coordinates(model, state), angle, atol=1e-14)


# --- mechanisms -----------------------------------------------------------------------------------------------------


def engine_of(model, state, h):
    """The engine at work; without shapes there are no contacts."""
    return Engine(model, state, Drives(), h, ss.Coulomb(), tol=1e-13)


def impulses_of(engine):
    """λ of all rows in the next step."""
    record, made, _ = engine.march(1, 0)
    assert made == 1
    return record.joint_impulse[0]


def states(model, state, h, duration):
    """The state after each step, as one array that changes."""
    engine = engine_of(model, state, h)
    for _ in range(round(duration / h)):
        engine.march(1, 0)
        yield state


def energy(model, state):
    total = 0.0
    for b in np.flatnonzero(model.kind == Kind.FREE):
        v, spin = state.velocity[b, :3], rotation_of(state, b).inv().apply(state.velocity[b, 3:])
        total += 0.5 * model.mass[b] * v @ v + 0.5 * spin @ model.inertia[b] @ spin
        total -= model.mass[b] * model.gravity @ state.position[b]
    return total


def hanging_rods(kind, planar, angles, **given):
    """Rods that hang from the ground, one from the other, each turned by its angle about y from the vertical."""
    frame = ABOUT_Y if kind == HINGE else np.eye(3)
    parts = {"anchor_a": np.array([0, 0, HALF_LENGTH]), "frame_a": frame, "frame_b": frame}
    ends = [np.zeros(3), *[np.array([0, 0, -HALF_LENGTH])] * (len(angles) - 1)]
    joints = [joint(kind, a=i + 1, b=i, anchor_b=end, **parts | given) for i, end in enumerate(ends)]
    model = model_of([GROUND, *[ROD] * len(angles)], joints, planar, GRAVITY)
    positions, top = [np.zeros(3)], np.zeros(3)
    for angle in angles:
        half = -HALF_LENGTH * np.array([math.sin(angle), 0, math.cos(angle)])
        positions.append(top + half)
        top = top + 2 * half
    return model, state_of(positions, [Rotation.from_rotvec([0, angle, 0]) for angle in [0, *angles]])


def crossings(times, values):
    """When the values change sign, between two times linearly."""
    i = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    return times[i] + (times[i + 1] - times[i]) * values[i] / (values[i] - values[i + 1])


@pytest.mark.parametrize(("kind", "planar"), [(BALL, False), (HINGE, False), (BALL, True), (HINGE, True)])
def test_the_period_of_a_pendulum(kind, planar):
    """Exactly 2 π √(I/(m g d)) / agm(1, cos(amplitude/2)), about its end: I/(m d) is 4/3 of half its length.

    Steps are second order, and the anchor does not give way.
    """
    amplitude, d = 1.0, HALF_LENGTH
    exact = 2 * math.pi * math.sqrt(4 / 3 * d / GRAVITY) / agm(1, math.cos(amplitude / 2))
    wrong = []
    for h in (8e-3, 4e-3):
        model, state = hanging_rods(kind, planar, [amplitude])
        x, apart = [], 0.0
        for now in states(model, state, h, 1.3 * exact):
            x.append(now.position[1, 0])
            apart = max(apart, np.linalg.norm(seen_from_b(model, now)[0]))
        zeros = crossings(h * np.arange(1, len(x) + 1), np.array(x))
        wrong.append(abs(zeros[2] - zeros[0] - exact) / exact)
        assert apart < 1e-12
    assert wrong[1] < 1e-4
    np.testing.assert_allclose(wrong[0] / wrong[1], 4.0, rtol=0.1)


@PLANAR
def test_a_spinning_rod_keeps_its_energy(planar):
    """Without gravity, about a hinge at its end: to rounding, however large the step, and so does its speed."""
    speed = 3.0
    for h in (0.1, 0.02):
        model, state = hanging_rods(HINGE, planar, [0.0])
        model.gravity[:] = 0.0
        state.velocity[1] = [-speed * HALF_LENGTH, 0, 0, 0, speed, 0]
        before = energy(model, state)
        for now in states(model, state, h, 3.0):
            np.testing.assert_allclose(energy(model, now), before, rtol=1e-11)
            np.testing.assert_allclose(now.velocity[1, 3:], [0, speed, 0], atol=1e-11)


@PLANAR
def test_a_double_pendulum_keeps_its_energy_to_second_order(planar):
    change = []
    for h in (4e-3, 2e-3):
        model, state = hanging_rods(HINGE, planar, [1.5, 0.5])
        before = energy(model, state)
        change.append(max(abs(energy(model, now) - before) for now in states(model, state, h, 1.0)))
    np.testing.assert_allclose(change[0] / change[1], 4.0, rtol=0.1)
    assert change[1] < 1e-3 * abs(before - energy(*hanging_rods(HINGE, planar, [0.0, 0.0])))


def momentum(model, state):
    """Linear and angular, of bodies with inertias that are the same about all axes."""
    v, spin = model.mass[:, None] * state.velocity[:, :3], model.inertia[:, 0, :1] * state.velocity[:, 3:]
    return np.concatenate([v.sum(axis=0), (np.cross(state.position, v) + spin).sum(axis=0)])


@KINDS
def test_joined_bodies_keep_their_momentum(kind):
    """Linear and angular, to rounding, while they tumble; the joint holds to rounding too."""
    rng = np.random.default_rng(40 + kind)
    model, state = random_joint(kind, rng)
    state = assembled(model, state, rng)
    state.velocity[:] = rng.standard_normal((2, 6))
    before = momentum(model, state)
    for now in states(model, state, 0.05, 2.0):
        np.testing.assert_allclose(momentum(model, now), before, atol=1e-12)
        assert abs(rows_of(model, now).error).max() < 1e-12


@KINDS
def test_bodies_that_do_not_fit_come_together(kind):
    """RECOVERY of the error in each step, and then all of it. That moves them but does not push: the linear momentum is
    kept all the time, the angular as soon as they fit."""
    rng = np.random.default_rng(40 + kind)
    model, state = random_joint(kind, rng)
    state = assembled(model, state, rng)
    turned = Rotation.from_rotvec(0.1 * rng.standard_normal(3)) * rotation_of(state, 1)
    state.position[1] += 0.1 * rng.standard_normal(3)
    state.quaternion[1] = turned.as_quat(scalar_first=True)
    state.velocity[:] = rng.standard_normal((2, 6))
    before, error = momentum(model, state), rows_of(model, state).error
    kept = before
    for now in states(model, state, 0.05, 2.5):
        np.testing.assert_allclose(momentum(model, now)[:3], before[:3], atol=1e-12)
        left, error = error, rows_of(model, now).error
        np.testing.assert_allclose(error, np.where(abs(left) > 1e-9, (1 - RECOVERY) * left, 0.0), atol=1e-12)
        if abs(left).max() < 1e-9:
            np.testing.assert_allclose(momentum(model, now), kept, atol=1e-12)
        kept = momentum(model, now)
    assert abs(error).max() < 1e-12


@PLANAR
def test_a_fixed_joint_makes_one_body_of_two(planar):
    """Two balls side by side, thrown with a spin about y, against the one body that they are."""
    h, length = 2e-3, 0.4
    two = model_of(
        [GROUND, body(3.0, (0.1,) * 3), body(1.0, (0.02,) * 3)],
        [joint(FIXED, a=2, b=1, anchor_a=np.array([-length, 0, 0]))],
        planar,
        GRAVITY,
    )
    centre, velocity, spin = np.array([length / 4, 0, 0]), np.array([1.0, 0, 3]), np.array([0, 2.0, 0])
    positions = np.array([[0.0, 0, 0], [0, 0, 0], [length, 0, 0]])
    state = state_of(positions, velocities=[np.r_[velocity + np.cross(spin, p - centre), spin] for p in positions])
    state.velocity[0] = 0.0
    for _ in states(two, state, h, 1.0):
        pass
    together = (3 * state.position[1] + state.position[2]) / 4
    np.testing.assert_allclose(together, centre + velocity - [0, 0, GRAVITY / 2], atol=1e-12)
    turned = Rotation.from_rotvec(spin)
    for b in (1, 2):
        np.testing.assert_allclose((rotation_of(state, b) * turned.inv()).magnitude(), 0.0, atol=h**2)
        expected = together + turned.apply(positions[b] - centre)
        np.testing.assert_allclose(state.position[b], expected, atol=h**2)
    np.testing.assert_allclose(state.velocity[1:, 3:], [spin, spin], atol=1e-9)


def slope(planar, angle, **given):
    """A body on a slider, which falls down a line of that slope along x; the travel is upwards."""
    axes = np.column_stack([[-math.sin(angle), 0, math.cos(angle)], [0, 1, 0], [math.cos(angle), 0, math.sin(angle)]])
    axes[:, 1] *= np.linalg.det(axes)
    parts = {"frame_a": axes, "frame_b": axes, "anchor_a": np.array([0.1, 0, 0.2]), "anchor_b": np.array([0.1, 0, 0.2])}
    return model_of([GROUND, body(2.0)], [joint(SLIDER, **parts | given)], planar, GRAVITY), state_of(np.zeros((2, 3)))


@PLANAR
def test_a_slider_travels_freely(planar):
    """Under constant acceleration: by a t²/2."""
    h, angle = 0.01, 0.5
    model, state = slope(planar, angle)
    for n, now in enumerate(states(model, state, h, 0.5), start=1):
        travel = -GRAVITY * math.sin(angle) * (h * n) ** 2 / 2
        np.testing.assert_allclose(joint_coordinates(model, now), travel, atol=1e-13)
        np.testing.assert_allclose(now.position[1], travel * model.joint_frame_b[0, :, 2], atol=1e-13)
        np.testing.assert_allclose(now.quaternion[1], [1, 0, 0, 0], atol=1e-13)


@PLANAR
@pytest.mark.parametrize("sense", [1, -1])
def test_a_limit_stops_a_slider_exactly(planar, sense):
    """At the lower or the upper limit; the impulse there carries the weight."""
    h, angle = 0.01, 0.5
    limit = {"lower": -0.3} if sense == 1 else {"upper": 0.3}
    model, state = slope(planar, sense * angle, **limit)
    travels = np.concatenate([joint_coordinates(model, now) for now in states(model, state, h, 1.0)])
    assert (sense * travels >= -0.3 - 1e-12).all()
    np.testing.assert_allclose(sense * travels[-30:], -0.3, atol=1e-12)
    impulses = impulses_of(engine_of(model, state, h))
    np.testing.assert_allclose(impulses[-1], 2.0 * GRAVITY * math.sin(angle) * h, rtol=1e-9)


@PLANAR
@pytest.mark.parametrize("sense", [1, -1])
def test_a_limit_stops_a_hinge(planar, sense):
    """A rod that swings down from the side cannot come nearer than 0.2 to the vertical.

    It is turned to the limit exactly, by the angle θ of that step, while its centre goes along the tangent. The anchor
    is then off by d (θ - sin θ); taking that back turns the rod by d/(4/3 d²) of it, θ³/8 to fourth order.
    """
    limit = {"lower": 0.2} if sense == 1 else {"upper": -0.2}
    model, state = hanging_rods(HINGE, planar, [sense * 1.5], **limit)
    angles = sense * np.concatenate([joint_coordinates(model, now) for now in states(model, state, 0.005, 1.0)])
    stopped = np.argmax(angles < 0.2 + 1e-6)
    last = angles[stopped - 1] - 0.2
    np.testing.assert_allclose(0.2 - angles[stopped], last**3 / 8, rtol=5 * last)
    assert (angles[stopped + 1 :] >= angles[stopped]).all()
    np.testing.assert_allclose(angles[-30:], 0.2, atol=1e-12)


@pytest.mark.core
def test_a_joint_pressed_beyond_its_limit_is_brought_back():
    """At RECOVERY of the rest in each step, all of it where it has come back too far, while the weight is enough to
    keep it from leaving the limit; moved by the mean of two speeds as everything that is not hit."""
    for sense, limit in ((1, {"lower": -0.3}), (-1, {"upper": 0.3})):
        model, state = slope(False, sense * 0.5, **limit)
        state.position[1] -= sense * (0.3 + 1e-4) * model.joint_frame_b[0, :, 2]
        beyond, speed = 1e-4, 0.0
        for now in states(model, state, 0.01, 0.2):
            wanted = RECOVERY * beyond if beyond > 0 else beyond
            beyond, speed = beyond - (speed + wanted) / 2, wanted
            np.testing.assert_allclose(sense * joint_coordinates(model, now), -0.3 - beyond, rtol=0, atol=1e-12)
        assert abs(beyond) < 1e-8


@PLANAR
@pytest.mark.parametrize("kind", [HINGE, SLIDER], ids=lambda kind: kind.name)
@pytest.mark.parametrize("target", [2.0, -2.0])
@pytest.mark.parametrize(("strength", "expected"), [(40.0, 0.1), (1000.0, np.inf), (np.inf, np.inf)])
def test_a_motor_reaches_its_speed(kind, planar, target, strength, expected):
    """With strength / inertia, and then exactly; one strong enough at once. The bodies have mass and inertia 4."""
    h, frame = 0.01, ABOUT_Y if kind == HINGE else np.eye(3)
    parts = {"frame_a": frame, "frame_b": frame, "target": target, "strength": strength}
    model = model_of([GROUND, body(4.0, (4.0,) * 3)], [joint(kind, **parts)], planar)
    state = state_of(np.zeros((2, 3)))
    axis = frame[:, 2]
    for n, now in enumerate(states(model, state, h, 0.3), start=1):
        rate = axis @ (now.velocity[1, 3:] if kind == HINGE else now.velocity[1, :3])
        np.testing.assert_allclose(rate, math.copysign(min(n * expected, 2.0), target), atol=1e-12)


@PLANAR
def test_a_motor_that_is_too_weak_holds_what_it_can(planar):
    """On a slope that pulls with twice its strength the body falls half as fast; at a limit both act."""
    h, angle = 0.01, 0.5
    pull = 2.0 * GRAVITY * math.sin(angle)
    model, state = slope(planar, angle, strength=pull / 2, lower=-0.3)
    for n, now in enumerate(states(model, state, h, 0.3), start=1):
        travel = -GRAVITY / 2 * math.sin(angle) * (h * n) ** 2 / 2
        np.testing.assert_allclose(joint_coordinates(model, now), travel, atol=1e-12)
    for now in states(model, state, h, 0.7):
        assert joint_coordinates(model, now)[0] >= -0.3 - 1e-12
    *_, limit, motor = impulses_of(engine_of(model, state, h))
    np.testing.assert_allclose(limit + motor, h * pull, rtol=1e-9)
    assert abs(motor) <= h * pull / 2 + 1e-12


@pytest.mark.core
@PLANAR
@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_a_compliant_joint_is_a_spring_by_implicit_euler(planar, damping):
    """A ball joint pulled along x, a fixed joint turned about y: (x, v)⁺ = (1 - h A)⁻¹ (x, v), A that of the spring."""
    h, k, m = 0.01, 400.0, 4.0
    implicit = np.linalg.inv(np.eye(2) - h * np.array([[0, 1], [-k / m, -damping / m]]))
    for kind in (BALL, FIXED):
        model = model_of([GROUND, body(m, (m,) * 3)], [joint(kind, compliance=1 / k, damping=damping)], planar)
        state, expected = state_of(np.zeros((2, 3))), np.array([0.1, 0.0])
        if kind == BALL:
            state.position[1, 0] = 0.1
        else:
            state.quaternion[1] = Rotation.from_rotvec([0, 0.1, 0]).as_quat(scalar_first=True)
        for now in states(model, state, h, 0.5):
            expected = implicit @ expected
            x = now.position[1, 0] if kind == BALL else rotation_of(now, 1).as_rotvec()[1]
            v = now.velocity[1, 0 if kind == BALL else 4]
            np.testing.assert_allclose([x, v], expected, atol=1e-13)


def test_the_frequency_of_a_compliant_hinge():
    """√(k/m), as h goes to zero: implicit Euler turns by atan(hω) in a step instead of hω."""
    k, m = 400.0, 4.0
    wrong = []
    for h in (2e-3, 1e-3):
        model = model_of([GROUND, body(m)], [joint(HINGE, compliance=1 / k)])
        state = state_of([np.zeros(3), [0.0, 0.0, 0.05]])
        z = [now.position[1, 2] for now in states(model, state, h, 1.0)]
        zeros = crossings(h * np.arange(1, len(z) + 1), np.array(z))
        wrong.append(abs(math.pi / np.diff(zeros).mean() / math.sqrt(k / m) - 1))
    assert wrong[1] < 1e-3
    assert wrong[1] < 0.5 * wrong[0]


@KINDS
def test_a_body_follows_the_moving_one_it_is_joined_to(kind):
    """A turntable that also travels: the other body keeps its place on it, but for what the joint leaves free."""
    h, drive = 1e-3, [0.3, 0.0, 0.1, 0.0, 0.0, 2.0]
    parts = {"anchor_b": np.array([0.5, 0, 0]), "frame_a": ABOUT_Y, "frame_b": ABOUT_Y}
    model = model_of([body(kind=Kind.MOVING), body()], [joint(kind, **parts)])
    state = state_of([[0, 0, 0], [0.5, 0, 0]], velocities=[drive, [0.3, 1.0, 0.1, 0, 0, 2.0]])
    for _ in states(model, state, h, 1.0):
        pass
    np.testing.assert_allclose(state.velocity[0], drive)
    apart, turn = seen_from_b(model, state)
    held = [0, 1] if kind == SLIDER else [0, 1, 2]
    np.testing.assert_allclose(apart[held], 0.0, atol=1e-12)
    np.testing.assert_allclose(turn.magnitude(), 0.0, atol=1e-9)
