"""The tab Robot: its keyframes, controls of its actuators, and its joints, which move it while it stands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stickslip.lab.robots import control_ranges, joint_ranges
from stickslip.lab.session import Frame, Session
from stickslip.lab.widgets import on_change

MOST = 40  # sliders of a kind
START = "as the file has it"


class RobotTab:
    """Only there while a robot runs."""

    def __init__(self, server: Any, session: Session, tabs: Any) -> None:
        self.server, self.session, self.tabs = server, session, tabs
        self.tab: Any = None
        self.joints: dict[int, Any] = {}  # sliders by the place of their joint in q
        self.controls: list[Any] = []
        self.shown: Any = None  # the model that the tab was made for

    def rebuild(self) -> None:
        """For other bodies."""
        robot = self.session.robot
        if robot is self.shown:
            return
        if self.tab is not None:
            self.tab.remove()
        self.tab, self.joints, self.controls, self.shown = None, {}, [], robot
        if robot is not None:
            self.tab = self.tabs.add_tab("Robot")
            with self.tab:
                self._fill(robot)

    def _fill(self, robot: Any) -> None:
        gui, session = self.server.gui, self.session
        keys = [robot.model.key(i).name or str(i) for i in range(robot.model.nkey)]
        if keys:
            pose = gui.add_dropdown("pose", (START, *keys))
            on_change(pose, lambda key: session.place(robot.home if key == START else robot.keyframe(key)))
        with gui.add_folder("actuators"):
            if not robot.actuators:
                gui.add_markdown("The file has none.")
            for i, (name, bounds) in list(enumerate(control_ranges(robot).items()))[:MOST]:
                self.controls.append(self._slider(name, *bounds, session.controls[i], partial(session.control, i)))
        with gui.add_folder("joints"):
            gui.add_markdown("They follow; moved by hand they pause the run and put it there.")
            for name, bounds in list(joint_ranges(robot).items())[:MOST]:
                at = robot.coordinate(name)
                unit = "m" if robot.model.jnt_type[robot.joints.index(name)] == 2 else "rad"
                self.joints[at] = self._slider(f"{name} [{unit}]", *bounds, robot.home[at], partial(self._move, at))
        if robot.left_out:
            gui.add_markdown("Of the file: " + "; ".join(robot.left_out) + ".")

    def _slider(self, label: str, low: float, high: float, value: float, act: Callable[[float], Any]) -> Any:
        step = 10.0 ** np.floor(np.log10((high - low) / 500))
        slider = self.server.gui.add_slider(label, low, high, step, float(np.clip(value, low, high)))
        on_change(slider, act)
        return slider

    def _move(self, at: int, value: float) -> None:
        def moved(session: Session) -> None:
            q = session.first.moment(session.index).q.copy()
            q[at] = value
            session._place(q)

        self.session.post(moved)

    def follow(self, frame: Frame) -> None:
        """Show where the joints are, and what the controls are, also after a reset."""
        if self.session.robot is None or self.shown is not self.session.robot:
            return
        q = self.session.first.moment(frame.instant).q
        shown = [(slider, q[at]) for at, slider in self.joints.items()]
        shown += list(zip(self.controls, self.session.controls, strict=False))
        for slider, wanted in shown:
            value = float(np.clip(wanted, slider.min, slider.max))
            if slider.value != value:
                slider.value = value
