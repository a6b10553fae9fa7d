"""A scene with other numbers in it, by their names: what a sweep varies.

    gravity, gravity.z                       of the scene
    friction, restitution, stiffness, …      of every material, and of the pairs that say it themselves
    box.friction, box.mass, box.radius       of one body: a field of its material, of the body, or of its only shape
    box.velocity.y, cart.position.x          one component of it
    elbow.speed, elbow.strength              of one joint

Values are checked as `Scene` checks them when it is told.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from stickslip.checks import shown
from stickslip.errors import InputError
from stickslip.scene.descriptions import BodyDescription
from stickslip.scene.materials import FIELDS, coefficient
from stickslip.scene.model import Joint
from stickslip.scene.scene import (
    BODY_FIELDS,
    Driven,
    Held,
    Scene,
    check_mass,
    check_motor,
    check_shapes,
    check_spin,
    joint_field,
)
from stickslip.scene.values import vector

AXES = "xyz"


class Place(NamedTuple):
    """Where a number stands: in the scene (no body and no joint), in a body or in a joint."""

    field: str
    axis: int | None = None
    body: int | None = None
    joint: int | None = None


def varied(scene: Scene, values: Mapping[str, Any]) -> Scene:
    """A copy of the scene with these values, by name; bodies and joints of the one name those of the other."""
    new = copy.copy(scene)
    new.descriptions, new.joints = list(scene.descriptions), list(scene.joints)
    new.overrides = {pair: dict(said) for pair, said in scene.overrides.items()}
    for name, value in values.items():
        put(new, place_of(scene, name), value)
    return new


def place_of(scene: Scene, name: str, beside: Sequence[str] = ()) -> Place:
    """Where the number of a name stands. Names of bodies and joints may have dots: the longest that fits is meant. What
    the scene does not have is refused; `beside` are names that would be none of the scene's and right as well."""
    path, axis = name, None
    if name[-2:-1] == "." and name[-1] in AXES:
        path, axis = name[:-2], AXES.index(name[-1])
    if path in ("gravity", *FIELDS):
        return Place(path, axis)
    owner, _, field = path.rpartition(".")
    if owner in scene._index and field in body_fields(scene.descriptions[scene._index[owner]]):
        return Place(field, axis, body=scene._index[owner])
    if owner in scene._joint_index and field in joint_fields(scene.joints[scene._joint_index[owner]].kind):
        return Place(field, axis, joint=scene._joint_index[owner])
    raise InputError(f"the scene has no parameter {shown(name)}, expected {expected(scene, owner, beside)}")


def expected(scene: Scene, owner: str, beside: Sequence[str]) -> str:
    """The names that might have been meant."""
    if owner in scene._index:
        return f"one of {', '.join(body_fields(scene.descriptions[scene._index[owner]]))} after {owner!r}"
    if owner in scene._joint_index:
        return f"one of {', '.join(joint_fields(scene.joints[scene._joint_index[owner]].kind))} after {owner!r}"
    owners = [f"{name}.…" for name in (*scene._index, *scene._joint_index)]
    return "one of " + ", ".join([*owners[:8], *["…"] * (len(owners) > 8), "gravity", *FIELDS, *beside])


def body_fields(body: BodyDescription) -> list[str]:
    shape = [each.name for each in fields(body.shapes[0])] if len(body.shapes) == 1 else []
    return list(dict.fromkeys([*BODY_FIELDS, *FIELDS, *shape]))


def joint_fields(kind: Joint) -> list[str]:
    said = Driven.__annotations__ if kind >= Joint.HINGE else Held.__annotations__
    return [name for name in said if name != "name"]


def put(scene: Scene, place: Place, value: Any) -> None:
    if place.body is not None:
        scene.descriptions[place.body] = body_with(scene, scene.descriptions[place.body], place, value)
    elif place.joint is not None:
        old = scene.joints[place.joint]
        owner = f"joint {old.name!r}"
        given = component(getattr(old, place.field), place, value)
        scene.joints[place.joint] = replace(old, **{place.field: joint_field(owner, old.kind, place.field, given)})
        check_motor(owner, scene.joints[place.joint])
    elif place.field == "gravity":
        scene.gravity = vector("Scene", "gravity", component(scene.gravity, place, value), scene.planar)
    else:
        for i, body in enumerate(scene.descriptions):
            scene.descriptions[i] = body_with(scene, body, place, value)
        for said in scene.overrides.values():
            if place.field in said:
                said[place.field] = coefficient("set_pair", place.field, value)


def body_with(scene: Scene, body: BodyDescription, place: Place, value: Any) -> BodyDescription:
    owner, field = f"body {body.name!r}", place.field
    if field in FIELDS:
        given = coefficient(owner, field, component(getattr(body.material, field), place, value))
        return replace(body, material=replace(body.material, **{field: given}))
    if field in BODY_FIELDS:
        given = component(getattr(body, field), place, value)
        said: dict[str, Any] = {"mass": None, "density": None} if field in ("mass", "density") else {}  # one of the two
        new = replace(body, **said | {field: scene._field(owner, field, given, body.kind)})
    else:
        (shape,) = body.shapes
        shapes = (replace(shape, **{field: component(getattr(shape, field), place, value)}),)
        check_shapes(shapes, scene.planar)
        new = replace(body, shapes=shapes)
    check_mass(owner, new, scene.planar)
    check_spin(owner, new)
    return new


def component(old: Any, place: Place, value: Any) -> Any:
    """The whole new value of a field of which perhaps only one component changes."""
    if place.axis is None:
        return value
    if not isinstance(old, tuple) or len(old) != 3:
        raise InputError(f"{place.field}.{AXES[place.axis]}: {place.field} is {old!r}, expected a vector of numbers")
    return tuple(value if i == place.axis else each for i, each in enumerate(old))
