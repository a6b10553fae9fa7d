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

The keys of an entry are the keywords of the method of Scene that adds it, those of a shape in a compound the fields of
its class, those of `run` the fields of RunSettings, and no others: they are read off there. A shape is plane, box,
sphere, capsule, cylinder, particle, mesh or compound, which has a list of `shapes`; there a point and a hull may stand
as well. A mesh names its file, from the folder of the scene file, or lists points. An orientation may also be
{axis: [0, 0, 1], angle: 1.5}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import Parameter, signature
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from stickslip.scene import values
from stickslip.scene.descriptions import BodyLike
from stickslip.scene.friction_law import FrictionLaw
from stickslip.scene.model import Joint
from stickslip.scene.scene import Scene
from stickslip.scene.shapes import SHAPES

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

    @model_serializer
    def as_scene_takes_it(self) -> tuple[Numbers, float]:
        return self.axis, self.angle


@dataclass(frozen=True)
class Named:
    """A formulation or a solver by its name, with its settings."""

    name: str
    settings: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class RunSettings:
    """The section `run` of a scene file; None where it says nothing."""

    duration: float | None = None  # [s]
    dt: float | None = None  # [s]
    friction: Named | None = None
    solver: Named | None = None
    tol: float | None = None
    accept: float | None = None


Orientation = float | Numbers | AxisAngle
IN_FILES: dict[Any, Any] = {
    values.VectorLike: Numbers,
    values.Vector3: Numbers,
    values.TurnLike: float | Numbers,
    values.SizeLike: float | Numbers,
    values.OrientationLike: Orientation,
    values.Quaternion: Orientation,
    values.InertiaLike: float | Numbers | list[Numbers],
    values.PointsLike: list[Numbers],
    values.MeshLike: str | list[Numbers],
    Sequence[values.MeshLike]: list[str | list[Numbers]],
    BodyLike: str,
    FrictionLaw: float,
    Named: str | dict[str, dict[str, Scalar]],
}  # what Python code gives, and what stands for it in a file


def in_file(hint: Any) -> Any:
    if hint in IN_FILES:
        return IN_FILES[hint]
    if get_origin(hint) in (Union, UnionType):
        return Union[tuple(in_file(part) for part in get_args(hint))]  # noqa: UP007  # of a tuple of types
    return hint


def keys_of(method: Any) -> dict[str, Any]:
    """The keys that stand for the arguments of a method: for each its type, and ... where it must be there."""
    own, settings = {}, {}
    hints = get_type_hints(method, include_extras=True)
    for name, parameter in signature(method).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            (typed,) = get_args(hints[name])  # of Unpack
            settings = {key: (in_file(hint), None) for key, hint in get_type_hints(typed, include_extras=True).items()}
        elif name != "self":
            own[name] = in_file(hints[name]), ... if parameter.default is Parameter.empty else None
    return {key: value for key, value in (settings | own).items() if key not in ("material", "shapes", "surface")}


def keys_of_fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: (in_file(hints[each.name]), ... if each.default is MISSING else None) for each in fields(kind)}


def entry(name: str, keys: dict[str, Any]) -> Any:
    return create_model(name, __base__=Entry, **keys)


def tagged(tag: str, keys: dict[str, dict[str, Any]]) -> Any:
    """An entry that has the keys of what its tag says."""
    models = (entry(word, keys[word] | {tag: (Literal[word], ...)}) for word in keys)
    return Annotated[Union[tuple(models)], Field(discriminator=tag)]  # noqa: UP007


def several(kind: Any) -> Any:
    return GenericAlias(list, (kind,))


def added(*words: str) -> dict[str, dict[str, Any]]:
    return {word: keys_of(getattr(Scene, f"add_{word}")) for word in words}


PARTS = several(tagged("shape", {name: keys_of_fields(shape) for name, shape in SHAPES.items()}))
COMPOUND = {"shapes": (PARTS, ...)} | keys_of(Scene.add_body)
BODIES = added("plane", "particle", "box", "sphere", "capsule", "cylinder", "mesh") | {"compound": COMPOUND}
RunEntry = entry("RunEntry", keys_of_fields(RunSettings))
SceneFile = entry(
    "SceneFile",
    keys_of(Scene.__init__)
    | {
        "bodies": (several(tagged("shape", BODIES)), []),
        "joints": (several(tagged("joint", added(*(kind.name.lower() for kind in Joint)))), []),
        "forces": (several(entry("force", keys_of(Scene.apply))), []),
        "pairs": (several(entry("pair", keys_of(Scene.set_pair))), []),
        "run": (RunEntry, RunEntry()),
    },
)
