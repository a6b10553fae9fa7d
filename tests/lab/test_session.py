"""A session of the lab, without a page: what its worker does is what `simulate` does."""

import threading

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.names import formulation
from stickslip.engine.recorder import Record
from stickslip.lab import tracks
from stickslip.lab.session import ALL_LAWS, QUEUE, Session, Settings, settings_of
from stickslip.lab.tour import STOPS
from stickslip.lab.tracks import STIFF, LiveTrack, Pull, RecordedTrack, joint_error, scene_at
from stickslip.scene.compile import compile_scene

G, DT = 9.81, 1e-2


def block(velocity=(3.0, 0.0, 0.0), mu=0.5):
    scene = ss.Scene()
    scene.add_plane(friction=mu, name="ground")
    scene.add_box(size=(0.4, 0.4, 0.2), mass=2.0, position=(0, 0, 0.1), velocity=velocity, name="block")
    return scene


def ball(position=(0.0, 0.0, 1.0), gravity=G):
    scene = ss.Scene(gravity=(0, 0, -gravity))
    scene.add_sphere(radius=0.1, mass=0.7, position=position, name="ball")
    return scene


def pendulum():
    scene = ss.Scene(planar=True)
    rod = scene.add_capsule(radius=0.02, length=0.96, mass=1.0, position=(0.5, 0.0), orientation=np.pi / 2)
    scene.add_hinge(rod, position=(0.0, 0.0), name="pivot")
    return scene


def now(session):
    return session.ask(lambda s: (s.first.time(s.index), [track.state(s.index) for track in s.tracks]))


@pytest.mark.parametrize("scene", [block, pendulum, STOPS[1].scene])
def test_steps_are_those_of_simulate(scene):
    run = ss.simulate(scene(), 30 * DT, DT, progress=False)
    with Session(scene(), Settings(dt=DT)) as session:
        session.step(30).result(120)
        _, (state,) = now(session)
        for own, theirs in zip(state, run.state(30), strict=True):
            assert np.array_equal(own, theirs)
        (kept,) = session.runs()
    assert np.array_equal(kept.residual, run.residual)
    assert np.array_equal(kept.contacts().impulse, run.contacts().impulse)
    assert np.allclose(kept.time, run.time, rtol=0, atol=1e-12)


@pytest.mark.parametrize("law", ALL_LAWS)
def test_every_formulation_runs_beside_another(law):
    laws = dict.fromkeys([law, "coulomb"])
    runs = [ss.simulate(block(), 5 * DT, DT, formulation(name), keep_going=True, progress=False) for name in laws]
    with Session(block(), Settings(dt=DT)) as session:
        session.change(laws=list(laws)).result(300)
        session.step(5).result(300)
        time, states = now(session)
        assert session.frame.message == ""
    assert np.isclose(time, 5 * DT)
    for state, run in zip(states, runs, strict=True):
        assert np.array_equal(state.velocity, run.state(5).velocity)


def test_a_change_of_friction_changes_the_run_from_there_on():
    with Session(block(), Settings(dt=DT)) as session:
        session.step(10).result(60)
        _, (before,) = now(session)
        session.change(friction=0.0).result(60)
        session.step(10).result(60)
        _, (after,) = now(session)
        assert np.isclose(before.velocity[1, 0], 3.0 - 0.5 * G * 10 * DT, rtol=1e-6)  # v - μ g t
        assert np.isclose(after.velocity[1, 0], before.velocity[1, 0], rtol=1e-9)  # nothing slows it
        session.change(friction=0.2).result(60)
        session.step(10).result(60)
        time, (last,) = now(session)
        assert np.isclose(last.velocity[1, 0], after.velocity[1, 0] - 0.2 * G * 10 * DT, rtol=1e-6)
        assert np.isclose(time, 30 * DT)
        assert session.frame.contacts.friction[0] == pytest.approx(0.2)


def test_a_change_of_restitution_makes_it_bounce():
    scene = ball((0, 0, 0.1 + 0.05))
    scene.add_plane(name="ground")
    with Session(scene, Settings(dt=1e-3)) as session:
        session.change(restitution=0.8).result(60)
        session.step(400).result(60)
        rises = session.ask(lambda s: [kept.state.position[0, 2] - 0.1 for kept in s.tracks[0].kept])
    bounce = int(np.argmin(rises[:150]))
    assert max(rises[bounce:]) == pytest.approx(0.8**2 * 0.05, rel=0.05)  # e² h


def test_another_step_keeps_the_time():
    with Session(ball(), Settings(dt=DT)) as session:
        session.step(10).result(60)
        session.change(dt=DT / 4).result(60)
        session.step(8).result(60)
        time, (state,) = now(session)
    assert np.isclose(time, 12 * DT)
    assert np.isclose(state.velocity[0, 2], -G * 12 * DT)


def test_going_back_and_on_again_is_the_same_run():
    with Session(block(), Settings(dt=DT)) as session:
        session.step(20).result(60)
        _, (end,) = now(session)
        session.step(-15).result()
        assert np.isclose(session.frame.time, 5 * DT)
        session.seek(10 * DT + 0.1 * DT).result()
        assert session.frame.instant == 10
        session.step(10).result()  # what is kept is shown, not run again
        assert session.ask(lambda s: len(s.first)) == 21
        session.seek(10 * DT).result()
        session.change(friction=0.5).result()  # the same friction as before, but all that came after is forgotten
        assert session.ask(lambda s: len(s.first)) == 11
        session.step(10).result()
        _, (again,) = now(session)
    assert np.allclose(again.position, end.position, atol=1e-6)


def test_what_is_wrong_is_said_and_changes_nothing():
    with Session(block(), Settings(dt=DT)) as session:
        for wrong in ({"dt": -1.0}, {"laws": ["nonsense"]}, {"laws": []}, {"solver": "nonsense"}, {"friction": -1.0}):
            with pytest.raises(ss.InputError, match="expected"):
                session.change(**wrong).result(60)
        session.step(1).result(60)
        assert np.isclose(session.frame.time, DT)
        assert session.settings == Settings(dt=DT, laws=session.settings.laws)


def test_ghosts_are_runs_of_their_own():
    scene = STOPS[0].scene()
    laws = STOPS[0].settings.laws
    runs = [ss.simulate(scene, 20 * DT, DT, law, keep_going=True, progress=False) for law in laws.values()]
    with Session(scene, Settings(laws=laws, dt=DT)) as session:
        session.step(20).result(120)
        _, states = now(session)
    for state, run in zip(states, runs, strict=True):
        assert np.array_equal(state.position, run.state(20).position)
    assert not np.array_equal(states[0].position, states[1].position)


def test_a_spring_drags_a_body_and_lets_go():
    """It hangs g/ω² below the mouse, for the spring's stiffness is m ω²; once let go it falls."""
    with Session(ball(), Settings(dt=DT)) as session:
        target = np.array([0.5, -0.3, 1.4])
        session.ask(lambda s: setattr(s, "pull", Pull(0, np.zeros(3), target)))
        session.step(400).result(60)
        _, (state,) = now(session)
        assert np.allclose(state.position[0], target - [0, 0, G / STIFF**2], atol=1e-6)
        assert np.allclose(state.velocity[0], 0.0, atol=1e-6)
        session.drag(None)
        session.step(10).result(60)
        _, (state,) = now(session)
        assert np.allclose(state.velocity[0, :3], [0, 0, -G * 10 * DT], atol=1e-6)


def test_a_grip_beside_the_centre_turns_the_body():
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_box(size=0.4, mass=1.0)
    with Session(scene, Settings(dt=DT)) as session:
        session.ask(lambda s: setattr(s, "pull", Pull(0, np.array([0.2, 0.0, 0.0]), np.array([0.2, 1.0, 0.0]))))
        session.step(1).result(60)
        _, (state,) = now(session)
    assert state.velocity[0, 1] > 0  # towards the mouse
    assert state.velocity[0, 5] > 0  # and about z: r × F


def test_a_body_that_is_dragged_while_nothing_runs_is_put_there():
    with Session(ball(), Settings(dt=DT)) as session:
        session.step(5).result(60)
        session.drag(Pull(0, np.zeros(3), np.array([1.0, 2.0, 3.0])))
        time, (state,) = now(session)
    assert np.array_equal(state.position[0], [1.0, 2.0, 3.0])
    assert np.isclose(time, 5 * DT)


@pytest.mark.parametrize("scene", [block, pendulum])
@pytest.mark.parametrize("kind", ["box", "ball"])
def test_things_are_dropped_into_a_run(scene, kind):
    with Session(scene(), Settings(dt=DT)) as session:
        session.step(10).result(60)
        time, (before,) = now(session)
        session.drop(kind).result(60)
        later, (after,) = now(session)
        count = len(session.world)
        assert np.isclose(later, time)
        assert count == len(scene()) + 1
        assert np.array_equal(after.position[: count - 1], before.position[: count - 1])
        height = after.position[count - 1, 2]
        session.step(10).result(60)
        _, (fallen,) = now(session)
        assert np.isclose(height - fallen.position[count - 1, 2], G * (10 * DT) ** 2 / 2, rtol=0.11)
        session.reset().result(60)
        assert len(session.world) == count - 1


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(tracks, "MEMORY", 100_000)
    with Session(block(), Settings(dt=DT)) as session:
        session.step(300).result(60)
        track = session.tracks[0]
        assert track.used == sum(map(tracks.weight, track.kept)) <= 100_000
        assert 5 < len(track) < 200
        assert np.isclose(session.frame.time, 300 * DT)
        (run,) = session.runs()
    assert len(run) == len(track) - 1
    assert np.isclose(run.time[-1], 300 * DT)


def test_the_queue_is_bounded_and_frames_are_left_out():
    with Session(ball(), Settings(dt=DT)) as session:
        gate, shown = threading.Event(), []
        session.listeners.append(lambda frame: shown.append(frame.instant))
        session.post(lambda s: gate.wait(30))
        waiting = [session.step() for _ in range(2 * QUEUE)]
        refused = [each for each in waiting if each.done()]
        assert len(refused) >= QUEUE - 1
        with pytest.raises(ss.InputError, match="tasks wait already"):
            refused[-1].result()
        gate.set()
        waiting[0].result(60)
        assert session.ask(lambda s: s.index) >= QUEUE - 1
        assert len(shown) < 10  # one frame for all that was done at once


def test_it_runs_by_the_clock_and_ends():
    session = Session(ball(), Settings(dt=DT, speed=5.0))
    reached = threading.Event()
    session.listeners.append(lambda frame: reached.set() if frame.time > 0.5 else None)
    session.play()
    assert reached.wait(60)
    session.close()
    assert not session._worker.is_alive()
    stopped = len(session.first)
    assert len(session.first) == stopped


def test_a_finished_run_is_shown_and_not_changed(tmp_path, monkeypatch):
    run = ss.simulate(block(), 0.5, DT, progress=False)
    run.save(tmp_path / "run.h5")
    loaded = ss.Trajectory.load(tmp_path / "run.h5")
    columns = []
    read = Record.read
    monkeypatch.setattr(
        Record, "read", lambda self, name, *a, **k: columns.append((name, a)) or read(self, name, *a, **k)
    )
    track = RecordedTrack(loaded)
    assert columns == [("time", ())]  # all else is read where it is asked for
    track.state(17), track.contacts(17)
    assert all(name == "time" or rows[1] - rows[0] <= 4 for name, rows in columns)
    with Session([loaded]) as session:
        session.seek(0.17).result()
        assert session.frame.instant == 17
        assert np.array_equal(session.frame.states[0].position, run.state(17).position)
        assert np.array_equal(session.frame.contacts.impulse, run.contacts(16).impulse)
        session.change(friction=0.1).result()
        with pytest.raises(ss.InputError, match="finished run"):
            session.drop("ball").result()
        with pytest.raises(ss.InputError, match="does not hold its scene"):
            session.standing()
        session.change(speed=50.0).result()
        session.play()
        while session.ask(lambda s: s.playing):
            pass
        assert session.frame.instant == 50


def test_runs_of_different_scenes_are_refused():
    runs = [ss.simulate(scene, 0.05, DT, progress=False) for scene in (block(), ball())]
    with pytest.raises(ss.InputError, match="different bodies"):
        Session(runs)
    with pytest.raises(ss.InputError, match="no run"):
        Session([])
    with pytest.raises(ss.InputError, match="no bodies"):
        Session(ss.Scene())


@pytest.mark.parametrize("scene", [block, pendulum, STOPS[1].scene, STOPS[2].scene])
def test_the_scene_as_it_stands_goes_on_as_it_would(scene):
    run = ss.simulate(scene(), 20 * DT, DT, progress=False)
    with Session(scene(), Settings(dt=DT)) as session:
        session.step(10).result(60)
        standing = session.standing()
    _, state, _ = compile_scene(standing)
    for own, theirs in zip(state, run.state(10), strict=True):
        assert np.allclose(own, theirs, atol=1e-12)
    assert np.allclose(scene_at(standing, state).descriptions[-1].position, standing.descriptions[-1].position)


def test_settings_of_a_scene_file(tmp_path):
    file = tmp_path / "scene.yaml"
    run = "run: {dt: 2e-3, tol: 1e-6, friction: {phantom: {inertia: 2.0}}}"
    file.write_text(f"bodies: [{{shape: sphere, radius: 1, mass: 1}}]\n{run}\n")
    found = settings_of(ss.load_run(file)[1])
    assert found.dt == 2e-3
    assert found.tol == 1e-6
    assert found.laws == {"phantom": ss.Phantom(inertia=2.0)}


def test_joints_that_hold_have_no_error_and_one_that_does_not_has():
    model, state, _ = compile_scene(pendulum())
    assert joint_error(model, state) < 1e-15
    moved = state.copy()
    moved.position[0, 0] += 0.01
    assert np.isclose(joint_error(model, moved), 0.01)


def test_a_live_track_counts_what_its_contacts_do():
    track = LiveTrack("coulomb", ss.Coulomb(), STOPS[1].scene())
    track.start(DT, None, None, None, 0.0)
    for _ in range(5):
        track.step()
    strips = track.strips()
    assert strips["counts"][-1].tolist() == [0, 4, 4]  # the rough block sticks, the smooth one slips
    assert np.allclose(np.diff(strips["time"]), DT)
    assert strips["potential"].min() == 0.0


def test_a_page_that_fails_does_not_end_the_session():
    with Session(block(), Settings(dt=DT)) as session:
        session.listeners.append(lambda frame: 1 / 0)
        session.step(1).result(60)
        session.step(1).result(60)
        assert session.frame.instant == 2
        assert "could not be shown" in session.message
