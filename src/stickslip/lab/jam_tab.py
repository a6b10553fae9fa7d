"""The tab Jam: the map of μ_jam over two coordinates of a pose, both cones at the contact, and what they mean in words.

It is about a mechanism of the papers, or about what the lab runs: a contact of it, or a frame of a robot, as an anchor
(lab/anchors.py). Then the world itself is moved by a click on the map, and whatever moves it, the mouse, joints or the
run, is followed. A map that does not hold the pose any more is made anew, in a thread of its own, once all stands.
"""

from __future__ import annotations

import base64
import html
import io
import threading
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from stickslip.dynamics.mujoco import LoadedModel
from stickslip.errors import InputError, SolveFailed
from stickslip.lab import anchors
from stickslip.lab.jam import Desk, Place, arm_mechanism, cones, explained, rod_mechanism, share
from stickslip.lab.session import Frame, Session
from stickslip.lab.widgets import Batch, Clickable, aim_cameras, on_change
from stickslip.scene.model import Floats, State
from stickslip.view.figures import INK, PAPER
from stickslip.view.jam_maps import draw_contours, draw_line, in_units
from stickslip.view.solids import MESHES, along, rods
from stickslip.view.trajectories import WRONG

NOTHING, WORLD = "nothing", "what runs here"
NONE = "none"
PATIENCE = 30.0  # [s]
MOST = 60  # contacts in the menu
SAME_POSE = 1e-6  # [m, rad]
UP = np.array([0.0, 0.0, 1.0])
ASK = "Choose a mechanism, or *what runs here* and one of its contacts."
BESIDE = (InputError, SolveFailed, ArithmeticError)  # what a pose may not have


class JamTab:
    def __init__(self, server: Any, session: Session, world: Any) -> None:
        self.server, self.session, self.world = server, session, world
        self.mechanisms = {m.name: m for m in (rod_mechanism(), arm_mechanism())}
        self.frame = server.scene.add_frame("/desk", show_axes=False, visible=False)
        self.links = Batch(server, "/desk/links", MESHES["tube"])
        self.desk: Desk | None = None
        self.anchor: anchors.Anchor | None = None
        self.map_axes = (0.0, 0.0, 1.0, 1.0)
        self.marked: Any = None  # the pose that the picture of the map marks
        self.making: threading.Thread | None = None
        self.lock = threading.RLock()
        self.gone = False  # what was chosen, with its world
        gui = server.gui
        self.subject = gui.add_dropdown("show", (NOTHING, WORLD, *self.mechanisms))
        self.contact = gui.add_dropdown("contact or frame", (NONE,), visible=False)
        self.axes = [gui.add_dropdown(name, (NONE,), visible=False) for name in ("across", "up")]
        self.mu = gui.add_slider("friction μ", 0.0, 3.0, 0.01, 0.8)
        self.map = Clickable(server, "clicked map", self._click)
        self.parameters = [gui.add_slider(f"parameter {k + 1}", 0.0, 1.0, 1e-3, 0.5, visible=False) for k in range(2)]
        self.verdict = gui.add_markdown(ASK)
        gui.add_html(
            '<div style="padding:0 10px;font-size:0.85em"><b style="color:#1f6fd6">blue</b>, upright: Coulomb\'s cone '
            'of forces; <b style="color:#c4560d">orange</b>: the generalized cone, the velocity changes they make; '
            '<b style="color:#c2394b">red</b>: the arrow e_jam, and flat on the surface the slips that jam</div>'
        )
        on_change(self.subject, self.show)
        on_change(self.contact, self._hold)
        for menu in self.axes:
            on_change(menu, lambda _: self._map_anew())
        on_change(self.mu, self._rub)
        for k, slider in enumerate(self.parameters):
            on_change(slider, partial(self._turn, k))

    # choosing

    def show(self, subject: str) -> None:
        """A mechanism, what runs here, or nothing."""
        with self.lock:
            self.subject.value = subject
            mechanism = self.mechanisms.get(subject)
            self.anchor, self.marked, self.gone = None, None, False
            self.desk = None if mechanism is None else Desk.worst(mechanism, float(self.mu.value))
            self.world.visible = mechanism is None
            self.frame.visible = mechanism is not None
            self.contact.visible = subject == WORLD
            for control in (*self.axes, *self.parameters):
                control.visible = False
            self.map.handle.content = ""
            self.links.show(np.zeros((0, 3)), np.zeros((0, 4)))
            if self.desk is not None:
                self._label(self.desk)
                self._aim(self.desk)
                self._pose()
            elif subject == WORLD:
                self.contact.value = NONE
                self._menu(self.session.frame)
                self.verdict.content = "Choose a contact, or of a robot a frame that shall touch a level floor."
            else:
                self.verdict.content = ASK

    def rebuild(self) -> None:
        """Another world: what was chosen of the last one is gone, once nobody is at work on it."""
        self.gone = True

    def _menu(self, frame: Frame) -> None:
        table, world = frame.contacts, self.session.first.world
        rows = [f"{i} {table.name(i)}" for i in range(min(len(table), MOST))]
        frames = list(anchors.frames_of(world)) if isinstance(world, LoadedModel) else []
        kept = [self.contact.value] if self.contact.value != NONE else []
        options = tuple(dict.fromkeys([NONE, *kept, *rows, *(f"frame: {name}" for name in frames)]))
        if tuple(self.contact.options) != options:
            chosen = self.contact.value
            self.contact.options = options
            self.contact.value = chosen if chosen in options else NONE

    def _hold(self, chosen: str) -> None:
        """A contact or a frame, by its line of the menu."""
        with self.lock:
            self.anchor = None
            if chosen == NONE:
                self.show(WORLD)
                return
            try:
                self.anchor = self.session.ask(partial(anchor_of, chosen))
            except BESIDE as error:
                self.verdict.content = str(error)
                return
            names = tuple(each.name for each in self.anchor.coordinates)
            for menu, k in zip(self.axes, (0, 1), strict=True):
                menu.options = names if k == 0 and names else (NONE, *names)
                menu.value = names[k] if len(names) > k else NONE
                menu.visible = bool(names)
            self._map_anew()

    def _map_anew(self) -> None:
        """For the coordinates of the menus, from the pose of the anchor on."""
        with self.lock:
            anchor, names = self.anchor, [menu.value for menu in self.axes if menu.value != NONE]
            if anchor is None:
                return
            self.frame.visible, self.marked = True, None
            self.map.handle.content = "<p style='padding:0 10px'>The map is being made …</p>" if names else ""
            try:
                self.desk = None
                desk = Desk(anchor.mechanism(names), anchor.read(names, anchor.base), float(self.mu.value))
                _ = desk.mechanism.map
                self.desk = desk
                self._label(desk)
            except BESIDE as error:
                self.map.handle.content = f"<p style='padding:0 10px'>{html.escape(str(error))}</p>"
            self.follow(self.session.frame)

    def _label(self, desk: Desk) -> None:
        family = desk.mechanism.family
        for slider in self.parameters:
            slider.visible = False
        own = zip(self.parameters, family.ranges, family.units, family.ranges.values(), strict=False)
        for slider, name, unit, (low, high) in own:
            slider.label, slider.visible = f"{name} [{unit}]", True
            slider.min, slider.max = round(low, 3), round(high, 3)

    def _aim(self, desk: Desk) -> None:
        assert desk.mechanism.segments is not None
        points = desk.mechanism.segments(desk.q).reshape(-1, 3)
        centre, reach = points.mean(axis=0), max(float(np.ptp(points, axis=0).max()), 0.3)
        aim = centre - 0.2 * reach * UP
        aim_cameras(self.server, aim, aim + reach * np.array([1.2, -1.9, 1.0]))

    def close(self) -> None:
        """Wait for the thread that makes a map."""
        if self.making is not None:
            self.making.join(PATIENCE)

    # acting

    def _click(self, across: float, down: float) -> None:
        if self.desk is None:
            return
        left, bottom, wide, tall = self.map_axes
        found = share(self.desk.mechanism.map, (across - left) / wide, (1.0 - down - bottom) / tall)
        if found is not None:
            self._go(found)

    def _turn(self, k: int, value: float) -> None:
        if self.desk is not None:
            parameters = self.desk.parameters.copy()
            parameters[k] = value
            self._go(parameters)

    def _go(self, parameters: Floats) -> None:
        """To another pose: of the mechanism, or of the world."""
        with self.lock:
            assert self.desk is not None
            if self.anchor is None:
                self.desk.parameters = parameters
                self._pose()
                return
            moment = self.anchor.moment(list(self.desk.mechanism.family.ranges), parameters.tolist())
        self.session.place(moment if isinstance(moment, State) else moment.q)

    def _rub(self, mu: float) -> None:
        with self.lock:
            if self.desk is not None:
                self.desk.mu = float(mu)
            self.marked = None
            if self.anchor is not None:
                self.follow(self.session.frame)
            elif self.desk is not None:
                self._pose()

    # showing

    def _pose(self) -> None:
        """The mechanism in its pose."""
        desk = self.desk
        assert desk is not None
        with self.server.atomic():
            self._mark(desk)
            self.verdict.content = desk.describe().replace("\n", "  \n")
            if desk.exists:
                assert desk.mechanism.segments is not None
                segments = desk.mechanism.segments(desk.q)
                long = float(np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1).max())
                grey = np.tile((150, 165, 185), (len(segments), 1))
                self.links.show(*rods(segments[:, 0], segments[:, 1], 0.02 * long), grey)
                self._draw_cones(desk.coupling(), desk.mu, desk.mechanism.place(desk.q), 0.35 * long, floor=True)
        self.server.flush()

    def follow(self, frame: Frame) -> None:
        """Show the anchor where the world has it now; called by the worker, and by who changed something here."""
        if self.subject.value != WORLD or not self.lock.acquire(blocking=False):
            return
        try:
            if self.gone:
                self.gone = False
                self.show(WORLD)
            self._menu(frame)
            if self.anchor is not None:
                self._at(self.anchor, frame)
        finally:
            self.lock.release()

    def _at(self, anchor: anchors.Anchor, frame: Frame) -> None:
        moment, mu = self.session.first.moment(frame.instant), float(self.mu.value)
        q = anchor.q(moment)
        if not np.isfinite(q).all():
            return
        desk, place = self.desk, anchor.place(q)
        bare = Desk(anchor.mechanism([anchor.coordinates[0].name]), np.zeros(1), mu) if anchor.coordinates else None
        words = [f"**{anchor.touch.name}**"]
        if desk is not None:
            names = list(desk.mechanism.family.ranges)
            read = anchor.read(names, moment)
            desk.parameters = read
            self._mark(desk)
            expected = anchor.q(anchor.moment(names, read.tolist()))
            if frame.live and not frame.playing and np.abs(expected - q).max() > SAME_POSE:
                self._rebase(moment, place)
        if bare is None:
            words.append("Nothing here can be turned: no map.")
        else:
            words.append("Alone, nothing else touching: " + bare.at(q))
            self._draw_cones(bare.coupling(q), mu, place, 0.3 * self.session.view.radius)
        words.append(self._beside(frame, mu))
        self.verdict.content = "\n\n".join(filter(None, words)).replace("\n", "  \n")

    def _beside(self, frame: Frame, mu: float) -> str:
        """What holds for the contact as it stands, with all others."""
        row = row_of(self.contact.value, frame)
        if row < 0:
            return ""
        try:
            return "As it stands, with all that touches: " + explained(
                self.session.first.coupling(frame.instant, row), mu
            )
        except BESIDE as error:
            return f"With all that touches: {error}"

    def _rebase(self, moment: Any, place: Place) -> None:
        """A map from another pose on, made beside; one at a time."""
        if self.making is not None and self.making.is_alive():
            return

        def make() -> None:
            with self.lock:
                anchor = self.anchor
                if anchor is None:
                    return
                touch = anchor.touch._replace(point=place.point)
                self.anchor = self.session.ask(lambda s: anchored(s.first, moment, touch))
                self._map_anew()

        self.making = threading.Thread(target=make, name="stickslip map", daemon=True)
        self.making.start()

    def _mark(self, desk: Desk) -> None:
        """The map, with the pose on it."""
        for slider, value in zip(self.parameters, desk.parameters, strict=False):
            slider.value = float(np.clip(value, slider.min, slider.max))
        pose = (id(desk.mechanism), desk.mu, *np.round(desk.parameters, 4).tolist())
        if pose == self.marked:
            return
        self.marked = pose
        picture, self.map_axes = map_picture(desk)
        self.map.handle.content = (
            f'<img id="stickslip-map" alt="map of μ_jam" style="width:100%;cursor:crosshair" src="{picture}" '
            f'onclick="{html.escape(self.map.script)}">'
        )

    def _draw_cones(self, coupling: Any, mu: float, at: Place, size: float, floor: bool = False) -> None:
        scene, found = self.server.scene, cones(coupling, mu, at, size)
        for name, mesh, colour, clear in (
            ("coulomb", found.coulomb, (31, 111, 214), 0.3),
            ("generalized", found.generalized, (242, 113, 28), 0.45),
            ("sector", found.sector, (194, 57, 75), 0.6),
        ):
            faces = mesh[1] if len(mesh[1]) else np.zeros((1, 3), np.int64)
            scene.add_mesh_simple(
                f"/desk/{name}", mesh[0].astype(np.float32), faces.astype(np.uint32), color=colour, opacity=clear,
                side="double", cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
        scene.add_grid(
            "/desk/floor", 12 * size, 12 * size, cell_size=size / 2, section_size=5 * size, plane_color=(238, 235, 228),
            plane_opacity=0.6, cell_color=(205, 202, 194), position=tuple(at.point - 0.01 * size * at.frame[0]),
            wxyz=along(at.frame[:1])[0], visible=floor,
        )  # fmt: skip
        scene.add_arrows(
            "/desk/e_jam", found.e_jam[None].astype(np.float32), (194, 57, 75), shaft_radius=0.02 * size,
            head_radius=0.05 * size, head_length=0.15 * size,
        )  # fmt: skip


def row_of(chosen: str, frame: Frame) -> int:
    """The contact of a line of the menu, -1 where it is not there now."""
    number, _, name = chosen.partition(" ")
    row = int(number) if number.isdigit() else -1
    return row if row < len(frame.contacts) and row >= 0 and frame.contacts.name(row) == name else -1


def anchor_of(chosen: str, session: Session) -> anchors.Anchor:
    """That of a line of the menu, as the world stands; called by the worker."""
    track, i, table = session.first, session.index, session.frame.contacts
    moment, world = track.moment(i), track.world
    if world is None:
        raise InputError("lab: this run does not hold its scene, expected one of simulate(..., path=...)")
    if chosen.startswith("frame: "):
        return anchored(track, moment, anchors.frame_touch(world, chosen.removeprefix("frame: "), moment))
    row = row_of(chosen, session.frame)
    if row < 0:
        raise InputError(f"lab: {chosen!r} does not touch any more, expected a contact of this instant")
    return anchored(track, moment, anchors.touch_of(world, table, row))


def anchored(track: Any, moment: Any, touch: anchors.Touch) -> anchors.Anchor:
    if isinstance(track.world, LoadedModel):
        return anchors.robot_anchor(track.world, moment, touch)
    return anchors.scene_anchor(track.world, track.model, moment, touch)


def map_picture(desk: Desk) -> tuple[str, tuple[float, float, float, float]]:
    """The map with the pose marked, as a data address, and where its axes are, as shares of the picture."""
    found = desk.mechanism.map
    figure = Figure(figsize=(4.6, 3.4), dpi=110, facecolor=PAPER)
    axes = figure.add_axes((0.14, 0.16, 0.66 if len(found.axes) == 2 else 0.82, 0.78))
    (draw_line if len(found.axes) == 1 else draw_contours)(axes, found)
    place = list(map(in_units, desk.parameters.tolist(), found.family.units))
    axes.set_xlim(*in_units(found.axes[0][[0, -1]], found.family.units[0]))
    if len(place) == 2:
        for colour, wide in (("white", 5.0), (INK, 2.0)):  # seen on light and on dark
            axes.plot(*place, "+", color=colour, markersize=15, markeredgewidth=wide)
    else:
        axes.axvline(place[0], color=WRONG)
    figure.canvas.draw()
    box = axes.get_position()
    out = io.BytesIO()
    figure.savefig(out, format="png", facecolor=PAPER)
    address = "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
    return address, (box.x0, box.y0, box.width, box.height)
