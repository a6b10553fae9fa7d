"""Runs of systems are trajectories: kept, read back and drawn as those of scenes are."""

import numpy as np
import pytest

import stickslip as ss

MU, G = 0.3, 9.81


def block(friction=MU):
    """A mass of 2 kg over the floor: q = (x, z), one contact with a tangent."""
    return ss.GeneralizedSystem(
        2,
        lambda q: 2.0 * np.eye(2),
        lambda q, v: [0.0, 2.0 * G],
        (ss.ContactPoint(lambda q: q[1], lambda q: [[0, 1], [1, 0]], friction, name="foot"),),
        name="block",
    )


def bob():
    """A mass of 2 kg held at the origin's height by a rod that stands still: x is fixed, z is not."""
    return ss.GeneralizedSystem(
        2,
        lambda q: 2.0 * np.eye(2),
        lambda q, v: [0.0, 2.0 * G],
        constraint=ss.Constraint(lambda q: [[0.0, 1.0]], lambda q: [q[1]]),
        name="bob",
    )


def slide(path=None, **settings):
    return ss.simulate_system(block(), [0.0, 0.0], [1.0, 0.0], 0.1, 1e-2, path=path, **settings)


@pytest.fixture(params=["memory", "file", "saved"])
def run(request, tmp_path):
    """The same run, wherever it is kept."""
    if request.param == "memory":
        yield slide()
        return
    path = tmp_path / "run.h5"
    if request.param == "file":
        with slide(path) as written:
            yield written
        return
    slide().save(path)
    with ss.Trajectory.load(path) as loaded:
        yield loaded


def test_a_run_of_a_system_is_a_trajectory(run):
    assert isinstance(run, ss.SystemTrajectory)
    assert isinstance(run, ss.Trajectory)
    assert run.finished
    assert len(run) == 10
    np.testing.assert_allclose(run.time, 1e-2 * np.arange(11), atol=1e-15)
    assert (run.q.shape, run.v.shape, run.gap.shape) == ((11, 2), (11, 2), (11, 1))
    assert (run.impulse.shape, run.velocity.shape) == ((10, 1, 2), (10, 1, 2))
    np.testing.assert_allclose(run.v[:, 0], 1.0 - MU * G * run.time, atol=1e-6)
    np.testing.assert_allclose(run.impulse[:, 0], np.tile([2.0 * G * 1e-2, -2.0 * MU * G * 1e-2], (10, 1)), atol=1e-7)
    np.testing.assert_array_equal(run.kinetic_energy, (run.v**2).sum(axis=1))
    np.testing.assert_array_equal(run.state, np.full((10, 1), ss.State.SLIP))
    assert (run.friction == MU).all()
    assert run.failures.size == 0
    assert set(run.method) == {"NSGS"}


def test_contacts_of_a_step(run):
    table = run.contacts(step=3)
    (contact,) = table
    assert (contact.shape_a, contact.shape_b, contact.feature) == (0, 0, 0)
    np.testing.assert_array_equal(contact.impulse, [*run.impulse[3, 0], 0.0])
    np.testing.assert_array_equal(contact.velocity, [*run.velocity[3, 0], 0.0])
    assert contact.gap == run.gap[3, 0]
    assert table.name(0) == "foot"
    assert repr(table).splitlines()[2].split()[:3] == ["3", "foot", "surface"]


def test_it_says_what_it_is(run):
    assert repr(run).startswith("SystemTrajectory(10 steps to 0.1 s, 'block', 10 contacts, Coulomb(")
    assert (run.header.world, run.header.name, run.header.names) == ("system", "block", ("foot",))


def test_a_system_has_no_bodies(run):
    for ask in (run.position, run.quaternion, run.spin, lambda body: run.contacts(body=body)):
        with pytest.raises(ss.InputError, match="the system 'block', which has no bodies, expected a question about q"):
            ask("block")
    with pytest.raises(ss.InputError, match="which has no position, expected one of q, v, gap, kinetic"):
        _ = run.potential


@pytest.mark.parametrize("what", ["path", "energy", "impulses", "residual"])
def test_every_picture_can_be_drawn(run, tmp_path, what):
    run.plot(tmp_path / "picture.png", what)
    assert (tmp_path / "picture.png").stat().st_size > 5000


def test_a_loaded_run_does_not_know_its_functions(tmp_path):
    assert slide().system is not None
    slide().save(tmp_path / "run.h5")
    with ss.Trajectory.load(tmp_path / "run.h5") as loaded:
        assert loaded.system is None


def test_a_constraint_is_a_joint(tmp_path):
    """It carries the weight in every step, with and without a file."""
    for path in (None, tmp_path / "run.h5"):
        with ss.simulate_system(bob(), [0.0, 0.0], [1.0, 0.0], 0.1, 1e-2, path=path) as run:
            held = run.joint("constraint")
            assert held.rows == ("row 0",)
            np.testing.assert_allclose(held.force, 2.0 * G, rtol=1e-9)
            assert set(run.method) == {"none"}


def test_events_are_in_the_file(tmp_path):
    rod, q, v = ss.rod(friction=2.0), [0.0, 0.0, np.sqrt(0.5) / 2, np.pi / 4, 0.0], [-1.0, 0, 0, 0, 0]
    kept = ss.simulate_system(rod, q, v, 0.01, 1e-3, watch="jamming", path=tmp_path / "run.h5")
    plain = ss.simulate_system(rod, q, v, 0.01, 1e-3, watch="jamming")
    (event,) = plain.events
    assert event.name == "foot"
    assert kept.events == plain.events
    kept.close()


def test_springs_are_kept(tmp_path):
    """A bounce: impulses between the instants add up to those integrated, and energy is kept."""
    springs = ss.Penalty(1e4)
    run = ss.integrate_system(block(0.0), [0.0, 1e-3], [1.0, -1.0], 0.1, springs)
    assert run.contact == springs
    run.save(tmp_path / "run.h5")
    with ss.Trajectory.load(tmp_path / "run.h5") as loaded:
        assert isinstance(loaded, ss.PenaltyRun)
        for name in ("time", "q", "v", "gap", "velocity", "force", "impulse", "normal_work", "friction_work", "stored"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(run, name))
        total = loaded.contacts().impulse[:, :2].sum(axis=0)
        np.testing.assert_allclose(total, loaded.impulse[-1, 0], rtol=1e-12, atol=1e-15)
        energy = loaded.kinetic + loaded.stored + 2.0 * G * loaded.q[:, 1]
        np.testing.assert_allclose(energy, energy[0], rtol=1e-6)
        loaded.plot(tmp_path / "path.png")
        assert "steps to 0.1 s" in repr(loaded)
