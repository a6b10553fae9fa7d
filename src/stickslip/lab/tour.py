"""Three scenes for somebody who has never seen the lab, each with what to look at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from stickslip.friction.box import Box
from stickslip.friction.coulomb import Coulomb
from stickslip.lab.session import Settings
from stickslip.scene.scene import Scene


class Stop(NamedTuple):
    title: str
    words: str
    scene: Callable[[], Scene]
    settings: Settings
    cones: bool = False  # shown
    away: float = 1.0  # how far the camera stands back, as a multiple of what is usual


def cube() -> Scene:
    """The cube of Peiret 2017."""
    scene = Scene()
    scene.add_plane(friction=1.0, name="ground")
    scene.add_box(
        size=1.0, mass=1.0, position=(0, 0, 0.5), velocity=(0, 5, 0), spin=(0, 0, 2 * math.pi), name="cube",
        stiffness=1e10, damping=1e8, stiffness_tangent=1e8, damping_tangent=1e5,
    )  # fmt: skip
    return scene


def slope() -> Scene:
    """Two blocks on a slope of 0.5 rad."""
    angle = 0.5
    up = -math.sin(angle), 0.0, math.cos(angle)
    scene = Scene()
    scene.add_plane(normal=up, name="slope")
    for name, mu, y in (("rough", 0.6, 0.0), ("smooth", 0.4, 0.7)):
        place = 0.1 * up[0], y, 0.1 * up[2]
        scene.add_box(
            size=(0.4, 0.4, 0.2), density=700, position=place, orientation=((0, 1, 0), -angle), friction=mu, name=name
        )
    return scene


def stack() -> Scene:
    scene = Scene()
    scene.add_plane(friction=0.5, name="ground")
    for i in range(6):
        scene.add_box(size=0.4, density=500, position=(0, 0, 0.2 + 0.4 * i), name=f"box {i}")
    scene.add_sphere(radius=0.2, density=800, position=(-1.6, 0, 0.2), name="ball")
    return scene


STOPS = (
    Stop(
        "1. One throw, two laws",
        "A cube slides and spins until friction stops it. Solid: Coulomb's law. The ghost: box friction, which bounds "
        "the two tangents apart from each other, as many engines do. Press *run* and watch where each ends; the strip "
        "*distance of ghosts* says how far apart they are.",
        cube,
        Settings(laws={"coulomb": Coulomb(), "box": Box()}, dt=5e-3, speed=0.25),
        away=2.0,
    ),
    Stop(
        "2. Stick or slip",
        "The slope is steeper than 0.4 and flatter than 0.6: the rough block sticks, the smooth one slips. In the tab "
        "*Contacts* the force of what sticks lies anywhere in its cone, the force of what slips on the mantle. Move "
        "*friction* while it runs, and click on a contact for its numbers.",
        slope,
        Settings(dt=2e-3, speed=0.25),
        cones=True,
    ),
    Stop(
        "3. Hands on",
        "Press *run* and drag a box or the ball with the mouse: a spring pulls it. Drop more boxes and balls in. The "
        "strips say how good every step is. The tab *Jam* shows where friction makes a mechanism lock.",
        stack,
        Settings(dt=5e-3),
    ),
)
