"""The page of the lab, by viser: what a session shows, and the controls that act on it.

One handle stands for one thing; a frame changes its arrays and adds nothing, so that a client that reads slowly is sent
the newest arrays and no queue grows. Bodies, arrows, cones and marks are instances of unit meshes. Callbacks only post
to the session, whose worker calls `show`.

viser's plots and pictures report no clicks. Strips and maps are therefore HTML of our own, whose click writes its place
into a text field that nobody sees, which does report.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stickslip.engine.trajectory import ContactTable
from stickslip.errors import InputError, RangeFailed, SolveFailed
from stickslip.lab import charts
from stickslip.lab.anchors import fixed_to
from stickslip.lab.jam_tab import JamTab
from stickslip.lab.marks import JOINT_COLOUR, Instances, Look, arrows, joint_forces, marked, usual_force
from stickslip.lab.opening import opened
from stickslip.lab.output import Exports
from stickslip.lab.ranges import in_words, step_determinacy
from stickslip.lab.robot_tab import RobotTab
from stickslip.lab.session import ALL_LAWS, MOST_TRACKS, Frame, Session, Settings
from stickslip.lab.tour import STOPS
from stickslip.lab.tracks import Pull, free_bodies
from stickslip.lab.widgets import Batch, Clickable, aim_cameras, on_change
from stickslip.problems.contact_states import State as ContactState
from stickslip.scene.model import Kind
from stickslip.scene.values import rotated
from stickslip.solvers.solve import METHODS
from stickslip.view.figures import COLOUR, INK, NAME
from stickslip.view.solids import MESHES, View, placed, rgb, rods

SLOW = 0.3  # seconds between two drawings of strips, paths and numbers
PATH_POINTS, PATHS = 150, 12  # of a path, and bodies that have one
DETERMINED = 40  # contacts up to which ranges are computed
UP = np.array([0.0, 0.0, 1.0])
LAYERS = {
    "shafts": "tube", "heads": "dart", "cones": "cone", "ring": "ring", "box": "box", "dart": "dart", "gaps": "tube",
    "patches": "ring",
}  # fmt: skip
SHOWN = {
    "forces": ("forces", True), "cones": ("friction cones", False), "states": ("states", True), "gaps": ("gaps", False),
    "patches": ("patches", True), "joints": ("joint forces", True),
}  # fmt: skip  # what `Look` calls it, and joints: what the page calls it, and whether it is drawn at first
SURFACES = (("friction", 1.5, 0.5), ("restitution", 1.0, 0.0))  # what a session may set: the most, and the usual
STRIPS_WIDE, STRIPS_TOP = 430, 62  # of the panel of strips: its width, and what it has beside them   [pixels]
NO_FILE, TOUR = "a file", "a tour of three scenes"
NUMBERS = "Click on a contact to see its numbers."


class Page:
    def __init__(self, session: Session, server: Any, exports: Exports) -> None:
        self.session, self.server, self.exports = session, server, exports
        self.generation, self.bodies = -1, {}  # type: ignore[var-annotated]
        self.layers: dict[str, Batch] = {}
        self.chosen: tuple[int, int, int] | None = None  # shapes and feature of a contact
        self.ranges = ""  # what determinacy says of it
        self.usual, self.drawn_at, self.charted = 0.0, 0.0, (-1, -1)
        self.frame: Frame | None = None
        self.times, self.panels = (0.0, 1.0), 0
        self.away = 1.0  # how far the camera stands back, as a multiple of what is usual
        self.grids: list[Any] = []
        self.lines: list[Any] = []
        self._prepare()
        self._controls()
        session.listeners.append(self.show)
        session.post(lambda s: None)

    # set-up

    def _prepare(self) -> None:
        gui, scene = self.server.gui, self.server.scene
        gui.configure_theme(show_share_button=False, show_logo=False, dark_mode=False, brand_color=(31, 111, 214))
        gui.set_panel_label("stickslip")
        gui.main_panel.dock_right()
        gui.main_panel.set_width(430)
        scene.configure_environment_map(hdri=None)
        scene.configure_default_lights(enabled=False)
        scene.add_light_ambient("/light/all", intensity=0.6)
        scene.add_light_directional("/light/sun", intensity=1.2, position=(4.0, -6.0, 9.0), cast_shadow=False)
        self.world = scene.add_frame("/world", show_axes=False)
        self.origin = scene.add_frame("/world/origin", visible=False)
        for layer, mesh in LAYERS.items():
            look: dict[str, Any] = {"side": "double", "opacity": 0.3} if layer == "cones" else {}
            self.layers[layer] = Batch(
                self.server, f"/world/contacts/{layer}", MESHES[mesh], partial(self._clicks, layer), **look
            )
        for name, mesh in (("joint shafts", "tube"), ("joint heads", "dart")):
            self.layers[name] = Batch(self.server, f"/world/{name}", MESHES[mesh])
        self.which: dict[str, Any] = {}
        self.spring = Batch(self.server, "/world/spring", MESHES["tube"])

    def _clicks(self, layer: str, handle: Any) -> None:
        @handle.on_click
        def _(event: Any) -> None:
            own = self.which.get(layer)
            if own is not None and event.instance_index is not None and event.instance_index < len(own):
                self.choose(int(own[event.instance_index]))

    def _controls(self) -> None:
        gui = self.server.gui
        with gui.add_folder("run", expand_by_default=True):
            self.buttons = gui.add_button_group("go", ("run", "pause", "step", "back", "reset"))
            self.slider = gui.add_slider("time [s]", 0.0, 1.0, 1e-4, 0.0)
            self.status = gui.add_markdown("")
        self.tabs = gui.add_tab_group()
        self.robot = RobotTab(self.server, self.session, self.tabs)
        with self.tabs.add_tab("Scene"):
            self._scene_tab()
        with self.tabs.add_tab("Contacts"):
            self._contacts_tab()
        with self.tabs.add_tab("Jam"):
            self.jam = JamTab(self.server, self.session, self.world)
        with self.tabs.add_tab("Export"):
            self._export_tab()
        self.panel = gui.add_panel()
        with self.panel.add_tab("Strips"):
            self.strips = Clickable(
                self.server, "clicked strips", lambda x, y: self.session.seek(charts.time_at(x, self.times))
            )
        self.panel.float(x=12, y=-12, width=STRIPS_WIDE, height=STRIPS_TOP + charts.tall(3))
        go = {
            "run": self.session.play, "pause": self.session.pause, "step": self.session.step,
            "back": lambda: self.session.step(-1), "reset": self.session.reset,
        }  # fmt: skip
        self.buttons.on_click(lambda event: go[event.target.value]())
        on_change(self.slider, self.session.seek)

    def _scene_tab(self) -> None:
        gui, session, settings = self.server.gui, self.session, self.session.settings
        self.tour = gui.add_dropdown("start here", (TOUR, *(stop.title for stop in STOPS)))
        self.files = gui.add_dropdown(
            "open", (NO_FILE, *self.exports.readable()), hint="of the folder it was started in"
        )
        self.words = gui.add_markdown("")
        laws = tuple(dict.fromkeys((*settings.laws, *ALL_LAWS)))
        chosen = [*settings.laws, *(["none"] * MOST_TRACKS)][:MOST_TRACKS]
        self.laws = [gui.add_dropdown("formulation", laws, initial_value=chosen[0])]
        self.laws += [
            gui.add_dropdown(f"ghost {k}", ("none", *laws), initial_value=chosen[k]) for k in range(1, MOST_TRACKS)
        ]
        self.dt = gui.add_number("dt [s]", settings.dt, min=1e-6, max=1.0, step=1e-6)
        self.surfaces: dict[str, tuple[Any, Any]] = {}  # whether it is set, and to what
        for name, most, usual in SURFACES:
            said = getattr(settings, name)
            own = gui.add_checkbox(f"set {name}", said is not None)
            self.surfaces[name] = own, gui.add_slider(name, 0.0, most, 0.01, usual if said is None else said)
        self.solver = gui.add_dropdown("solver", ("default", *METHODS))
        self.tol = gui.add_dropdown("tol", ("default", "1e-4", "1e-6", "1e-8", "1e-10", "1e-12"))
        self.speed = gui.add_dropdown("speed", ("0.05", "0.1", "0.25", "0.5", "1", "2", "5"), initial_value="1")
        drop = gui.add_button_group("drop in", ("box", "ball"))
        camera = gui.add_button_group("camera", ("see all",))
        self.paths_on = gui.add_checkbox("paths", True)

        def surfaces(_: Any) -> None:
            session.change(
                **{name: float(each.value) if own.value else None for name, (own, each) in self.surfaces.items()}
            )

        def slid(own: Any, _: Any) -> None:
            own.value = True
            surfaces(None)

        def formulations(_: Any) -> None:
            names = [law.value for law in self.laws if law.value != "none"]
            session.change(laws=list(dict.fromkeys(names)))

        for law in self.laws:
            on_change(law, formulations)
        on_change(self.dt, lambda value: session.change(dt=float(value)))
        for own, slider in self.surfaces.values():
            on_change(own, surfaces)
            on_change(slider, partial(slid, own))
        on_change(self.solver, lambda value: session.change(solver=None if value == "default" else value))
        on_change(self.tol, lambda value: session.change(tol=None if value == "default" else float(value)))
        on_change(self.speed, lambda value: session.change(speed=float(value)))
        on_change(self.tour, self.visit)
        on_change(self.files, self.open_file)
        drop.on_click(lambda event: session.drop(event.target.value))
        camera.on_click(lambda event: self.look_at_all())

    def _contacts_tab(self) -> None:
        gui = self.server.gui
        self.shown = {name: gui.add_checkbox(label, first) for name, (label, first) in SHOWN.items()}
        self.clear = gui.add_slider("bodies", 0.1, 1.0, 0.05, 0.7, hint="how opaque bodies are")
        self.scaling = gui.add_dropdown("force scale", ("automatic", "fixed"))
        self.fixed = gui.add_number("metres for 1 N", 0.01, min=0.0, step=1e-6)
        self.least = gui.add_number("smallest force [N]", 0.0, min=0.0, step=1e-6)
        gui.add_html(legend())
        self.numbers = gui.add_markdown(NUMBERS)
        self.choice = gui.add_dropdown("contact", ("none",))
        self.joints = gui.add_markdown("")
        for control in (*self.shown.values(), self.scaling, self.fixed, self.least):
            on_change(control, lambda _: self.session.post(lambda s: None))
        on_change(self.clear, self._opacity)
        on_change(self.choice, lambda value: self.choose(None if value == "none" else int(value.split()[0])))

    def _export_tab(self) -> None:
        gui = self.server.gui
        name = gui.add_text("name", "lab", hint="files go into the folder the lab was started in")
        kinds = gui.add_button_group("write", self.exports.kinds)
        self.written = gui.add_markdown("")

        @kinds.on_click
        def _(event: Any) -> None:
            self.written.content = f"writing {event.target.value} …"
            try:
                self.written.content = self.exports.write(event.target.value, name.value, event.client)
                self.files.options = (NO_FILE, *self.exports.readable())
            except (InputError, SolveFailed, TimeoutError, RuntimeError) as error:
                self.written.content = str(error)

    # acting

    def visit(self, title: str) -> None:
        """A stop of the tour."""
        stop = next((each for each in STOPS if each.title == title), None)
        if stop is None:
            return
        self.words.content, self.away, self.files.value = stop.words, stop.away, NO_FILE
        self.tour.value = title
        self.shown["cones"].value = stop.cones
        self._open(stop.scene(), stop.settings)

    def open_file(self, name: str) -> None:
        """A scene, a run or a robot of the folder."""
        if name not in self.exports.readable():
            return
        try:
            world, settings, _ = opened(self.exports.folder / name)
            self.words.content, self.away, self.tour.value = "", 1.0, TOUR
            self._open(world, settings)
        except (InputError, OSError) as error:
            self.words.content = f"**{error}**"

    def _open(self, world: Any, settings: Settings) -> None:
        """Another world, with the controls as it has them."""
        for own, _ in self.surfaces.values():
            own.value = False
        self.solver.value = self.tol.value = "default"
        self.jam.show("nothing")
        self.session.open(world, settings)

    def choose(self, contact: int | None) -> None:
        """Show the numbers of a contact of the frame."""
        frame = self.frame
        if frame is None:
            return
        if contact is None or contact >= len(frame.contacts):
            self.chosen, self.ranges = None, ""
        else:
            one = frame.contacts[contact]
            self.chosen, self.ranges = (one.shape_a, one.shape_b, one.feature), self._range(contact, frame)
        self._tell(frame)

    def _range(self, contact: int, frame: Frame) -> str:
        """What determinacy says of a contact of the step that led here."""
        if frame.playing:
            return "*Pause to see the range that determinacy leaves its force.*"
        if len(frame.contacts) > DETERMINED:
            return f"*{len(frame.contacts)} contacts: ranges are computed for up to {DETERMINED}.*"
        try:
            found = step_determinacy(*self.session.ask(lambda s: s.first.step_problem(frame.instant)))
            return in_words(found, frame.contacts.point[contact])
        except (InputError, SolveFailed, RangeFailed) as error:
            return f"*{error}*"

    def _drag(self, event: Any, parts: Any) -> None:
        """A drag of an instance: the spring's grip is where the mouse took it."""
        if event.phase == "end":
            self.session.drag(None)
            self._spring(None, None)
            return
        frame = self.frame
        if frame is None or not frame.live or event.instance_index is None or event.instance_index >= len(parts.body):
            return
        body = int(parts.body[event.instance_index])
        state = frame.states[0]
        if event.phase == "start" or self.session.pull is None:
            self.grip = fixed_to(state, body, np.array(event.start_position))
        self.session.drag(Pull(body, self.grip, np.array(event.end_position, float)))

    # showing

    def show(self, frame: Frame) -> None:
        """Called by the worker of the session, for every frame."""
        with self.server.atomic():
            if frame.generation != self.generation:
                self._rebuild(frame)
            self.frame = frame
            self._bodies(frame)
            self._contacts(frame)
            now = time.perf_counter()
            if now - self.drawn_at > SLOW or not frame.playing:
                self.drawn_at = now
                self._slow(frame)
        self.server.flush()

    def _rebuild(self, frame: Frame) -> None:
        """Handles for other bodies or tracks."""
        for batch in self.bodies.values():
            batch[0].remove()
        session, scene = self.session, self.server.scene
        solids, view = session.first.solids, session.view
        self.generation, self.bodies = frame.generation, {}
        self._show_settings(session.settings)
        self.robot.rebuild()
        self.jam.rebuild()
        parts, meshes = solids.parts(view), solids.meshes
        for handle in (*self.grids, *self.lines):
            handle.remove()
        self.grids = []
        for k in range(len(session.tracks)):
            for mesh in dict.fromkeys(parts.mesh):
                own = parts.of(mesh)
                if mesh == "square":
                    if k == 0:
                        self._grids(own, frame, view.radius)
                    continue
                if k > 0:
                    own = own.only(np.flatnonzero(solids.kind[own.body] == Kind.FREE))
                if not len(own.body):
                    continue
                look = {} if k == 0 else {"opacity": 0.25}
                batch = Batch(
                    self.server, f"/world/{k}/{mesh}", meshes[mesh], self._draggable(own) if k == 0 else None, **look
                )
                place, turn = placed(own, frame.states[k])
                ghostly = np.tile(rgb(charts.track_colour(k)), (len(own.body), 1))
                batch.show(place, turn, own.scale, ghostly if k else solids.tints[own.body])
                self.bodies[k, mesh] = batch, own
        self.origin.visible = "square" not in parts.mesh  # without a ground it says where z points
        self.origin.axes_length, self.origin.axes_radius = 0.3 * view.radius, 0.006 * view.radius
        self.origin.origin_radius = 0.012 * view.radius
        self._opacity(self.clear.value)
        thin: dict[str, Any] = {"thickness": 2.0, "thickness_units": "screen", "visible": False}
        self.lines = [
            scene.add_line_segments(f"/world/path {k}", np.zeros((1, 2, 3)), (0, 0, 0), **thin)
            for k in range(len(session.tracks))
        ]
        self.chosen, self.ranges, self.usual, self.charted = None, "", 0.0, (-1, -1)
        self.look_at_all(view)

    def _show_settings(self, settings: Settings) -> None:
        """Menus and numbers as the session has them, whoever changed it."""
        names = [*settings.laws, *(["none"] * MOST_TRACKS)][:MOST_TRACKS]
        for control, law in zip(self.laws, names, strict=True):
            if law not in control.options:
                control.options = (*control.options, law)
            control.value = law
        self.dt.value, speed = settings.dt, f"{settings.speed:g}"
        self.speed.value = speed if speed in self.speed.options else self.speed.value

    def look_at_all(self, view: View | None = None) -> None:
        """Have all cameras see the bodies as they are now, or what a view holds."""
        frame, solids = self.frame, self.session.first.solids
        if view is None and frame is not None:
            view = solids.view(*frame.states)
        if view is None:
            return
        away = np.array([0.0, -2.2, 0.2]) if solids.planar else np.array([1.05, -1.6, 0.9])
        aim = view.centre - 0.25 * view.radius * UP  # so that it is above the strips
        aim_cameras(self.server, aim, aim + self.away * view.radius * away)

    def _draggable(self, parts: Any) -> Callable[[Any], None]:
        def prepare(handle: Any) -> None:
            @handle.on_drag("left")
            async def _(event: Any) -> None:  # async: phases come in their order
                self._drag(event, parts)

        return prepare

    def _grids(self, own: Any, frame: Frame, radius: float) -> None:
        """Under names of their own: a page keeps the place of a name that is taken away and comes again."""
        place, turn = placed(own, frame.states[0])
        cell = 10.0 ** np.round(np.log10(radius / 3))
        for i in range(len(place)):
            self.grids.append(
                self.server.scene.add_grid(
                    f"/world/plane {frame.generation} {i}", 2 * own.scale[i, 0], 2 * own.scale[i, 1], cell_size=cell,
                    section_size=10 * cell, plane_color=(238, 235, 228), plane_opacity=1.0,
                    cell_color=(205, 202, 194), section_color=(180, 176, 168), wxyz=turn[i],
                    position=tuple(place[i] - 2e-3 * radius * UP),
                )
            )  # fmt: skip

    def _opacity(self, value: float) -> None:
        for (k, _), (batch, _) in self.bodies.items():
            if k == 0 and batch.handle is not None:
                batch.handle.opacity = None if value >= 1.0 else float(value)

    def _bodies(self, frame: Frame) -> None:
        for (k, _), (batch, own) in self.bodies.items():
            place, turn = placed(own, frame.states[k])
            if np.isfinite(place).all():
                batch.show(place, turn)
        pull = self.session.pull
        self._spring(pull, frame)

    def _spring(self, pull: Pull | None, frame: Frame | None) -> None:
        if pull is None or frame is None:
            self.spring.show(np.zeros((0, 3)), np.zeros((0, 4)))
            return
        state = frame.states[0]
        grip = state.position[pull.body] + rotated(state.quaternion[pull.body], pull.grip)
        found = rods(grip[None], pull.target[None], 0.006 * self.session.view.radius)
        self.spring.show(*found, np.array([[38, 50, 63]]))

    def _look(self, frame: Frame) -> Look:
        radius = self.session.view.radius
        now = usual_force(frame.contacts.vector / frame.lasted) if len(frame.contacts) else 0.0
        if now > 0:
            self.usual = now if self.usual == 0 or not frame.playing else self.usual + 0.05 * (now - self.usual)
        auto = 0.45 * radius / self.usual if self.usual > 0 else 0.0
        return Look(
            thin=0.008 * radius,
            per_newton=auto if self.scaling.value == "automatic" else float(self.fixed.value),
            least=float(self.least.value),
            **{name: box.value for name, box in self.shown.items() if name != "joints"},
        )

    def _contacts(self, frame: Frame) -> None:
        look, track = self._look(frame), self.session.tracks[0]
        model = getattr(track, "model", None)
        found = marked(frame.contacts, frame.lasted, look, track.patches(frame.instant))
        if self.shown["joints"].value and model is not None and model.joint.size:
            impulse = track.joint_impulse(frame.instant)
            place, force = joint_forces(track.header, model, frame.states[0], impulse, frame.lasted)
            biggest = float(np.linalg.norm(force, axis=1).max(initial=0.0)) or 1.0
            per_newton = look.per_newton or 0.45 * self.session.view.radius / biggest
            colour = np.tile(np.array(JOINT_COLOUR, np.uint8), (len(place), 1))
            pair = arrows(place, force * per_newton, colour, np.arange(len(place)), look.thin)
            found["joint shafts"], found["joint heads"] = pair
        for layer, batch in self.layers.items():
            own = found.get(layer, Instances.none())
            scale = own.scale
            if self.chosen is not None and layer in ("ring", "box", "dart"):
                scale = np.where((own.which == self._row(frame.contacts))[:, None], 1.8 * scale, scale)
            self.which[layer] = own.which
            batch.show(own.position, own.quaternion, scale, own.colour)

    def _row(self, table: ContactTable) -> int:
        """The chosen contact in a table, -1 where it is not there."""
        if self.chosen is None or not len(table):
            return -1
        a, b, feature = self.chosen
        own = np.flatnonzero((table.shape_a == a) & (table.shape_b == b) & (table.feature == feature))
        return int(own[0]) if len(own) else -1

    def _slow(self, frame: Frame) -> None:
        session = self.session
        first = session.first
        begin, end = first.time(0), first.time(len(first) - 1)
        self.slider.min, self.slider.max = begin, max(end, begin + 1e-4)
        self.slider.value = min(max(frame.time, begin), self.slider.max)
        doing = f"runs at {frame.rate:.2g}× the clock" if frame.playing else "stands"
        wrong = f" **{frame.message}**" if frame.message else ""
        bodies = session.robot.model.nbody - 1 if session.robot is not None else len(frame.states[0].position)
        count = f"{bodies} bodies, {len(frame.contacts)} contacts"
        self.status.content = f"{frame.time:.4f} s, {doing}; {count}.{wrong}"
        self._tell(frame)
        self._chart(frame)
        self._draw_paths(frame)
        self.robot.follow(frame)
        self.jam.follow(frame)

    def _tell(self, frame: Frame) -> None:
        table = frame.contacts
        names = [f"{i} {table.name(i)}" for i in range(min(len(table), 60))]
        options = ("none", *names)
        if tuple(self.choice.options) != options:
            self.choice.options = options
        row = self._row(table)
        said = options[row + 1] if 0 <= row < len(names) else "none"
        if self.choice.value != said:
            self.choice.value = said
        self.numbers.content = contact_numbers(table, row, frame.lasted, self.ranges) if row >= 0 else NUMBERS
        track = self.session.tracks[0]
        header = track.header
        if header.joint_names:
            force = track.joint_impulse(frame.instant) / frame.lasted
            rows = []
            for j, name in enumerate(header.joint_names[:12]):
                own = np.flatnonzero(header.joint_row == j)
                said = ", ".join(f"{header.joint_row_kind[row]}: {force[row]:.3g}" for row in own)
                rows.append(f"| {name} | {said} |")
            self.joints.content = "\n".join(["| joint | forces [N], moments [N m] |", "|---|---|", *rows])

    def _chart(self, frame: Frame) -> None:
        session = self.session
        state = (frame.generation, len(session.first) if frame.live else 0)
        if self.charted != state:
            self.charted = state
            self.series = [(track.name, track.strips()) for track in session.tracks]
            self.apart = [distance(session, k) for k in range(1, len(session.tracks))]
        self.times = charts.span(self.series, frame.time)
        tol = session.first.header.tol
        count = len(charts.panels_of(self.series, self.apart, tol))
        if count != self.panels:
            self.panels = count
            self.panel.set_height(STRIPS_TOP + charts.tall(count) * STRIPS_WIDE / charts.WIDE)
        self.strips.handle.content = charts.chart(self.series, self.apart, tol, frame.time, self.strips.script)

    def _draw_paths(self, frame: Frame) -> None:
        solids = self.session.first.solids
        free = free_bodies(solids)
        if hasattr(solids, "body"):  # of a robot one shape of each
            free = free[np.unique(solids.body[free], return_index=True)[1]]
        bodies = free[:PATHS]
        for k, (track, line) in enumerate(zip(self.session.tracks, self.lines, strict=True)):
            end = min(frame.instant, len(track) - 1)
            if not self.paths_on.value or end < 1 or len(free) > PATHS:
                line.visible = False
                continue
            pick = np.unique(np.linspace(0, end, PATH_POINTS).astype(int))
            points = np.array([track.state(int(i)).position[bodies] for i in pick])
            pairs = np.stack([points[:-1], points[1:]], axis=2).reshape(-1, 2, 3)
            pairs = pairs[np.isfinite(pairs).all(axis=(1, 2))]
            if len(pairs):
                line.points = pairs.astype(np.float32)
                line.colors = np.array(rgb(charts.track_colour(k)), np.uint8)
                line.visible = True


# what a page says


def legend() -> str:
    shapes = {ContactState.OPEN: "ring", ContactState.STICK: "cube", ContactState.SLIP: "dart along the slip"}
    lines = [f'<b style="color:{COLOUR[s]}">{NAME[s]}</b>: {shapes[s]}' for s in ContactState]
    joints = '<b style="color:#8e5bc0">joints</b>: arrows'
    return f'<div style="padding:2px 10px;font-size:0.85em;color:{INK}">{"; ".join([*lines, joints])}</div>'


def contact_numbers(table: ContactTable, row: int, lasted: float, ranges: str) -> str:
    """A contact as a table, in Markdown."""
    one = table[row]
    force = one.impulse / lasted
    most = one.friction * force[0]
    used = f"{100 * np.linalg.norm(force[1:]) / most:.1f} %" if most > 0 else "none"
    rows = [
        ("bodies", table.name(row)),
        ("state", NAME[one.state]),
        ("gap", f"{one.gap:.3e} m"),
        ("force n, t, o", ", ".join(f"{part:.4g}" for part in force) + " N"),
        ("velocity n, t, o", ", ".join(f"{part:.3e}" for part in one.velocity) + " m/s"),
        ("friction", f"{one.friction:.4g}, {used} of it used"),
        ("point", ", ".join(f"{part:.4f}" for part in one.point) + " m"),
    ]
    if one.moment or one.spin:
        rows.append(("about the normal", f"{one.moment / lasted:.3g} N m, {one.spin:.3g} rad/s"))
    lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join(lines) + (f"\n\n{ranges}" if ranges else "")


def distance(session: Session, k: int) -> dict[str, Any]:
    """How far the farthest body of a track is from the same in the first, over time."""
    first, other = session.tracks[0], session.tracks[k]
    bodies = free_bodies(first.solids)
    last = min(len(first), len(other)) - 1
    pick = np.unique(np.linspace(0, last, min(charts.POINTS, last + 1)).astype(int))
    apart = [first.state(int(i)).position[bodies] - other.state(int(i)).position[bodies] for i in pick]
    far = np.array([np.linalg.norm(each, axis=1).max(initial=0.0) for each in apart])
    return {"time": np.array([first.time(int(i)) for i in pick]), "distance": far}
