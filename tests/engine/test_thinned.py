"""Every n-th step in the record: what is kept is what the whole record says."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.errors import InputError
from stickslip.solvers.status import Status


def scene():
    scene = ss.Scene()
    scene.add_plane(friction=0.4, restitution=0.3)
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.3), velocity=(1, 0, 0), spin=(1, 2, 3), name="box")
    arm = scene.add_box(size=(0.5, 0.1, 0.1), mass=1.0, position=(2.25, 0, 2), name="arm")
    scene.add_hinge(arm, position=(2, 0, 2), axis=(0, 1, 0), name="pivot")
    return scene


@pytest.mark.parametrize("every", [2, 7, 50, 350])
@pytest.mark.filterwarnings("ignore::stickslip.errors.InexactWarning")
def test_what_is_kept_is_what_the_whole_record_says(every, tmp_path):
    whole = ss.simulate(scene(), 0.7, 2e-3, tol=1e-14)  # some steps miss it
    thin = ss.simulate(scene(), 0.7, 2e-3, tol=1e-14, every=every, path=tmp_path / "run.h5")
    assert len(thin) == len(whole) // every
    np.testing.assert_array_equal(thin.time, whole.time[::every])
    for body in ("box", "arm"):
        for what in ("position", "quaternion", "velocity", "spin"):
            np.testing.assert_array_equal(getattr(thin, what)(body), getattr(whole, what)(body)[::every])
    for what in ("residual", "velocity_error", "force_error"):
        np.testing.assert_array_equal(getattr(thin, what), getattr(whole, what).reshape(-1, every).max(axis=1))
    np.testing.assert_array_equal(thin.iterations, whole.iterations.reshape(-1, every).sum(axis=1))
    groups = whole.joint("pivot").impulse.reshape(len(thin), every, -1)
    np.testing.assert_allclose(thin.joint("pivot").impulse, groups.sum(axis=1), rtol=1e-12, atol=1e-15)
    missed = (whole.status != Status.SOLVED).reshape(-1, every).any(axis=1)
    np.testing.assert_array_equal(thin.status != Status.SOLVED, missed)
    for step in range(len(thin)):
        kept, full = thin.contacts(step), whole.contacts((step + 1) * every - 1)
        np.testing.assert_array_equal(kept.impulse, full.impulse)
        np.testing.assert_array_equal(kept.gap, full.gap)


@pytest.mark.parametrize(("every", "settings"), [(3, {}), (0, {}), (True, {}), (2.0, {}), (2, {"watch": "jamming"})])
def test_what_does_not_fit_is_refused(every, settings):
    with pytest.raises(InputError, match="simulate: every is"):
        ss.simulate(scene(), 0.02, 2e-3, every=every, **settings)


def test_systems_keep_every_step():
    system = ss.GeneralizedSystem(1, lambda q: np.eye(1), lambda q, v: [0.0], name="bead")
    with pytest.raises(InputError, match="every is 2 for the system 'bead'"):
        ss.simulate(system, 0.1, 1e-2, q=[0.0], every=2)


def test_a_thinned_run_does_not_go_on(tmp_path):
    ss.simulate(scene(), 0.02, 2e-3, every=5, path=tmp_path / "run.h5").close()
    with pytest.raises(InputError, match="this run cannot go on"):
        ss.resume(tmp_path / "run.h5", duration=0.04)
