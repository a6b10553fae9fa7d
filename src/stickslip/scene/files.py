"""Scenes in YAML files: `load_scene`, `load_run` and `save_scene`. The keys are in scene/schema.py.

What is saved is loaded bit by bit: every body by its name, numbers in full, orientations as unit quaternions. A Python
function cannot be saved, and is refused rather than left out.

An error is one sentence with the file, the line, the key, the value and what was expected there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from typing import Any

from pydantic import ValidationError

from stickslip.checks import Refused, checked, instance, positive, shown
from stickslip.checks import path as file_path
from stickslip.errors import FileError, InputError, reading, replacing
from stickslip.scene import numbered_yaml, schema
from stickslip.scene.descriptions import BodyDescription, JointDescription, is_particle
from stickslip.scene.friction_law import FrictionLaw
from stickslip.scene.model import Joint, Kind
from stickslip.scene.numbered_yaml import LineError, Path, dotted
from stickslip.scene.scene import Scene
from stickslip.scene.schema import Named as Named
from stickslip.scene.schema import RunSettings as RunSettings
from stickslip.scene.shapes import SHAPES, AnyShape, Hull, Plane, Point
from stickslip.scene.values import ORIGIN, UPRIGHT


@checked(path=file_path)
def load_scene(path: str | os.PathLike[str]) -> Scene:
    """The scene in a YAML file."""
    return load_run(path)[0]


@checked(path=file_path)
def load_run(path: str | os.PathLike[str]) -> tuple[Scene, RunSettings]:
    """The scene in a YAML file, and how the file says to run it."""
    name = os.fspath(path)
    with reading(name, "a scene file"), open(name, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise InputError(f"byte {error.start} is not UTF-8, expected a scene file in YAML") from None
    return read_run(text, name)


def read_run(text: str, name: str) -> tuple[Scene, RunSettings]:
    """The same of the text of a file; `name` is what errors call it."""
    try:
        data, lines = numbered_yaml.read(text)
        return build(read_entries(data, lines), lines, os.path.dirname(name))
    except LineError as error:
        raise FileError(f"{name}, line {error.line}: {error}") from None


@checked(scene=instance(Scene), path=file_path, run=instance(RunSettings))
def save_scene(scene: Scene, path: str | os.PathLike[str], run: RunSettings | None = None) -> None:
    """Write a scene, exactly. The file appears complete or not at all, and replaces an older one at once."""
    text = scene_text(scene, run)
    with replacing(path) as temporary, open(temporary, "x", encoding="utf-8") as file:
        file.write(text)


def scene_text(scene: Scene, run: RunSettings | None = None) -> str:
    """What the file of a scene says."""
    return numbered_yaml.write(scene_data(scene, run or RunSettings()))


# reading


def read_entries(data: Any, lines: dict[Path, int]) -> Any:
    if not isinstance(data, dict):
        raise LineError(1, f"the file is {shown(data)}, expected a mapping with the keys of a scene")
    try:
        return schema.SceneFile.model_validate(data)
    except ValidationError as error:
        path, sentence = first_error(error, data, lines)
        raise LineError(line_of(path, lines), sentence) from None


def first_error(error: ValidationError, data: Any, lines: dict[Path, int]) -> tuple[Path, str]:
    """Where the file is wrong first, and the sentence about it.

    A value that may be of several types has an error for each type it is not; those that reach deepest into the value
    are about the type that was meant.
    """
    found = [(path_in_file(each, data), each) for each in error.errors(include_url=False)]
    first = min((path for path, _ in found), key=lambda path: line_of(path, lines))
    entry = first[:3] if len(first) > 2 and isinstance(first[1], int) else first[:2]
    about = [(path, each) for path, each in found if path[: len(entry)] == entry]
    deepest = max((path for path, _ in about), key=len)
    return deepest, sentence_of(deepest, [each for path, each in about if path == deepest])


def path_in_file(error: Any, data: Any) -> Path:
    """The keys and indices that lead to an error; the names of types that pydantic puts between them are left out."""
    path: list[str | int] = []
    tagged = False  # the next part is the tag of an entry
    for part in error["loc"]:
        if isinstance(data, list) and isinstance(part, int):
            tagged = bool(path) and path[-1] in TAGGED
        elif not isinstance(data, dict) or part not in data or tagged:
            tagged = False
            continue
        data = data[part]
        path.append(part)
    match error["type"]:
        case "missing":
            path.append(error["loc"][-1])
        case "unknown_key":
            path.append(error["ctx"]["key"])
        case "union_tag_not_found" | "union_tag_invalid":
            path.append(error["ctx"]["discriminator"].strip("'"))
    return tuple(path)


TAGGED = ("bodies", "joints", "shapes")  # lists of entries whose keys depend on a tag: shape, or joint
EXPECTED = {
    "float_type": "a number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}


def sentence_of(path: Path, errors: list[Any]) -> str:
    where, error = dotted(path), errors[0]
    match error["type"]:
        case "missing" | "union_tag_not_found":
            return f"{where} is missing"
        case "union_tag_invalid":
            return f"{where} is {error['ctx']['tag']!r}, expected one of {error['ctx']['expected_tags']}"
        case "unknown_key":
            return f"{where} is {shown(error['input'][path[-1]])}, expected {error['msg']}"
        case _:
            expected = dict.fromkeys(EXPECTED.get(each["type"], each["msg"]) for each in errors)
            return f"{where} is {shown(error['input'])}, expected {' or '.join(expected)}"


def line_of(path: Path, lines: dict[Path, int]) -> int:
    """The line of a value, or of the entry it is missing from."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


def build(entries: Any, lines: dict[Path, int], folder: str) -> tuple[Scene, RunSettings]:
    with located((), lines):
        scene = Scene(**entries.given("bodies", "joints", "forces", "pairs", "run"))
    for i, body in enumerate(entries.bodies):
        add_body(scene, body, ("bodies", i), lines, folder)
    for i, joint in enumerate(entries.joints):
        with located(("joints", i), lines):
            getattr(scene, f"add_{joint.joint}")(**joint.given("joint"))
    for i, force in enumerate(entries.forces):
        with located(("forces", i), lines):
            scene.apply(**force.given())
    for i, pair in enumerate(entries.pairs):
        with located(("pairs", i), lines):
            scene.set_pair(**pair.given())
    with located(("run",), lines):
        return scene, run_settings(entries.run)


@contextlib.contextmanager
def located(path: Path, lines: dict[Path, int]) -> Iterator[None]:
    """Say of a value that the scene refuses where in the file it is."""
    try:
        yield
    except Refused as error:
        where = (*path, error.field)
        sentence = f"{dotted(where)} is {shown(error.value)}, expected {error.expected}"
        raise LineError(line_of(where, lines), sentence) from None


def add_body(scene: Scene, entry: Any, path: Path, lines: dict[Path, int], folder: str) -> None:
    given = entry.given("shape", "shapes")
    if entry.shape == "mesh":
        given |= {"mesh": in_folder(folder, given["mesh"])}
        given |= {"parts": [in_folder(folder, part) for part in given["parts"]]} if given.get("parts") else {}
    if entry.shape != "compound":
        with located(path, lines):
            getattr(scene, f"add_{entry.shape}")(**given)
        return
    shapes = []
    for i, part in enumerate(entry.shapes):
        with located((*path, "shapes", i), lines):
            shapes.append(SHAPES[part.shape](**part.given("shape")))
    with located(path, lines):
        scene.add_body(shapes, **given)


def in_folder(folder: str, mesh: Any) -> Any:
    """The path of a mesh that a scene file names, from the folder of that file."""
    return os.path.join(folder, mesh) if isinstance(mesh, str) else mesh


def run_settings(entry: Any) -> RunSettings:
    times = {
        name: positive("run", name, getattr(entry, name))
        for name in ("duration", "dt", "tol", "accept")
        if getattr(entry, name) is not None
    }
    return RunSettings(**times, friction=named("friction", entry.friction), solver=named("solver", entry.solver))


def named(key: str, value: str | dict[str, dict[str, Any]] | None) -> Named | None:
    if value is None:
        return None
    if isinstance(value, str):
        return Named(value)
    if len(value) != 1:
        raise Refused("run", key, value, "a name, or one name with its settings, {name: {setting: value}}")
    ((name, settings),) = value.items()
    return Named(name, settings)


# writing

FUNCTION = "a Python function"
not_saved = partial(Refused, "save_scene")


def scene_data(scene: Scene, run: RunSettings) -> dict[str, Any]:
    """A scene as plain data; what has its default is left out."""
    names = [body.name for body in scene.descriptions]
    if scene.force_functions:
        pushed = names[scene.force_functions[0][0]]
        raise not_saved(f"a force on {pushed!r}", FUNCTION, "a constant, because a file holds no functions")
    pairs = sorted(scene.overrides.keys() | scene.apart)
    for (a, b), said in scene.overrides.items():
        held = [key for key, value in said.items() if key == "surface" or isinstance(value, FrictionLaw)]
        if held:
            what = f"the {held[0]} of {names[a]!r} and {names[b]!r}"
            raise not_saved(what, said[held[0]], "a number, because a file holds neither functions nor sets")
    data = {
        "gravity": list(scene.gravity),
        "planar": scene.planar,
        "bodies": [body_data(body, scene.planar) for body in scene.descriptions],
        "joints": [joint_data(j, joint, names) for j, joint in enumerate(scene.joints)],
        "forces": [
            {"body": names[each.body], "force": list(each.force)} | given_fields(each, "body", "force")
            for each in scene.forces
        ],
        "pairs": [
            {"a": names[a], "b": names[b]}
            | scene.overrides.get((a, b), {})
            | ({"collide": False} if (a, b) in scene.apart else {})
            for a, b in pairs
        ],
        "run": run_data(run),
    }
    return {key: value for key, value in data.items() if value not in ([], {}, False)}


def body_data(body: BodyDescription, planar: bool) -> dict[str, Any]:
    for key in ("velocity", "spin"):
        if callable(getattr(body, key)):
            raise not_saved(f"the {key} of {body.name!r}", FUNCTION, "numbers, because a file holds no functions")
    for key, kind in (("friction", FrictionLaw), ("surface", object)):
        said = getattr(body.material, key)
        if said is not None and isinstance(said, kind):
            expected = "a number" if key == "friction" else "none, because a file holds none"
            raise not_saved(f"the {key} of {body.name!r}", said, expected)
    data: dict[str, Any] = {"shape": "compound", "name": body.name}
    if simple(body):
        (shape,) = body.shapes
        data |= shape_data(shape)
        data["shape"] = "particle" if isinstance(shape, Point) else data["shape"]
    else:
        data["shapes"] = [shape_data(shape) for shape in body.shapes]
    moves = {Kind.STATIC: {"static": True}, Kind.MOVING: {"moving": True}, Kind.FREE: {}}[body.kind]
    data |= {} if data["shape"] == "plane" and body.kind is Kind.STATIC else moves
    data |= given_fields(body, "name", "kind", "shapes", "material")
    if planar and body.inertia is not None:
        data["inertia"] = body.inertia[1][1]
    return data | given_fields(body.material)


def simple(body: BodyDescription) -> bool:
    """Whether the body is one shape in its own frame, with no more than its own method of Scene takes."""
    if len(body.shapes) != 1 or body.centre is not None or isinstance(body.shapes[0], Hull):
        return False
    shape = body.shapes[0]
    if isinstance(shape, Plane):
        placed = body.position != ORIGIN or body.orientation != UPRIGHT
        return not placed and body.kind is not Kind.FREE and (body.mass, body.density, body.inertia) == (None,) * 3
    if isinstance(shape, Point):
        return is_particle(body) and body.kind is Kind.FREE and body.orientation == UPRIGHT
    return shape.position == ORIGIN and shape.orientation == UPRIGHT


def shape_data(shape: AnyShape) -> dict[str, Any]:
    return {"shape": type(shape).__name__.lower()} | given_fields(shape)


def joint_data(index: int, joint: JointDescription, names: list[str]) -> dict[str, Any]:
    data: dict[str, Any] = {"joint": joint.kind.name.lower()}
    if joint.name != f"joint {index}":
        data["name"] = joint.name
    data["a"] = names[joint.a]
    if joint.b is not None:
        data["b"] = names[joint.b]
    without = ("kind", "a", "b", "name") if joint.kind >= Joint.HINGE else ("kind", "a", "b", "name", "axis")
    return data | given_fields(joint, *without)


def run_data(run: RunSettings) -> dict[str, Any]:
    data = given_fields(run)
    for key in ("friction", "solver"):
        choice = getattr(run, key)
        if choice is not None:
            data[key] = {choice.name: dict(choice.settings)} if choice.settings else choice.name
    return data


def given_fields(value: Any, *without: str) -> dict[str, Any]:
    """The fields of a dataclass, but for some, that differ from their default; tuples as lists."""
    found = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in without}
    default = {each.name: each.default for each in fields(value)}
    return {name: as_lists(said) for name, said in found.items() if said != default[name]}


def as_lists(value: Any) -> Any:
    return [as_lists(each) for each in value] if isinstance(value, tuple) else value
