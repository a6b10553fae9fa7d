"""Each copy of an ensemble is, to the bit, the run that `simulate` makes of it."""

import warnings

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine.rows import Surfaces
from stickslip.errors import InputError
from stickslip.scene.materials import PairTable
from stickslip.scene.shapes import Box, Sphere
from stickslip.scene.vary import varied


def dice():
    scene = ss.Scene()
    scene.add_plane(name="table", friction=0.3, restitution=0.2)
    scene.add_box(size=0.1, mass=0.2, position=(0, 0, 0.3), name="die", friction=0.5)
    scene.add_sphere(radius=0.05, mass=0.1, position=(0.3, 0, 0.05), name="ball")
    scene.set_pair("die", "ball", restitution=0.6)
    return scene


def door():
    scene = ss.Scene()
    leaf = scene.add_box(size=(1.0, 0.1, 2.0), mass=5.0, position=(0.5, 0, 1.0), name="leaf")
    scene.add_hinge(leaf, position=(0, 0, 1), axis=(0, 0, 1), limits=(-0.5, 0.5), name="hinge")
    scene.add_sphere(radius=0.2, mass=1.0, position=(0.8, -0.6, 1.0), velocity=(0, 3, 0), name="ball")
    return scene


def offset():
    scene = ss.Scene(planar=True)
    scene.add_plane(normal=(0, 1), name="ground")
    scene.add_body([Box((0.4, 0.2)), Sphere(0.1, (0.3, 0))], mass=1.0, position=(0, 0.4), name="club")
    return scene


RNG = np.random.default_rng(4)
N = 7
CASES = {
    "tosses": (dice, {"die.velocity": RNG.normal(size=(N, 3)), "die.spin": 5 * RNG.normal(size=(N, 3))}, {}),
    "places": (
        dice,
        {"die.position.z": np.linspace(0.1, 0.4, N), "die.orientation": RNG.normal(size=(N, 4)),
         "ball.velocity.x": np.linspace(-1, 1, N)},
        {},
    ),
    "materials": (dice, {"friction": np.linspace(0.0, 1.0, N), "die.restitution": np.linspace(0.0, 0.9, N)}, {}),
    "gravity": (dice, {"gravity.z": np.linspace(-12.0, -1.0, N), "ball.friction": np.linspace(0.1, 0.9, N)}, {}),
    "pairs": (dice, {"restitution": np.linspace(0.0, 0.8, N), "die.velocity.x": np.full(N, 2.0)}, {}),
    "joints": (door, {"ball.velocity.y": np.linspace(1.0, 5.0, N)}, {}),
    "plane": (offset, {"club.orientation": np.linspace(-1, 1, N), "club.velocity": RNG.normal(size=(N, 2)),
                       "club.spin": RNG.normal(size=N)}, {}),
    "outside": (dice, {"die.velocity": RNG.normal(size=(N, 3))}, {"law": ss.StewartTrinkle(directions=4)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::stickslip.errors.InexactWarning")
def test_a_copy_is_the_run_of_simulate(case):
    make, samples, settings = CASES[case]
    scene = make()
    steps = 40 if case == "outside" else 120
    found = ss.ensemble(scene, steps * 5e-3, 5e-3, samples=samples, every=20, threads=2, **settings)
    assert len(found) == N
    assert not found.reasons
    for copy in range(N):
        told = {name: values[copy].tolist() for name, values in samples.items()}
        run = ss.simulate(varied(scene, told), steps * 5e-3, 5e-3, friction=settings.get("law"))
        np.testing.assert_array_equal(found.time, run.time[::20])
        for body in scene.names:
            np.testing.assert_array_equal(found.quaternion(body)[copy], run.quaternion(body)[::20])
            np.testing.assert_array_equal(found.velocity(body)[copy], run.velocity(body)[::20])
            np.testing.assert_array_equal(found.spin(body)[copy], run.spin(body)[::20])
            np.testing.assert_array_equal(found.position(body)[copy], run.position(body)[::20])
        assert found.residual[copy] == run.residual.max()
        assert found.velocity_error[copy] == run.velocity_error.max()
        assert found.missed[copy] == run.inexact.size + run.failures.size


def test_bits_do_not_depend_on_threads_or_neighbours():
    samples = {"die.velocity": RNG.normal(size=(60, 3)), "die.spin": 9 * RNG.normal(size=(60, 3))}
    one = ss.ensemble(dice(), 0.5, 5e-3, samples=samples, threads=1)
    three = ss.ensemble(dice(), 0.5, 5e-3, samples=samples, threads=3)
    backwards = ss.ensemble(dice(), 0.5, 5e-3, samples={name: v[::-1] for name, v in samples.items()}, threads=2)
    for body in ("die", "ball"):
        np.testing.assert_array_equal(one.position(body), three.position(body))
        np.testing.assert_array_equal(one.position(body), backwards.position(body)[::-1])


def test_energies_are_those_of_simulate():
    scene, speeds = dice(), np.linspace(-2.0, 2.0, 3)
    copies = ss.ensemble(scene, 0.1, 1e-2, samples={"die.velocity.x": speeds, "gravity.z": [-9.81, 0.0, -2.0]}, every=1)
    for i, (speed, down) in enumerate(zip(speeds, copies.gravity[:, 2], strict=True)):
        run = ss.simulate(varied(scene, {"die.velocity.x": float(speed), "gravity.z": float(down)}), 0.1, 1e-2)
        np.testing.assert_array_equal(copies.kinetic[i], run.kinetic)
        np.testing.assert_array_equal(copies.potential[i], run.potential)
        np.testing.assert_array_equal(copies.energy[i], run.energy)


def test_a_grid_and_the_start_and_end():
    found = ss.ensemble(dice(), 0.1, 1e-2, {"friction": [0.1, 0.9], "die.velocity.x": [1.0, 2.0]})
    assert found.position("die").shape == (4, 2, 3)
    np.testing.assert_array_equal(found.parameters["friction"], [0.1, 0.1, 0.9, 0.9])
    np.testing.assert_array_equal(found.velocity("die")[:, 0, 0], [1.0, 2.0, 1.0, 2.0])
    np.testing.assert_allclose(found.position("die")[:, 1, 2], 0.3 - 9.81 * 0.1**2 / 2)  # it still falls


def test_a_copy_that_fails_ends_alone():
    scene = dice()
    samples = {"die.position.z": [5.0, 0.05, 5.0], "ball.position.z": [4.0, 0.05, 4.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ss.ensemble(scene, 0.1, 1e-2, samples=samples, solver=ss.NSGS(max_iter=1), tol=1e-15, accept=1e-15)
    assert list(found.reasons) == [1]
    assert "was not solved" in found.reasons[1]
    assert "is not saved" in found.reasons[1]
    assert np.isnan(found.position("die")[1, -1]).all()
    np.testing.assert_allclose(found.position("die")[[0, 2], -1, 2], 5.0 - 9.81 * 0.1**2 / 2)


@pytest.mark.parametrize(
    ("samples", "settings", "sentence"),
    [
        ({"die.mass": [1.0]}, {}, "ensemble: die.mass varies, expected position, orientation, velocity or spin"),
        ({"dice.velocity": [[1, 0, 0]]}, {}, "the scene has no parameter 'dice.velocity'"),
        ({"die.velocity": [[1.0, 0.0]]}, {}, "velocity has values of shape (2,), expected three numbers each"),
        ({"die.velocity": [[1.0, 0.0, np.nan]]}, {}, "velocity has entries that are not finite"),
        ({"gravity.z": [1.0, 1e101]}, {}, "Scene: gravity has entries that are not finite or huge"),
        ({"table.velocity": [[1.0, 0.0, 0.0]]}, {}, "body 'table': velocity varies, expected a body that moves"),
        ({"friction": [0.5, -0.5]}, {}, "ensemble: friction is -0.5, expected a number >= 0"),
        ({"friction": ["much"]}, {}, "ensemble: friction has values that are no numbers"),
        (
            {"friction": [0.5]},
            {"every": 3},
            "ensemble: every is 3, expected a whole number of steps that divides all 10",
        ),
        ({"friction": [0.5]}, {"threads": 0}, "ensemble: threads is 0"),
    ],
)
def test_bad_input_is_one_sentence(samples, settings, sentence):
    with pytest.raises(InputError) as error:
        ss.ensemble(dice(), 0.1, 1e-2, samples=samples, **settings)
    assert sentence in str(error.value)


def test_a_joint_is_made_where_its_bodies_start():
    for name, value in (("leaf.position", (0.5, 0, 1.1)), ("leaf.orientation", (1, 0.1, 0, 0))):
        with pytest.raises(InputError, match=f"ensemble: {name} varies, expected a body without joints"):
            ss.ensemble(door(), 0.1, 1e-2, samples={name: [value]})


def test_functions_are_for_sweeps():
    scene = dice()
    scene.apply("die", lambda time, state: ((0, 0, 0), (0, 0, 0)))
    with pytest.raises(InputError, match="the scene has forces or motions by Python functions, expected none; sweep"):
        ss.ensemble(scene, 0.1, 1e-2, {"friction": [0.5]})


def test_tables_are_in_the_order_that_the_loop_reads_them():
    assert Surfaces._fields[2:] == PairTable._fields
