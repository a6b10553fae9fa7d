"""The arrays of a step: rows of contacts and of joints, the law they obey, the answer, and the memory between steps.

`prepare` fills them from a state, a solve finds the impulses, `finish` moves the bodies. Blocks of D components each (2
in the plane, 3 in space, 4 with spin) are numbered 0 … n - 1 for the contacts that take part, and n … n + m - 1 for the
bounded rows of joints (limits and motors) that do, of which only the first component means something. Bilateral rows
are eliminated.

A block acts on places: a body that no joint holds, or a node of the factors of those that joints hold
(dynamics/articulated.py), of which it acts on all from its own body to the last of the group. In each place it has a G
(D, 6), so that the response of block i to block j, the Delassus matrix, is

    W_ij = Σ s G_i G_jᵀ     over the places of both,      s = -1 at nodes of joints, else 1

For a body G = J L with L Lᵀ = M⁻¹; then v = v_free + L z with z = Σ s G_jᵀ p_j.

Kernels take the arrays they use, not the tuples: each array of a call costs time where it is compiled and where it
runs.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.collision.broadphase import Workspace, workspace
from stickslip.collision.contacts import Contacts, room_for
from stickslip.dynamics.held import Held, held_by
from stickslip.dynamics.motion import FREE, STATIC, Bodies, bodies_of
from stickslip.engine.newton import INTEGERS, NUMBERS
from stickslip.engine.team import new_post
from stickslip.friction.terms import LawNumbers
from stickslip.scene.model import Floats, Integers, Model, Motors, Shape, State

Booleans = NDArray[np.bool_]

# places in Work.count
FOUND, ACTIVE, BOUNDED, ISLANDS, ISLAND, ITERATIONS, METHOD, STATUS, NEEDED, LIMITS, TRIES, BOUNCED = range(12)
SEEN, MISSED, LOOKS, COUNTS = range(12, 16)
METHODS = (
    *("none", "sweeps", "correction"),  # of the compiled loop
    *("ConeInteriorPoint", "ConeNewton", "NSGS", "BodyNSGS", "APGD", "ADMM", "FixedPoint", "Conic"),
    *("Lemke", "JudicePires", "Murty", "PGS", "SemismoothNewton", "InteriorPoint", "Enumeration"),
    *("LimitSurfaceGaussSeidel", "LimitSurfaceNewton", "PotentialReduction", "LimitSurfaceInteriorPoint", "other"),
)  # which solved a step
NO_SOLVE, SWEEPS, CORRECTION = range(3)
SPHERE = int(Shape.SPHERE)
WIDE = {"PLANE": 0, "BOX": 3, "CYLINDER": 2, "HULL": 3}  # how many of its sizes say how wide a shape is; else 1
WIDTHS = np.array([np.arange(3) < WIDE.get(shape.name, 1) for shape in Shape])
MOST_SLABS, BINS = 32, 1024  # see engine/slabs.py
FINER = 0.1  # of its width: how thin a body may count as beside thinner ones
LARGE = 4096  # blocks from which an island is cut
JOINT = -2  # less the number of a joint: in the place of the worst contact, the joint that is worst


class Rules(NamedTuple):
    """What a run asks of every step."""

    law: LawNumbers
    tol: float  # on the residual: what each step aims for
    accept: float  # and what is good enough to go on with
    swept: bool  # contacts obey a cone law, which compiled sweeps solve
    associated: bool  # the associated law instead of Coulomb's
    asks: bool  # friction is a function of the state, which the loop asks for once a step is prepared
    relaxes_friction: bool  # tangents have a compliance of their own
    stops: bool  # a step whose joints come apart by more than accept is not made
    euler: bool  # bodies in contact move with their velocity at the end of the step
    sweeps: int  # of Gauss–Seidel at most
    effort: int  # so many are made in islands of more than `exact` blocks, which then may stop at `accept`
    exact: int
    patience: int  # see NSGS; for up to `few` contacts, for which the interior point method takes over
    few: int
    long_patience: int  # for more of them


class Surfaces(NamedTuple):
    """What the contact law needs of a Model."""

    body: Integers  # (ns,)
    material: Integers  # (ns,)
    friction_static: Floats  # (nm, nm)
    friction_kinetic: Floats  # (nm, nm)
    restitution: Floats  # (nm, nm)
    stiffness: Floats  # (nm, nm)
    damping: Floats  # (nm, nm)
    stiffness_tangent: Floats  # (nm, nm)
    damping_tangent: Floats  # (nm, nm)
    patch: Floats  # (nm, nm)


OF_MODEL = attrgetter("shape_body", "shape_material", *Surfaces._fields[2:])


class Rows(NamedTuple):
    """Room for `capacity` contacts and all bounded joint rows: nb blocks in all."""

    part: Integers  # (capacity,)   of each contact found: whether it takes part, see friction/terms.py
    found: Integers  # (capacity,)   of each that does, its number among those found
    number: Integers  # (bounded,)   of the bounded joint rows that take part, in JointRows
    body: Integers  # (nb, 2)
    frame: Floats  # (capacity, 3, 3)   n, t, o by rows
    jacobian: Floats  # (nb, 2, D, 6)   by side and component
    start: Integers  # (nb + 1,)   where the places of a block begin
    place: Integers  # (room,)   a body, or after all bodies a node
    G: Floats  # (room, D, 6)


class Law(NamedTuple):
    """What a step asks of its blocks; of joint rows d is the bias and ε the compliance Σ."""

    q: Floats  # (D nb,)   velocities without impulses but those of joints, with d, see friction/terms.py
    compliance: Floats  # (nb,)   ε of the normals
    compliance_tangent: Floats  # (nb,)   ε_t
    damped: Floats  # (nb,)   ε_t h b_t
    mu: Floats  # (nb,)   that holds
    shift: Floats  # (nb,)   of the cone law: μ, or 0 where it is the associated one
    lower: Floats  # (nb,)   of joint rows
    upper: Floats  # (nb,)
    sliding: Booleans  # (nb,)
    before: Floats  # (D nb,)   velocities at the start, where it touches then
    restitution: Floats  # (nb,)   of a contact that bounces, else 0
    target: Floats  # (nb,)   τ of engine/impacts.py of a contact that bounces
    own: Floats  # (d², nb)   W_ii with ε, entries by rows; d = min(D, 3)
    inverse: Floats  # (nb, 9)   of it where that is of use, see solvers/nsgs.py
    scale: Floats  # (nb,)   √ρ, ρ = d / tr W_ii: makes impulses and velocities comparable
    rolls: Booleans  # (nb,)   whether it is a rim that rolls on a plane
    runs: Floats  # (D nb,)   e of engine/rims.py, of those


class Answer(NamedTuple):
    """What a step finds, and where it starts from."""

    free: Floats  # (bodies, 6)   velocities with joints but without contacts and bounded rows; without joints Bodies.v
    known: Booleans  # (nb,)   was there in the step before
    moved: Booleans  # (nb,)   and took more than a sweep
    waited: Integers  # (nb,)   for how many steps in a row the loop has not solved its island to tol
    start: Floats  # (D nb,)   impulses of the step before
    trend: Floats  # (D nb,)   how they changed in it
    p: Floats  # (D nb,)   impulses
    u: Floats  # (D nb,)   velocities under the law, with d and ε p
    z: Floats  # (places, 6)   what impulses do there
    v: Floats  # (bodies, 6)   velocities of the bodies at the end; without joints Bodies.v too
    after: Floats  # (D nb,)   of contacts, with these
    state: Integers  # (nb,)   of contacts whose law is no cone's, as the formulation tells


class Islands(NamedTuple):
    """Blocks that hang together through bodies that move: those of island i are member[start[i]] … in order."""

    root: Integers  # (bodies + groups,)   union-find
    label: Integers  # (bodies + groups,)
    of_block: Integers  # (nb,)
    start: Integers  # (nb + 1,)
    member: Integers  # (nb,)
    stiff: Integers  # (nb,)   1 where an island has joints
    swept: Integers  # (nb,)   how many sweeps an island took, 0 where it was solved outside
    hard: Booleans  # (nb,)   whether the loop does not solve it to tol
    leans: Booleans  # (nb,)   whether something that is not free pushes an island
    tried: Integers  # (nb,)   which λ of engine/impacts.py
    share: Floats  # (nb,)   λ
    first: Floats  # (nb,)   the energy that λ = 1 would gain
    mark: Integers  # (places,)   zeros, room to count or number places
    numbers: Floats  # room for engine/newton.py
    integers: Integers  # likewise


class Slabs(NamedTuple):
    """A large island at hand, cut into slabs and put in their order: see engine/slabs.py."""

    post: Integers  # see engine/team.py
    start: Integers  # (MOST_SLABS + 2,)   where the blocks of each begin: of the even slabs, the odd ones, the rest
    colour: Integers  # (4,)   where the even ones, the odd ones and the rest begin among them, and their number
    sums: Floats  # (MOST_SLABS + 1, 4)   of each slab
    omega: Floats  # (1,)   over-relaxation
    bins: Integers  # (BINS,)   how many blocks there are in each, then its slab
    bin: Integers  # (bodies,)   of each body; then its number in the order of slabs
    home: Integers  # (bodies,)   the body of each such number
    order: Integers  # (nb,)   blocks in the order of slabs
    member: Integers  # (nb,)   0, 1, 2, …
    rows: Rows  # start, place and G in this order
    law: Law  # what sweeps need of it, likewise
    answer: Answer  # moved, start, trend, p, u and z, likewise


class Work(NamedTuple):
    """All that the steps of a run share and fill anew."""

    count: Integers  # type: ignore[assignment]  # (COUNTS,)   FOUND … LOOKS
    residual: Floats  # (1,)
    wrong: Floats  # (2,)   the worst velocity at a contact, and the worst share of a force outside its cone
    free: Booleans  # (nb,)   whether a body moves by the forces on it
    moving: Booleans  # (nb,)   whether it moves at all
    sign: Floats  # (places,)   s
    share: Floats  # (nb,)   of its velocity at the end of the step in that by which a body moves
    gain: Floats  # (nb,)   room
    width: Floats  # (nb,)   see engine/ahead.py
    stopped: Booleans  # (nb,)   whether it does not roll in this step, see engine/rims.py
    energy: Floats  # (nb,)   that it may have in the end where it rolls
    trial: State  # room for bodies at the end of a step
    frame: Floats  # (3, 3)   room
    bodies: Bodies
    surfaces: Surfaces
    collision: Workspace
    contacts: Contacts
    ahead: Contacts  # at the end of a step
    missed: Contacts  # those that the start of the step does not tell of
    rows: Rows
    law: Law
    answer: Answer
    islands: Islands
    slabs: Slabs
    held: Held


class Memory(NamedTuple):
    """The contacts of the last step and their impulses in world axes, by which the next one starts."""

    known: Integers  # (1,)   how many
    moved: Booleans  # (capacity,)   whether their islands took more than a sweep
    waited: Integers  # (capacity,)   likewise
    key: Integers  # (capacity, 3)   shape_a, shape_b, feature
    impulse: Floats  # (capacity, 3)
    trend: Floats  # (capacity, 3)   how they changed in that step
    moment: Floats  # (capacity,)   about the normal
    joint: Floats  # (nr,)   λ of joint rows


class Record(NamedTuple):
    """What a run leaves of each step: room for `steps` of them and `capacity` contacts in all."""

    position: Floats  # (steps, nb, 3)
    quaternion: Floats  # (steps, nb, 4)
    velocity: Floats  # (steps, nb, 6)
    status: Integers  # (steps,)
    iterations: Integers  # (steps,)
    method: Integers  # (steps,)
    residual: Floats  # (steps,)
    velocity_error: Floats  # (steps,)
    force_error: Floats  # (steps,)
    worst: Integers  # (steps,)   contact, of those found in the step; -1 where none is wrong, JOINT - j for joint j
    joint_impulse: Floats  # (steps, nr)
    contact_start: Integers  # (steps + 1,)
    shape_a: Integers  # (capacity,)
    shape_b: Integers  # (capacity,)
    feature: Integers  # (capacity,)
    point: Floats  # (capacity, 3)
    normal: Floats  # (capacity, 3)
    tangent: Floats  # (capacity, 3)
    gap: Floats  # (capacity,)
    friction: Floats  # (capacity,)
    impulse: Floats  # (capacity, 3)   n, t, o
    velocity_after: Floats  # (capacity, 3)   relative, n, t, o
    moment: Floats  # (capacity,)   about n
    spin: Floats  # (capacity,)   relative, about n
    state: Integers  # (capacity,)   of problems.contact_states.State
    left_out: Integers  # (capacity,)   of friction/terms.py


def components(model: Model, spin: bool) -> int:
    return 2 if model.planar else 4 if spin else 3


def room_to_work(model: Model, spin: bool, capacity: int, reach: int, motors: Motors | None = None) -> Work:
    """`reach`: room for places; `motors`: those of the model where None."""
    bodies, held, motion = model.kind.size, held_by(model, motors), bodies_of(model)
    sign = np.ones(bodies + held.tree.body.size)
    sign[bodies:][held.tree.body < 0] = -1.0
    return Work(
        count=np.zeros(COUNTS, np.int64),
        residual=np.zeros(1),
        wrong=np.zeros(2),
        free=model.kind == FREE,
        moving=model.kind != STATIC,
        sign=sign,
        share=np.zeros(bodies),
        gain=np.zeros(bodies),
        width=least_widths(model),
        stopped=np.zeros(bodies, np.bool_),
        energy=np.zeros(bodies),
        trial=State(np.zeros((bodies, 3)), np.zeros((bodies, 4)), np.zeros((bodies, 6))),
        frame=np.zeros((3, 3)),
        bodies=motion,
        surfaces=Surfaces(*OF_MODEL(model)),
        collision=workspace(model),
        held=held,
        **room_for_contacts(components(model, spin), motion, held, capacity, reach),
    )


def least_widths(model: Model) -> Floats:
    """(nb,) of the shapes of a body; inf for planes, and for balls about their centres of mass, which turn unseen,
    unless joints bend their way. Bodies count as no wider than the thinnest that is free, down to FINER of what they
    are: what overlaps little for them would be much beside it."""
    kind, size = model.shape, model.shape_size
    turns = (kind != SPHERE) | (np.linalg.norm(model.shape_position, axis=1) > 1e-9 * size[:, 0])
    if model.joint.size:
        turns |= np.isin(model.shape_body, np.concatenate([model.joint_a, model.joint_b]))
    width = 2.0 * np.where(WIDTHS[kind] & (size > 0.0), size, np.inf).min(axis=1)
    thinnest = width[model.kind[model.shape_body] == FREE].min(initial=np.inf)
    width = np.where(turns, np.maximum(np.minimum(width, thinnest), FINER * width), np.inf)
    least = np.full(model.kind.size, np.inf)
    np.minimum.at(least, model.shape_body, width)
    return least


def room_for_contacts(D: int, motion: Bodies, held: Held, capacity: int, reach: int) -> dict[str, Any]:
    bodies, joints = motion.kind.size, held.wanted.size > 0
    bounded, groups, nodes = held.bounded.size, held.tree.group_start.size - 1, held.tree.size.size
    d, blocks = min(D, 3), capacity + bounded

    def numbers(*shape: int) -> Floats:
        return np.zeros(shape)

    def integers(*shape: int) -> Integers:
        return np.zeros(shape, np.int64)

    def flags() -> Booleans:
        return np.zeros(blocks, np.bool_)

    room = blocks >= LARGE or joints  # slabs need it, and what takes back overlaps of bodies with joints (apart.py)

    def again(whole: Any, *names: str) -> Any:
        arrays = ((name, getattr(whole, name)) for name in names)
        return whole._replace(**{name: np.zeros_like(array) if room else array[:0] for name, array in arrays})

    size = D * blocks
    rows = Rows(
        integers(capacity), integers(capacity), integers(bounded), integers(blocks, 2), numbers(capacity, 3, 3),
        numbers(blocks, 2, D, 6), integers(blocks + 1), integers(reach), numbers(reach, D, 6),
    )  # fmt: skip
    law = Law(
        numbers(size), numbers(blocks), numbers(blocks), numbers(blocks), numbers(blocks), numbers(blocks),
        numbers(blocks), numbers(blocks), flags(), numbers(size), numbers(blocks), numbers(blocks),
        numbers(d * d, blocks), numbers(blocks if d == 3 else 0, 9), numbers(blocks), flags(), numbers(size),
    )  # fmt: skip
    free, v = (numbers(bodies, 6), numbers(bodies, 6)) if joints else (motion.v, motion.v)
    answer = Answer(
        free, flags(), flags(), integers(blocks), numbers(size), numbers(size), numbers(size), numbers(size),
        numbers(bodies + nodes, 6), v, numbers(size), integers(blocks),
    )  # fmt: skip
    islands = Islands(
        integers(bodies + groups), integers(bodies + groups), integers(blocks), integers(blocks + 1), integers(blocks),
        integers(blocks), integers(blocks), flags(), flags(), integers(blocks), numbers(blocks), numbers(blocks),
        integers(bodies + nodes), np.empty(NUMBERS), np.empty(INTEGERS, np.int64),
    )  # fmt: skip
    slabs = Slabs(
        new_post(), integers(MOST_SLABS + 2), integers(4), numbers(MOST_SLABS + 1, 4), numbers(1), integers(BINS),
        integers(bodies), integers(bodies), integers(blocks), np.arange(blocks), again(rows, "start", "place", "G"),
        again(law, "q", "compliance", "compliance_tangent", "mu", "shift", "own", "inverse", "scale"),
        again(answer, "moved", "start", "trend", "p", "u", "z"),
    )  # fmt: skip
    return {
        **{name: room_for(capacity) for name in ("contacts", "ahead", "missed")},
        "rows": rows,
        "law": law,
        "answer": answer,
        "islands": islands,
        "slabs": slabs,
    }


def no_memory(capacity: int, joint_rows: int) -> Memory:
    return Memory(
        np.zeros(1, np.int64), np.zeros(capacity, np.bool_), np.zeros(capacity, np.int64),
        np.zeros((capacity, 3), np.int64), np.zeros((capacity, 3)), np.zeros((capacity, 3)), np.zeros(capacity),
        np.zeros(joint_rows),
    )  # fmt: skip


def room_to_record(work: Work, steps: int, capacity: int) -> Record:
    """What is written before it is read is not set to zero: the room may be much larger than its use."""
    bodies = work.free.size

    def numbers(*shape: int) -> Floats:
        return np.empty((capacity, *shape))

    def integers() -> Integers:
        return np.empty(capacity, np.int64)

    status, iterations, method, worst = np.zeros((4, steps), np.int64)
    residual, velocity_error, force_error = np.zeros((3, steps))
    return Record(
        np.empty((steps, bodies, 3)), np.empty((steps, bodies, 4)), np.empty((steps, bodies, 6)), status, iterations,
        method, residual, velocity_error, force_error, worst, np.zeros((steps, work.held.wanted.size)),
        np.zeros(steps + 1, np.int64),
        integers(), integers(), integers(), numbers(3), numbers(3), numbers(3), numbers(), numbers(), numbers(3),
        numbers(3), numbers(), numbers(), integers(), integers(),
    )  # fmt: skip


def from_step(record: Record, first: int) -> Record:
    """The steps of a record from one on."""
    of_steps = Record._fields[: Record._fields.index("shape_a")]
    return record._replace(**{name: getattr(record, name)[first:] for name in of_steps})
