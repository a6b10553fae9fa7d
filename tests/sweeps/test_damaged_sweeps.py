"""The file of a sweep: what is damaged, lies or points elsewhere is refused, or does not matter."""

import shutil

import h5py
import numpy as np
import pytest

import stickslip as ss


def distance(speed, friction):
    return {"distance": speed**2 / (2 * 9.81 * friction), "word": "slides"}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = ss.sweep(distance, {"speed": [1.0, 2.0, 3.0], "friction": [0.1, 0.2]}, out="sweep.h5", progress=False)
    return made, tmp_path / "sweep.h5"


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in ("speed", "friction", "distance", "word"))


def test_a_flipped_bit_is_refused_or_does_not_matter(file, share):
    made, path = file
    good = path.read_bytes()
    rng = np.random.default_rng(5)
    for _ in share(660):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        try:
            read = ss.Sweep.load(path)
        except ss.InputError:
            continue
        kept = np.isin(np.arange(len(made)), read.done)
        assert all(np.array_equal(read[name][kept], made[name][kept]) for name in read.measured)
        assert all(np.array_equal(read[name], made[name]) for name in read.parameters)


@pytest.mark.parametrize("row", range(6))
def test_every_number_is_held_against_its_checksum(file, row):
    _, path = file
    with h5py.File(path, "r+") as opened:
        opened["measured/distance"][row] += 1e-9
    with pytest.raises(ss.InputError, match=f"run {row} differs from its checksum"):
        ss.Sweep.load(path)


def lying(change):
    def damage(path):
        with h5py.File(path, "r+") as file:
            change(file)

    return damage


def shorter(file):
    del file["seconds"]
    file["seconds"] = np.zeros(3)


def linked(kind):
    def change(file):
        del file["measured/distance"]
        file["measured/distance"] = kind

    return change


def huge(file):
    del file["measured/distance"]
    file["measured"].create_dataset("distance", (6, 10**12), "f8", chunks=(1, 1024))


def taken_for(kind):
    """The same bytes, said to be other numbers."""

    def change(file):
        numbers = file["parameters/friction"][()]
        del file["parameters/friction"]
        file["parameters/friction"] = numbers.view(kind)

    return change


LIES = {
    "numbers as integers": lying(taken_for("<i8")),
    "numbers in another order of bytes": lying(taken_for(">f8")),
    "numbers as others": lying(taken_for("<u8")),
    "fewer rows": lying(shorter),
    "another file": lying(linked(h5py.ExternalLink("other.h5", "/measured/distance"))),
    "another place": lying(linked(h5py.SoftLink("/seconds"))),
    "a size that is not there": lying(huge),
    "no status": lying(lambda file: file.__delitem__("status")),
    "a status that is none": lying(lambda file: file["status"].__setitem__(0, 9)),
    "a version to come": lying(lambda file: file.attrs.modify("format_version", 99)),
    "a seed that is text": lying(lambda file: file.attrs.create("seed", "seven")),
    "a seed that is several": lying(lambda file: file.attrs.create("seed", np.zeros(3))),
    "a version that is several": lying(lambda file: file.attrs.create("format_version", np.ones(3))),
    "a format that is several": lying(lambda file: file.attrs.create("format", np.ones(3))),
    "a checksum that is several": lying(lambda file: file.attrs.create("check", np.ones(3))),
    "a column that is a type": lying(linked(np.dtype("f8"))),
    "a group that is numbers": lying(
        lambda file: (file.__delitem__("measured"), file.create_dataset("measured", data=1))
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_lies_is_refused(file, lie):
    _, path = file
    shutil.copy(path, path.with_name("other.h5"))
    LIES[lie](path)
    with pytest.raises(ss.InputError) as refused:
        ss.Sweep.load(path)
    assert "\n" not in str(refused.value)


def test_a_file_of_the_first_version_is_read(file):
    made, path = file
    with h5py.File(path, "r+") as opened:
        del opened["check"]
        del opened.attrs["check"]
        opened.attrs.modify("format_version", 1)
    assert same(ss.Sweep.load(path), made)


def test_nothing_but_a_sweep_is_begun_anew(file):
    _, path = file
    ss.save(ss.LCP(np.eye(2), [-1.0, 1.0]), "problem.h5")
    scene = ss.Scene()
    scene.add_sphere(radius=0.1, mass=1.0)
    ss.simulate(scene, duration=0.01, dt=0.01, path="run.h5")
    for other in ("problem.h5", "run.h5"):
        before = path.with_name(other).read_bytes()
        with pytest.raises(ss.InputError, match="holds no sweep"):
            ss.sweep(distance, {"speed": [1.0], "friction": [0.1]}, out=other, fresh=True, progress=False)
        assert path.with_name(other).read_bytes() == before
    assert len(ss.sweep(distance, {"speed": [1.0], "friction": [0.1]}, out=path, fresh=True, progress=False)) == 1
