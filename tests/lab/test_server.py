"""The server of the lab: whom it listens to, what it lets out, and that a slow client costs no memory."""

import asyncio
import http.client
import os
import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import stickslip as ss
from stickslip.cli import main
from stickslip.errors import InputError
from stickslip.lab.anchors import fixed_to
from stickslip.lab.gate import COOKIE, Gate
from stickslip.lab.session import Session, Settings
from stickslip.lab.tour import STOPS
from stickslip.lab.tracks import Pull
from stickslip.scene.values import rotated

pytest.importorskip("viser", reason="viser is missing: pip install 'stickslip[lab]'")
import viser
import websockets.asyncio.client
from websockets.exceptions import InvalidStatus

from stickslip.lab import output
from stickslip.lab.output import Exports

PORT = 8790


@pytest.fixture(scope="module")
def lab():
    with ss.view(STOPS[1].scene(), browser=False, port=PORT, settings=STOPS[1].settings, keep=True) as opened:
        opened.session.ask(lambda s: None)  # drawn once
        yield opened
        assert "could not be shown" not in opened.session.message


def get(lab, path="/", **headers):
    link = http.client.HTTPConnection("127.0.0.1", lab.server.get_port(), timeout=20)
    link.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with closing(link):
        answer = link.getresponse()
        return answer.status, answer.headers, answer.read()


def address(lab, scheme="ws"):
    return f"{scheme}://127.0.0.1:{lab.server.get_port()}"


def shake_hands(lab, **settings):
    async def connect():
        async with websockets.asyncio.client.connect(
            address(lab), subprotocols=[f"viser-v{viser.__version__}"], **settings
        ):
            return True

    return asyncio.run(connect())


def test_it_listens_on_this_machine_alone(lab):
    assert lab.server.get_host() == "127.0.0.1"
    assert lab.address == f"http://127.0.0.1:{lab.server.get_port()}/"


def test_a_page_of_another_site_is_refused(lab):
    assert get(lab)[0] == 200
    assert get(lab, Host="evil.example")[0] == 403
    assert get(lab, Origin="http://evil.example")[0] == 403
    assert shake_hands(lab, origin=address(lab, "http"))
    with pytest.raises(InvalidStatus):
        shake_hands(lab, origin="http://evil.example")


@pytest.mark.parametrize(
    "path", ["/../../../../etc/passwd", "/%2e%2e/%2e%2e/setup.py", "/etc/passwd", "/pyproject.toml"]
)
def test_no_file_but_the_page_is_served(lab, path):
    assert get(lab, path)[0] == 404


def test_other_machines_need_the_token(folder):
    with ss.view(STOPS[1].scene(), host="0.0.0.0", port=PORT + 20, browser=False, keep=True) as lab:
        token = lab.address.partition("?token=")[2]
        assert len(token) >= 32
        assert get(lab)[0] == 403
        assert get(lab, "/?token=wrong")[0] == 403
        assert get(lab, Cookie=f"{COOKIE}=wrong")[0] == 403
        with pytest.raises(InvalidStatus):
            shake_hands(lab)
        status, headers, _ = get(lab, f"/?token={token}")
        assert (status, headers["Location"]) == (302, "/")
        cookie = headers["Set-Cookie"].split(";")[0]
        assert "HttpOnly" in headers["Set-Cookie"]
        assert get(lab, Cookie=cookie)[0] == 200
        assert shake_hands(lab, additional_headers={"Cookie": cookie})


def test_a_gate_without_a_token_knows_this_machine_only():
    gate = Gate(None)
    assert gate.refusal("/", {"Host": "localhost:8080"}) is None
    assert gate.refusal("/", {"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8080"}) is None
    for headers in ({"Host": "rebound.example:8080"}, {}, {"Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:81"}):
        assert gate.refusal("/", headers)[0] == 403


def test_a_slow_client_costs_no_memory(lab):
    """It connects and never reads; what waits for it is the newest of everything, however many frames pass."""
    buffer = lab.server._websock_server._broadcast_buffer

    async def dawdle():
        async with websockets.asyncio.client.connect(
            address(lab), subprotocols=[f"viser-v{viser.__version__}"], max_queue=1
        ):
            sizes = []
            for _ in range(4):
                await asyncio.to_thread(lambda: [lab.session.step().result(60) for _ in range(20)])
                sizes.append(len(buffer.message_from_id))
            return sizes

    sizes = asyncio.run(dawdle())
    assert max(sizes) - min(sizes) <= 4, sizes
    assert max(sizes) < 400


def test_a_thousand_bodies_are_shown(folder):
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(1000):
        x, y, z = i % 10, i // 10 % 10, i // 100
        scene.add_sphere(radius=0.05, mass=0.1, position=(0.11 * x, 0.11 * y, 0.06 + 0.11 * z))
    with ss.view(scene, browser=False, port=PORT + 40, keep=True, settings=Settings(dt=5e-3)) as lab:
        lab.session.step(10).result(120)
        batch, parts = lab.page.bodies[0, "ball"]
        shown = batch.handle.batched_positions[:1000]
        _, state = lab.session.frame.time, lab.session.frame.states[0]
        assert len(parts.body) == 1000
        assert np.allclose(shown, state.position[1:], atol=1e-5)


def test_closing_leaves_nothing_running(folder):
    before = set(threading.enumerate())
    lab = ss.view(STOPS[2].scene(), browser=False, port=PORT + 60)
    lab.session.play()
    lab.close()
    lab.close()  # again does no harm
    assert lab.wait(0)
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(20)
    assert [thread for thread in left if thread.is_alive()] == []
    with pytest.raises(OSError, match="refused"):
        get(lab)


def test_what_is_missing_is_said_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"viser is missing, expected the extra: pip install 'stickslip\[lab\]'"):
        ss.view(STOPS[0].scene())


@pytest.mark.parametrize("files", [["absent.yaml"], ["absent.h5", "absent.h5"], ["run.txt"]])
def test_the_command_says_what_it_cannot_open(files):
    said = CliRunner().invoke(main, ["view", "--no-browser", *files])
    assert said.exit_code == 2
    assert said.output.startswith("stickslip: ")
    assert len(said.output.splitlines()) == 1


@pytest.mark.parametrize("world", ["absent.yaml", "absent.h5", "absent.urdf", "run.txt", 3, []])
def test_what_cannot_be_shown_is_refused(world):
    with pytest.raises(InputError):
        ss.view(world, browser=False)


@pytest.mark.parametrize("name", ["arm.urdf", "gripper.xml"])
def test_a_robot_has_a_tab_and_runs(folder, name):
    pytest.importorskip("mujoco", reason="MuJoCo is missing: pip install 'stickslip[mujoco]'")
    robot = Path(__file__).parents[2] / "examples/robots" / name
    with ss.view(robot, browser=False, port=PORT + 80, keep=True) as lab:
        lab.session.step(3).result(120)
        tab, model = lab.page.robot, lab.session.robot
        assert len(tab.controls) == len(model.actuators)
        assert len(tab.joints) == sum(model.model.jnt_type >= 2)
        q = lab.session.first.moment(3).q
        assert all(np.isclose(slider.value, q[at]) for at, slider in tab.joints.items())
        for k, slider in enumerate(tab.controls):
            lab.session.control(k, 0.05).result(60)
            assert slider.value == 0.05  # whoever changed it
        lab.session.reset().result(60)
        assert all(slider.value == 0.0 for slider in tab.controls)
        lab.session.open(STOPS[1].scene()).result(120)
        assert lab.page.robot.tab is None


def test_the_ground_of_another_world_is_another_thing(lab):
    """A page keeps the place of a name that comes again: level ground after a slope would be tilted."""
    slope, settings = lab.session.world, lab.session.settings
    tilted = lab.page.grids[0]
    lab.session.open(STOPS[2].scene()).result(60)
    level = lab.page.grids[0]
    assert level.name != tilted.name
    assert np.allclose(level.wxyz, [1, 0, 0, 0])
    assert not np.allclose(tilted.wxyz, [1, 0, 0, 0])
    lab.session.open(slope, settings).result(60)


def test_the_lab_opens_only_files_of_its_folder(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    ss.save_scene(STOPS[2].scene(), outside)
    ss.save_scene(STOPS[1].scene(), folder / "slope.yaml")
    (folder / "link.yaml").symlink_to(outside)
    (folder / "notes.txt").write_text("mine")
    with ss.view(STOPS[0].scene(), browser=False, port=PORT + 100, keep=True) as lab:
        assert lab.page.files.options == ("a file", "slope.yaml")
        for name in ("link.yaml", str(outside), "../secret.yaml", "notes.txt"):
            lab.page.open_file(name)
        lab.session.ask(lambda s: None)
        assert len(lab.session.world) == len(STOPS[0].scene())
        lab.page.open_file("slope.yaml")
        lab.session.ask(lambda s: None)
        assert lab.session.world.names == STOPS[1].scene().names
        assert lab.page.dt.value == lab.session.settings.dt


def test_the_jam_tab_follows_what_runs(folder):
    """A click sets the pose, the mark is where the pose is, and a body that was put elsewhere has a map of its own."""
    scene, theta = ss.Scene(), np.arctan(2.0)
    scene.add_plane(friction=0.5, name="floor")
    centre, lean = (0.5 * np.cos(theta), 0, 0.5 * np.sin(theta) + 0.02), ((0, 1, 0), np.pi / 2 - theta)
    scene.add_capsule(radius=0.02, length=1.0, mass=1.0, position=centre, orientation=lean, name="rod")
    with ss.view(scene, browser=False, port=PORT + 120, keep=True, settings=Settings(dt=1e-3)) as lab:
        lab.session.step(2).result(60)
        jam = lab.page.jam
        jam.show("what runs here")
        assert "0 rod on floor" in jam.contact.options
        jam.contact.value = "0 rod on floor"
        jam._hold("0 rod on floor")
        assert np.allclose(jam.desk.parameters, 0.0, atol=1e-9)
        assert "Alone, nothing else touching" in jam.verdict.content
        assert "As it stands, with all that touches" in jam.verdict.content
        foot = jam.anchor.touch.point
        jam._go(np.array([0.2, -0.3]))
        lab.session.ask(lambda s: None)
        assert np.allclose(jam.desk.parameters, [0.2, -0.3])
        state = lab.session.first.state(lab.session.index)
        arm = fixed_to(jam.anchor.base, 1, foot)
        assert np.allclose(state.position[1] + rotated(state.quaternion[1], arm), foot)  # it turned about its foot
        lab.session.drag(Pull(1, np.zeros(3), state.position[1] + np.array([0.5, 0.0, 0.0])))
        lab.session.ask(lambda s: None)
        jam.close()
        assert np.allclose(jam.anchor.touch.point, foot + np.array([0.5, 0.0, 0.0]))
        assert np.allclose(jam.desk.parameters, 0.0, atol=1e-9)
        lab.session.open(STOPS[1].scene()).result(60)
        assert jam.anchor is None
        assert lab.session.message == ""


# files


@pytest.fixture
def exports(folder):
    with Session(STOPS[1].scene(), STOPS[1].settings) as session:
        session.step(20).result(120)
        yield Exports(session, folder)


def test_a_session_is_written_as_page_run_and_scene(exports, folder):
    for kind in ("html", "h5", "yaml"):
        assert exports.write(kind, "lab").startswith(f"written: lab.{kind}")
    run = ss.Trajectory.load(folder / "lab.h5")
    assert len(run) == 20
    again = ss.simulate(ss.load_scene(folder / "lab.yaml"), 0.02, 2e-3, progress=False)
    straight = ss.simulate(STOPS[1].scene(), 0.06, 2e-3, progress=False)
    assert np.allclose(again.position("smooth")[-1], straight.position("smooth")[-1], atol=1e-9)
    settings = ss.load_run(folder / "lab.yaml")[1]
    assert settings.dt == 2e-3
    assert settings.friction.name == "coulomb"


@pytest.mark.parametrize("name", ["", "../out", "/tmp/out", "a/b", "..", ".hidden", "a\\b", "x" * 200, "a\n"])
def test_no_name_leads_out_of_the_folder(exports, folder, name):
    with pytest.raises(InputError):
        exports.write("yaml", name)
    assert list(folder.iterdir()) == []


def test_a_link_that_leads_out_of_the_folder_is_refused(exports, folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "kept.yaml"
    outside.write_text("mine")
    (folder / "lab.yaml").symlink_to(outside)
    with pytest.raises(InputError, match="leads out of the folder"):
        exports.write("yaml", "lab")
    assert outside.read_text() == "mine"


def test_a_film_is_handed_to_ffmpeg_picture_by_picture(exports, folder, tmp_path_factory, monkeypatch):
    """By one that counts the bytes it is given, and a browser whose pictures are all alike."""
    bin = tmp_path_factory.mktemp("bin")
    (bin / "ffmpeg").write_text('#!/bin/sh\nfor last; do :; done\nwc -c > "$last"\n')
    (bin / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
    filming = Exports(exports.session, folder)
    assert "mp4" in filming.kinds
    client = SimpleNamespace(get_render=lambda height, width, **_: np.zeros((height, width, 3), np.uint8))
    assert filming.write("mp4", "lab", client).startswith("written: lab.mp4")
    pictures = int((folder / "lab.mp4").read_text()) / (output.WIDE * output.TALL * 3)
    assert pictures == round(20 * 2e-3 * output.RATE / 0.25)  # 40 ms at a quarter of the speed
    (bin / "ffmpeg").write_text("#!/bin/sh\ncat > /dev/null\nexit 3\n")
    with pytest.raises(InputError, match="ffmpeg ended with 3"):
        filming.write("mp4", "other", client)
    assert [path.name for path in folder.iterdir()] == ["lab.mp4"]


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg on this machine: apt-get install ffmpeg")
def test_a_film_holds_the_pictures_it_was_made_of(exports, folder):
    """By ffmpeg itself, asked for them again; the pictures get brighter one by one."""
    count = round(20 * 2e-3 * output.RATE / 0.25)
    shades = iter(np.linspace(20, 220, count))

    def render(height, width, **_):
        return np.full((height, width, 3), next(shades), np.uint8)

    assert exports.write("mp4", "lab", SimpleNamespace(get_render=render)).startswith("written: lab.mp4")
    raw = ["-f", "rawvideo", "-pix_fmt", "gray", "-"]
    film = subprocess.run(["ffmpeg", "-loglevel", "error", "-i", "lab.mp4", *raw], capture_output=True, check=True)
    pictures = np.frombuffer(film.stdout, np.uint8).reshape(-1, output.TALL, output.WIDE).mean(axis=(1, 2))
    assert len(pictures) == count
    assert np.all(np.diff(pictures) > 10)


def test_a_picture_needs_a_browser(exports):
    with pytest.raises(InputError, match="no browser"):
        exports.write("png", "lab")
