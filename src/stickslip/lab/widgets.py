"""Pieces of the page that several of its tabs are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.scene.model import Floats
from stickslip.view.solids import Mesh

FOV = 0.75  # of cameras, which makes upright things look upright   [rad]
BACK = 1.75  # how much farther they stand back for it, compared with viser's own


class Batch:
    """Instances of one unit mesh under one handle, with room that doubles."""

    def __init__(self, server: Any, name: str, mesh: Mesh, prepare: Callable[[Any], None] | None = None, **look: Any):
        self.server, self.name, self.mesh, self.prepare, self.look = server, name, mesh, prepare, look
        self.room, self.count = 0, 0
        self.handle: Any = None

    def show(self, position: Floats, quaternion: Floats, scale: Floats | None = None, colour: Any = None) -> None:
        """These instances and no others; scales and colours may be left as they were where the number stays."""
        n = len(position)
        if n == 0 and self.count == 0:
            return
        if n > self.room or self.handle is None:
            self._make(max(16, 1 << (n - 1).bit_length()))
        changed = n != self.count
        self.count = n
        handle = self.handle
        handle.batched_positions = self._padded(position, (0.0, 0.0, 0.0))
        handle.batched_wxyzs = self._padded(quaternion, (1.0, 0.0, 0.0, 0.0))
        if scale is not None or changed:
            handle.batched_scales = self._padded(np.ones((n, 3)) if scale is None else scale, (1e-9, 1e-9, 1e-9))
        if colour is not None:
            handle.batched_colors = self._padded(colour, (0, 0, 0)).astype(np.uint8)

    def _padded(self, rows: Any, filler: tuple[float, ...]) -> Any:
        out = np.tile(np.array(filler, np.float32), (self.room, 1))
        out[: len(rows)] = rows
        return out

    def _make(self, room: int) -> None:
        self.room = room
        none = np.zeros((room, 3), np.float32)
        self.handle = self.server.scene.add_batched_meshes_simple(
            self.name, self.mesh.vertices, self.mesh.faces,
            batched_wxyzs=np.tile(np.array([1.0, 0, 0, 0], np.float32), (room, 1)), batched_positions=none,
            batched_scales=none + 1e-9, batched_colors=none.astype(np.uint8), lod="off", cast_shadow=False,
            receive_shadow=False, **self.look,
        )  # fmt: skip
        if self.prepare is not None:
            self.prepare(self.handle)

    def remove(self) -> None:
        if self.handle is not None:
            self.handle.remove()
        self.room, self.count, self.handle = 0, 0, None


class Clickable:
    """HTML whose clicks are reported: at which shares of its width and height."""

    def __init__(self, server: Any, label: str, clicked: Callable[[float, float], Any]) -> None:
        gui = server.gui
        self.field = gui.add_text(label, "")
        name = self.field._impl.uuid
        gui.add_html(
            f'<style>div:has(> div > div > p > label[for="{name}"]), div:has(> div > p > label[for="{name}"])'
            "{position:absolute!important;opacity:0;height:0;overflow:hidden;pointer-events:none}</style>"
        )
        self.handle = gui.add_html("")
        self.script = (
            "var b=this.getBoundingClientRect(),"
            f"i=document.querySelector('label[for=\"{name}\"]').closest('p').parentElement.parentElement.querySelector('input');"
            "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype,'value').set.call(i,"
            "[(event.clientX-b.left)/b.width,(event.clientY-b.top)/b.height,Date.now()].join(' '));"
            "i.dispatchEvent(new Event('input',{bubbles:true}))"
        )

        @self.field.on_update
        def _(event: Any) -> None:
            if event.client is not None:
                across, down = (float(word) for word in self.field.value.split()[:2])
                clicked(across, down)


def on_change(control: Any, act: Callable[[Any], Any]) -> None:
    """Have a person's change of a control do something; what is set from here does nothing."""

    @control.on_update
    def _(event: Any) -> None:
        if event.client is not None:
            act(control.value)


def aim_cameras(server: Any, at: Floats, eye: Floats) -> None:
    """Those of all tabs, and of tabs that will be opened; upright."""
    first, eye = server.initial_camera, at + BACK * (eye - at)
    first.position, first.look_at, first.fov = tuple(eye), tuple(at), FOV
    for client in server.get_clients().values():
        if client.camera._state.update_timestamp == 0.0:
            continue  # it has not said yet that it is there, and begins with the first one
        with client.atomic():
            client.camera.up_direction, client.camera.fov = (0.0, 0.0, 1.0), FOV
            client.camera.position, client.camera.look_at = tuple(eye), tuple(at)
