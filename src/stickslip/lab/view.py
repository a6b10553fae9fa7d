"""`view`: open the lab in a browser.

lab = ss.view(scene)                    or a run, several runs of one scene, or a file of any of these
lab.wait()                              until its last tab is closed; in a notebook, `lab` alone shows it
"""

from __future__ import annotations

import contextlib
import html
import io
import secrets
import socket
import threading
import webbrowser
from pathlib import Path
from typing import Any

from stickslip.checks import Refused, checked, instance, not_negative, text, truth, wholes
from stickslip.errors import extra
from stickslip.lab.gate import Gate, guarding
from stickslip.lab.opening import World, opened
from stickslip.lab.session import Session, Settings

LOCAL, PORT = "127.0.0.1", 8080
PATIENCE = 30.0  # for threads to end   [s]
GRACE = 10.0  # seconds after which a lab without a tab ends: a reload is quicker


class Lab(contextlib.AbstractContextManager["Lab"]):
    """A lab that is open. It ends with `close()`, or when its last tab is closed."""

    def __init__(self, session: Session, server: Any, address: str, page: Any, keep: bool) -> None:
        self.session, self.server, self.address, self.page = session, server, address, page
        self._closed, self._ending = threading.Event(), threading.Lock()
        self._timer: threading.Timer | None = None
        if not keep:
            server.on_client_connect(lambda client: self._stay())
            server.on_client_disconnect(lambda client: self._leave())

    @checked(seconds=not_negative)
    def wait(self, seconds: float | None = None) -> bool:
        """Until it is closed; False where the time is over before."""
        return self._closed.wait(seconds)

    def close(self) -> None:
        """End the server and the simulation."""
        with self._ending:
            if self._closed.is_set():
                return
            self._stay()
            self.session.listeners.clear()
            self.session.close()
            self.page.jam.close()
            with contextlib.redirect_stdout(io.StringIO()):
                self.server.stop()
            self.server._websock_server._server_thread.join(PATIENCE)  # viser waits one second only
            self._closed.set()

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _leave(self) -> None:
        if not self.server.get_clients():
            self.session.pause()
            self._timer = threading.Timer(GRACE, self._end_if_left)
            self._timer.daemon = True
            self._timer.start()

    def _end_if_left(self) -> None:
        if not self.server.get_clients():
            threading.Thread(target=self.close, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{html.escape(self.address)}" width="100%" height="640" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"Lab({self.address}{', closed' if self._closed.is_set() else ''})"


def own_address(owner: str, field: str, value: Any) -> str:
    """A kind of argument: a name or address of this machine."""
    try:
        socket.getaddrinfo(text(owner, field, value) or "-", None)
    except (OSError, UnicodeError):
        raise Refused(owner, field, value, "a name or address of this machine, such as 127.0.0.1") from None
    return str(value)


@checked(host=own_address, port=wholes(1, 65535), browser=truth, keep=truth, settings=instance(Settings))
def view(
    world: World,
    *,
    host: str = LOCAL,
    port: int = PORT,
    browser: bool = True,
    keep: bool = False,
    settings: Settings | None = None,
) -> Lab:
    """Open the lab at localhost, in the browser, and return it at once.

    world        a Scene, a model of `load_model`, a Trajectory, several of them of one scene (the first solid, the
                 others ghosts), or a file: a scene (.yaml), a run (.h5), or a robot (.urdf, .xml)
    host         127.0.0.1 is this machine alone; another one opens it to other machines, for those who have the
                 token of its address
    port         the next that is free where it is taken
    browser      whether to open a tab
    keep         whether it stays when its last tab is closed; otherwise it ends then
    settings     of a scene or model; those of its file where None
    """
    viser = extra("view", "viser", "viser", "lab")
    from stickslip.lab.output import Exports
    from stickslip.lab.page import Page

    shown, own, name = opened(world)
    token = None if host == LOCAL else secrets.token_urlsafe(24)
    session = Session(shown, settings or own)
    try:
        with guarding(Gate(token)), contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(host=host, port=port, label=f"stickslip {name}".strip(), verbose=False)
        page = Page(session, server, Exports(session, Path.cwd()))
    except BaseException:
        session.close()
        raise
    address = f"http://{host}:{server.get_port()}/" + ("" if token is None else f"?token={token}")
    lab = Lab(session, server, address, page, keep)
    if browser:
        webbrowser.open(address)
    return lab
