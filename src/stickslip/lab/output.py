"""What the lab writes: always into the folder it was started in, under a name without folders."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.engine.names import FORMULATIONS
from stickslip.errors import InputError, replacing, writing
from stickslip.lab.opening import MODELS
from stickslip.lab.session import Session
from stickslip.scene.files import Named, RunSettings, save_scene

READABLE = (".yaml", ".yml", ".h5", ".hdf5", *MODELS)
NAME = re.compile(r"\w[\w .+-]{0,80}")
WIDE, TALL = 1280, 720  # of pictures
PICTURES, RATE = 240, 30  # of a film at most, and a second
PATIENCE = 60.0  # for a picture from the browser   [s]


class Exports:
    """The files that a session may become."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session, self.folder = session, folder.resolve()
        film = ("mp4",) if shutil.which("ffmpeg") else ()
        self.kinds: tuple[str, ...] = ("html", "png", *film, "yaml", "h5")

    def readable(self) -> list[str]:
        """The files of the folder that the lab can open; none that a link leads out of it."""
        found = [path for path in sorted(self.folder.iterdir()) if path.suffix.lower() in READABLE and path.is_file()]
        return [path.name for path in found if path.resolve().parent == self.folder]

    def path(self, name: str, kind: str) -> Path:
        if not NAME.fullmatch(name) or kind not in self.kinds:
            raise InputError(f"lab: the name is {name!r}, expected letters, digits, spaces, dots, + and - only")
        path = self.folder / f"{name}.{kind}"
        if path.resolve().parent != self.folder:
            raise InputError(f"lab: {path.name!r} leads out of the folder, expected a file in it")
        return path

    def write(self, kind: str, name: str, client: Any = None) -> str:
        """Write one, and say so. Pictures are those that the browser of `client` shows."""
        path, session = self.path(name, kind), self.session
        if kind in ("png", "mp4") and client is None:
            raise InputError("lab: there is no browser to take the picture from, expected one")
        match kind:
            case "html":
                first, *others = session.runs()
                first.export(path, others)
            case "h5":
                session.runs()[0].save(path)
            case "yaml":
                save_scene(session.standing(), path, self.settings())
            case "png":
                self.picture(path, client)
            case "mp4":
                self.film(path, client)
        return f"written: {path.name}, {path.stat().st_size / 1000:.0f} kB"

    def settings(self) -> RunSettings:
        """How the scene runs here, as far as a file can say it."""
        settings = self.session.settings
        name, law = next(iter(settings.laws.items()))
        said = Named(name) if FORMULATIONS.get(name, lambda: None)() == law else None
        solver = Named(settings.solver) if isinstance(settings.solver, str) else None
        return RunSettings(duration=1.0, dt=settings.dt, friction=said, solver=solver, tol=settings.tol)

    def picture(self, path: Path, client: Any) -> None:
        from PIL import Image

        pixels = client.get_render(TALL, WIDE, transport_format="jpeg", timeout=PATIENCE)
        with replacing(path) as temporary:
            Image.fromarray(np.asarray(pixels)[..., :3]).save(temporary, format="png")

    def film(self, path: Path, client: Any) -> None:
        """The whole history, one picture after the other."""
        session = self.session
        begin, end = session.ask(lambda s: (s.first.time(0), s.first.time(len(s.first) - 1)))
        count = int(np.clip(round((end - begin) * RATE / session.settings.speed), 2, PICTURES))
        with replacing(path) as temporary, writing(path.name):
            raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDE}x{TALL}", "-r", str(RATE), "-i", "-"]
            command = ["ffmpeg", "-y", "-loglevel", "error", *raw, "-pix_fmt", "yuv420p", temporary]
            with subprocess.Popen(command, stdin=subprocess.PIPE) as film:
                assert film.stdin is not None
                for now in np.linspace(begin, end, count):
                    session.seek(float(now)).result(PATIENCE)
                    pixels = client.get_render(TALL, WIDE, timeout=PATIENCE)
                    film.stdin.write(np.ascontiguousarray(pixels[..., :3], np.uint8).tobytes())
            if film.returncode:
                raise RuntimeError(f"ffmpeg ended with {film.returncode}")
