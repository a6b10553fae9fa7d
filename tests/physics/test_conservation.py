"""What is kept: momentum where nothing acts from outside; energy never grows but by the work of a stabilisation."""

import numpy as np
import pytest
from laws import EVERY, FORMULATIONS, momenta, over, simulate
from scipy.spatial.transform import Rotation

import stickslip as ss


def colliding(round_bodies, restitution=0.0):
    """Two spinning bodies that meet off-centre in free space."""
    scene = ss.Scene(gravity=(0, 0, 0))
    first = {"mass": 1.0, "position": (-1, 0, 0), "velocity": (2, 0, 0), "spin": (3, -2, 5)}
    second = {"mass": 2.0, "position": (0.5, 0.3, 0.1), "velocity": (-1, 0, 0), "spin": (1, 4, 2)}
    surface = {"friction": 0.4, "restitution": restitution}
    if round_bodies:
        scene.add_sphere(0.5, **first, **surface)
        scene.add_sphere(0.3, **second, **surface)
    else:
        scene.add_box(size=(1.0, 0.6, 0.3), **first, **surface)
        scene.add_capsule(0.2, 0.8, orientation=((1, 2, 0), 1.0), **second, **surface)
    return scene


@EVERY
@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("round_bodies", [True, False], ids=["balls", "box and capsule"])
def test_a_collision_keeps_momentum(friction, round_bodies, restitution):
    run = simulate(colliding(round_bodies, restitution), 0.6, 0.01, friction)
    assert run.contact_count.max() > 0
    for momentum in momenta(run):
        np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-12)
    assert np.diff(run.energy).max() < 1e-12
    assert run.energy[-1] < 0.9 * run.energy[0]


@over([ss.Coulomb(), ss.Phantom(), ss.StewartTrinkle()])
def test_so_does_a_joint(friction):
    """Two bodies on a hinge tumble in free space."""
    scene = ss.Scene(gravity=(0, 0, 0))
    a = scene.add_box(size=(1.0, 0.4, 0.2), mass=1.0, position=(-0.5, 0, 0), velocity=(0, 1.0, 0), spin=(1, 2, 3))
    b = scene.add_box(size=(1.0, 0.3, 0.3), mass=2.0, position=(0.5, 0, 0), velocity=(0, 0.4, 0.1), spin=(0, 0, -1))
    scene.add_hinge(a, b, position=(0, 0, 0), axis=(0, 0, 1))
    run = simulate(scene, 0.5, 0.005, friction)
    for momentum in momenta(run):
        np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-11)


def test_an_asymmetrical_body_keeps_momentum_and_energy():
    scene = ss.Scene(gravity=(0, 0, 0))
    scene.add_box(size=(1.0, 0.5, 0.2), mass=3.0, velocity=(1, -2, 0.5), spin=(0.1, 6.0, 0.2))
    run = ss.simulate(scene, 20.0, 0.01)
    for momentum in momenta(run):
        np.testing.assert_allclose(momentum, np.tile(momentum[0], (2001, 1)), atol=1e-11)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-11)
    middle = Rotation.from_quat(run.quaternion(0), scalar_first=True).apply([0.0, 1.0, 0.0])[:, 1]
    assert middle.min() < -0.9  # it turned over, as bodies do that spin about the middle axis


def heap(seed):
    """Four shapes that fall on each other and tumble."""
    random = np.random.default_rng(seed)
    scene = ss.Scene()
    scene.add_plane(friction=0.5)

    def thrown(i):
        turn = random.normal(size=4)
        return {
            "mass": 1.0,
            "position": (0.3 * (i % 2), 0.2 * (i // 2), 0.6 + 0.7 * i),
            "orientation": tuple(turn / np.linalg.norm(turn)),
            "velocity": tuple(random.normal(size=3)),
            "spin": tuple(4.0 * random.normal(size=3)),
        }

    scene.add_box(size=(0.8, 0.5, 0.3), **thrown(0))
    scene.add_capsule(0.2, 0.5, **thrown(1))
    scene.add_cylinder(0.3, 0.4, **thrown(2))
    scene.add_sphere(0.3, **thrown(3))
    return scene


def recovered(run, share):
    """The work of a gap term that takes back a share of each overlap: p_n times the velocity that it asks for, (n,)."""
    contacts = run.contacts()
    work = contacts.impulse[:, 0] * share * np.maximum(-contacts.gap, 0.0) / run.header.dt
    return np.bincount(contacts.step, work, minlength=len(run))


@over([*FORMULATIONS, ss.Coulomb(None), ss.Coulomb(ss.Gap(0.0)), ss.Coulomb(ss.Gap(1.0))])
@pytest.mark.parametrize("seed", [0, 1])
def test_energy_never_grows_without_work(friction, seed):
    run = simulate(heap(seed), 1.0, 0.01, friction)
    check_energy(run, friction.stabilisation)
    assert run.contact_count.max() > 4
    assert run.energy[-1] < 0.5 * run.energy[0]


@pytest.mark.parametrize("stabilisation", [None, ss.Gap(0.0), ss.Gap(0.2), ss.Gap(1.0), ss.Relaxation()], ids=str)
def test_nor_does_that_of_a_coin_that_rolls_round(stabilisation):
    scene = ss.Scene()
    scene.add_plane(friction=0.8)
    placed = {"position": (0, 0, 0.52), "orientation": ((1, 0, 0), 1.3), "velocity": (2, 0, 0), "spin": (0, 3.0, -3.0)}
    scene.add_cylinder(0.5, 0.05, mass=1.0, **placed)
    check_energy(simulate(scene, 2.0, 0.01, ss.Coulomb(stabilisation)), stabilisation)


def check_energy(run, stabilisation):
    """It grows by no more than the work of what takes overlaps back."""
    if stabilisation is None:
        share = 0.0
    elif isinstance(stabilisation, ss.Gap):
        share = stabilisation.recovery
    else:
        share = 1.0  # rigid springs
    assert (np.diff(run.energy) <= recovered(run, share) + 1e-9).all()


def test_work_done_is_found_in_the_energy():
    """A box on ice that is pushed gains the work F Δx, in steps of first order less the ½ m (a h)² that each loses."""
    scene = ss.Scene()
    scene.add_plane(friction=0.0)
    box = scene.add_box(size=1.0, mass=2.0, position=(0, 0, 0.5))
    scene.apply(box, force=(3.0, 0, 0))
    h = 0.01
    for scheme, lost in (("midpoint", np.zeros(101)), ("euler", np.arange(101) * (1.5 * h) ** 2)):
        run = simulate(scene, 1.0, h, ss.Coulomb(), scheme=scheme)
        work = 3.0 * (run.position(box)[:, 0] - run.position(box)[0, 0])
        np.testing.assert_allclose(run.energy - run.energy[0], work - lost, atol=1e-8)
