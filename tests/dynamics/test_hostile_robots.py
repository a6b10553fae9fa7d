"""Robots in files that are wrong or hostile are refused in a sentence."""

import pytest

import stickslip as ss

pytest.importorskip("pinocchio")

LINK = (
    '<link name="{name}"><inertial><mass value="{mass}"/>'
    '<inertia ixx="{ixx}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="hinge" type="{kind}"><parent link="base"/><child link="{child}"/><axis xyz="{axis}"/>'
    '<limit lower="{lower}" upper="1" effort="1" velocity="1"/></joint>'
)

FIXED = (
    '<joint name="end" type="fixed"><parent link="arm"/><child link="tip"/><axis xyz="0 0 0"/></joint>'  # as CAD says
)


def robot(mass="1", ixx="1", kind="revolute", child="arm", axis="0 0 1", lower="-1", more=""):
    parts = LINK.format(name="base", mass="1", ixx="1"), LINK.format(name="arm", mass=mass, ixx=ixx)
    return (
        f'<robot name="r">{"".join(parts)}{JOINT.format(kind=kind, child=child, axis=axis, lower=lower)}{more}</robot>'
    )


LAUGHS = "".join(f'<!ENTITY {n} "{f"&{m};" * 10}">' for m, n in zip("abcdefg", "bcdefgh", strict=True))
HOSTILE = {
    "empty": "",
    "text": "hello",
    "other XML": "<a/>",
    "cut": robot()[:200],
    "null": robot() + "\0",
    "deep": "<robot name='r'>" + "<link>" * 5000,
    "billion laughs": f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{LAUGHS}]>' + robot(mass="&h;"),
    "another file": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + robot(more="<n>&e;</n>"),
    **{f"mass {mass}": robot(mass=mass) for mass in ("nan", "inf", "-1", "heavy", "")},
    **{f"inertia {ixx}": robot(ixx=ixx) for ixx in ("nan", "inf", "-5", "x")},
    **{f"axis {axis}": robot(axis=axis) for axis in ("0 0 0", "nan 0 0", "1 0", "up")},
    **{f"limit {lower}": robot(lower=lower) for lower in ("5", "nan", "low")},
    "kind": robot(kind="wobbly"),
    "no such child": robot(child="absent"),
    "a circle": robot(child="base"),
    "a link twice": robot(more=LINK.format(name="arm", mass="1", ixx="1")),
}


def body(mass="1", size="0.1", pos="0 0 1", more=""):
    geom = f'<geom size="{size}" mass="{mass}"/>'
    return f'<mujoco>{more}<worldbody><body pos="{pos}"><freejoint/>{geom}</body></worldbody></mujoco>'


HOSTILE_MJCF = {
    **{f"mass {mass}": body(mass=mass) for mass in ("nan", "inf", "-1", "heavy", "")},
    **{f"size {size}": body(size=size) for size in ("nan", "inf", "-1", "0", "x")},
    **{f"pos {pos}": body(pos=pos) for pos in ("nan 0 0", "0 inf 0", "up")},
    "gravity": body(more='<option gravity="0 0 nan"/>'),
    "another file": body(more='<include file="/etc/hostname"/>'),
    "a mesh that is none": body(more='<asset><mesh name="m" file="/etc/hostname"/></asset>'),
    "itself": body(more='<include file="robot.xml"/>'),
    "deep": "<mujoco><worldbody>" + "<body>" * 3000 + "</body>" * 3000 + "</worldbody></mujoco>",
    "billion laughs": f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{LAUGHS}]>' + body(mass="&h;"),
    "an encoding": '<?xml version="1.0" encoding="nonsense"?><robot/>',
}
MENDED = {"inertia -5"}  # load_model takes that of a small ball, and says so in `left_out`
BY_LOAD_MODEL = {what: text for what, text in HOSTILE.items() if what not in MENDED} | {
    "very deep": "<robot name='r'>" + "<a>" * 20000 + "</a>" * 20000 + "</robot>"
}


def refused(load, path):
    with pytest.raises(ss.InputError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("what", HOSTILE)
def test_a_robot_that_is_none_is_refused(tmp_path, what):
    (tmp_path / "robot.urdf").write_text(HOSTILE[what])
    refused(lambda path: ss.load_robot(path, ss.FramePoint("base")), tmp_path / "robot.urdf")


@pytest.mark.parametrize("what", BY_LOAD_MODEL)
def test_a_model_that_is_none_is_refused(tmp_path, what):
    pytest.importorskip("mujoco")
    (tmp_path / "robot.urdf").write_text(BY_LOAD_MODEL[what])
    refused(ss.load_model, tmp_path / "robot.urdf")


@pytest.mark.parametrize("what", HOSTILE_MJCF)
def test_an_mjcf_that_is_none_is_refused(tmp_path, what):
    pytest.importorskip("mujoco")
    (tmp_path / "robot.xml").write_text(HOSTILE_MJCF[what])
    refused(ss.load_model, tmp_path / "robot.xml")


def test_the_robot_that_all_are_made_of_is_one(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(robot())
    assert ss.load_robot(path, ss.FramePoint("arm")).velocities == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("robot.urdf", robot(more=LINK.format(name="tip", mass="1", ixx="1") + FIXED)),
        ("robot.xml", body(more='<option><flag gravity="disable"/></option>')),
    ],
)
def test_what_means_nothing_may_be_any_number_and_what_is_no_number_a_word(tmp_path, name, text):
    pytest.importorskip("mujoco")
    (tmp_path / name).write_text(text)
    assert ss.load_model(tmp_path / name).velocities in (1, 6)
