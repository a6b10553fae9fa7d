"""Files that are damaged, lie about themselves or point elsewhere are refused in a sentence; none reads as if good."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import recorder
from stickslip.engine.recorder import FORMAT_VERSION
from stickslip.engine.unclosed import MARK, SIZE, lookup3, unmarked

DT = 1e-3
FLIPS = 1100


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write():
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), velocity=(1, 0, 0), name="crate")
    arm = scene.add_box(size=0.1, mass=0.3, position=(0.5, 0, 0.5), name="arm")
    scene.add_hinge(arm, position=(0.4, 0, 0.5), axis=(0, 1, 0), limits=(-1.0, 1.0))
    ss.simulate(scene, 0.04, DT, path="run.h5").close()


def everything(path):
    """All that a file says, by every way to ask for it."""
    with ss.Trajectory.load(path) as run:
        record, header = run._record, run.header
        found = {name: record.read(name).tobytes() for name in record.columns if name != "seconds"}
        found |= {name: np.asarray(getattr(header, name)).tobytes() for name in header.__dataclass_fields__}
        checkpoint = record.checkpoint()
        found |= {name: column.tobytes() for name, column in checkpoint.contacts.items()}
        found["joint"], found["end"] = checkpoint.joint.tobytes(), (len(run), run.finished)
        _ = repr(run), run.energy, run.contacts(), run.events, run.joint(0), run.method, run.state(-1)
        return found


def refused(path):
    """The sentence by which a file is refused."""
    with pytest.raises(ss.FileError) as caught:
        everything(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_bit_that_flips_is_noticed_or_does_not_matter(share):
    """Half of the places are among bytes that are not zero, where something is."""
    write()
    whole, good = Path("run.h5").read_bytes(), everything("run.h5")
    used, random = np.flatnonzero(np.frombuffer(whole, np.uint8)), np.random.default_rng(18)
    noticed = 0
    for number in share(FLIPS):
        place = int(random.choice(used)) if number % 2 else int(random.integers(len(whole)))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        Path("flipped.h5").write_bytes(damaged)
        try:
            assert everything("flipped.h5") == good, f"byte {place} changed what is read, and nothing was said"
        except ss.FileError as error:
            assert "\n" not in str(error)  # noqa: PT017
            noticed += 1
    assert noticed > len(share(FLIPS)) // 4


def unclosed(end=0.02):
    """A run that ends in the middle, as one that is killed, and leaves the file open."""
    scene = ss.Scene()
    scene.add_plane(friction=0.5)
    scene.add_box(size=0.2, mass=1.0, position=(0, 0, 0.1), velocity=(1, 0, 0), name="crate")
    scene.apply("crate", lambda t, state: ((0, 0, 0), (0, 0, 0)) if t < end else os._exit(0))
    recorder.INTERVAL = 0.0
    ss.simulate(scene, 1.0, DT, path="run.h5", progress=False)


def flip_and_read(number):
    """What is read of the file of a killed run with a bit flipped is what it was, or is refused; where HDF5 would wait
    for what is damaged, the alarm ends the process."""
    whole, good = Path("run.h5").read_bytes(), read_run("run.h5")
    used, random = np.flatnonzero(np.frombuffer(whole, np.uint8)), np.random.default_rng(19)
    metadata = used[used < 6000]
    for i in range(number):
        damaged = bytearray(whole)
        damaged[int(random.choice(metadata if i % 2 else used))] ^= 1 << int(random.integers(8))
        Path("flipped.h5").write_bytes(damaged)
        signal.alarm(10)
        with contextlib.suppress(ss.FileError):
            assert read_run("flipped.h5") == good
        signal.alarm(0)
    print("all read or refused")


def read_run(path):
    with ss.Trajectory.load(path) as run:
        return {name: run._record.read(name).tobytes() for name in run._record.columns}


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="this system has no alarms")
def test_a_damaged_file_of_a_killed_run_is_refused_at_once(share):
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_damaged_files as test; "
    for call in ("test.unclosed()", f"test.flip_and_read({len(share(1100))})"):
        ended = subprocess.run([sys.executable, "-c", start + call], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "all read or refused\n"
    with ss.Trajectory.load("run.h5") as run:
        assert len(run) == 20  # the force is asked for in the middle of a step
        assert not run.finished


def test_the_checksum_of_superblocks_is_that_of_hdf5():
    with h5py.File("new.h5", "w", libver="latest") as file:
        file["x"] = 1.0
    superblock = Path("new.h5").read_bytes()[:SIZE]
    assert superblock[-4:] == lookup3(superblock[:-4]).to_bytes(4, "little")
    marked = superblock[:MARK] + b"\5" + superblock[MARK + 1 : -4]
    assert unmarked(marked + lookup3(marked).to_bytes(4, "little")) == superblock
    assert unmarked(marked + b"1234") == marked + b"1234"  # damaged, and left to HDF5


def test_texts_are_where_hdf5_has_checksums():
    """Not in its heap of texts of any length, where a flipped bit makes it search for ever."""
    write()
    with h5py.File("run.h5") as file:
        kinds = {file.attrs.get_id(name).dtype.kind for name in file.attrs}
        assert kinds <= set("Siufb")
        assert file["writes/checksums"].attrs.get_id("columns").dtype.kind == "S"


def test_a_file_cut_short_anywhere_is_noticed(share):
    write()
    whole = Path("run.h5").read_bytes()
    for length in np.linspace(0, len(whole) - 1, len(share(220))).astype(int):
        Path("cut.h5").write_bytes(whole[:length])
        refused("cut.h5")


LIES = {
    "header/mass": lambda file: file["header/mass"].__setitem__(1, 5.0),
    "header/kind": lambda file: replaced(file, "header/kind", np.array([7, 0, 1, 2])),
    "header/shape_body": lambda file: replaced(file, "header/shape_body", np.array([0, 99, 1])),
    "header/names": lambda file: replaced(file, "header/names", np.array([b"one"])),
    "steps": lambda file: file["steps"].__setitem__((), 10**9),
    "steps fewer": lambda file: file["steps"].__setitem__((), 7),
    "steps negative": lambda file: file["steps"].__setitem__((), -1),
    "finished": lambda file: file["finished"].__setitem__((), 5),
    "writes": lambda file: file["writes/counts"].__setitem__((0, 0), 3),
    "checksums": lambda file: file["writes/checksums"].__setitem__((1, 0), 3),
    "no checksums": lambda file: file.__delitem__("writes"),
    "a row": lambda file: file["position"].__setitem__((3, 1, 0), 9.0),
    "status": lambda file: file["status"].__setitem__(3, 99),
    "contact_start": lambda file: file["contact_start"].__setitem__(3, 10**15),
    "memory": lambda file: file["memory/impulse"].__setitem__((-1, 0), 9.0),
    "version": lambda file: file.attrs.__setitem__("format_version", FORMAT_VERSION + 1),
    "dt": lambda file: file.attrs.__setitem__("dt", "fast"),
    "world": lambda file: file.attrs.__setitem__("world", "nowhere"),
    "huge": lambda file: file["residual"].resize(10**12, axis=0),
    "text": lambda file: replaced(file, "residual", np.array([b"x"] * 40)),
    "a group": lambda file: (file.__delitem__("time"), file.create_group("time")),
}


def replaced(file, name, value):
    del file[name]
    file[name] = value


@pytest.mark.parametrize("lie", LIES)
def test_a_file_that_lies_is_refused(lie):
    write()
    with h5py.File("run.h5", "r+") as file:
        LIES[lie](file)
    refused("run.h5")


@pytest.mark.parametrize("name", ["time", "position", "header/mass", "writes/counts", "memory/key", "contacts/gap"])
@pytest.mark.parametrize("link", ["soft", "external", "raw", "virtual"])
def test_links_to_other_places_are_refused(name, link):
    write()
    Path("secret").write_bytes(bytes(10**6))
    with h5py.File("run.h5", "r+") as file, h5py.File("other.h5", "w") as other:
        found = file[name]
        shape, kind = found.shape, found.dtype
        other["x"] = found[()]
        file.move(name, "elsewhere")
        if link == "soft":
            file[name] = h5py.SoftLink("/elsewhere")
        elif link == "external":
            file[name] = h5py.ExternalLink("other.h5", "/x")
        elif link == "raw":
            file.create_dataset(name, shape, kind, external=[("secret", 0, 10**6)])
        else:
            source = h5py.VirtualSource("other.h5", "x", shape=shape)
            layout = h5py.VirtualLayout(shape, kind)
            layout[...] = source
            file.create_virtual_dataset(name, layout)
    assert "is a link to something else" in refused("run.h5")


@pytest.mark.parametrize("link", ["soft", "external", "raw", "virtual"])
def test_problems_with_links_to_other_places_are_refused(link):
    Path("secret").write_bytes(bytes(10**6))
    with h5py.File("problem.h5", "w") as file, h5py.File("other.h5", "w") as other:
        file["lcp/M"], other["q"], file["q"] = np.eye(2), [1.0, 2.0], [1.0, 2.0]
        if link == "soft":
            file["lcp/q"] = h5py.SoftLink("/q")
        elif link == "external":
            file["lcp/q"] = h5py.ExternalLink("other.h5", "/q")
        elif link == "raw":
            file.create_dataset("lcp/q", (2,), "f8", external=[("secret", 0, 16)])
        else:
            layout = h5py.VirtualLayout((2,), "f8")
            layout[:] = h5py.VirtualSource("other.h5", "q", shape=(2,))
            file.create_virtual_dataset("lcp/q", layout)
    with pytest.raises(ss.FileError, match="is a link to something else"):
        ss.load("problem.h5")


SIZES = [0, -1, 10**9, 2**31, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("name", ["m", "n", "nz", "nzmax"])
@pytest.mark.parametrize("value", SIZES)
def test_hostile_sizes_of_a_sparse_matrix_are_refused_before_anything_is_made(name, value):
    sparse(**{name: value})
    if name == "nzmax" or (name, value) in (("nz", 0), ("nz", -1)):
        return  # which nobody reads; a matrix of zeros, and one by columns
    with pytest.raises(ss.FileError) as caught:
        ss.load("problem.h5")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["p", "i"])
@pytest.mark.parametrize("value", [-1, 4, 10**9, 2**62])
def test_hostile_indices_of_a_sparse_matrix_are_refused(name, value):
    sparse(**{name: np.array([0, 1, value, 3][: 4 if name == "p" else 3])})
    with pytest.raises(ss.FileError):
        ss.load("problem.h5")


def sparse(**given):
    """An LCP of three rows, whose matrix says something else of itself."""
    matrix = {"m": 3, "n": 3, "nz": -2, "nzmax": 3, "p": np.arange(4), "i": np.arange(3), "x": np.ones(3)} | given
    with h5py.File("problem.h5", "w") as file:
        file["lcp/q"] = [-1.0, -1.0, -1.0]
        for name, value in matrix.items():
            file[f"lcp/M/{name}"] = value


HOSTILE = {
    "billion laughs": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(f"{n}: &{n} [{','.join([f'*{m}'] * 9)}]" for m, n in zip("abcdefgh", "bcdefghi", strict=True)),
    "deep": "[" * 5000,
    "deep mapping": "{a: " * 5000,
    "an object": "bodies: !!python/object/apply:os.system ['true']",
    "a cycle": "bodies: &a [*a]",
    "an alias of nothing": "bodies: *absent",
    "two documents": "bodies: []\n---\nbodies: []",
    "a key twice": "gravity: [0, 0, -1]\ngravity: [0, 0, -2]\nbodies: []",
    "a number beyond": "gravity: [0, 0, 1e999]\nbodies: []",
    "a long number": f"gravity: [0, 0, {'9' * 5000}]\nbodies: []",
    "a null byte": "bodies: []\0",
    "a tab": "bodies:\n\t- {shape: plane}",
    "a set": "bodies: !!set {a, b}",
    "binary": "bodies: !!binary aGVsbG8=",
    "a date": "gravity: [2020-01-01, 0, 0]\nbodies: []",
    "nothing": "",
    "a list": "- 1\n- 2",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_yaml_is_refused_in_a_sentence(what):
    Path("scene.yaml").write_text(HOSTILE[what])
    with pytest.raises(ss.InputError) as caught:
        ss.load_scene("scene.yaml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert re.match(r"scene\.yaml", str(caught.value))


def test_an_older_file_opens_as_it_was():
    """Without what came with version 4 it reads the same, and says that it cannot go on."""
    write()
    good = everything("run.h5")
    with h5py.File("run.h5", "r+") as file:
        file.attrs["format_version"] = 3
        for name in ("writes", "memory", "header/scene"):
            del file[name]
        for name in ("duration", "scheme", "effort", "keep_going", "watch", "digest", "header_checksum"):
            del file.attrs[name]
    with ss.Trajectory.load("run.h5") as run:
        assert all(run._record.read(name).tobytes() == good[name] for name in run._record.columns if name != "seconds")
    with pytest.raises(ss.FileError, match="this run cannot go on, it has no checkpoint"):
        ss.resume("run.h5", 0.1)
    assert os.listdir() == ["run.h5"]
