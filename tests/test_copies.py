"""Values go from process to process, and are copied: every public one that a pool of processes may need."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss

HOW = [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy]
ARM = Path(__file__).parents[1] / "examples" / "robots" / "arm.urdf"


def slippery(speed, x, y, z, time):
    return 0.5 / (1.0 + speed)


def twice(a):
    return 2 * a


def scene():
    found = ss.Scene()
    found.add_plane(friction=0.5)
    found.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), velocity=(1, 0, 0), name="crate")
    return found


@pytest.fixture
def values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lcp, cone = ss.LCP(np.eye(2), [-1.0, 1.0]), ss.ConeProblem(np.eye(3), [-1.0, 0.2, 0.0], [0.5])
    solved = ss.solve(cone)
    return {
        "scene": scene(),
        "material": ss.Material(friction=0.3),
        "model": ss.compile_scene(scene())[:2],
        "run": ss.simulate(scene(), 0.01, 1e-3),
        "run in a file": ss.simulate(scene(), 0.01, 1e-3, path="run.h5"),
        "lcp": lcp,
        "cone": cone,
        "solution": solved,
        "problem": ss.contact_problem(scene(), 1e-3),
        "rod": ss.rod(mass=2.0),
        "planar rod": ss.planar_rod(length=0.5),
        "arm": ss.arm(),
        "peg": ss.peg(1.0, 4.0),
        "rods": ss.rod_family(),
        "arms": ss.arm_family(),
        "stribeck": ss.stribeck(0.5, 0.3, 0.1),
        "formulation": ss.LimitSurface(),
        "solver": ss.NSGS(max_iter=7),
        "set": ss.Mixed(),
        "spring": ss.Penalty(1e5),
        "system run": ss.simulate(ss.planar_rod(), 0.01, 1e-3, q=[0, 1, 0.5]),
        "law": ss.FrictionLaw(slippery),
        "polyhedron": ss.Polyhedron(np.vstack([np.eye(3), -np.eye(3)])),
        "solutions": ss.all_solutions(lcp),
        "sweep": ss.sweep(twice, {"a": [1.0, 2.0]}, progress=False, workers=1),
        "ensemble": ss.ensemble(scene(), 0.01, 1e-3, over={"friction": [0.1, 0.2]}),
        "jam map": ss.jam_map(ss.rod_family(), 5),
        "error": ss.SolveFailed("not solved", solved),
        "failed step": ss.StepFailed("step 3 was not solved", solved, 3, "file.h5"),
    }


@pytest.mark.parametrize("how", HOW, ids=["pickle", "copy"])
def test_values_are_copied(values, how):
    copies = {name: how(value) for name, value in values.items()}
    assert {name: type(value) for name, value in copies.items()} == {
        name: type(value) for name, value in values.items()
    }
    for name in ("run", "run in a file"):
        np.testing.assert_array_equal(copies[name].position("crate"), values[name].position("crate"))
    np.testing.assert_array_equal(copies["system run"].q, values["system run"].q)
    for name, q in (("rod", [0.1, 0.2, 0.3, 0.4, 0.5]), ("planar rod", [0.1, 0.2, 0.3])):
        np.testing.assert_array_equal(copies[name].mass(np.array(q)), values[name].mass(np.array(q)))
    assert copies["solution"].residual == values["solution"].residual
    assert (copies["solver"], copies["formulation"]) == (values["solver"], values["formulation"])
    np.testing.assert_array_equal(
        ss.simulate(copies["scene"], 0.01, 1e-3).position("crate"), values["run"].position("crate")
    )
    assert (copies["failed step"].step, copies["failed step"].file) == (3, "file.h5")
    force = (0.1, 0.2, 0.3, 0.05, 0.0, 0.0, 0.0, 0.0)
    assert copies["stribeck"].f(*force) == values["stribeck"].f(*force)
    assert copies["law"].at_rest == 0.5
    np.testing.assert_array_equal(copies["sweep"]["value"], [2.0, 4.0])
    np.testing.assert_array_equal(copies["ensemble"].position("crate"), values["ensemble"].position("crate"))
    values["run in a file"].close()
    copies["run in a file"].close()


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy])
def test_a_simulation_under_way_says_why_it_is_not(how):
    with pytest.raises(TypeError, match="a simulation under way holds compiled arrays and is not copied"):
        how(ss.Simulation(scene(), 1e-3))


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy])
def test_a_robot_under_way_says_why_it_is_not(how):
    with pytest.raises(TypeError, match="a simulation under way holds a simulator and is not copied"):
        how(ss.Simulation(ss.planar_rod(), 1e-3, q=[0, 1, 0.5]))


@pytest.mark.parametrize("how", HOW, ids=["pickle", "copy"])
def test_models_and_robots_are_copied(how):
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")
    model, robot = ss.load_model(ARM, quiet=True), ss.load_robot(ARM, ss.FramePoint("tip"))
    assert how(model).joints == model.joints
    copied, q = how(robot), robot.pose()
    assert copied.data is not robot.data
    np.testing.assert_array_equal(copied.mass(q), robot.mass(q))
    assert copied.contacts[0].gap(q) == robot.contacts[0].gap(q)


@pytest.mark.parametrize("how", HOW, ids=["pickle", "copy"])
def test_runs_of_models_and_models_that_ran_are_copied(how, tmp_path):
    pytest.importorskip("mujoco")
    model = ss.load_model(ARM, quiet=True)
    runs = [ss.simulate(model, 0.02, 2e-3), ss.simulate(model, 0.02, 2e-3, path=tmp_path / "run.h5")]
    np.testing.assert_array_equal(ss.simulate(how(model), 0.02, 2e-3).q, runs[0].q)
    for run in runs:
        copied = how(run)
        np.testing.assert_array_equal(copied.q, run.q)
        assert type(copied) is type(run)
        copied.close()
    runs[1].close()
    pointed, q = model.with_points(ss.FramePoint("tip")), model.home
    np.testing.assert_array_equal(how(pointed).mass(q), pointed.mass(q))
    assert how(pointed).contacts[0].gap(q) == pointed.contacts[0].gap(q)


@pytest.mark.parametrize("how", HOW, ids=["pickle", "copy"])
def test_a_refusal_comes_back_from_another_process_as_its_sentence(how):
    with pytest.raises(ss.InputError) as refused:
        ss.LCP(np.eye(2), lambda: 0)  # which is not sent
    assert isinstance(how(refused.value), ss.InputError)
    assert str(how(refused.value)) == str(refused.value)
    stopped = ss.SweepStopped(ss.sweep(twice, {"a": [1.0]}, progress=False, workers=1))
    assert str(how(stopped)) == str(stopped)
    assert len(how(stopped).sweep) == 1
