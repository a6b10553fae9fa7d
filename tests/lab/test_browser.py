"""The lab in a real browser: what a person does there, and what comes of it.

STICKSLIP_PICTURES=folder keeps the photographs.
"""

import io
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.lab.jam import share
from stickslip.lab.session import Settings

pytest.importorskip("viser", reason="viser is missing: pip install 'stickslip[lab]'")
Image = pytest.importorskip("PIL.Image")

PORT, G, MU, DT = 8890, 9.81, 0.5, 5e-3
PICTURES = os.environ.get("STICKSLIP_PICTURES")
SIZE = {"width": 1500, "height": 950} if PICTURES else {"width": 980, "height": 660}  # small: there is no graphics card
ROBOTS = Path(__file__).parents[2] / "examples/robots"
TABS = ("Scene", "Contacts", "Jam", "Export")


def sliding():
    """A block that slides, and one that stands beside it."""
    scene = ss.Scene()
    scene.add_plane(friction=MU, name="ground")
    scene.add_box(size=0.4, mass=2.0, position=(0, 0.4, 0.2), velocity=(2.0, 0, 0), name="block")
    scene.add_box(size=0.5, mass=3.0, position=(0.6, -0.4, 0.25), name="box")
    return scene


class Person:
    """Somebody at a tab of the lab."""

    def __init__(self, lab, tab):
        self.lab, self.tab = lab, tab
        self.wrong, self.requests = [], []
        tab.set_default_timeout(90_000)  # there is no graphics card, and other tests run beside
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.goto(lab.address)
        self.until(lambda: lab.server.get_clients())
        tab.get_by_role("tab", name="Contacts").wait_for()
        aim = np.array(lab.server.initial_camera.look_at)
        self.until(lambda: np.allclose(self.camera.look_at, aim, atol=1e-3))

    @property
    def session(self):
        return self.lab.session

    @property
    def camera(self):
        return max(self.lab.server.get_clients().items())[1].camera

    def until(self, true, seconds=90.0):
        """Wait for something that the lab or the page will do."""
        if self.soon(true, seconds):
            return
        self.photograph("wrong")
        raise AssertionError(f"it did not come to pass; the lab is at {self.session.frame[:3]}")

    def box(self, place):
        """Where an element is on the page; there may be none for a moment, while the lab replaces it."""
        seen = []
        self.until(lambda: seen.append(self.tab.locator(place).bounding_box()) or seen[-1] is not None)
        return seen[-1]

    def open(self, tab):
        self.tab.get_by_role("tab", name=tab).click()

    def press(self, button):
        self.tab.get_by_role("button", name=button, exact=True).click()

    def row(self, label):
        """Where a control is that has this label."""
        return self.tab.locator("label", has_text=re.compile(f"^{re.escape(label)}$")).locator(
            "xpath=ancestor::p[1]/../.."
        )

    def fill(self, label, value):
        """Type a number beside a slider or into a field."""
        field = self.row(label).locator("input").last
        field.fill(value)
        field.press("Enter")

    def pick(self, label, option):
        """One of a menu."""
        self.row(label).locator("input").first.click()
        self.tab.get_by_role("option", name=option, exact=True).click()

    def place(self, point):
        """Where a point of the world is on the screen."""
        eye, aim = np.array(self.camera.position), np.array(self.camera.look_at)
        ahead = (aim - eye) / np.linalg.norm(aim - eye)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        away = np.asarray(point) - eye
        depth = (away @ ahead) * np.tan(self.camera.fov / 2)
        across, up = away @ right / depth / self.camera.aspect, away @ np.cross(right, ahead) / depth
        box = self.tab.locator("canvas").first.bounding_box()
        return box["x"] + box["width"] * (1 + across) / 2, box["y"] + box["height"] * (1 - up) / 2

    def soon(self, true, seconds=3.0):
        """Whether something comes to pass before long."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                return False
            self.tab.wait_for_timeout(50)
        return True

    def click_contact(self):
        """On one of those of the frame, the nearest first, until one is chosen: they may not be drawn yet."""
        table, page = self.session.frame.contacts, self.lab.page
        nearest = np.argsort([np.linalg.norm(point - self.camera.position) for point in table.point])
        for row in [*nearest] * 5:
            self.tab.mouse.click(*self.place(table.point[row]))
            if self.soon(lambda: page.chosen is not None):
                return page._row(table)
        raise AssertionError("no contact could be clicked")

    def grab(self, body):
        """Take a body by the mouse and pull it upwards, until the lab knows."""
        for _ in range(5):
            x, y = self.place(self.session.frame.states[0].position[body])
            self.tab.mouse.move(x, y)
            self.tab.wait_for_timeout(300)
            self.tab.mouse.down()
            for k in range(1, 9):
                self.tab.mouse.move(x + 4 * k, y - 18 * k)
                self.tab.wait_for_timeout(60)
            if self.soon(lambda: self.session.pull is not None):
                return
            self.tab.mouse.up()
        raise AssertionError("no body could be taken")

    def photograph(self, name):
        """A picture with something to see: many colours, which a blank page has not."""
        notice = self.tab.locator(".mantine-Notification-closeButton")
        if notice.count():
            notice.first.click()
            self.tab.wait_for_timeout(400)
        picture = self.tab.screenshot()
        if PICTURES:
            Path(PICTURES, f"{name}.png").write_bytes(picture)
        return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))


def waits(tab, true, seconds=90.0):
    """Wait for something to hold in a page that allows no evaluation of its own."""
    for _ in range(int(seconds / 0.05)):
        if tab.evaluate(true):
            return
        tab.wait_for_timeout(50)
    raise AssertionError("it did not come to pass")


def colours(picture):
    return len(np.unique(picture.reshape(-1, 3), axis=0))


@pytest.fixture(scope="module")
def person(browser, tmp_path_factory):
    here = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("lab"))
    with ss.view(sliding(), browser=False, port=PORT, settings=Settings(dt=DT), keep=True) as lab:
        lab.session.step(4).result(120)
        tab = browser.new_page(viewport=SIZE)
        yield Person(lab, tab)
        tab.close()
    os.chdir(here)


@pytest.fixture
def fresh(person):
    """The scene as it was opened."""
    person.session.reset().result(60)
    person.session.change(friction=None, restitution=None, speed=1.0).result(60)
    yield person
    person.session.pause().result(60)
    assert person.wrong == []
    assert "could not be shown" not in person.session.message


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_opens_and_is_photographed(fresh, tab):
    fresh.session.step(4).result(60)
    fresh.open(tab)
    fresh.tab.get_by_role("tab", name=tab, selected=True).wait_for()
    fresh.tab.wait_for_timeout(500)
    assert colours(fresh.photograph(f"tab-{tab.lower()}")) > 300


def test_the_page_asks_for_nothing_outside(person):
    person.tab.wait_for_timeout(100)
    assert person.requests
    assert [url for url in person.requests if not url.startswith((person.lab.address, "data:", "blob:"))] == []


def test_a_control_that_is_moved_in_the_browser_changes_the_motion(fresh):
    fresh.open("Scene")
    fresh.press("step")
    fresh.until(lambda: fresh.session.frame.instant == 1)
    v = fresh.session.frame.states[0].velocity[1, 0]
    assert np.isclose(v, 2.0 - MU * G * DT, rtol=1e-6)  # friction slows it
    fresh.fill("friction", "0")
    fresh.until(lambda: fresh.session.settings.friction == 0.0)
    for _ in range(5):
        fresh.press("step")
    fresh.until(lambda: fresh.session.frame.instant == 6)
    assert np.isclose(fresh.session.frame.states[0].velocity[1, 0], v, rtol=1e-9)  # nothing slows it
    fresh.press("back")
    fresh.until(lambda: fresh.session.frame.instant == 5)


def test_run_and_pause(fresh):
    fresh.press("run")
    fresh.until(lambda: fresh.session.frame.time > 0.3)
    fresh.press("pause")
    fresh.until(lambda: not fresh.session.frame.playing)
    stopped = fresh.session.frame.time
    fresh.tab.get_by_text(f"{stopped:.4f} s, stands").wait_for()


def test_a_contact_that_is_clicked_shows_its_numbers(fresh):
    fresh.session.step(4).result(60)
    fresh.lab.page.choose(None)
    fresh.lab.page.panel.minimize()  # so that it hides nothing
    fresh.open("Contacts")
    chosen, table = fresh.click_contact(), fresh.session.frame.contacts
    force = table.impulse[chosen, 0] / DT
    fresh.tab.get_by_text("velocity n, t, o").wait_for()
    fresh.tab.get_by_text(f"{force:.4g},").first.wait_for()
    fresh.tab.get_by_text("normal force:").wait_for()  # the range that determinacy leaves it
    fresh.photograph("contact")
    fresh.lab.page.panel.expand()


def test_a_drag_moves_a_body(fresh):
    fresh.lab.page.panel.minimize()  # so that it hides nothing
    fresh.press("run")
    fresh.until(lambda: fresh.session.frame.time > 0.05)
    at = fresh.session.frame.states[0].position[2].copy()
    fresh.grab(2)
    assert fresh.session.pull.body == 2
    fresh.until(lambda: fresh.session.frame.states[0].position[2, 2] > at[2] + 0.1)  # it was lifted
    fresh.photograph("drag")
    fresh.tab.mouse.up()
    fresh.until(lambda: fresh.session.pull is None)
    fresh.until(lambda: fresh.session.frame.states[0].position[2, 2] < at[2] + 0.05)  # and falls
    fresh.lab.page.panel.expand()


def test_a_click_on_the_strips_seeks(fresh):
    fresh.session.step(100).result(120)
    end = fresh.session.frame.time
    fresh.until(lambda: f"{end:.4g} s" in (fresh.tab.locator("#stickslip-strips").text_content() or ""))
    wide = fresh.box("#stickslip-strips")["width"]
    fresh.tab.locator("#stickslip-strips").click(position={"x": 0.5 * wide, "y": 30})
    fresh.until(lambda: fresh.session.frame.time < 0.75 * end)
    assert np.isclose(fresh.session.frame.time, 0.5 * end, atol=0.1 * end)


def test_a_click_on_the_map_sets_the_pose(fresh):
    page = fresh.lab.page.jam
    fresh.open("Jam")
    page.show("arm of Peiret 2019")
    assert np.isclose(page.desk.coupling().mu_jam, 0.4039, atol=1e-4)  # the worst pose of the paper
    fresh.tab.locator("#stickslip-map").wait_for()
    fresh.tab.get_by_text("it can jam").wait_for()
    fresh.tab.wait_for_timeout(1000)
    fresh.photograph("jam")
    left, bottom, wide, tall = page.map_axes
    box = fresh.box("#stickslip-map")
    across, up = 0.4, 0.3
    place = {"x": box["width"] * (left + across * wide), "y": box["height"] * (1 - bottom - up * tall)}
    fresh.tab.locator("#stickslip-map").click(position=place)
    wanted = share(page.desk.mechanism.map, across, up)
    fresh.until(lambda: np.allclose(page.desk.parameters, wanted, atol=0.02))
    page.show("nothing")


def test_a_second_tab_sees_the_same(fresh, browser):
    fresh.session.step(7).result(60)
    other = browser.new_page(viewport=SIZE)
    second = Person(fresh.lab, other)
    for tab in (fresh.tab, other):
        tab.get_by_text(f"{7 * DT:.4f} s, stands").wait_for()
    fresh.press("step")
    other.get_by_text(f"{8 * DT:.4f} s, stands").wait_for()
    assert second.wrong == []
    other.close()
    fresh.until(lambda: len(fresh.lab.server.get_clients()) == 1)


def test_the_tour_and_the_files(fresh, browser):
    """The first stop, run, exported by the button, opened from its folder without a network."""
    fresh.lab.page.visit("1. One throw, two laws")
    fresh.session.step(60).result(300)
    fresh.open("Export")
    for kind in ("html", "png", "yaml", "h5"):
        fresh.press(kind)
        fresh.tab.get_by_text(f"written: lab.{kind}").wait_for()
    with Image.open("lab.png") as picture:
        assert picture.size == (1280, 720)
    assert len(ss.Trajectory.load("lab.h5")) == 60
    fresh.open("Scene")
    fresh.tab.wait_for_timeout(800)
    fresh.photograph("tour")
    fresh.session.open(sliding(), Settings(dt=DT)).result(60)

    alone = browser.new_context(viewport=SIZE, offline=True)
    replay = alone.new_page()
    requests, wrong = [], []
    replay.on("request", lambda request: requests.append(request.url))
    replay.on("pageerror", lambda error: wrong.append(str(error)))
    replay.goto(Path("lab.html").resolve().as_uri())
    waits(replay, "() => window.replay !== undefined && replay.drawn > 0")
    pictures = []
    for instant in (0, 60):
        replay.evaluate(f"() => {{ window.before = replay.drawn; replay.seek({instant}); }}")
        waits(replay, "() => replay.drawn > window.before")
        picture = replay.screenshot()
        pictures.append(np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")))
    if PICTURES:
        Path(PICTURES, "replay.png").write_bytes(picture)
    assert min(map(colours, pictures)) > 300
    assert (pictures[0] != pictures[1]).any(axis=2).mean() > 0.01  # the cube is elsewhere
    spot = replay.evaluate("() => replay.camera.onScreen([...replay.contacts()][0].point)")
    replay.mouse.click(*spot)
    replay.get_by_text("force n t o").wait_for()
    strip = replay.locator("#strips").bounding_box()
    replay.mouse.click(strip["x"] + 64 + 2, strip["y"] + 20)
    waits(replay, "() => replay.frame < 5")
    assert wrong == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    alone.close()


def test_a_saved_run_is_opened_and_its_contacts_have_ranges(fresh):
    ss.simulate(sliding(), 0.1, DT, path="saved.h5", progress=False)
    fresh.lab.page.files.options = ("a file", *fresh.lab.page.exports.readable())
    fresh.open("Scene")
    fresh.pick("open", "saved.h5")
    fresh.until(lambda: not fresh.session.frame.live)
    fresh.session.seek(0.05).result(60)
    fresh.lab.page.panel.minimize()
    fresh.open("Contacts")
    fresh.click_contact()
    fresh.tab.get_by_text("normal force:").wait_for()
    fresh.photograph("saved")
    fresh.lab.page.panel.expand()
    fresh.session.open(sliding(), Settings(dt=DT)).result(60)


def test_a_robot_is_steered_and_its_jam_map_moves_it(fresh):
    """A slider of an actuator lifts the hand; a click on the map of a frame sets two joints."""
    pytest.importorskip("mujoco", reason="MuJoCo is missing: pip install 'stickslip[mujoco]'")
    robot = ss.load_model(ROBOTS / "gripper.xml")
    fresh.session.open(robot, Settings(dt=robot.timestep)).result(60)
    fresh.open("Robot")
    at = robot.coordinate("lift")
    fresh.fill("lift", "0.2")
    fresh.until(lambda: fresh.session.controls[1] == 0.2)
    fresh.session.step(200).result(60)
    assert fresh.session.first.moment(fresh.session.index).q[at] > 0.05
    fresh.tab.get_by_text("0.4000 s, stands").wait_for()
    fresh.photograph("robot")
    arm = ss.load_model(ROBOTS / "arm.urdf")
    fresh.session.open(arm, Settings(dt=arm.timestep)).result(60)
    fresh.open("Jam")
    fresh.pick("show", "what runs here")
    fresh.pick("contact or frame", "frame: tip")
    page = fresh.lab.page.jam
    fresh.tab.locator("#stickslip-map").wait_for()
    left, bottom, wide, tall = page.map_axes
    box, across, up = fresh.box("#stickslip-map"), 0.7, 0.3
    place = {"x": box["width"] * (left + across * wide), "y": box["height"] * (1 - bottom - up * tall)}
    wanted = share(page.desk.mechanism.map, across, up)
    fresh.tab.locator("#stickslip-map").click(position=place)

    def joints():
        q = fresh.session.first.moment(fresh.session.index).q
        return [q[arm.coordinate(name)] for name in ("wrist", "elbow")]

    fresh.until(lambda: np.allclose(joints(), wanted, atol=0.05))
    fresh.tab.get_by_text("Sliding along e_jam").wait_for()
    fresh.photograph("robot-jam")
    fresh.session.open(sliding(), Settings(dt=DT)).result(60)


def test_closing_the_last_tab_ends_the_lab(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stickslip.lab.view.GRACE", 0.2)
    lab = ss.view(sliding(), browser=False, port=PORT + 40, settings=Settings(dt=DT))
    tab = browser.new_page(viewport=SIZE)
    someone = Person(lab, tab)
    someone.press("run")
    someone.until(lambda: lab.session.frame.playing)
    tab.close()
    assert lab.wait(30)
    assert not lab.session._worker.is_alive()
