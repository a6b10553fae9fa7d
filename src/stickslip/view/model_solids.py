"""What a model of a robot looks like: the geoms of MuJoCo's model as parts, and where they are at coordinates q.

Each geom stands for a body of its own, as in a record of the model, so contacts name what they touch. Shown are the
groups that MuJoCo's viewer shows, 0 to 2, or all geoms where nothing that moves is in these. A model without shapes, as
a URDF of links and inertias, is shown as bones from each joint to the next.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stickslip.scene.model import Floats, Integers, Kind, Shape, State
from stickslip.view import solids
from stickslip.view.solids import Mesh, Parts, Placed, View

PLANE, FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)  # mjtGeom
SHAPES = {SPHERE: Shape.SPHERE, CAPSULE: Shape.CAPSULE, CYLINDER: Shape.CYLINDER, BOX: Shape.BOX}  # drawn alike
SHOWN_GROUPS = 3  # of MuJoCo's viewer
FACETED = 5000  # triangles up to which a mesh has sharp edges
BONE = 0.05  # radius of a bone, as a share of its length
ROOM = 1.3  # how much more than a robot is seen, which stretches its limbs
LIGHT = 1e-4  # share of a model's mass that counts as none
PLAIN = 0.5  # of rgba, where a file says nothing


class ModelSolids:
    """The geoms of a model, then its bones."""

    planar = False

    def __init__(self, system: Any) -> None:
        import mujoco

        self.mujoco, self.model, m = mujoco, system.model, system.model
        self.data = mujoco.MjData(m)
        self.bones = bones_of(m)
        self.body = np.concatenate([m.geom_bodyid, self.bones[:, 0].astype(int)]).astype(np.int64)
        self.names = (*system.geoms, *(system.bodies[int(b)] for b in self.bones[:, 0]))
        moves = m.body_weldid[self.body] != 0
        self.kind = np.where(moves, int(Kind.FREE), int(Kind.STATIC))

    def at(self, q: Floats) -> State:
        """Where all of it is at q."""
        m, d = self.model, self.data
        d.qpos[:] = q
        self.mujoco.mj_kinematics(m, d)
        bodies = self.body[m.ngeom :]
        position = np.concatenate([d.geom_xpos, d.xpos[bodies]])
        turn = np.concatenate([solids.quaternions(d.geom_xmat.reshape(-1, 3, 3)), d.xquat[bodies]])
        return State(position, turn, np.zeros((len(position), 6)))

    def potential(self, q: Floats) -> float:
        """Of gravity and springs at q   [J]."""
        m, d, mj = self.model, self.data, self.mujoco
        d.qpos[:] = q
        for stage in (mj.mj_kinematics, mj.mj_comPos, mj.mj_tendon, mj.mj_energyPos):
            stage(m, d)
        return float(d.energy[0])

    def state(self, run: Any, i: int) -> State:
        """Of a run, at its instant i."""
        return self.at(run._record.read("q", i, i + 1)[0])

    def potentials(self, run: Any, instants: Integers) -> Floats:
        return np.array([self.potential(run._record.read("q", i, i + 1)[0]) for i in instants.tolist()])

    @cached_property
    def shown(self) -> Integers:
        """The geoms that are drawn."""
        m = self.model
        usual = m.geom_group < SHOWN_GROUPS
        moving = self.kind[: m.ngeom] == Kind.FREE
        return np.flatnonzero(usual if (usual & moving).any() or not moving.any() else np.ones(m.ngeom, bool))

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        m = self.model
        used = {(int(m.geom_type[i]), int(m.geom_dataid[i])) for i in self.shown}
        own = {mesh_name(i): model_mesh(m, i) for kind, i in used if kind in (MESH, SDF) and i >= 0}
        return solids.MESHES | own | {field_name(i): height_field(m, i) for kind, i in used if kind == FIELD}

    def parts(self, view: View) -> Parts:
        m = self.model
        found: list[tuple[str, int, Any, Any, Any]] = [
            (mesh, int(i), place, (1.0, 0.0, 0.0, 0.0), scale)
            for i in self.shown
            for mesh, place, scale in drawn_geom(
                int(m.geom_type[i]), int(m.geom_dataid[i]), m.geom_size[i].tolist(), view
            )
        ]
        way = self.bones[:, 1:]
        rods = solids.rods(np.zeros_like(way), way, BONE * np.linalg.norm(way, axis=1))
        found += [("tube", m.ngeom + k, *rod) for k, rod in enumerate(zip(*rods, strict=True))]
        return Parts.listed(found)

    def view(self, *states: State) -> View:
        m = self.model
        reach = np.concatenate([m.geom_rbound, np.linalg.norm(self.bones[:, 1:], axis=1)])
        free = np.flatnonzero(self.kind == Kind.FREE)
        seen = solids.ball_about([state.position[free] for state in states], float(np.max(reach[free], initial=0.0)))
        return seen._replace(radius=ROOM * seen.radius)

    @cached_property
    def tints(self) -> Floats:
        """Colours of the file where it has some, of the palette by bodies otherwise."""
        m = self.model
        rgba = np.array(m.geom_rgba[:, :3], float).reshape(-1, 3)
        dressed = np.flatnonzero((m.geom_matid >= 0) & np.all(rgba == PLAIN, axis=1))
        rgba[dressed] = m.mat_rgba[m.geom_matid[dressed], :3]
        plain = np.concatenate([np.all(rgba == PLAIN, axis=1), np.ones(len(self.bones), bool)])
        own = np.concatenate([255 * rgba, np.zeros((len(self.bones), 3))])
        return np.where(plain[:, None], solids.palette_tints(self.kind, self.body), own)


def bones_of(m: Any) -> Floats:
    """(k, 4) of a model in which nothing that moves has a shape: a body, and the way from its origin to that of a
    child, or to the end of a rod with its centre of mass."""
    if (m.body_weldid[m.geom_bodyid] != 0).any():
        return np.zeros((0, 4))
    links = [(m.body_parentid[body], *m.body_pos[body]) for body in np.flatnonzero(m.body_weldid != 0)]
    found = [link for link in links if m.body_weldid[link[0]] != 0 and np.linalg.norm(link[1:]) > 0]
    return np.array([*found, *rod_ends(m)], float).reshape(-1, 4)


def rod_ends(m: Any) -> list[tuple[float, ...]]:
    """Of the bodies at the ends of a tree that have a mass: the body, and the way from its origin to the other end of a
    rod with its centre of mass."""
    moving = np.flatnonzero(m.body_weldid != 0)
    last = [b for b in moving if b not in m.body_parentid and m.body_mass[b] > LIGHT * m.body_subtreemass[0]]
    return [(float(b), *(2 * m.body_ipos[b])) for b in last if np.linalg.norm(m.body_ipos[b]) > 0]


def drawn_geom(kind: int, data: int, size: list[float], view: View) -> list[Placed]:
    """The meshes of a geom, each with its place and its scale."""
    a, b, c = size
    here, far = (0.0, 0.0, 0.0), solids.FAR * view.radius
    match kind:
        case 0:  # a plane
            return [("square", here, (a or far, b or far, 1.0))]
        case 1:  # a height field
            return [(field_name(data), here, (1.0, 1.0, 1.0))]
        case 4:  # an ellipsoid
            return [("ball", here, (a, b, c))]
        case _ if kind in SHAPES:
            return solids.drawn(SHAPES[kind], np.array(size), view)
        case _:
            return [(mesh_name(data), here, (1.0, 1.0, 1.0))] if data >= 0 else []


def mesh_name(i: int) -> str:
    return f"mesh {i}"


def field_name(i: int) -> str:
    return f"field {i}"


def model_mesh(m: Any, i: int) -> Mesh:
    first, first_face = m.mesh_vertadr[i], m.mesh_faceadr[i]
    vertices = np.array(m.mesh_vert[first : first + m.mesh_vertnum[i]], float)
    faces = np.array(m.mesh_face[first_face : first_face + m.mesh_facenum[i]], np.int64)
    return solids.faceted(vertices, faces) if len(faces) <= FACETED else Mesh(vertices, faces)


def height_field(m: Any, i: int) -> Mesh:
    """The upper surface."""
    rows, columns, first = int(m.hfield_nrow[i]), int(m.hfield_ncol[i]), int(m.hfield_adr[i])
    wide, deep, tall, _ = m.hfield_size[i]
    height = tall * np.array(m.hfield_data[first : first + rows * columns], float)
    y, x = np.meshgrid(np.linspace(-deep, deep, rows), np.linspace(-wide, wide, columns), indexing="ij")
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = [(0, 1, columns + 1), (0, columns + 1, columns)]
    return Mesh(
        np.column_stack([x.ravel(), y.ravel(), height]), np.concatenate([corner[:, None] + each for each in faces])
    )
