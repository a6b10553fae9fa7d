"""A run that was stopped goes on to the same bits as one that never was: every formulation, scenes and systems, killed
or finished."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.names import FORMULATIONS, value_of
from stickslip.engine.recorder import Recorder, no_checkpoint

DT = 5e-3
EVERY = [
    *(make() for make in FORMULATIONS.values()),
    ss.Coulomb(stabilisation=ss.Relaxation()),
    ss.Coulomb(impact=ss.Poisson()),
    ss.Phantom(impact=ss.Routh()),
]


def described(formulation):
    impact = type(formulation.impact).__name__
    return f"{type(formulation).__name__}-{type(formulation.stabilisation).__name__}-{impact}"


def heap(**ball):
    """A box that slides under a spinning one, and a ball with restitution that a driven hinge holds to a box."""
    scene = ss.Scene()
    scene.add_plane(friction=0.4)
    scene.add_box(size=(0.4, 0.3, 0.2), mass=1.0, position=(0, 0, 0.1), velocity=(1, 0.3, 0), name="crate")
    scene.add_box(size=0.2, mass=0.5, position=(0, 0, 0.31), spin=(0, 0, 2), name="lid")
    ball = {"radius": 0.1, "mass": 0.3, "position": (0.5, 0, 0.15), "restitution": 0.3, "name": "ball"} | ball
    hand = scene.add_box(size=0.1, mass=0.3, position=(0.5, 0.3, 0.15), name="hand")
    scene.add_hinge(
        scene.add_sphere(**ball), hand, position=(0.5, 0.15, 0.15), axis=(0, 1, 0), strength=0.5, target=0.4,
        stiffness=8.0, limits=(-0.4, 0.4),
    )  # fmt: skip
    return scene


def check_same(whole, other):
    """Column by column, bit by bit; only how long steps took differs."""
    assert len(whole) == len(other)
    for name in whole._record.columns:
        if name != "seconds":
            assert whole._record.read(name).tobytes() == other._record.read(name).tobytes(), name


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("friction", EVERY, ids=described)
def test_a_scene_goes_on_to_the_same_bits(friction):
    whole = ss.simulate(heap(), 0.15, DT, friction, keep_going=True)
    ss.simulate(heap(), 0.05, DT, friction, keep_going=True, path="run.h5").close()
    ss.resume("run.h5", 0.1).close()  # twice, for what a run that went on leaves must be whole too
    with ss.resume("run.h5", 0.15) as run:
        check_same(whole, run)
        assert run.finished
        assert run.header.duration == 0.15
    assert os.listdir() == ["run.h5"]


@pytest.mark.parametrize("friction", EVERY, ids=described)
def test_a_system_goes_on_to_the_same_bits(friction):
    if isinstance(friction, ss.LimitSurface):
        pytest.skip("it is for bodies in space")
    start = {"q": [0.25, 0.44, 1.05], "v": [3.0, -0.3, 0.0]}  # it slides, and falls onto its tip
    rod = ss.planar_rod(friction=0.3)
    whole = ss.simulate(rod, 0.05, 1e-3, friction, keep_going=True, **start)
    ss.simulate(rod, 0.02, 1e-3, friction, keep_going=True, path="run.h5", **start).close()
    with ss.resume("run.h5", 0.05, ss.planar_rod(friction=0.3)) as run:
        check_same(whole, run)
        assert run.system is not None


def spinning_cube():
    """A body in space whose contact has a patch: contacts have a fourth row."""
    point = ss.ContactPoint(
        lambda q: q[2], lambda q: np.eye(3, 6)[[2, 0, 1]], friction=0.4, patch=0.05, spin=lambda q: np.eye(6)[5]
    )
    return ss.GeneralizedSystem(
        6, lambda q: np.diag([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]), lambda q, v: [0, 0, 9.81, 0, 0, 0], contacts=(point,),
        name="cube",
    )  # fmt: skip


def test_a_system_with_spin_a_force_and_a_watch_goes_on():
    def force(t, q, v):
        return [np.sin(30 * t), 0, 0, 0, 0, 0.01]

    settings = {"q": np.zeros(6), "v": [1.0, 0.2, 0, 0, 0, 3.0], "force": force, "watch": "jamming"}
    whole = ss.simulate(spinning_cube(), 0.1, DT, ss.LimitSurface(), **settings)
    ss.simulate(spinning_cube(), 0.05, DT, ss.LimitSurface(), path="run.h5", **settings).close()
    with ss.resume("run.h5", 0.1, spinning_cube(), force=force) as run:
        check_same(whole, run)


CRAB = """
<mujoco model="crab">
  <option integrator="implicitfast"/>
  <default><geom condim="4" friction="0.6 0.01 0.0001"/><joint axis="0 1 0" range="-40 40"/></default>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="trunk" pos="0 0 0.34">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="2"/>
      <body pos="0.2 0.1 0">
        <joint name="left" limited="true" frictionloss="0.05" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0.05 0 -0.3" size="0.03" mass="0.3"/>
      </body>
      <body pos="0.2 -0.1 0">
        <joint name="right" limited="true" stiffness="2"/>
        <geom type="capsule" fromto="0 0 0 0.05 0 -0.3" size="0.03" mass="0.3"/>
      </body>
      <body pos="-0.2 0 0">
        <joint name="tail"/>
        <geom type="capsule" fromto="0 0 0 -0.05 0 -0.3" size="0.03" mass="0.3"/>
      </body>
    </body>
    <body pos="0.05 0 0.46"><freejoint/><geom type="sphere" size="0.06" mass="0.4" solref="-4000 -5"/></body>
  </worldbody>
  <equality><joint joint1="left" joint2="right"/></equality>
  <actuator>
    <general joint="left" dyntype="filter" dynprm="0.05" gainprm="4"/>
    <position joint="tail" kp="6" kv="0.2"/>
  </actuator>
</mujoco>
"""


def crab(text=CRAB):
    """A robot with what a step may depend on: activations, springs, dry friction, limits, equality, spin, bounces."""
    pytest.importorskip("mujoco")
    Path("crab.xml").write_text(text)
    return ss.load_model("crab.xml", quiet=True)


@pytest.mark.parametrize("friction", EVERY, ids=described)
def test_a_model_goes_on_to_the_same_bits(friction):
    def control(t, q, v):
        return [np.sin(9 * t), 0.3 * np.cos(5 * t)]

    def force(t, q, v):
        return 0.01 * np.sin(t + np.arange(v.size))

    acts = {"control": control, "force": force}
    settings = {"keep_going": True, "watch": "jamming", **acts}
    whole = ss.simulate(crab(), 0.2, DT, friction, **settings)
    assert whole.contact_count.max() >= 4
    ss.simulate(crab(), 0.05, DT, friction, path="run.h5", **settings).close()
    ss.resume("run.h5", 0.1, crab(), **acts).close()
    with ss.resume("run.h5", 0.2, crab(), **acts) as run:
        check_same(whole, run)
        assert run.events == whole.events


def test_a_model_that_was_stopped_by_its_controller_goes_on():
    def control(t, q, v):
        return [1.0, 1.0 / (t < 0.1)]

    with pytest.raises(ZeroDivisionError) as stopped:
        ss.simulate(crab(), 0.2, DT, path="run.h5", control=control)
    stopped.value.trajectory.close()
    with ss.resume("run.h5", world=crab(), control=[1.0, 1.0]) as run:
        check_same(ss.simulate(crab(), 0.2, DT, control=[1.0, 1.0]), run)


def test_another_model_is_refused():
    ss.simulate(crab(), 0.05, DT, path="run.h5").close()
    with pytest.raises(ss.InputError, match="expected the same system"):
        ss.resume("run.h5", 0.1, crab(CRAB.replace('kp="6"', 'kp="7"')))
    with pytest.raises(ss.InputError, match="world is GeneralizedSystem, expected the model of"):
        ss.resume("run.h5", 0.1, ss.planar_rod())
    ss.simulate(ss.planar_rod(), 0.02, 1e-3, q=[0, 1, 0.5], path="rod.h5").close()
    with pytest.raises(ss.InputError, match="world is LoadedModel, expected the system of"):
        ss.resume("rod.h5", 0.05, crab())
    with pytest.raises(ss.InputError, match="control is given for"):
        ss.resume("rod.h5", 0.05, ss.planar_rod(), control=[1.0])


def test_a_file_of_a_model_that_remembers_nothing_cannot_go_on():
    run = ss.simulate(crab(), 0.05, DT)
    ss.Trajectory.save(type(run)(replace(run._record, memory=no_checkpoint(run.header))), "run.h5")
    with pytest.raises(ss.FileError, match="it was written before runs of models could"):
        ss.resume("run.h5", 0.1, crab())


def test_a_watch_goes_on():
    """An event is an entry into the sector: a run that goes on inside of it must not see another one."""
    start = {"q": [0.5 * np.cos(1.2), 0.5 * np.sin(1.2), 1.2], "v": [-3.0, 0.0, 0.0]}
    rod = ss.planar_rod(friction=2.5)
    settings = {"watch": "jamming", "keep_going": True, **start}
    whole = ss.simulate(rod, 0.02, 1e-3, ss.StewartTrinkle(), **settings)
    assert whole.events
    for stop in (0.001, 0.002, 0.005, 0.01):
        ss.simulate(rod, stop, 1e-3, ss.StewartTrinkle(), path="run.h5", **settings).close()
        with ss.resume("run.h5", 0.02, rod) as run:
            assert run.events == whole.events


def test_a_scene_with_functions_is_given_again():
    def driven():
        scene = heap()
        scene.apply("crate", lambda t, state: ((3 * np.sin(40 * t), 0, 0), (0, 0, 0)))
        return scene

    whole = ss.simulate(driven(), 0.1, DT)
    ss.simulate(driven(), 0.05, DT, path="run.h5").close()
    with pytest.raises(ss.InputError, match=r"world is None, but the scene of run\.h5 has Python functions"):
        ss.resume("run.h5", 0.1)
    with ss.resume("run.h5", 0.1, driven()) as run:
        check_same(whole, run)


def test_settings_go_on():
    """Those that are not the defaults: solver, tolerances, scheme and effort."""
    settings = {"solver": ss.NSGS(max_iter=200), "tol": 1e-6, "accept": 1e-1, "scheme": "euler", "effort": 50}
    whole = ss.simulate(heap(), 0.1, DT, ss.Coulomb(), **settings)
    ss.simulate(heap(), 0.05, DT, ss.Coulomb(), path="run.h5", **settings).close()
    with ss.resume("run.h5", 0.1) as run:
        check_same(whole, run)


def test_where_more_contacts_are_remembered_than_there_is_room_at_first():
    def floor_of_boxes():
        scene = ss.Scene()
        scene.add_plane(friction=0.5)
        for i in range(25):
            scene.add_box(size=0.2, mass=1.0, position=(0.3 * i, 0, 0.1), velocity=(0.1 * i, 0, 0), name=f"box {i}")
        return scene

    whole = ss.simulate(floor_of_boxes(), 0.04, DT)
    assert whole.contact_count.max() == 100
    ss.simulate(floor_of_boxes(), 0.02, DT, path="run.h5").close()
    with ss.resume("run.h5", 0.04) as run:
        check_same(whole, run)


def test_a_run_that_was_saved_afterwards_goes_on_too():
    whole = ss.simulate(heap(), 0.1, DT)
    ss.simulate(heap(), 0.05, DT).save("run.h5")
    with ss.resume("run.h5", 0.1, heap()) as run:  # without path= the scene is not written down
        check_same(whole, run)


def test_a_run_that_has_come_so_far_is_returned_as_it_is():
    ss.simulate(heap(), 0.05, DT, path="run.h5").close()
    before = Path("run.h5").read_bytes()
    for duration in (None, 0.05):
        with ss.resume("run.h5", duration) as run:
            assert len(run) == 10
    assert Path("run.h5").read_bytes() == before


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
import stickslip as ss, test_resume
from stickslip.engine import recorder
recorder.INTERVAL = 0.0
ss.simulate(test_resume.heap(), 2000.0, test_resume.DT, path="run.h5", progress=False)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_run_goes_on_to_the_same_bits():
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", KILLED, str(Path(__file__).parent)]) as writer:
        try:
            until = time.monotonic() + 300
            while not has_steps(20) and writer.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            with pytest.raises(ss.FileError, match="another run is writing this file"):
                ss.resume("run.h5")  # while it runs
            with pytest.raises(ss.FileError, match="another run is writing this file"):
                ss.simulate(heap(), 0.05, DT, path="run.h5")
        finally:
            writer.kill()
    assert os.listdir() == ["run.h5"]
    with ss.Trajectory.load("run.h5") as killed:
        steps = len(killed)
        assert steps >= 20
        assert not killed.finished
    duration = DT * (steps + 30)
    with ss.resume("run.h5", duration) as run, ss.simulate(heap(), duration, DT) as whole:
        check_same(whole, run)


def has_steps(count):
    try:
        with ss.Trajectory.load("run.h5") as run:
            return len(run) >= count
    except ss.FileError:
        return False


def test_what_a_file_holds_of_formulations_and_solvers_is_read_back():
    values = [*EVERY, ss.StewartTrinkle(directions=6), ss.Lemke(tol=1e-12), ss.NSGS(max_iter=7), ss.Auto()]
    for value in values:
        assert value_of(str(value)) == value
    assert value_of("lemke") == "lemke"
    for text in ("Scene()", "open('x')", "__import__('os')", "Coulomb(", "1 + 1", "Coulomb(x=1)", "[].append(1)", ""):
        with pytest.raises(ss.InputError):
            value_of(text)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"duration": 0.02}, "duration is 0.02 s, expected at least the 0.05 s"),
        ({"duration": 0.0512}, "expected a whole number of steps"),
        ({"world": heap(mass=0.4), "duration": 1.0}, "world is another scene"),
        ({"world": ss.planar_rod(), "duration": 1.0}, "expected the Scene of"),
        ({"friction": ss.Phantom(), "duration": 1.0}, "expected that of the run"),
        ({"solver": "lemke", "duration": 1.0}, "solver is lemke, expected that of the run in .*, auto"),
        ({"force": [1.0], "duration": 1.0}, "force is given for a scene"),
    ],
)
def test_what_does_not_belong_to_the_run_is_refused(given, sentence):
    ss.simulate(heap(), 0.05, DT, path="run.h5").close()
    before = Path("run.h5").read_bytes()
    with pytest.raises(ss.InputError, match=sentence):
        ss.resume("run.h5", **given)
    assert Path("run.h5").read_bytes() == before


def test_another_system_is_refused():
    start = {"q": [0.25, 0.44, 1.05], "v": [3.0, -0.3, 0.0]}
    ss.simulate(ss.planar_rod(friction=0.3), 0.02, 1e-3, path="run.h5", **start).close()
    with pytest.raises(ss.InputError, match="expected it again"):
        ss.resume("run.h5", 0.05)
    with pytest.raises(ss.InputError, match="expected the same system"):
        ss.resume("run.h5", 0.05, ss.planar_rod(mass=1.1, friction=0.3))


def test_a_file_that_cannot_go_on():
    integrated = ss.integrate_system(ss.planar_rod(), [0.25, 0.5, 1.05], np.zeros(3), 0.01, ss.Penalty(1e5))
    integrated.save("run.h5")
    with pytest.raises(ss.FileError, match="this run cannot go on"):
        ss.resume("run.h5", 0.05)


def test_a_run_of_another_version_goes_on_with_a_warning():
    run = ss.simulate(heap(), 0.05, DT)
    record = replace(run._record, header=replace(run.header, version="0.0.9"))
    ss.Trajectory(record).save("run.h5")
    with pytest.warns(UserWarning, match=r"written by stickslip 0\.0\.9"):
        ss.resume("run.h5", 0.1, heap()).close()


def test_a_write_that_was_cut_short_does_not_count():
    """Rows that came after the last /steps, of columns and of blocks, are left out."""
    whole = ss.simulate(heap(), 0.1, DT)
    ss.simulate(heap(), 0.05, DT, path="run.h5").close()
    with h5py.File("run.h5", "r+") as file:
        for name in ("position", "writes/counts", "memory/impulse"):
            file[name].resize(file[name].shape[0] + 3, axis=0)
        file["finished"][()] = 0
    with ss.resume("run.h5", 0.1) as run:
        check_same(whole, run)


def test_a_recorder_that_goes_on_keeps_the_older_file_until_its_copy_is_whole(monkeypatch):
    ss.simulate(heap(), 0.05, DT, path="run.h5").close()
    before = Path("run.h5").read_bytes()

    def broken(*_):
        raise KeyboardInterrupt

    with ss.Trajectory.load("run.h5") as run:
        monkeypatch.setattr("stickslip.engine.recorder.Record.blocks", broken)
        with pytest.raises(KeyboardInterrupt):
            Recorder.after(run._record, "run.h5")
    assert Path("run.h5").read_bytes() == before
    assert os.listdir() == ["run.h5"]


def test_a_run_whose_record_was_thinned_cannot_go_on():
    ss.simulate(heap(), 0.05, DT, every=2, path="run.h5").close()
    with pytest.raises(ss.FileError, match=r"it has no checkpoint; expected one of simulate\(..., path=...\), every=1"):
        ss.resume("run.h5", 0.1)
