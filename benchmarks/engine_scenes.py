"""The scenes of engine.py: bodies as plain numbers, so that every engine is given the same, and what is right.

    slide   a unit cube on a plane, mu = 1, 5 m/s and one turn a second; where it comes to rest is known by an ODE, the
            loads of its four corners being linear in their place (Peiret, Kövecses, Font-Llagunes 2017)
    stick   a unit cube on a slope of 0.49 with mu = 0.5: it rests
    slip    the same at 0.51: it slides s = g cos a (tan a - mu) t²/2
    stack   ten cubes of 0.5 m: they rest
    slab    a plate of 10 kg with 25 balls of 1 kg on it, pulled by 150 N; mu = 0.4 below and 0.8 above: the balls roll,
            so the plate has a = (F - 0.4 (M + 25 m) g) / (M + 25 m 2/7), the balls 2/7 a
    pile    1000 balls of 0.05 m ± 10 % in an open box of five planes, mu = 0.5, that have come to rest

Engines combine the friction of two surfaces by different rules, so a Surface has a number for each. Scenes with joints
are in engine_joints.py.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

GRAVITY = 9.81
ORIGIN, UP, UPRIGHT = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)
ALONG = np.linspace(-0.5, 0.5, 9)  # places on the axis of a capsule whose balls are looked at for overlap
SIGNS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)  # of the corners of a box
REST_OF_THE_CUBE = (0.4406458, 1.5839676, 1.9534724)  # x, y [m], yaw [rad]


class Surface(NamedTuple):
    """Friction, so that each pair that may touch gets the same coefficient from every engine."""

    greatest: float  # where the greater of two counts (MuJoCo)
    factor: float  # where two are multiplied (Bullet)
    mean: float | None  # where the geometric mean counts, and None takes the other's (stickslip)


def everywhere(mu: float) -> Surface:
    return Surface(mu, math.sqrt(mu), mu)


@dataclass(frozen=True)
class Plane:
    point: Vector
    normal: Vector
    surface: Surface


@dataclass(frozen=True)
class Block:
    """A box; of two sizes a capsule about its z axis, of one a ball."""

    size: tuple[float, ...]  # (l_x, l_y, l_z), (radius, length without the caps), or (radius,)   [m]
    mass: float
    position: Vector
    surface: Surface
    velocity: Vector = ORIGIN
    spin: Vector = ORIGIN
    force: Vector = ORIGIN
    orientation: Quaternion = UPRIGHT  # scalar first
    static: bool = False

    @property
    def shape(self) -> Literal["ball", "capsule", "box"]:
        return ("ball", "capsule", "box")[len(self.size) - 1]

    @property
    def half(self) -> Floats:
        """Of a box, the half lengths."""
        return 0.5 * np.array(self.size)

    @property
    def length(self) -> float:
        """The greatest [m]."""
        match self.shape:
            case "ball":
                return 2 * self.size[0]
            case "capsule":
                return self.size[1] + 2 * self.size[0]
            case _:
                return max(self.size)

    @property
    def moments(self) -> Vector:
        """Of inertia about its axes [kg m²]."""
        m = self.mass
        match self.shape:
            case "ball":
                return (0.4 * m * self.size[0] ** 2,) * 3
            case "capsule":
                r, h = self.size
                caps = m * 4 / 3 * r / (h + 4 / 3 * r)
                across = (m - caps) * (h * h / 12 + r * r / 4) + caps * (0.4 * r * r + h * h / 4 + 0.375 * h * r)
                return across, across, (0.5 * (m - caps) + 0.4 * caps) * r * r
            case _:
                x, y, z = (length**2 / 12 for length in self.size)
                return m * (y + z), m * (z + x), m * (x + y)


@dataclass(frozen=True)
class Motor:
    """What drives or holds a joint, with at most this force or torque.

    speed    it wants a speed
    servo    it holds its place, by a spring and a damper, where an engine has such; elsewhere the speed zero
    brake    dry friction: it wants to stand still
    """

    kind: Literal["speed", "servo", "brake"]
    strength: float  # [N, N m]
    speed: float = 0.0  # [m/s, rad/s]
    stiffness: float = 0.0  # of a servo, where an engine asks for it   [N/m, N m/rad]
    damping: float = 0.0  # of a servo, and of a motor where its force is damping times what it lacks in speed


@dataclass(frozen=True)
class Joint:
    """Of two blocks, or of one to the world; places and axes are those of the start, in the world."""

    kind: Literal["ball", "hinge", "slider"]
    a: int  # the block that it moves; where the joint is of the tree, b is a smaller number, or None
    b: int | None  # the block it moves against, None is the world
    place: Vector
    axis: Vector = (0.0, 1.0, 0.0)
    limits: tuple[float, float] | None = None  # of a seen from b, 0 at the start
    motor: Motor | None = None
    closes: bool = False  # a loop: all other joints are a tree. Balls only


@dataclass(frozen=True)
class Setting:
    """One scene; `before` steps are made off the clock, then `steps` on it."""

    name: str
    gravity: Vector
    planes: tuple[Plane, ...]
    blocks: tuple[Block, ...]
    dt: float
    steps: int
    stride: int  # steps from one recorded instant to the next
    grade: Callable[[Setting, Motion], dict[str, float]]
    before: int = 0
    stiffness: float = math.inf  # of the normals, where stickslip is asked for springs   [N/m]
    damping: float = 0.0  # [N s/m]
    joints: tuple[Joint, ...] = ()  # all blocks that they join, to the world too, never touch each other

    @cached_property
    def jointed(self) -> frozenset[int]:
        """The blocks that have joints."""
        return frozenset(block for joint in self.joints for block in (joint.a, joint.b) if block is not None)

    @property
    def tree(self) -> dict[int, Joint]:
        """The joint by which a block hangs from one of a smaller number, or from the world."""
        return {joint.a: joint for joint in self.joints if not joint.closes}


@dataclass(frozen=True, eq=False)
class Motion:
    """What an engine made of a scene: the blocks at the recorded instants, the start included."""

    position: Floats  # (frames, blocks, 3)
    quaternion: Floats  # (frames, blocks, 4), scalar first
    velocity: Floats  # (frames, blocks, 3)
    spin: Floats  # (frames, blocks, 3), world axes


def tilted(slope: float) -> Vector:
    """Gravity seen from a slope of this tangent."""
    down = GRAVITY / math.hypot(1.0, slope)
    return (down * slope, 0.0, -down)


def slide() -> Setting:
    floor = Plane(ORIGIN, UP, everywhere(1.0))
    cube = Block((1.0, 1.0, 1.0), 1.0, (0.0, 0.0, 0.5), everywhere(1.0), (0.0, 5.0, 0.0), (0.0, 0.0, 2 * math.pi))
    return Setting(
        "slide", (0.0, 0.0, -GRAVITY), (floor,), (cube,), 1e-3, 700, 10, grade_slide, stiffness=1e10, damping=1e8
    )


def slope(name: str, tangent: float) -> Setting:
    floor = Plane(ORIGIN, UP, everywhere(0.5))
    cube = Block((1.0, 1.0, 1.0), 1.0, (0.0, 0.0, 0.5), everywhere(0.5))
    return Setting(name, tilted(tangent), (floor,), (cube,), 1e-3, 2000, 10, grade_slope)


def stack() -> Setting:
    floor = Plane(ORIGIN, UP, everywhere(0.5))
    cubes = tuple(Block((0.5, 0.5, 0.5), 1.0, (0.0, 0.0, 0.25 + 0.5 * i), everywhere(0.5)) for i in range(10))
    return Setting("stack", (0.0, 0.0, -GRAVITY), (floor,), cubes, 1e-3, 5000, 100, grade_stack)


def slab() -> Setting:
    floor = Plane(ORIGIN, UP, Surface(0.4, 0.4, 0.4))
    plate = Block((5.0, 5.0, 0.2), 10.0, (0.0, 0.0, 0.1), Surface(0.4, 1.0, None), force=(150.0, 0.0, 0.0))
    places = [(0.8 * i - 1.6, 0.8 * j - 1.6, 0.3) for i in range(5) for j in range(5)]
    balls = tuple(Block((0.1,), 1.0, place, Surface(0.8, 0.8, 0.8)) for place in places)
    return Setting("slab", (0.0, 0.0, -GRAVITY), (floor,), (plate, *balls), 1e-3, 1000, 10, grade_slab)


def loose_pile(balls: int = 1000, side: float = 1.0) -> Setting:
    """The balls in layers above the floor of their box, not yet settled."""
    rng = np.random.default_rng(0)
    radius = 0.05 * (1 + 0.1 * rng.uniform(-1, 1, balls))
    across = int(side / 0.115)
    places = np.array([(k % across, k // across % across, k // across**2) for k in range(balls)], float)
    places = (places + 0.5) * (side / across, side / across, 0.111) + rng.uniform(-1e-3, 1e-3, (balls, 3))
    blocks = tuple(
        Block((float(r),), 1000 * 4 / 3 * math.pi * float(r) ** 3, (float(x), float(y), float(z)), everywhere(0.5))
        for r, (x, y, z) in zip(radius, places, strict=True)
    )
    walls: list[tuple[Vector, Vector]] = [(ORIGIN, UP), (ORIGIN, (1.0, 0.0, 0.0)), (ORIGIN, (0.0, 1.0, 0.0))]
    walls += [((side, 0.0, 0.0), (-1.0, 0.0, 0.0)), ((0.0, side, 0.0), (0.0, -1.0, 0.0))]
    planes = tuple(Plane(point, normal, everywhere(0.5)) for point, normal in walls)
    return Setting("pile", (0.0, 0.0, -GRAVITY), planes, blocks, 2e-3, 100, 10, grade_pile, before=100, stiffness=1e6)


def placed(setting: Setting, position: Floats) -> Setting:
    """The same bodies, at rest in other places."""
    blocks = (
        replace(block, position=(float(x), float(y), float(z)))
        for block, (x, y, z) in zip(setting.blocks, position, strict=True)
    )
    return replace(setting, blocks=tuple(blocks))


def digest(setting: Setting) -> str:
    return hashlib.sha256(repr((setting.gravity, setting.planes, setting.blocks)).encode()).hexdigest()[:16]


def grade_slide(setting: Setting, motion: Motion) -> dict[str, float]:
    x, y, yaw = REST_OF_THE_CUBE
    end, (w, _, _, z) = motion.position[-1, 0], motion.quaternion[-1, 0]
    turned = 2 * math.atan2(z, w) % (2 * math.pi)
    return {
        "position off mm": 1e3 * math.hypot(end[0] - x, end[1] - y),
        "yaw off rad": turned - yaw,
        "lift mm": 1e3 * float(motion.position[:, 0, 2].max() - 0.5),
        "deepest mm": deepest(setting, motion),
    }


def grade_slope(setting: Setting, motion: Motion) -> dict[str, float]:
    time, excess = setting.steps * setting.dt, setting.gravity[0] + 0.5 * setting.gravity[2]
    exact = max(0.0, 0.5 * excess * time**2)
    gone = float(motion.position[-1, 0, 0])
    middle = motion.position[len(motion.position) // 2, 0]
    off = {"slid off %": 100 * (gone / exact - 1)} if exact > 0 else {"drift mm": 1e3 * gone}
    if not exact:
        off["drift of the last half mm"] = 1e3 * float(np.linalg.norm(motion.position[-1, 0] - middle))
    return off | {"lift mm": 1e3 * float(motion.position[:, 0, 2].max() - 0.5), "deepest mm": deepest(setting, motion)}


def grade_stack(setting: Setting, motion: Motion) -> dict[str, float]:
    top = motion.position[:, -1] - motion.position[0, -1]
    return {
        "top drift mm": 1e3 * float(np.hypot(top[-1, 0], top[-1, 1])),
        "top sink mm": -1e3 * float(top[-1, 2]),
        "lift mm": 1e3 * float(top[:, 2].max()),
        "deepest mm": deepest(setting, motion),
    }


def grade_slab(setting: Setting, motion: Motion) -> dict[str, float]:
    plate, *balls = setting.blocks
    mass = sum(ball.mass for ball in balls)
    a = (plate.force[0] - 0.4 * (plate.mass + mass) * GRAVITY) / (plate.mass + mass * 2 / 7)
    v = a * setting.steps * setting.dt
    speed = motion.velocity[-1, :, 0]
    return {
        "plate off %": 100 * float(speed[0] / v - 1),
        "balls off %": 100 * float(speed[1:].mean() / (2 / 7 * v) - 1),
        "worst ball off %": 100 * float(np.abs(speed[1:] / (2 / 7 * v) - 1).max()),
        "lift mm": 1e3 * float(motion.position[:, 0, 2].max() - 0.1),
        "deepest mm": deepest(setting, motion),
    }


def grade_pile(setting: Setting, motion: Motion) -> dict[str, float]:
    mass = np.array([ball.mass for ball in setting.blocks])
    moved = np.linalg.norm(motion.position[-1] - motion.position[0], axis=1)
    return {
        "kinetic J": 0.5 * float((mass[:, None] * motion.velocity[-1] ** 2).sum()),
        "moved mm": 1e3 * float(moved.max()),
        "deepest mm": deepest(setting, motion),
    }


def deepest(setting: Setting, motion: Motion) -> float:
    """The greatest overlap at the recorded instants [mm]: of balls, capsules, and of the corners of boxes."""
    frames = zip(motion.position, motion.quaternion, strict=True)
    return 1e3 * max(0.0, *(overlap(setting, x, q) for x, q in frames))


def overlap(setting: Setting, position: Floats, quaternion: Floats) -> float:
    """The greatest overlap of balls, capsules or corners with planes and boxes, and of balls without joints with each
    other [m]; negative where all are apart. What the scene keeps apart, and static bodies together, do not count."""
    blocks, jointed = setting.blocks, setting.jointed
    loose = np.array([k for k, block in enumerate(blocks) if block.shape == "ball" and k not in jointed], int)
    centre, radius = position[loose], np.array([blocks[k].size[0] for k in loose])
    turns = {k: matrix(quaternion[k]) for k, block in enumerate(blocks) if block.shape != "ball"}
    round_ones: tuple[Floats, Floats | float] = (centre, radius)
    single: dict[int, tuple[Floats, Floats | float]] = {}  # points and how far the surface is from them
    for k, block in enumerate(blocks):
        match block.shape:
            case "ball" if k in jointed:
                single[k] = position[k : k + 1], block.size[0]
            case "capsule":
                single[k] = position[k] + np.outer(ALONG * block.size[1], turns[k][:, 2]), block.size[0]
            case "box":
                single[k] = position[k] + SIGNS * block.half @ turns[k].T, 0.0
    depths = [-math.inf]
    for plane in setting.planes:
        for points, size in (round_ones, *(single[k] for k in single if not blocks[k].static)):
            depths.append((size - (points - plane.point) @ np.array(plane.normal)).max(initial=-math.inf))
    for k, box in enumerate(blocks):
        if box.shape == "box":
            others = (other for other in single if other != k and may_touch(setting, k, other))
            for points, size in (round_ones, *(single[other] for other in others)):
                inside = (points - position[k]) @ turns[k]
                depths.append((size - distance_to_box(box.half, inside)).max(initial=-math.inf))
    if loose.size:
        pairs = cKDTree(centre).query_pairs(2 * radius.max(), output_type="ndarray")
        apart = np.linalg.norm(centre[pairs[:, 0]] - centre[pairs[:, 1]], axis=1)
        depths.append((radius[pairs].sum(axis=1) - apart).max(initial=-math.inf))
    return float(max(depths))


def may_touch(setting: Setting, one: int, other: int) -> bool:
    both_static = setting.blocks[one].static and setting.blocks[other].static
    return not both_static and not {one, other} <= setting.jointed


def distance_to_box(half: Floats, points: Floats) -> Floats:
    """Signed distances of points to a box about the origin."""
    beyond = np.abs(points) - half
    return np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)


def matrix(quaternion: Floats) -> Floats:
    """The rotation of a quaternion, or of many, (..., 3, 3)."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
