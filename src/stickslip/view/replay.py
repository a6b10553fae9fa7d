"""A run as one HTML file: bodies and contact forces in space, a scrub bar, and strips over time.

The file holds a page (replay.html, plain WebGL) and the numbers it shows, compressed; it loads nothing, so it opens
from a folder, a mail or a lecture without a network. Of a long run it shows some instants, as many as BUDGET allows,
and of each the strongest contacts; the strips have every step, gathered into bins of which each shows its worst. The
page says what it leaves out.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
import os
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.engine.recorder import MODEL, SCENE
from stickslip.engine.trajectory import ContactTable, Trajectory
from stickslip.errors import InputError, replacing
from stickslip.problems.contact_states import State
from stickslip.scene.model import Floats, Integers, Kind
from stickslip.view.figures import COLOUR, NAME
from stickslip.view.solids import SceneSolids, Solids
from stickslip.view.trajectories import PALETTE

BUDGET = 24_000_000  # bytes of poses and contacts, before they are compressed
INSTANTS = 1500  # shown at most: half a minute at 50 a second
CONTACTS = 2000  # of an instant at most
BINS = 1200  # of the strips
POSE_BYTES, CONTACT_BYTES = 28, 96  # of a body, of a contact

GOOD, INEXACT, FAILED = range(3)  # of a bin: what its worst step is


def write_replay(run: Trajectory, path: str | os.PathLike[str], others: Sequence[Trajectory]) -> None:
    """Write the page; `others` are runs of the same bodies, shown as ghosts beside the first."""
    name = os.fspath(path)
    if not name.endswith(".html"):
        raise InputError(f"export: the path is {name!r}, expected a name that ends with .html")
    for each in (run, *others):
        if each.header.names != run.header.names or each.header.world != run.header.world:
            raise InputError("export: the runs have different bodies, expected runs of one scene or model")
    solids = solids_of("export", run)
    page = resources.files("stickslip.view").joinpath("replay.html").read_text(encoding="utf-8")
    numbers = base64.b64encode(gzip.compress(packed(contents(run, others, solids)), 6)).decode()
    free = [name for name, kind in zip(solids.names, solids.kind, strict=True) if kind == Kind.FREE]
    who = run.header.name or (free[0] if len(free) == 1 else f"{len(free)} bodies")
    title = f"{who}, {run.time[-1]:.4g} s"
    text = page.replace("{{title}}", html.escape(title)).replace("{{numbers}}", numbers)
    with replacing(path) as temporary, open(temporary, "x", encoding="utf-8") as file:
        file.write(text)


def solids_of(owner: str, run: Trajectory) -> Solids:
    """What the bodies of a run look like."""
    header, system = run.header, getattr(run, "system", None)
    if header.world == SCENE:
        return SceneSolids(header)
    if header.world != MODEL:
        raise InputError(
            f"{owner}: this is a run of the system {header.name!r}, which has no shapes, expected a run of a scene or "
            f"of a model of load_model"
        )
    if system is None:
        raise InputError(
            f"{owner}: this is a loaded run of the model {header.name!r}, whose shapes are in its own file, expected "
            f"`run.system = load_model(...)`"
        )
    from stickslip.view.model_solids import ModelSolids

    solids = ModelSolids(system)
    if solids.names[: len(header.names)] != header.names or solids.model.nq != header.coordinates:
        raise InputError(f"{owner}: {system!r} is not the model of this run, expected {header.name!r}")
    return solids


# what the page shows


def contents(run: Trajectory, others: Sequence[Trajectory], solids: Solids) -> dict[str, Any]:
    """All of it, as plain values and arrays."""
    instants = chosen_instants(run, 1 + len(others))
    states = [solids.state(run, int(i)) for i in instants]
    view = solids.view(states[0], states[-1])
    parts = solids.parts(view)
    time = run.time[instants]
    return {
        "about": about(run, instants),
        "names": solids.names,
        "kind": solids.kind.astype(np.uint8),
        "tint": solids.tints / 255,
        "planar": solids.planar,
        "view": {"centre": view.centre.tolist(), "radius": view.radius},
        "meshes": {
            name: {"vertices": mesh.vertices, "faces": mesh.faces.astype(np.uint32)}
            for name, mesh in solids.meshes.items()
        },
        "parts": [
            {"mesh": mesh, "body": int(body), "position": place.tolist(), "quaternion": turn.tolist()}
            | {"scale": scale.tolist()}
            for mesh, _, body, place, turn, scale in zip(*parts, strict=True)
        ],
        "states": [{"name": NAME[state], "colour": COLOUR[state]} for state in State],
        "palette": PALETTE,
        "time": time,
        "poses": poses(states),
        "contacts": contacts(run, instants),
        "ghosts": [ghost(other, time, solids) for other in others],
        "strips": strips(run, solids),
    }


def about(run: Trajectory, instants: Integers) -> dict[str, Any]:
    header = run.header
    shown = "every step" if len(instants) == len(run) + 1 else f"{len(instants)} of {len(run) + 1} instants"
    most = int(run.contact_count.max(initial=0))
    crowd = f", the {CONTACTS} strongest of up to {most} contacts" if most > CONTACTS else ""
    return {
        "law": short(header.formulation),
        "solver": header.solver,
        "tol": header.tol,
        "dt": None if math.isnan(header.dt) else header.dt,
        "steps": len(run),
        "accuracy": run.accuracy,
        "shown": shown + crowd,
        "version": header.version,
    }


def short(formulation: str) -> str:
    """The name of a formulation, without its settings."""
    return formulation.partition("(")[0]


def chosen_instants(run: Trajectory, runs: int) -> Integers:
    """As many as BUDGET allows, evenly over the steps, the first and the last among them."""
    crowd = min(CONTACTS, float(np.mean(run.contact_count)) if len(run) else 0.0)
    each = POSE_BYTES * len(run.header.names) * runs + CONTACT_BYTES * crowd
    count = int(np.clip(BUDGET / max(each, 1.0), 2, min(INSTANTS, len(run) + 1)))
    return np.unique(np.linspace(0, len(run), max(count, 1)).round().astype(np.int64))


def poses(states: Sequence[Any]) -> Floats:
    """(k, nb, 7) positions and quaternions."""
    return np.array([np.hstack([state.position, state.quaternion]) for state in states])


def ghost(run: Trajectory, time: Floats, solids: Solids) -> dict[str, Any]:
    """Another run at the instants nearest to these times."""
    own = run.time
    nearest = np.clip(np.searchsorted(own, time - 0.5 * np.median(np.diff(own))), 0, len(run))
    return {
        "law": short(run.header.formulation),
        "poses": poses([solids.state(run, int(i)) for i in nearest]),
        "strips": strips(run, solids),
    }


def contacts(run: Trajectory, instants: Integers) -> dict[str, Any]:
    """Those of the step that led to each instant, in columns; forces are means over the step."""
    tables = [strongest(run.contacts(step=int(i) - 1)) if i else run.contacts(step=slice(0, 0)) for i in instants]
    start = np.cumsum([0, *map(len, tables)])
    lasted = np.diff(run.time)[np.maximum(instants - 1, 0)] if len(run) else np.ones(len(instants))
    h = np.repeat(lasted, np.diff(start))

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(table, name) for table in tables])

    found = {name: column(name) for name in ("point", "normal", "tangent", "velocity", "gap", "friction", "spin")}
    found |= {"force": column("impulse") / h[:, None], "moment": column("moment") / h}
    found |= {"start": start.astype(np.int32), "state": column("state").astype(np.uint8)}
    return found | {name: column(name).astype(np.int32) for name in ("body_a", "body_b")}


def strongest(table: ContactTable) -> ContactTable:
    order = np.argsort(-np.linalg.norm(table.impulse, axis=1), kind="stable")
    kept: Any = np.sort(order[:CONTACTS])
    return table[kept]


# strips


def strips(run: Trajectory, solids: Solids, bins: int = BINS) -> dict[str, Any]:
    """Over the steps, gathered into bins: the largest residual, how its worst step ended, the energy at its end and the
    contacts that are open, stick and slip then."""
    first, last = bins_of(len(run), bins)
    kinetic, potential = run.kinetic[last + 1], solids.potentials(run, last + 1)
    lowest = np.min(potential[np.isfinite(potential)], initial=math.inf)
    return {
        "time": run.time[last + 1],
        "residual": np.maximum.reduceat(run.residual, first),
        "mark": np.maximum.reduceat(marks(run), first),
        "kinetic": kinetic,
        "potential": potential - (lowest if math.isfinite(lowest) else 0.0),
        "counts": counts(run)[last],
    }


def bins_of(steps: int, bins: int = BINS) -> tuple[Integers, Integers]:
    """The first and the last step of each bin."""
    edges = np.unique(np.linspace(0, steps, min(bins, steps) + 1).round().astype(np.int64))
    return edges[:-1], edges[1:] - 1


def marks(run: Trajectory) -> NDArray[np.uint8]:
    """What each step is: GOOD, INEXACT or FAILED."""
    found = np.full(len(run), GOOD, np.uint8)
    found[run.inexact], found[run.failures] = INEXACT, FAILED
    return found


def counts(run: Trajectory) -> Integers:
    """(n, 3) contacts that are open, stick and slip in each step."""
    state = run._record.read("contacts/state")
    start = run._record.read("contact_start")[: len(run) + 1]
    sums = np.zeros((len(state) + 1, len(State)), np.int32)
    for kind in State:
        np.cumsum(state == kind, out=sums[1:, kind])
    return sums[start[1:]] - sums[start[:-1]]


# the bytes of it


def packed(value: Any) -> bytes:
    """Plain values and arrays as bytes: the length of a JSON text, the text, and the arrays, which it says where to
    find, float64 as float32. Numbers that are not finite become null in the text."""
    blocks: list[bytes] = []
    room = 0

    def plain(part: Any) -> Any:
        nonlocal room
        if isinstance(part, np.ndarray):
            array = np.ascontiguousarray(part.astype(np.float32) if part.dtype == np.float64 else part)
            block = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
            block += bytes(-len(block) % 4)
            blocks.append(block)
            room += len(block)
            return {"array": array.dtype.name, "at": room - len(block), "shape": list(array.shape)}
        if isinstance(part, dict):
            return {key: plain(each) for key, each in part.items()}
        if isinstance(part, list | tuple):
            return [plain(each) for each in part]
        return None if isinstance(part, float) and not math.isfinite(part) else part

    text = json.dumps(plain(value)).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + b"".join(blocks)
