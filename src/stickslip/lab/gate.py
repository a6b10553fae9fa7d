"""Who may speak to the lab's server.

The server listens on this machine alone. A page of another site that the same browser shows could still send requests
here, so each must be addressed to this host (no rebound names), and one that says where it comes from must come from
here. Opened to other machines (`--host`), every request needs the token too: the address that the lab prints has it,
and the browser keeps it as a cookie.

viser makes its server by `websockets.asyncio.server.serve` and has no hook for this; `guarding` wraps that call while
viser makes it, and insists that it was made.
"""

from __future__ import annotations

import contextlib
import http
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

COOKIE = "stickslip"
LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Gate:
    token: str | None  # None: this machine only

    def refusal(self, path: str, headers: Any) -> tuple[http.HTTPStatus, str, dict[str, str]] | None:
        """What to answer instead of letting a request in; None lets it in."""
        host, origin = headers.get("Host", ""), headers.get("Origin")
        if self.token is None and host.rpartition(":")[0] not in LOCAL:
            return http.HTTPStatus.FORBIDDEN, f"The host is {host!r}, expected this machine.", {}
        if origin is not None and urlsplit(origin).netloc != host:
            return http.HTTPStatus.FORBIDDEN, f"The origin is {origin!r}, expected this server.", {}
        if self.token is None or secrets.compare_digest(cookie_of(headers).encode(), self.token.encode()):
            return None
        address = urlsplit(path)
        given = parse_qs(address.query).get("token", [""])[0]
        if secrets.compare_digest(given.encode(), self.token.encode()):
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            return http.HTTPStatus.FOUND, "", {"Location": "/", "Set-Cookie": cookie}
        return http.HTTPStatus.FORBIDDEN, "The token is missing, expected the address that the lab printed.", {}


def cookie_of(headers: Any) -> str:
    try:
        found = SimpleCookie(headers.get("Cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


@contextlib.contextmanager
def guarding(gate: Gate) -> Iterator[None]:
    """A server that is made inside asks this gate first."""
    import websockets.asyncio.server as server
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    serve, made = server.serve, []

    def guarded(*args: Any, process_request: Any, **settings: Any) -> Any:
        made.append(True)

        def check(connection: Any, request: Any) -> Any:
            refused = gate.refusal(request.path, request.headers)
            if refused is None:
                return process_request(connection, request)
            status, words, headers = refused
            body = words.encode()
            told = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), **headers}
            return Response(status.value, status.phrase, Headers(**told), body)

        return serve(*args, process_request=check, **settings)

    server.serve = guarded  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]
    if not made:
        raise RuntimeError("lab: viser made its server in another way, expected websockets.asyncio.server.serve")
