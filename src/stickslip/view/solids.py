"""Shapes as triangles: a few unit meshes, and where the parts of a scene have them.

A part is a unit mesh with a scale, fastened to a body. A box, a ball and a cylinder are one part; a capsule is a tube
and two balls; a plane is a square as large as the scene. So thousands of bodies are drawn with one mesh of each kind.
A hull has a mesh of its own. `SceneSolids` says what the bodies of a scene look like, `ModelSolids` of model_solids.py
the same of a robot.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.spatial.transform import Rotation

from stickslip.engine.recorder import Header
from stickslip.scene.meshes import convex_hull
from stickslip.scene.model import Floats, Integers, Kind, Shape, State
from stickslip.scene.values import rotated
from stickslip.view.trajectories import PALETTE

if TYPE_CHECKING:
    from stickslip.view.model_solids import ModelSolids

ROUND = 24  # corners of a circle
RINGS = 12  # of a ball, from pole to pole
POINT = 0.006  # radius that a particle is drawn with, as a share of the scene
STILL = (205.0, 200.0, 190.0)  # colour of what is not free
FAR = 3.0  # half length of a plane, as a multiple of the scene's radius

Placed: TypeAlias = tuple[str, tuple[float, ...], tuple[float, ...]]  # a mesh, its place and its scale


class Mesh(NamedTuple):
    vertices: Floats  # (v, 3)
    faces: Integers  # (f, 3)   anticlockwise, seen from outside


class Parts(NamedTuple):
    """n parts."""

    mesh: tuple[str, ...]  # (n,)   of `meshes`
    shape: Integers  # (n,)
    body: Integers  # (n,)
    position: Floats  # (n, 3)   seen from the centre of mass, body axes   [m]
    quaternion: Floats  # (n, 4)   part axes to body axes
    scale: Floats  # (n, 3)   [m]

    def of(self, mesh: str) -> Parts:
        """Those with one mesh."""
        return self.only(np.flatnonzero([name == mesh for name in self.mesh]))

    @classmethod
    def listed(cls, found: list[tuple[str, int, Any, Any, Any]], body: Integers | None = None) -> Parts:
        """Of a mesh, a shape, a place, a turn and a scale each; `body` of the shapes, which are bodies where None."""
        mesh, number, *rest = zip(*found, strict=True) if found else 5 * ((),)
        shape = np.array(number, np.int64)
        columns = (np.array(values, float).reshape(-1, size) for values, size in zip(rest, (3, 4, 3), strict=True))
        return cls(tuple(mesh), shape, shape if body is None else body[shape], *columns)

    def only(self, which: Integers) -> Parts:
        """Some of them."""
        columns: Any = [column[which] for column in self[1:]]
        return Parts(tuple(self.mesh[i] for i in which), *columns)


class View(NamedTuple):
    """What a camera should see."""

    centre: Floats  # (3,)   [m]
    radius: float  # [m]


# meshes


def revolved(profile: Floats) -> Mesh:
    """The surface that a line (k, 2) of radii and heights sweeps about z, from below to above; it may have corners at
    places that it names twice."""
    angle = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    radius, height = profile[:, :1], profile[:, 1:]
    rings = np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), np.broadcast_to(height, (len(profile), ROUND))], 2
    )
    a = np.arange(ROUND)
    b = (a + 1) % ROUND
    between = np.column_stack([a, b, b + ROUND, a, b + ROUND, a + ROUND]).reshape(-1, 3)  # two rings
    wide = np.flatnonzero((profile[1:] != profile[:-1]).any(axis=1))
    return Mesh(rings.reshape(-1, 3), (ROUND * wide[:, None, None] + between).reshape(-1, 3))


def box() -> Mesh:
    """Half lengths 1; each face has corners of its own, so that edges are sharp."""
    square = np.array([(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], float)
    turns = [np.roll(np.eye(3), k, axis=0) * sign for k in range(3) for sign in (1, -1)]
    vertices = [square[:: 1 if np.linalg.det(turn) > 0 else -1] @ turn for turn in turns]
    faces = [np.array([(0, 1, 2), (0, 2, 3)]) + 4 * i for i in range(6)]
    return Mesh(np.concatenate(vertices), np.concatenate(faces))


LATITUDE = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 1)  # of the rings of a ball

MESHES: dict[str, Mesh] = {
    "box": box(),  # half lengths 1
    "ball": revolved(np.column_stack([np.cos(LATITUDE), np.sin(LATITUDE)])),  # radius 1
    "tube": revolved(np.array([(0, -1), (1, -1), (1, -1), (1, 1), (1, 1), (0, 1)], float)),  # radius and half length 1
    "square": Mesh(np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float), np.array([(0, 1, 2), (0, 2, 3)])),
    "cone": revolved(np.array([(0, 0), (1, 1)], float)),  # apex at the origin, opens along z, no lid
    "dart": revolved(np.array([(0, 0), (1, 0), (1, 0), (0, 1)], float)),  # base at the origin, points along z
    "ring": revolved(np.array([(0.7, -0.15), (1, -0.15), (1, 0.15), (0.7, 0.15), (0.7, -0.15)], float)),
}


def faceted(vertices: Floats, faces: Integers) -> Mesh:
    """Each triangle has corners of its own, so that edges are sharp."""
    return Mesh(vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3))


def hull_name(shape: int) -> str:
    return f"hull {shape}"


# parts


def drawn(shape: Shape, size: Floats, view: View) -> list[Placed]:
    """The meshes of a shape that is no hull: each with its place and its scale, in the axes of the shape."""
    a, b, c = size.tolist()
    here = (0.0, 0.0, 0.0)
    match shape:
        case Shape.PLANE:
            return [("square", here, (FAR * view.radius, FAR * view.radius, 1.0))]
        case Shape.SPHERE:
            radius = a or POINT * view.radius
            return [("ball", here, (radius, radius, radius))]
        case Shape.BOX:
            return [("box", here, (a, b, c))]
        case Shape.CAPSULE:
            caps: list[Placed] = [("ball", (0.0, 0.0, end), (a, a, a)) for end in (b, -b)]
            return [("tube", here, (a, a, b)), *caps]
        case _:  # a cylinder
            return [("tube", here, (a, a, b))]


def placed(parts: Parts, state: State) -> tuple[Floats, Floats]:
    """Positions (n, 3) and quaternions (n, 4) of the parts in the world."""
    centre, turn = state.position[parts.body], state.quaternion[parts.body]
    return centre + rotated(turn, parts.position), product(turn, parts.quaternion)


def product(a: Floats, b: Floats) -> Floats:
    """Of quaternions (..., 4): first b, then a."""
    (v, x), (w, y) = ((q[..., :1], q[..., 1:]) for q in (a, b))
    scalar = v * w - np.sum(x * y, axis=-1, keepdims=True)
    return np.concatenate([scalar, v * y + w * x + np.cross(x, y)], axis=-1)


def quaternions(rotation: Floats) -> Floats:
    """(n, 4), scalar first, of matrices (n, 3, 3)."""
    return np.roll(Rotation.from_matrix(rotation).as_quat(), 1, axis=1) if len(rotation) else np.zeros((0, 4))


def along(direction: Floats) -> Floats:
    """(n, 4) quaternions that turn z into directions (n, 3), the nearest way; those of no length stay upright."""
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    d = np.where(length > 0, direction / np.where(length > 0, length, 1.0), [0.0, 0.0, 1.0])
    w = 1.0 + d[:, 2]
    turn = np.column_stack([w, -d[:, 1], d[:, 0], np.zeros(len(d))])
    turn[w < 1e-9] = (0.0, 1.0, 0.0, 0.0)  # upside down
    return turn / np.linalg.norm(turn, axis=1, keepdims=True)


def rods(start: Floats, end: Floats, thin: float | Floats) -> tuple[Floats, Floats, Floats]:
    """Positions, quaternions and scales of tubes of this radius between places (n, 3)."""
    way = end - start
    half = np.linalg.norm(way, axis=1) / 2
    thick = np.broadcast_to(thin, half.shape)
    return (start + end) / 2, along(way), np.column_stack([thick, thick, half])


def ball_about(places: list[Floats], reach: float) -> View:
    """A ball about places (n, 3) of things that reach so far."""
    points = np.concatenate(places or [np.zeros((0, 3))])
    points = points[np.isfinite(points).all(axis=1) & (np.abs(points) < 1e6).all(axis=1)]
    if not len(points):
        return View(np.zeros(3), 1.0)
    low, high = points.min(axis=0), points.max(axis=0)
    return View((low + high) / 2, float(np.linalg.norm(high - low) / 2 + reach) or 1.0)


# bodies


class SceneSolids:
    """What the bodies of a scene look like."""

    def __init__(self, header: Header) -> None:
        self.header, self.names, self.kind, self.planar = header, header.names, header.kind, bool(header.planar)

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        header = self.header
        found = dict(MESHES)
        for i in np.flatnonzero(header.shape == Shape.HULL).tolist():
            hull = convex_hull("hull", "corners", header.hull_corner[slice(*header.hull_range[i, :2])])
            found[hull_name(i)] = faceted(hull.corners, hull.triangles)
        return found

    @cached_property
    def tints(self) -> Floats:
        """(n, 3) colours, 0 to 255."""
        return palette_tints(self.kind, np.cumsum(self.kind == Kind.FREE) - 1)

    def parts(self, view: View) -> Parts:
        header = self.header
        rotation = np.reshape(header.shape_rotation, (-1, 3, 3))
        found: list[Any] = []
        for i, (shape, size, turn) in enumerate(
            zip(header.shape, header.shape_size, quaternions(rotation), strict=True)
        ):
            whole = [(hull_name(i), (0.0,) * 3, (1.0,) * 3)]
            pieces = whole if shape == Shape.HULL else drawn(Shape(shape), size, view)
            middle = header.shape_position[i]
            found += [(mesh, i, middle + rotation[i] @ place, turn, scale) for mesh, place, scale in pieces]
        return Parts.listed(found, header.shape_body)

    def view(self, *states: State) -> View:
        """A ball that holds the bodies in these states, planes and what flies off to infinity left out."""
        header = self.header
        bounded = np.flatnonzero(header.shape != Shape.PLANE)
        body = header.shape_body[bounded]
        free = header.kind[body] == Kind.FREE
        body = body[free] if free.any() else body
        reach = np.max(np.linalg.norm(header.shape_size[bounded], axis=1), initial=0.0)
        return ball_about([state.position[body] for state in states], float(reach))

    def state(self, run: Any, i: int) -> State:
        """Of a run, at its instant i."""
        return run.state(i)

    def potentials(self, run: Any, instants: Integers) -> Floats:
        """Of a run, at some instants   [J]."""
        return run.potential[instants]


Solids: TypeAlias = "SceneSolids | ModelSolids"  # which have the same attributes and methods


def palette_tints(kind: Integers, number: Integers) -> Floats:
    """Light tints of the palette in turn, by the number of each; one colour of what does not move."""
    tints = 0.6 * np.array([rgb(colour) for colour in PALETTE]) + 90
    return np.where((kind == Kind.FREE)[:, None], tints[number % len(PALETTE)], STILL)


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
