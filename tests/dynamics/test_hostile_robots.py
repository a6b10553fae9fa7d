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


@pytest.mark.parametrize("what", HOSTILE)
def test_a_robot_that_is_none_is_refused(tmp_path, what):
    path = tmp_path / "robot.urdf"
    path.write_text(HOSTILE[what])
    with pytest.raises(ss.InputError) as caught:
        ss.load_robot(path, ss.FramePoint("arm"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_the_robot_that_all_are_made_of_is_one(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(robot())
    assert ss.load_robot(path, ss.FramePoint("arm")).velocities == 1
