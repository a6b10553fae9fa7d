"""A gripper grasps a box, lifts it and holds it for two seconds: by stickslip, and by MuJoCo as it is.

    python examples/robots/grasp.py grasp.png

The controls are a grip of 20 N and a position servo that lifts by 0.2 m. The picture shows both from the side, and how
far the box slides down between the fingers.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import stickslip as ss

MODEL = Path(__file__).parent / "gripper.xml"
DT, GRASPED, END = 2e-3, 0.4, 3.4  # [s]
GRIP, LIFT, RISE = 20.0, 0.2, 0.5  # force [N], height [m], and the time it takes [s]
COLOURS = {"floor": "none", "object": "#d98b2b"}


def controls(time: float) -> tuple[float, float]:
    """Force of the grip, and height that the servo wants."""
    return GRIP, LIFT * min(max((time - GRASPED) / RISE, 0.0), 1.0)


def by_stickslip(model: ss.LoadedModel) -> np.ndarray:
    """(n, p) coordinates after each step."""
    sim, course = ss.Simulation(model, dt=DT), []
    while sim.time < END - DT / 2:
        sim.control[:] = controls(sim.time)
        sim.step()
        course.append(sim.q)
    return np.array(course)


def by_mujoco(model: ss.LoadedModel) -> np.ndarray:
    data, course = mujoco.MjData(model.original), []
    for step in range(round(END / DT)):
        data.ctrl[:] = controls(step * DT)
        mujoco.mj_step(model.original, data)
        course.append(data.qpos.copy())
    return np.array(course)


def held(model: ss.LoadedModel, course: np.ndarray) -> np.ndarray:
    """(n,) height of the box above the hand, from the moment at which it is grasped   [m]"""
    above = course[:, 2] - course[:, model.coordinate("lift")]
    return above - above[round(GRASPED / DT)]


def draw_side(axes: Axes, model: ss.LoadedModel, q: np.ndarray, title: str) -> None:
    """The boxes of the model in the plane y, z."""
    data = mujoco.MjData(model.original)
    data.qpos[:] = q
    mujoco.mj_kinematics(model.original, data)
    for i, name in enumerate(model.geoms):
        if name != "floor":
            (_, y, z), (_, wide, high) = data.geom_xpos[i], model.original.geom_size[i]
            colour = COLOURS.get(name, "#7a8794")
            axes.add_patch(Rectangle((y - wide, z - high), 2 * wide, 2 * high, facecolor=colour, edgecolor="white"))
    axes.axhline(0.0, color="#333333", linewidth=1.0)
    axes.set(xlim=(-0.12, 0.12), ylim=(-0.02, 0.4), aspect="equal", title=title, xlabel="y [m]")


def main(path: str) -> None:
    model = ss.load_model(MODEL)
    ours, theirs = by_stickslip(model), by_mujoco(model)
    print(f"the box slides down by {-held(model, ours)[-1]:.1e} m under Coulomb's law")
    print(f"                    by {-held(model, theirs)[-1]:.1e} m in MuJoCo as it is")
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    sides = figure.subplots(1, 4, width_ratios=(1, 1, 1, 2.4))
    moments = ((ours[0], "start"), (ours[round(GRASPED / DT)], "grasped"), (ours[-1], f"held, {END:g} s"))
    for axes, moment in zip(sides, moments, strict=False):
        draw_side(axes, model, *moment)
    sides[0].set_ylabel("z [m]")
    time, after = DT * np.arange(1, len(ours) + 1), round(GRASPED / DT)
    for course, label, colour in ((ours, "stickslip", "#2b6cb0"), (theirs, "MuJoCo as it is", "#c53030")):
        sides[3].plot(time[after:], -1e3 * held(model, course)[after:], label=label, color=colour, linewidth=1.8)
    sides[3].set(xlabel="time [s]", ylabel="slid down between the fingers [mm]")
    sides[3].legend(frameon=False)
    sides[3].spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "grasp.png")
