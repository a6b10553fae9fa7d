"""What is run while kernels are compiled beforehand: something of everything that the package offers, and small.

A recipe has no result. Kernels that it makes Python call are kept, so there is no list of kernels anywhere; names of
formulations, solvers, joints and shapes come from where they are defined. Recipes that stand first take longest: they
run side by side, and later ones find what earlier ones compiled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import stickslip as ss
from stickslip.engine.names import FORMULATIONS, formulation
from stickslip.problems.mechanical import box_stack, chain, normal_lcp, polyhedral_lcp, sphere_pile
from stickslip.problems.random_classes import random_lcp, random_mixed
from stickslip.problems.random_cones import random_cone
from stickslip.solvers.solve import METHODS

STEP = 1e-2  # [s]
HEIGHT = 0.11  # of what hangs on joints: it falls onto the ground   [m]


def sliding_box(planar: bool = False) -> ss.Scene:
    """The box of the README: it slides, spins and comes to rest."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=1.0)
    if planar:
        scene.add_box(size=(1.0, 1.0), mass=1.0, position=(0, 0.5), velocity=(5, 0), stiffness=1e10, damping=1e8)
    else:
        moving: dict[str, Any] = {"velocity": (0, 5, 0), "spin": (0, 0, 6.0)}
        scene.add_box(size=1.0, mass=1.0, position=(0, 0, 0.5), stiffness=1e10, damping=1e8, **moving)
    return scene


def shapes() -> ss.Scene:
    """One of each shape beside and on each other, fixed, moving and free."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5, restitution=0.2)
    scene.add_box(size=(8.0, 8.0, 0.1), position=(0, 0, 0.05), moving=True, velocity=(0.1, 0, 0))
    for layer in range(2):
        height = 0.3 + 0.45 * layer
        scene.add_box(size=0.4, mass=1.0, position=(0.0, 0.0, height))
        scene.add_sphere(radius=0.2, mass=1.0, position=(0.39, 0.0, height))
        scene.add_capsule(radius=0.2, length=0.1, mass=1.0, position=(0.0, 0.39, height))
        scene.add_cylinder(radius=0.2, length=0.4, mass=1.0, position=(0.39, 0.39, height))
        scene.add_particle(mass=0.1, position=(-0.5, 0.0, height))
    return scene


def jointed(planar: bool = False) -> ss.Scene:
    """Bodies on every joint, with limits, a motor, a servo and an effort, above the ground."""
    scene = ss.Scene(planar=planar)
    scene.add_plane(friction=0.5)

    def place(x: float, z: float) -> tuple[float, ...]:
        return (x, z) if planar else (x, 0.0, z)

    about: dict[str, Any] = {} if planar else {"axis": (0, 1, 0)}
    size = (0.4, 0.2) if planar else (0.4, 0.2, 0.2)
    bodies = [scene.add_box(size=size, mass=1.0, position=place(0.5 * i, HEIGHT)) for i in range(5)]
    scene.add_hinge(bodies[0], position=place(-0.25, HEIGHT), **about, speed=1.0, strength=5.0)
    scene.add_hinge(bodies[1], bodies[0], position=place(0.25, HEIGHT), **about, limits=(-0.5, 0.5))
    scene.add_hinge(
        bodies[2], bodies[1], position=place(0.75, HEIGHT), **about, target=0.3, stiffness=20.0, gain=0.5, strength=5.0
    )
    scene.add_slider(bodies[3], bodies[2], position=place(1.25, HEIGHT), axis=place(1.0, 0.0), effort=1.0)
    scene.add_fixed(bodies[4], bodies[3], position=place(1.75, HEIGHT), compliance=1e-6)
    ball = scene.add_sphere(radius=0.1, mass=1.0, position=place(-1.0, 1.0))
    scene.add_ball(ball, position=place(-1.0, 1.5))
    return scene


def scenes() -> None:
    """The README's box, every shape, every joint; then the same live, and on disk."""
    for scene in (sliding_box(), shapes(), jointed(), sliding_box(planar=True), jointed(planar=True)):
        run = ss.simulate(scene, duration=0.2, dt=STEP, keep_going=True, progress=False)
        _ = run.energy, run.contacts(step=1)
    ss.simulate(sliding_box(), duration=0.7, dt=STEP, progress=False)  # until it rests
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "run.h5")
        ss.simulate(sliding_box(), duration=0.1, dt=STEP, path=path, watch="jamming", progress=False)
        _ = len(ss.Trajectory.load(path))


def live() -> None:
    """Simulation: the steps of a scene one by one."""
    for scene in (sliding_box(), jointed()):
        simulation = ss.Simulation(scene, dt=STEP)
        start = simulation.state.copy()
        for _ in range(10):
            simulation.step()
        _ = simulation.energy, simulation.contacts
        simulation.state = start
        simulation.step(2)


def formulations() -> None:
    """Every formulation, in space and in the plane, with and without joints."""
    for name in FORMULATIONS:
        for scene in (sliding_box(), sliding_box(planar=True), jointed()):
            with suppress(ss.InputError):  # not every formulation takes every scene
                ss.simulate(scene, 0.1, STEP, formulation(name), keep_going=True, progress=False)


def cones() -> None:
    """Friction problems by every method for them; dense, sparse, in the plane, and without friction's shift."""
    problems: list[Any] = [box_stack(2, stir=0.01), sphere_pile(2), random_cone("bodies", 4, dimension=2)]
    dense = random_cone("definite", 3)
    problems += [dense, ss.ConeProblem(dense.W, dense.q, dense.mu, law="associated")]
    for problem in problems:
        by_every_method(problem)
        answer = ss.solve(problem)
        _ = answer.explain(), ss.existence(problem), ss.contact_states(problem, answer.x)
        by_every_method(ss.CylinderProblem(problem.W, problem.q, np.full(problem.contacts, 0.1)))


def complementarity() -> None:
    """LCPs and mixed problems by every method for them, dense and sparse."""
    dense = random_lcp("psd", 6)
    problems: list[Any] = [
        dense,
        ss.LCP(scipy.sparse.csr_array(dense.M), dense.q),
        normal_lcp(box_stack(2)),
        polyhedral_lcp(box_stack(2, stir=0.01)),
        random_mixed("pd", 6),
        chain(3),
    ]
    for problem in problems:
        by_every_method(problem)
    ss.all_solutions(ss.LCP(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([-1.0, -1.0])))


def limit_surfaces() -> None:
    """Distributed contacts by every method for them, with every kind of set, one of them a function."""
    faces = np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3))])
    for surface in (ss.Ellipsoid(), ss.Mixed(), ss.Polyhedron(faces), ss.FrictionMap(length)):
        problem = ss.LimitSurfaceProblem(
            A=np.eye(8) / 2.0,
            b=np.array([-9.81, 5.0, 0.0, 30.0, -9.81, 0.0, 1.0, 0.0]),
            mu=np.array([0.3, 0.5]),
            e=np.array([[1.0, 1.0, 0.1], [1.0, 1.0, 0.2]]),
            surface=surface,
        )
        by_every_method(problem)
        ss.existence(problem)


def length(t, o, r, speed, x, y, z, time):
    """The length of s, as a gauge."""
    value = (t * t + o * o + r * r) ** 0.5
    if value == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return value, t / value, o / value, r / value


def analyses() -> None:
    """Jam maps, coupling, determinacy, solvability, and systems in generalized coordinates."""
    ss.jam_map(ss.rod_family(), resolution=5)
    table = ss.Scene()
    table.add_plane(friction=0.5)
    table.add_box(size=(1.0, 0.8, 1.4), mass=10.0, position=(0, 0, 0.7))
    ss.determinacy(table)
    rod, pose = ss.planar_rod(friction=2.0), [0.0, 0.5 * np.sin(np.pi / 4), np.pi / 4]
    ss.solvability_at(rod, pose, v=[-1.0, 0.0, 0.0])
    ss.simulate(ss.planar_rod(friction=0.3), 0.05, STEP, q=pose, v=[-1.0, 0.0, 0.0], progress=False)


def models() -> None:
    """The compiled part of `load_model`, on arrays as MuJoCo gives them, for it need not be there: a ball that slides
    along z onto the ground."""
    from stickslip.dynamics import model_rows as rows
    from stickslip.engine.model_newton import bounded, carried, model_step

    tree = tuple(np.array(each) for each in ([0, 0], [0, 1], [-1, 0], [-1], [0, 1]))
    centre, axes, none = np.zeros((2, 3)), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]), np.zeros(0)
    memory = np.zeros((1, 24))  # distance, margin, place, frame, friction, solref, geoms, dim
    memory[0, 5:14], memory[0, 14:19] = (0, 0, 1, 1, 0, 0, 0, 1, 0), 0.5
    memory[0, 19:21] = 0.02, 1.0
    words = memory.view(np.int32)
    words[0, 42:45] = 0, 1, 3
    found = memory, words, (0, 1, 2, 5, 14, 19, 42, 44), 1, np.array([0, 1]), tree, centre, axes
    no_rows = none, none, none, np.zeros(0, np.int32), np.zeros(0, np.int32), 0, 0, 0
    known = np.zeros((0, rows.WIDTH)), np.zeros((0, rows.TAGS), np.int64)
    v, force, law = np.array([-1.0]), np.array([-9.81]), ss.Coulomb().law(STEP)
    rows.reach(v, STEP, np.array([1]), tree[0], tree[4], centre, centre, axes, np.zeros(2), np.zeros((2, 6)))
    rows.contact_rows(*found)
    _, contact, tag, _, row, _, _ = rows.found_rows(*found, *no_rows, *known, 0)
    rows.identify(contact, tag, *known, 0)
    rows.met(contact, row)
    implicit = np.zeros(1), np.zeros((0, 0)), none, np.zeros(0, np.int64), 0.25
    before = np.zeros((0, 3)), np.zeros(0, np.int64), none
    model_step(*found, *no_rows, *known, 0, np.eye(1), force, v, *implicit, *before, 0.2, False, law, 1e-8)
    rows.effective_mass(np.eye(1), force, v, STEP, *implicit)
    bounded(row, STEP, 0.2, 1.0)
    carried(tag, before[0], 3)


def demo() -> None:
    """What `stickslip demo` runs."""
    from stickslip import demo as show

    show.slide(lambda _: None)


def demo_problems() -> None:
    """What `stickslip demo --problems` solves."""
    from stickslip import demo as show

    for example in show.examples(seed=0):
        ss.solve(example.problem)
    show.every_solution()


def by_every_method(problem: Any) -> None:
    """Solve by all that are for problems of its class."""
    for method in METHODS:
        with suppress(ss.InputError, ss.SolveFailed):
            ss.solve(problem, method=method, tol=1e-6)


ALL = (scenes, cones, complementarity, limit_surfaces, live, formulations, demo, demo_problems, analyses, models)
RECIPES: dict[str, Callable[[], None]] = {recipe.__name__: recipe for recipe in ALL}
