"""MJCF and URDF files as MuJoCo models, compiled by MuJoCo itself.

A URDF says `package://name/meshes/part.stl` where its meshes are. `name` is looked for among the folders above the
file, their children, and the folders of ROS_PACKAGE_PATH with their children. Shapes that are only to be looked at are
left out, and so are collision meshes of formats that MuJoCo does not read. A URDF has no ground and does not say
whether its base is free: `ground` and `floating` do.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import warnings
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.errors import FileError, InputError, reading, short

OWNER = "load_model"
AXES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
BALL = 0.4 * 1e-6  # inertia over mass of a ball of 1 mm   [m²]
OVERLAP = 1e-6  # of links that belong together   [m]
NO_INERTIA = 1e-13  # up to which an inertia is none   [kg m²]
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-9  # of moving bodies, where a file gives none   [kg, kg m²]
MESHES = (".stl", ".obj", ".msh")  # that MuJoCo reads
IN_URDF = {"mass": ("value",), "inertia": AXES, "axis": ("xyz",), "limit": ("lower", "upper")}  # that are numbers
IN_MJCF = ("pos", "quat", "axis", "euler", "mass", "diaginertia", "fullinertia", "size", "fromto", "gravity")  # of all
DECLARATION = re.compile(r"<\?xml.*?\?>", re.DOTALL)
BASE, GROUND = "world", "ground"  # of a URDF, a link of this name is MuJoCo's world


def read_spec(mujoco: Any, file: Path, floating: bool, ground: float | None) -> tuple[Any, list[str]]:
    """The MjSpec of a file, and what had to be left out of it, in sentences."""
    tree = described(OWNER, file, floating, "an MJCF or URDF file", "<mujoco> (MJCF) or <robot> (URDF)", mend=True)
    notes = prepare_urdf(tree, file, floating) if tree.tag == "robot" else []
    try:
        with warned(mujoco, notes):
            if tree.tag == "robot":
                spec = mujoco.MjSpec.from_string(xml.tostring(tree, encoding="unicode"))
            else:
                spec = mujoco.MjSpec.from_file(str(file))
    except ValueError as error:
        raise unreadable(file, error) from None
    except RecursionError:
        raise FileError(f"{OWNER}: {str(file)!r} is nested too deeply, expected an MJCF or URDF file") from None
    if ground is not None:
        plane = mujoco.mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(name=GROUND, type=plane, size=[0, 0, 1], pos=[0, 0, float(ground)])
    return spec, notes


def described(owner: str, file: Path, floating: bool, formats: str, tags: str, mend: bool = False) -> Any:
    """The root of an MJCF or URDF file; `formats` and `tags` are what errors expect of a file, and of its first tag.
    With `mend` the declaration of XML may stand below other lines, as in some URDFs."""
    if not os.path.isfile(file):  # which a name that is too long is not either
        raise FileError(f"{owner}: {short(str(file))!r} is no file, expected {formats}")
    with reading(str(file), formats):
        text = file.read_bytes()
    try:
        tree = parsed(text, mend)
    except (xml.ParseError, ValueError, LookupError) as error:  # also of an encoding that there is not
        raise FileError(f"{owner}: {str(file)!r} is not XML ({error}), expected {formats}") from None
    if tree.tag not in ("mujoco", "robot"):
        raise FileError(f"{owner}: {str(file)!r} begins with <{tree.tag}>, expected {tags}")
    if floating and tree.tag == "mujoco":
        raise InputError(f"{owner}: floating is True, expected False for MJCF, which has its own free joints")
    check_numbers(owner, file, tree)
    return tree


def parsed(text: bytes, mend: bool) -> Any:
    try:
        return xml.fromstring(text)
    except (xml.ParseError, ValueError, LookupError):
        with contextlib.suppress(xml.ParseError, ValueError):
            if mend:
                return xml.fromstring(DECLARATION.sub("", text.decode("utf-8-sig", errors="replace"), count=1))
        raise


def check_numbers(owner: str, file: Path, tree: xml.Element) -> None:
    """Are masses, inertias, axes and limits numbers that mean something? MuJoCo and Pinocchio take many others. What a
    joint that is fixed or free says of its axis means nothing, whatever it is; flags of MJCF are words."""
    idle = {part for joint in tree.iter("joint") if joint.get("type") in ("fixed", "floating") for part in joint}
    for part in tree.iter():
        if part in idle or part.tag == "flag":
            continue
        names = IN_MJCF if tree.tag == "mujoco" else IN_URDF.get(part.tag, ())
        for name, said in part.attrib.items():
            if name not in names:
                continue
            try:
                values = [float(word) for word in said.split()]
            except ValueError:
                values = []
            right = bool(values) and all(map(math.isfinite, values))
            if right and tree.tag == "robot":
                right = len(values) == (3 if name == "xyz" else 1) and (part.tag != "mass" or values[0] >= 0)
                right = right and (part.tag != "axis" or any(values))
            if not right:
                expected = {"mass": "a number >= 0", "axis": "three numbers, not all 0"}.get(part.tag, "finite numbers")
                raise FileError(f"{owner}: {str(file)!r} has {name}={said!r} in <{part.tag}>, expected {expected}")
        if part.tag == "limit" and float(part.get("lower", 0)) > float(part.get("upper", 0)):
            raise FileError(
                f"{owner}: {str(file)!r} has a limit from {part.get('lower', 0)} to {part.get('upper', 0)}, expected "
                f"lower <= upper"
            )


def part_links(mujoco: Any, spec: Any, model: Any, notes: list[str], all_links: bool) -> bool:
    """Let links that overlap where all joints are at zero never touch, for no motion was meant to part them; whether
    there are such. Of an MJCF, whose author could exclude them, only a fixed base and the links of the same tree: in
    MuJoCo a body does not touch its parent, but for one that is fixed."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    pairs = {tuple(sorted(model.geom_bodyid[list(c.geom)].tolist())) for c in data.contact if c.dist < -OVERLAP}
    root, weld = model.body_rootid, model.body_weldid
    based = {(a, b) for a, b in pairs if root[a] == root[b] and 0 in (weld[a], weld[b])}
    links = sorted(pair for pair in (pairs if all_links else based) if pair[0] > 0)
    for a, b in links:
        spec.add_exclude(bodyname1=model.body(a).name, bodyname2=model.body(b).name)
    if links:
        notes.append(f"{len(links)} pairs of links overlap where all joints are at zero, and never touch")
    return bool(links)


def compiled(mujoco: Any, spec: Any, file: Path, notes: list[str]) -> Any:
    """The MjModel of a spec. Files that MuJoCo refuses for a reason that can be mended are mended, and that is noted;
    so is what MuJoCo itself warns of."""

    def balance() -> None:
        spec.compiler.balanceinertia = True

    def give_mass() -> None:
        spec.compiler.boundmass, spec.compiler.boundinertia = LEAST_MASS, LEAST_INERTIA

    def as_shells() -> None:
        for mesh in spec.meshes:
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL

    remedies = [
        ("balanceinertia", balance, "inertias that no rigid body can have (A + B < C) are replaced by their mean"),
        ("mjMINVAL", give_mass, f"moving bodies without mass are given {LEAST_MASS:g} kg and {LEAST_INERTIA:g} kg m²"),
        ("volume is too small", as_shells, "meshes without volume are taken for shells"),
    ]
    while True:
        try:
            with warned(mujoco, notes):
                return spec.compile()
        except ValueError as error:
            fitting = [remedy for remedy in remedies if remedy[0] in str(error)]
            if not fitting:
                raise unreadable(file, error) from None
            remedies.remove(fitting[0])
            fitting[0][1]()
            notes.append(fitting[0][2])


@contextlib.contextmanager
def warned(mujoco: Any, notes: list[str]) -> Iterator[None]:
    """What MuJoCo warns of goes into the notes, each sentence once, and not to the terminal and MUJOCO_LOG.TXT."""

    def note(text: str) -> None:
        sentence = f"MuJoCo: {' '.join(text.split())}"
        if sentence not in notes:
            notes.append(sentence)

    mujoco.set_mju_user_warning(note)
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            yield
    finally:
        mujoco.set_mju_user_warning(None)
        for warning in raised:
            note(str(warning.message))


def unreadable(file: Path, error: ValueError) -> FileError:
    reason = "; ".join(line.strip() for line in str(error).splitlines() if line.strip()).rstrip(".")
    reason = re.sub(r"^(XML )?Error: ", "", reason)
    return FileError(f"{OWNER}: {str(file)!r} could not be read, MuJoCo says: {reason}")


def prepare_urdf(robot: Any, file: Path, floating: bool) -> list[str]:
    """Meshes by their full paths, no shapes to look at, positive inertias, and a free base where it is to float."""
    notes = mend_inertias(robot)
    dropped = dict.fromkeys(MESHES, 0)
    for link in robot.iter("link"):
        for part in list(link):
            mesh = None if part.tag == "inertial" else part.find("geometry/mesh")
            if part.tag == "visual":
                link.remove(part)
            elif mesh is not None:
                place = resolved(mesh.get("filename", ""), file)
                if place.suffix.lower() in MESHES:
                    mesh.set("filename", str(place))
                else:
                    link.remove(part)
                    dropped[place.suffix] = dropped.get(place.suffix, 0) + 1
    for suffix, count in dropped.items():
        if count:
            notes.append(f"{count} collision mesh{'es' * (count > 1)} of the format {suffix or 'unknown'} left out")
    settings = robot.find("mujoco")
    settings = xml.SubElement(robot, "mujoco") if settings is None else settings
    compiler = settings.find("compiler")
    compiler = xml.SubElement(settings, "compiler") if compiler is None else compiler
    compiler.attrib |= {"strippath": "false", "meshdir": "", "discardvisual": "true", "fusestatic": "false"}
    if floating:
        float_base(robot, file)
    return notes


def mend_inertias(robot: Any) -> list[str]:
    """Leave out inertials without mass, and make those that have mass but no positive inertia small balls."""
    empty, points = 0, 0
    for link in robot.iter("link"):
        inertial = link.find("inertial")
        if inertial is None or inertial.find("inertia") is None or inertial.find("mass") is None:
            continue
        mass, inertia = float(inertial.find("mass").get("value", 0)), inertial.find("inertia")
        xx, xy, xz, yy, yz, zz = (float(inertia.get(name, 0)) for name in AXES)
        if mass <= 0:
            link.remove(inertial)
            empty += 1
        elif np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[0] <= NO_INERTIA:
            own = f"{max(BALL * mass, LEAST_INERTIA):g}"
            inertia.attrib |= dict(zip(AXES, (own, "0", "0", own, "0", own), strict=True))
            points += 1
    said = (
        (empty, f"{empty} links have an inertial without mass, which is left out"),
        (points, f"{points} links have mass but no positive inertia: each is given that of a ball of 1 mm"),
    )
    return [sentence for count, sentence in said if count]


def float_base(robot: Any, file: Path) -> None:
    """A floating joint between the world and the link that no joint has for a child."""
    children = {joint.find("child").get("link") for joint in robot.iter("joint") if joint.find("child") is not None}
    roots = [link.get("name") for link in robot.findall("link") if link.get("name") not in children]
    if len(roots) != 1:
        raise FileError(f"{OWNER}: {str(file)!r} has {len(roots)} links without a parent, expected one")
    if BASE in (link.get("name") for link in robot.findall("link")):
        raise InputError(f"{OWNER}: floating is True for {str(file)!r}, expected False: its link {BASE!r} is the world")
    xml.SubElement(robot, "link", name=BASE)
    joint = xml.SubElement(robot, "joint", name="floating base", type="floating")
    xml.SubElement(joint, "parent", link=BASE)
    xml.SubElement(joint, "child", link=roots[0])


def resolved(name: str, file: Path) -> Path:
    """The path of a mesh of a URDF; one that is not there is refused."""
    if name.startswith("file://"):
        places = [Path(name.removeprefix("file://"))]
    elif name.startswith(("package://", "model://")):
        package, _, rest = name.split("://", 1)[1].partition("/")
        places = [root / rest for root in packages(package, file)]
    else:
        places = [file.parent / name]
    for place in places:
        if place.is_file():
            return place.resolve()
    raise FileError(
        f"{OWNER}: the mesh {name!r} of {str(file)!r} is not there, expected it at its path, in a package above the "
        "file, or in one of ROS_PACKAGE_PATH"
    )


def packages(name: str, file: Path) -> list[Path]:
    """Folders that may be the package of a name, the nearest first."""
    above = [*file.resolve().parents]
    listed = [Path(entry) for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if entry]
    found = [folder for folder in above if folder.name == name]
    found += [folder / name for folder in (*above, *listed)]
    found += [folder for folder in listed if folder.name == name]
    return [folder for folder in found if folder.is_dir()]
