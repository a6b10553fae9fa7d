"""Values go from process to process, and are copied: every public one that a pool of processes may need."""

import copy
import pickle

import numpy as np
import pytest

import stickslip as ss


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
        "error": ss.SolveFailed("not solved", solved),
        "failed step": ss.StepFailed("step 3 was not solved", solved, 3, "file.h5"),
    }


@pytest.mark.parametrize(
    "how", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy], ids=["pickle", "copy"]
)
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
    values["run in a file"].close()
    copies["run in a file"].close()


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy])
def test_a_simulation_under_way_says_why_it_is_not(how):
    with pytest.raises(TypeError, match="a simulation under way holds compiled arrays and is not copied"):
        how(ss.Simulation(scene(), 1e-3))
