"""What the lab costs: a long run opened from its file, and a frame of a thousand bodies.

    python benchmarks/lab.py

Processor time of this process (`time.process_time`), so that a busy machine does not matter; that of the browser is its
own. The second table says what a frame costs beside the step it shows.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np

import stickslip as ss
from stickslip.lab.session import Settings

STEPS, BODIES, FRAMES = 100_000, 1000, 60


def long_run(path: str) -> None:
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.4, mass=1.0, position=(0, 0, 0.2), velocity=(2, 0, 0))
    ss.simulate(scene, STEPS * 1e-3, 1e-3, path=path, progress=False)


def heap() -> ss.Scene:
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    for i in range(BODIES):
        x, y, z = i % 10, i // 10 % 10, i // 100
        jitter = 0.004 * np.sin([1.0 + i, 2.0 + i])
        scene.add_sphere(radius=0.05, mass=0.1, position=(0.11 * x + jitter[0], 0.11 * y + jitter[1], 0.06 + 0.11 * z))
    return scene


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.h5")
        long_run(path)
        size = os.path.getsize(path) / 1e6
        begun, clock = time.process_time(), time.perf_counter()
        with ss.view(path, browser=False, keep=True) as lab:
            lab.session.ask(lambda s: None)
            opened = time.process_time() - begun, time.perf_counter() - clock
            begun = time.process_time()
            for share in np.linspace(0, 1, FRAMES):
                lab.session.seek(share * STEPS * 1e-3).result(60)
            sought = (time.process_time() - begun) / FRAMES
        print(
            f"a run of {STEPS} steps, {size:.0f} MB: open in {opened[0]:.2f} s of processor time, {opened[1]:.2f} s by"
        )
        print(f"the clock; a seek takes {1e3 * sought:.1f} ms")
    with ss.view(heap(), browser=False, keep=True, settings=Settings(dt=5e-3)) as lab:
        session, page = lab.session, lab.page
        session.step(40).result(300)
        parts = {"step": lambda: session.tracks[0].step(), "show": lambda: page.show(session.frame)}
        for name, part in parts.items():
            begun = time.process_time()
            session.ask(lambda s, part=part: [part() for _ in range(FRAMES)], 600)
            each = 1e3 * (time.process_time() - begun) / FRAMES
            print(f"{BODIES} bodies, {len(session.frame.contacts)} contacts: {name} {each:.2f} ms")


if __name__ == "__main__":
    main()
