"""The keys of a scene file and the types of their values, as pydantic models; what the values may be, Scene says.

    gravity: [0, 0, -9.81]
    planar: false
    bodies:
      - {shape: plane, friction: 1.0}
      - {shape: box, name: crate, size: 1.0, mass: 1.0, position: [0, 0, 0.5]}
    joints:
      - {joint: hinge, name: leaf, a: door, b: frame, position: [0, 0, 1], axis: [0, 0, 1]}   # without b, the world
    forces:
      - {body: crate, force: [1, 0, 0]}
    pairs:
      - {a: crate, b: door, friction: 0.2}
    run: {duration: 1.0, dt: 1e-3, friction: {phantom: {inertia: 1.0}}}

Keys are the keywords of the methods of Scene. A shape is plane, box, sphere, capsule, cylinder, particle or compound,
which has a list of `shapes`; there a point may stand as well. An orientation may also be {axis: [0, 0, 1], angle: 1.5}.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

Numbers = list[float]
Scalar = str | bool | int | float | None


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)  # one build, of SceneFile

    @model_validator(mode="before")
    @classmethod
    def refuse_unknown_keys(cls, data: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise PydanticCustomError("unknown_key", "one of the keys {known}", {"key": key, "known": known})
        return data

    def given(self, *without: str) -> dict[str, Any]:
        """The keys that are in the file, but for some, as keywords."""
        return self.model_dump(exclude_unset=True, exclude=set(without))


class AxisAngle(Entry):
    axis: Numbers
    angle: float


class Placed(Entry):
    position: Numbers = []
    orientation: float | Numbers | AxisAngle = []


class PlaneShape(Entry):
    shape: Literal["plane"]
    normal: Numbers = []
    offset: float = 0.0


class PointShape(Entry):
    shape: Literal["point"]
    position: Numbers = []


class SphereShape(Placed):
    shape: Literal["sphere"]
    radius: float


class BoxShape(Placed):
    shape: Literal["box"]
    size: float | Numbers


class CapsuleShape(Placed):
    shape: Literal["capsule"]
    radius: float
    length: float


class CylinderShape(Placed):
    shape: Literal["cylinder"]
    radius: float
    length: float


ShapeEntry = Annotated[
    PlaneShape | PointShape | SphereShape | BoxShape | CapsuleShape | CylinderShape, Field(discriminator="shape")
]


class Surface(Entry):
    friction: float | None = None
    friction_kinetic: float | None = None
    restitution: float | None = None
    stiffness: float | None = None
    damping: float | None = None
    stiffness_tangent: float | None = None
    damping_tangent: float | None = None
    patch: float | None = None


class Moved(Surface):
    name: str = ""
    moving: bool = False
    velocity: Numbers = []
    spin: float | Numbers = []


class Solid(Moved):
    mass: float | None = None
    density: float | None = None
    inertia: float | Numbers | list[Numbers] = []
    position: Numbers = []
    orientation: float | Numbers | AxisAngle = []
    static: bool = False


class PlaneBody(Moved):
    shape: Literal["plane"]
    normal: Numbers = []
    offset: float = 0.0


class ParticleBody(Surface):
    shape: Literal["particle"]
    name: str = ""
    mass: float
    position: Numbers = []
    velocity: Numbers = []


class BoxBody(Solid):
    shape: Literal["box"]
    size: float | Numbers


class SphereBody(Solid):
    shape: Literal["sphere"]
    radius: float


class CapsuleBody(Solid):
    shape: Literal["capsule"]
    radius: float
    length: float


class CylinderBody(Solid):
    shape: Literal["cylinder"]
    radius: float
    length: float


class CompoundBody(Solid):
    shape: Literal["compound"]
    shapes: list[ShapeEntry]
    centre: Numbers = []


BodyEntry = Annotated[
    PlaneBody | ParticleBody | BoxBody | SphereBody | CapsuleBody | CylinderBody | CompoundBody,
    Field(discriminator="shape"),
]


class Held(Entry):
    name: str = ""
    a: str
    b: str | None = None
    position: Numbers
    compliance: float = 0.0
    damping: float = 0.0
    collide: bool = False


class Driven(Held):
    limits: Numbers | None = None
    speed: float = 0.0
    strength: float = 0.0
    target: float | None = None
    stiffness: float = 0.0
    gain: float = 0.0
    effort: float = 0.0


class FixedJoint(Held):
    joint: Literal["fixed"]


class BallJoint(Held):
    joint: Literal["ball"]


class HingeJoint(Driven):
    joint: Literal["hinge"]
    axis: Numbers = []


class SliderJoint(Driven):
    joint: Literal["slider"]
    axis: Numbers


JointEntry = Annotated[FixedJoint | BallJoint | HingeJoint | SliderJoint, Field(discriminator="joint")]


class ForceEntry(Entry):
    body: str
    force: Numbers = []
    torque: float | Numbers = []
    point: Numbers = []


class PairEntry(Surface):
    a: str
    b: str
    collide: bool = True


class RunEntry(Entry):
    duration: float | None = None
    dt: float | None = None
    friction: str | dict[str, dict[str, Scalar]] | None = None
    solver: str | dict[str, dict[str, Scalar]] | None = None
    tol: float | None = None


class SceneFile(Entry):
    gravity: Numbers = []
    planar: bool = False
    bodies: list[BodyEntry] = []
    joints: list[JointEntry] = []
    forces: list[ForceEntry] = []
    pairs: list[PairEntry] = []
    run: RunEntry = Field(default_factory=RunEntry)
