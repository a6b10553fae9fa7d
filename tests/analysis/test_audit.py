"""The audit of MuJoCo's contacts: what it finds is what MuJoCo did, and made-up faults are found with their size."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'stickslip[mujoco]'")
sys.path.insert(0, str(Path(__file__).parents[1] / "dynamics"))

from models import slope  # noqa: E402


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "slope.xml"
    path.write_text(slope(math.radians(10), 0.5, option='cone="elliptic"'))
    return path


def test_the_creep_of_a_block_is_its_velocity_in_mujoco(file):
    """And the same block creeps by less than 1e-10 m/s under Coulomb's law."""
    found = ss.audit(file, 1.0)
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    for _ in range(500):
        mujoco.mj_step(m, d)
    assert found.creep[-1] == pytest.approx(np.linalg.norm(d.qvel[:2]), rel=1e-6)
    assert found.creep[-1] > 1e-4
    assert f"{found.typical('creep'):.3g}" in str(found)
    sim = ss.Simulation(ss.load_model(file), dt=2e-3)
    sim.step(500)
    assert np.abs(sim.v).max() < 1e-10
    # an exact step stops the block at once: it is apart by the acceleration that takes all of its velocity
    assert found.difference[-1] == pytest.approx(np.linalg.norm(d.qvel[:2]) / 2e-3, rel=1e-3)
    assert found.failures == 0


def test_a_block_that_slides_obeys_the_law(tmp_path):
    path = tmp_path / "steep.xml"
    path.write_text(slope(math.radians(45), 0.3, option='cone="elliptic"'))
    found = ss.audit(path, 0.5)
    assert found.creep[100:].max() == 0.0  # what slides does not creep
    assert found.outside.max() < 1e-6
    assert found.pull.max() == 0.0
    assert found.power.max() == 0.0


def test_made_up_faults_are_found(file):
    """Forces and velocities by hand: one contact outside its cone, one that pulls, one whose friction drives, one that
    creeps."""
    from stickslip.analysis.audit import Judge
    from stickslip.dynamics.mujoco import audited

    loaded = audited(file)
    d = mujoco.MjData(loaded.original)
    judge = Judge(mujoco, loaded, loaded.original, d, None)
    mujoco.mj_forward(loaded.original, d)
    judge.graded_rows, judge.graded_mass = judge.rows.contacts_of(d)[0][:12], np.eye(6)
    f = np.array([[10.0, 8.0, 0.0], [-2.0, 0.0, 0.0], [10.0, 0.0, 5.0], [10.0, 1.0, 0.0]])
    u = np.array([[0.0, -0.1, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.3], [0.0, 0.003, 0.004]])
    geom, gap, mu = np.tile([0, 1], (4, 1)), np.array([0.0, 0.0, -0.02, 0.0]), np.full(4, 0.5)
    judge.grade(geom, gap, mu, 1e-3, f, u, np.zeros(12), 0.0)
    worst = {name: moment.value for name, moment in judge.found.items()}
    assert worst["outside"] == pytest.approx(0.6)
    assert worst["pull"] == pytest.approx(2.0)
    assert worst["power"] == pytest.approx(1.5)
    assert worst["penetration"] == pytest.approx(0.02)
    assert worst["creep"] == pytest.approx(0.005)
    assert judge.pressing == [3]


def test_settings_that_bring_it_closer(file):
    plain = ss.audit(file, 0.4)
    stiff = ss.audit(file, 0.4, settings={"impratio": 100.0})
    still = ss.audit(file, 0.4, settings={"noslip_iterations": 10})
    assert stiff.typical("creep") < 0.1 * plain.typical("creep")
    assert still.typical("creep") < 0.1 * plain.typical("creep")
    with pytest.raises(ss.InputError, match="settings has 'softness', expected cone"):
        ss.audit(file, settings={"softness": 1})


def test_from_a_model_and_data_of_mujoco(file):
    m = mujoco.MjModel.from_xml_path(str(file))
    d = mujoco.MjData(m)
    d.qpos[2] = 1.1
    found = ss.audit(m, 0.1, data=d)
    assert found.contacts.max() == 0  # it falls
    fell = np.abs(found.difference)
    assert fell.max() < 1e-9
    with pytest.raises(ss.InputError, match="model is 3, expected a path"):
        ss.audit(3)


def test_the_command(file, tmp_path):
    picture = tmp_path / "audit.png"
    result = CliRunner().invoke(main, ["audit", str(file), "--seconds", "0.2", "--settings", "--save", str(picture)])
    assert result.exit_code == 0, result.output
    assert "creep where it should stick [m/s]" in result.stdout
    assert "noslip_iterations 10" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    gripper = Path(__file__).parents[2] / "examples" / "robots" / "gripper.xml"
    told = CliRunner().invoke(main, ["audit", str(gripper), "--seconds", "0.1", "--control", "20,0,1"])
    assert "control has shape (3,), expected (2,)" in told.output
    bad = CliRunner().invoke(main, ["audit", str(tmp_path / "none.xml")])
    assert bad.exit_code != 0
    assert "is no file, expected an MJCF or URDF file" in bad.output
