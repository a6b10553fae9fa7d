"""Meshes: their convex hulls, and the mass properties of what their triangles enclose.

With the triangles (a, b, c) counter-clockwise from outside, the tetrahedra (0, a, b, c) add up to the body, and at unit
density
    V = Σ D / 6,    V x̄ = Σ D / 24 (a + b + c),    D = a · (b × c),
    ∫ x xᵀ dV = Σ D / 120 (s sᵀ + a aᵀ + b bᵀ + c cᵀ),    s = a + b + c,                                        (1)
wherever the origin is [1]. The hull is Qhull's [2], its triangles in one plane joined to faces.

[1] Lien, Kajiya, A symbolic method for calculating the integral properties of arbitrary nonconvex polyhedra,
    IEEE Computer Graphics and Applications 4 (1984) 35-42.
[2] Barber, Dobkin, Huhdanpaa, The quickhull algorithm for convex hulls, ACM TOMS 22 (1996) 469-483.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import Refused, as_floats
from stickslip.errors import FileError, InputError
from stickslip.scene.model import Floats, Integers

MOST_CORNERS = 8  # of a face, as collision sees it
FLAT = 1e-9  # of the size: thinner hulls are refused, and faces whose planes are as close are one


class Face(NamedTuple):
    normal: Floats  # (3,)   outward
    height: float  # over the origin   [m]
    corners: Integers  # counter-clockwise from outside


class ConvexHull(NamedTuple):
    corners: Floats  # (k, 3)   in the order in which they were given   [m]
    faces: tuple[Face, ...]
    triangles: Integers  # (m, 3)   counter-clockwise from outside


class Solid(NamedTuple):
    """What triangles enclose, at unit density."""

    volume: float  # [m³]
    centroid: Floats  # (3,)   [m]
    inertia: Floats  # (3, 3)   about the centroid   [m⁵]


def points_of(owner: str, field: str, given: Any) -> Floats:
    """Points in space, (n, 3)."""
    try:
        points = as_floats(owner, field, given)
    except InputError:
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4 or not np.isfinite(points).all():
        raise Refused(owner, field, given, "at least four points of three finite numbers each, in m")
    return points


def convex_hull(owner: str, field: str, given: Any) -> ConvexHull:
    """The hull of points, which must not lie in one plane."""
    from scipy.spatial import ConvexHull as Quickhull
    from scipy.spatial import QhullError

    points = points_of(owner, field, given)
    middle, size = points.mean(axis=0), np.ptp(points, axis=0).max()
    spread = np.linalg.svd(points - middle, compute_uv=False)
    if not spread[2] > FLAT * spread[0] > 0:
        raise Refused(owner, field, given, "points that do not lie in one plane")
    try:
        found = Quickhull((points - middle) / size)
    except QhullError:
        raise Refused(owner, field, given, "points that have a convex hull") from None
    used = np.sort(found.vertices)
    corners, number = points[used], np.full(len(points), -1)
    number[used] = np.arange(used.size)
    triangles = number[found.simplices]
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    triangles[inward] = triangles[inward][:, ::-1]
    return ConvexHull(corners, tuple(joined(corners, triangles, found.equations)), triangles)


def joined(corners: Floats, triangles: Integers, planes: Floats) -> list[Face]:
    """The faces: triangles in one plane, together."""
    group = np.full(len(planes), -1)
    faces: list[Face] = []
    for t, plane in enumerate(planes):
        if group[t] >= 0:
            continue
        same = (np.abs(planes - plane).max(axis=1) <= FLAT) & (group < 0)
        group[same] = len(faces)
        normal = plane[:3] / np.linalg.norm(plane[:3])
        around = ordered(corners, np.unique(triangles[same]), normal)
        faces.append(Face(normal, float((corners[around] @ normal).max()), around))
    return faces


def ordered(corners: Floats, members: Integers, normal: Floats) -> Integers:
    """The corners of a face counter-clockwise, those that say least about it left out where there are many."""
    out = corners[members] - corners[members].mean(axis=0)
    u = out[np.argmax(np.linalg.norm(out, axis=1))]
    loop = members[np.argsort(np.arctan2(out @ np.cross(normal, u), out @ u * np.linalg.norm(normal)))]
    while loop.size > MOST_CORNERS:
        before, here, after = corners[np.roll(loop, 1)], corners[loop], corners[np.roll(loop, -1)]
        lost = np.linalg.norm(np.cross(here - before, after - here), axis=1)
        loop = np.delete(loop, np.argmin(lost))
    return loop


def solid(vertices: Floats, triangles: Integers) -> Solid:
    """Volume, centroid and inertia of what triangles enclose, by (1)."""
    middle = vertices.mean(axis=0)
    a, b, c = ((vertices - middle)[triangles[:, k]] for k in range(3))
    D, s = np.einsum("ij,ij->i", a, np.cross(b, c)), a + b + c
    volume = float(D.sum() / 6)
    centroid = D @ s / 24 / volume if volume else np.zeros(3)
    second = sum(np.einsum("i,ij,ik->jk", D, x, x) for x in (s, a, b, c)) / 120
    second = second - volume * np.outer(centroid, centroid)
    inertia = np.trace(second) * np.eye(3) - second
    return Solid(volume, centroid + middle, (inertia + inertia.T) / 2)


def is_closed(triangles: Integers) -> bool:
    """Does each edge belong to two triangles, which run along it in opposite directions?"""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    ways, counts = np.unique(edges, axis=0, return_counts=True)
    return bool(len(edges)) and (counts == 1).all() and np.array_equal(ways, np.unique(edges[:, ::-1], axis=0))


def read_mesh(owner: str, field: str, given: Any) -> tuple[Floats, Integers | None]:
    """Vertices, and triangles where they are known: of a file, of a mesh of trimesh, of a pair, of points alone."""
    triangles = None
    if isinstance(given, str | os.PathLike):
        given = mesh_in_file(owner, field, os.fspath(given))
    if hasattr(given, "vertices") and hasattr(given, "faces"):
        given = given.vertices, given.faces
    if isinstance(given, tuple) and len(given) == 2:
        given, triangles = given
        triangles = np.asarray(triangles)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            raise Refused(owner, f"the triangles of {field}", triangles, "three numbers of vertices for each")
    points = points_of(owner, field, given)
    if triangles is not None:
        outside = triangles[(triangles < 0) | (triangles >= len(points))]
        if outside.size:
            expected = f"numbers of {len(points)} vertices, from 0 on"
            raise Refused(owner, f"a vertex of the triangles of {field}", int(outside[0]), expected)
    return points, None if triangles is None else triangles.astype(np.int64)


def mesh_in_file(owner: str, field: str, path: str) -> Any:
    try:
        import trimesh
    except ImportError:
        raise InputError(f"{owner}: trimesh is missing, expected the extra: pip install 'stickslip[meshes]'") from None
    if not os.path.isfile(path):
        raise Refused(owner, field, path, "a file with a mesh, or points")
    try:
        mesh = trimesh.load(path, force="mesh")
    except Exception as error:  # trimesh raises of many kinds, by format
        raise FileError(f"{path}: not a mesh that trimesh can read ({type(error).__name__}: {error})") from None
    if not len(getattr(mesh, "vertices", ())):
        raise FileError(f"{path}: it holds no triangles, expected a mesh")
    return mesh
