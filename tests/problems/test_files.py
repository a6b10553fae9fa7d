"""Files: what is saved is loaded bit by bit, and a bad file gets one sentence that starts with its path."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from stickslip.errors import FileError, InputError
from stickslip.problems import files
from stickslip.problems.cone import ConeProblem
from stickslip.problems.files import load, save
from stickslip.problems.lcp import LCP
from stickslip.problems.mixed import MixedLCP

INF = np.inf
PUBLIC = (Path(__file__).parents[2] / "../shared/data").resolve()
public = pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public test sets are not beside the clone (../shared/data)"
)


def random_sparse(rng, rows, columns):
    return sparse.random_array((rows, columns), density=0.4, rng=rng, data_sampler=rng.standard_normal)


def bodies_problem(seed=0, d=3, law="coulomb"):
    rng = np.random.default_rng(seed)
    M = sparse.diags_array(1 + rng.random(12))
    return ConeProblem.from_bodies(
        M, random_sparse(rng, 12, 4 * d), rng.normal(size=12), rng.random(4), rng.normal(size=4 * d), law
    )


def problems():
    rng = np.random.default_rng(1)
    dense, thin, q = rng.normal(size=(7, 7)), random_sparse(rng, 7, 7), rng.normal(size=7)
    free_or_positive = np.array([-INF, 0, 0, -INF, 0, -INF, 0]), np.full(7, INF)
    box = np.array([-INF, 0, -1, 2, -INF, 0, -0.0]), np.array([INF, INF, 1, 2, 0, 3, INF])
    large = rng.normal(size=(60, 60))
    return {
        "lcp": LCP(dense, q),
        "lcp sparse": LCP(thin, q),
        "lcp large": LCP(large, large[0]),
        "lcp empty": LCP(np.zeros((0, 0)), []),
        "lcp sparse empty": LCP(sparse.csr_array((0, 0)), []),
        "lcp without entries": LCP(sparse.csr_array((7, 7)), q),
        "lcp odd numbers": LCP([[5e-324, -0.0], [1e308, np.pi]], [-0.0, 1 / 3]),
        "mlcp": MixedLCP(dense, q, *free_or_positive),
        "mlcp sparse": MixedLCP(thin, q, *free_or_positive),
        "mlcp all positive": MixedLCP(dense, q, np.zeros(7), np.full(7, INF)),
        "box": MixedLCP(dense, q, *box),
        "box sparse": MixedLCP(thin, q, *box),
        "cone": ConeProblem(random_sparse(rng, 12, 12), rng.normal(size=12), rng.random(4)),
        "cone planar": ConeProblem(random_sparse(rng, 8, 8), rng.normal(size=8), rng.random(4)),
        "cone without contacts": ConeProblem(sparse.csr_array((0, 0)), [], []),
        "cone associated": ConeProblem(
            random_sparse(rng, 12, 12), rng.normal(size=12), rng.random(4), law="associated"
        ),
        "bodies": bodies_problem(),
        "bodies associated": bodies_problem(law="associated"),
        "bodies planar": bodies_problem(d=2),
    }


def assert_same_bits(a, b):
    if sparse.issparse(a):
        assert isinstance(b, sparse.csr_array)
        assert a.shape == b.shape
        for name in ("indptr", "indices", "data"):
            assert_same_bits(getattr(a, name), getattr(b, name))
        return
    assert isinstance(b, np.ndarray)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert a.tobytes() == b.tobytes()


def assert_same_problem(a, b):
    assert type(a) is type(b)
    fields = {LCP: ("M", "q"), MixedLCP: ("M", "q", "lower", "upper"), ConeProblem: ("W", "q", "mu")}[type(a)]
    for name in fields:
        assert_same_bits(getattr(a, name), getattr(b, name))
    if isinstance(a, ConeProblem):
        assert a.law == b.law
        assert (a.bodies is None) == (b.bodies is None)
        if a.bodies is not None:
            for name in ("M", "H", "f", "w"):
                assert_same_bits(getattr(a.bodies, name), getattr(b.bodies, name))


@pytest.mark.parametrize("name", problems())
def test_round_trip_is_exact(name, tmp_path):
    problem = problems()[name]
    save(problem, tmp_path / "problem.h5")
    assert_same_problem(problem, load(tmp_path / "problem.h5"))
    save(problem, str(tmp_path / "again.h5"))
    assert sorted(os.listdir(tmp_path)) == ["again.h5", "problem.h5"]


def test_a_dense_cone_comes_back_sparse_with_the_same_numbers(tmp_path):
    rng = np.random.default_rng(2)
    problem = ConeProblem(rng.normal(size=(6, 6)), rng.normal(size=6), [0.1, 0.2])
    save(problem, tmp_path / "cone.h5")
    again = load(tmp_path / "cone.h5")
    np.testing.assert_array_equal(again.W.toarray(), problem.W)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("lcp", {"lcp"}),
        ("mlcp", {"mlcp"}),
        ("mlcp all positive", {"mlcp"}),
        ("box", {"box"}),
        ("cone", {"fclib_local"}),
        ("bodies", {"fclib_local", "fclib_global"}),
    ],
)
def test_layout_of_a_saved_file(name, groups, tmp_path):
    save(problems()[name], tmp_path / "problem.h5")
    with h5py.File(tmp_path / "problem.h5") as file:
        assert set(file) == groups


def test_a_saved_cone_is_fclib(tmp_path):
    save(bodies_problem(), tmp_path / "problem.h5")
    with h5py.File(tmp_path / "problem.h5") as file:
        for path in ("fclib_local/W", "fclib_global/M", "fclib_global/H"):
            assert set(file[path]) == {"m", "n", "nz", "nzmax", "p", "i", "x"}
            assert file[f"{path}/nz"][()].tolist() == [-2]
            assert file[f"{path}/nzmax"][()].tolist() == [file[f"{path}/x"].size]
        assert file["fclib_global/spacedim"][()].tolist() == [3]
        assert set(file["fclib_global/vectors"]) == {"f", "w", "mu"}
        assert set(file["fclib_local/vectors"]) == {"q", "mu"}


def test_large_arrays_are_packed(tmp_path):
    save(LCP(np.zeros((200, 200)), np.zeros(200)), tmp_path / "problem.h5")
    assert (tmp_path / "problem.h5").stat().st_size < 20_000


# foreign ways of writing the same problem

DENSE = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
TRIPLETS = sparse.coo_array(DENSE)


def write(path, **datasets):
    """An HDF5 file from datasets by their path, with __ for /; None leaves one out."""
    with h5py.File(path, "w") as file:
        for name, value in datasets.items():
            if value is not None:
                file[name.replace("__", "/")] = value
    return path


def csr(matrix, scalar=lambda value: np.array([value], np.int32)):
    form = sparse.csr_array(matrix)
    return {**sizes(form, -2, scalar), "p": form.indptr, "i": form.indices, "x": form.data}


def csc(matrix, scalar=lambda value: np.array([value], np.int32)):
    form = sparse.csc_array(matrix)
    return {**sizes(form, -1, scalar), "p": form.indptr, "i": form.indices, "x": form.data}


def triplets(matrix, scalar=lambda value: np.array([value], np.int32)):
    form = sparse.coo_array(matrix)
    return {**sizes(form, form.nnz, scalar), "p": form.col, "i": form.row, "x": form.data}


def sizes(form, nz, scalar):
    return {
        name: scalar(value) for name, value in zip(("m", "n", "nz", "nzmax"), (*form.shape, nz, form.nnz), strict=True)
    }


def under(group, datasets):
    return {f"{group}__{name}": value for name, value in datasets.items()}


def local(W=None, **changes):
    datasets = {
        "fclib_local__spacedim": [3],
        **under("fclib_local__W", csr(DENSE) if W is None else W),
        "fclib_local__vectors__q": [-1.0, 2.0, 3.0],
        "fclib_local__vectors__mu": [0.5],
    }
    return {**datasets, **changes}


def global_form(**changes):
    datasets = {
        "fclib_global__spacedim": [3],
        **under("fclib_global__M", csr(np.diag([2.0, 4.0]))),
        **under("fclib_global__H", csr(np.array([[1.0, 0, 0], [0, 1, 1]]))),
        "fclib_global__vectors__f": [-1.0, 2.0],
        "fclib_global__vectors__w": [0.0, 0.0, 1.0],
        "fclib_global__vectors__mu": [0.5],
    }
    return {**datasets, **changes}


@pytest.mark.parametrize("form", [csr, csc, triplets])
@pytest.mark.parametrize("scalar", [int, np.int64, lambda value: np.array([value], np.int64)])
def test_every_sparse_form_and_scalar_is_read(form, scalar, tmp_path):
    path = write(tmp_path / "f.h5", **local(form(DENSE, scalar), fclib_local__spacedim=scalar(3)))
    problem = load(path)
    np.testing.assert_array_equal(problem.W.toarray(), DENSE)
    assert (problem.contacts, problem.dimension) == (1, 3)
    path = write(tmp_path / "l.h5", lcp__q=[1.0, 2.0, 3.0], **under("lcp__M", form(DENSE, scalar)))
    np.testing.assert_array_equal(load(path).M.toarray(), DENSE)


def test_triplets_follow_csparse_i_is_the_row_and_p_the_column(tmp_path):
    one = {"m": 3, "n": 3, "nz": 2, "nzmax": 4, "i": [2, 2], "p": [0, 0], "x": [1.0, 1.5, 9.0, 9.0]}  # room for more
    W = load(write(tmp_path / "f.h5", **local(one))).W
    assert W[2, 0] == 2.5  # duplicates add up
    assert W.nnz == 1


def test_other_number_types_and_neighbouring_groups_are_accepted(tmp_path):
    path = write(
        tmp_path / "f.h5",
        lcp__M=np.array([[1, 2], [3, 4]], ">i2"),
        lcp__q=np.array([1.5, 2.5], ">f4"),
        solution__z=[1.0],
        guesses="text",
    )
    problem = load(path)
    np.testing.assert_array_equal(problem.M, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(problem.q, [1.5, 2.5])


def test_the_global_form_alone_gives_w_and_q(tmp_path):
    problem = load(write(tmp_path / "f.h5", **global_form()))
    np.testing.assert_allclose(problem.W.toarray(), [[0.5, 0, 0], [0, 0.25, 0.25], [0, 0.25, 0.25]])
    np.testing.assert_allclose(problem.q, [-0.5, 0.5, 1.5])
    np.testing.assert_array_equal(problem.bodies.M.toarray(), np.diag([2.0, 4.0]))


def test_of_both_forms_the_local_one_is_the_problem_and_the_global_one_its_bodies(tmp_path):
    problem = load(write(tmp_path / "f.h5", **local(), **global_form()))
    np.testing.assert_array_equal(problem.W.toarray(), DENSE)
    np.testing.assert_array_equal(problem.q, [-1, 2, 3])
    np.testing.assert_array_equal(problem.bodies.f, [-1, 2])


def test_equality_matrices_without_columns_are_no_obstacle(tmp_path):
    none = csr(sparse.csr_array((2, 0)))
    assert load(write(tmp_path / "f.h5", **global_form(), **under("fclib_global__G", none))).contacts == 1


# bad files

LCP3 = {"lcp__M": np.eye(3), "lcp__q": np.ones(3)}
MLCP3 = {"mlcp__M": np.eye(3), "mlcp__q": np.ones(3), "mlcp__is_comp": [0, 1, 1], "mlcp__n": 1, "mlcp__m": 2}
BOX3 = {"box__M": np.eye(3), "box__q": np.ones(3), "box__lb": np.zeros(3), "box__ub": np.ones(3)}

BAD = {
    "foreign": ({"velocity__x": [1.0], "mesh": [1.0]}, "this file holds /mesh, /velocity, expected one of the groups"),
    "empty": ({}, "this file holds nothing, expected one of the groups /fclib_local, /fclib_global, /lcp, /mlcp, /box"),
    "a dataset named lcp": ({"lcp": [1.0]}, "this file holds /lcp, expected one of the groups"),
    "two problems": ({**LCP3, **BOX3}, "this file holds /lcp and /box, expected one problem"),
    "no q": ({**LCP3, "lcp__q": None}, "/lcp/q is missing"),
    "no M": ({**LCP3, "lcp__M": None}, "/lcp/M is missing"),
    "M not square": ({**LCP3, "lcp__M": np.ones((3, 4))}, "/lcp/M has shape (3, 4), expected shape (3, 3)"),
    "M a vector": ({**LCP3, "lcp__M": np.ones(9)}, "/lcp/M has shape (9,), expected shape (3, 3)"),
    "q a matrix": ({**LCP3, "lcp__q": np.ones((3, 1))}, "/lcp/q has shape (3, 1), expected a vector"),
    "q a number": ({**LCP3, "lcp__q": 1.0}, "/lcp/q has shape (), expected a vector"),
    "q a group": ({**LCP3, "lcp__q": None, "lcp__q__x": 1.0}, "/lcp/q holds no array of real numbers"),
    "q text": ({**LCP3, "lcp__q": "abc"}, "/lcp/q holds no array of real numbers"),
    "q complex": ({**LCP3, "lcp__q": np.ones(3) * 1j}, "/lcp/q holds no array of real numbers"),
    "q nan": ({**LCP3, "lcp__q": [1.0, np.nan, 1.0]}, "LCP: q[1] is nan, expected a finite number"),
    "M inf": ({**LCP3, "lcp__M": np.diag([1, INF, 1])}, "LCP: M[1, 1] is inf, expected a finite number"),
    "is_comp missing": ({**MLCP3, "mlcp__is_comp": None}, "/mlcp/is_comp is missing"),
    "is_comp short": ({**MLCP3, "mlcp__is_comp": [0, 1]}, "/mlcp/is_comp has shape (2,), expected shape (3,)"),
    "is_comp float": ({**MLCP3, "mlcp__is_comp": [0.0, 1.0, 1.0]}, "/mlcp/is_comp holds no array of integers"),
    "is_comp strange": ({**MLCP3, "mlcp__is_comp": [0, -1, 1]}, "/mlcp/is_comp[1] is -1, expected 0 (free) or 1"),
    "n wrong": ({**MLCP3, "mlcp__n": 2}, "/mlcp/n is 2, expected 1, the number of rows with is_comp = 0"),
    "m wrong": ({**MLCP3, "mlcp__m": [3]}, "/mlcp/m is 3, expected 2, the number of rows with is_comp = 1"),
    "m missing": ({**MLCP3, "mlcp__m": None}, "/mlcp/m is missing"),
    "m a vector": ({**MLCP3, "mlcp__m": [2, 2]}, "/mlcp/m has shape (2,), expected shape ()"),
    "lb missing": ({**BOX3, "box__lb": None}, "/box/lb is missing"),
    "lb long": ({**BOX3, "box__lb": np.zeros(4)}, "/box/lb has shape (4,), expected shape (3,)"),
    "lb nan": ({**BOX3, "box__lb": [0, np.nan, 0]}, "MixedLCP: lower[1] is nan, expected a number or an infinity"),
    "lb above ub": ({**BOX3, "box__lb": [0, 2.0, 0]}, "MixedLCP: row 1 has lower 2 and upper 1, expected"),
    "rolling": ({"fclib_local_rolling__spacedim": [5]}, "rolling friction (5 components a contact), which is not"),
    "global rolling": ({"fclib_global_rolling__spacedim": [5]}, "rolling friction (5 components a contact)"),
    "spacedim 5": (local(fclib_local__spacedim=[5]), "rolling friction (5 components a contact)"),
    "spacedim 4": (local(fclib_local__spacedim=4), "/fclib_local/spacedim is 4, expected 2 or 3"),
    "spacedim missing": (local(fclib_local__spacedim=None), "/fclib_local/spacedim is missing"),
    "spacedim 2 for three": (
        local(fclib_local__spacedim=2),
        "/fclib_local has 3 contact unknowns, spacedim 2 and 1 coefficients mu, expected 2 unknowns",
    ),
    "mu missing": (local(fclib_local__vectors__mu=None), "/fclib_local/vectors/mu is missing"),
    "mu negative": (local(fclib_local__vectors__mu=[-0.5]), "ConeProblem: mu[0] is -0.5, expected a friction"),
    "W missing": (local({}), "/fclib_local/W is missing"),
    "p missing": (local(fclib_local__W__p=None), "/fclib_local/W/p is missing"),
    "x missing": (local(fclib_local__W__x=None), "/fclib_local/W/x is missing"),
    "nz missing": (local(fclib_local__W__nz=None), "/fclib_local/W/nz is missing"),
    "nz strange": (local(fclib_local__W__nz=-3), "/fclib_local/W/nz is -3, expected -2 (CSR), -1 (CSC) or a number"),
    "m huge": (local(fclib_local__W__m=2**40), "/fclib_local/W has m, n = (1099511627776, 3), expected (3, 3)"),
    "m negative": (local(fclib_local__W__m=-1), "/fclib_local/W has m, n = (-1, 3), expected (3, 3) as the vectors"),
    "p short": (local(fclib_local__W__p=[0, 2, 4]), "/fclib_local/W/p has shape (3,), expected shape (4,)"),
    "p starts late": (local(fclib_local__W__p=[1, 2, 4, 6]), "/fclib_local/W/p starts with 1, expected 0"),
    "p decreases": (
        local(fclib_local__W__p=[0, 4, 2, 6]),
        "/fclib_local/W/p decreases from 4 to 2, expected no decrease",
    ),
    "p too far": (local(fclib_local__W__p=[0, 2, 4, 60]), "/fclib_local/W/i has 6 entries, expected 60"),
    "p not integer": (local(fclib_local__W__p=[0.0, 2, 4, 6]), "/fclib_local/W/p holds no array of integers"),
    "i out of range": (
        local(fclib_local__W__i=[0, 1, 0, 1, 0, 3]),
        "/fclib_local/W/i[5] is 3, expected an index from 0 to 2",
    ),
    "i negative": (
        local(fclib_local__W__i=[0, -1, 0, 1, 0, 2]),
        "/fclib_local/W/i[1] is -1, expected an index from 0 to 2",
    ),
    "x short": (local(fclib_local__W__x=[1.0]), "/fclib_local/W/x has 1 entries, expected 6"),
    "x nan": (local(fclib_local__W__x=[1, 2, 3, np.nan, 5, 6]), "ConeProblem: W[1, 1] is nan, expected a finite"),
    "triplet row": (
        local({**triplets(DENSE), "i": [0, 0, 1, 1, 2, 9]}),
        "/fclib_local/W/i[5] is 9, expected an index from 0 to 2",
    ),
    "triplet column": (
        local({**triplets(DENSE), "p": [0, 0, 1, 1, 2, -2]}),
        "/fclib_local/W/p[5] is -2, expected an index from 0 to 2",
    ),
    "triplets missing": (local({**triplets(DENSE), "nz": 7}), "/fclib_local/W/i has 6 entries, expected 7"),
    "equalities": (
        {**global_form(), **under("fclib_global__G", csr(np.ones((2, 1))))},
        "/fclib_global/G holds equality constraints beside the contacts, which are not supported yet",
    ),
    "local equalities": (
        {**local(), **under("fclib_local__V", csr(np.ones((3, 1))))},
        "/fclib_local/V holds equality constraints beside the contacts, which are not supported yet",
    ),
    "H wrong": (
        {**global_form(), **under("fclib_global__H", csr(np.ones((3, 3))))},
        "/fclib_global/H has m, n = (3, 3), expected (2, 3) as the vectors have",
    ),
    "M singular": (
        {**global_form(), **under("fclib_global__M", csr(np.diag([1.0, 0.0])))},
        "ConeProblem: M is singular in the block of rows [1], expected an invertible mass matrix",
    ),
    "forms of different size": (
        {
            **local(),
            **global_form(fclib_global__vectors__w=np.zeros(6), fclib_global__vectors__mu=[0.5, 0.5]),
            **under("fclib_global__H", csr(np.ones((2, 6)))),
        },
        "/fclib_local has 3 contact unknowns and /fclib_global 6, expected as many",
    ),
    "forms of different friction": (
        {**local(), **global_form(fclib_global__vectors__mu=[0.6])},
        "/fclib_local/vectors/mu and /fclib_global/vectors/mu differ, expected the same contacts",
    ),
}


def sentence(path, **options):
    with pytest.raises(FileError) as caught:
        load(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_sentence(name, tmp_path):
    datasets, says = BAD[name]
    assert says in sentence(write(tmp_path / "bad.h5", **datasets))


def test_no_file_a_folder_and_text(tmp_path):
    assert sentence(tmp_path / "none.h5") == "there is no such file"
    assert sentence(tmp_path) == "this is a folder, expected an HDF5 file"
    (tmp_path / "text.h5").write_text("M = [[1, 2], [3, 4]]")
    assert sentence(tmp_path / "text.h5") == "this is not an HDF5 file"
    (tmp_path / "nothing.h5").write_bytes(b"")
    assert sentence(tmp_path / "nothing.h5") == "this is not an HDF5 file"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="everything may be read here")
def test_a_file_that_may_not_be_read(tmp_path):
    path = write(tmp_path / "f.h5", **LCP3)
    path.chmod(0)
    assert sentence(path) == "this file may not be read"


@pytest.mark.parametrize("name", ["lcp large", "bodies", "box sparse"])
def test_a_truncated_file_is_never_a_problem(name, tmp_path):
    save(problems()[name], tmp_path / "whole.h5")
    content = (tmp_path / "whole.h5").read_bytes()
    for kept in range(0, len(content) - 1, max(len(content) // 60, 1)):
        (tmp_path / "part.h5").write_bytes(content[:kept])
        assert sentence(tmp_path / "part.h5")


def test_a_damaged_chunk_is_told(tmp_path):
    path = tmp_path / "f.h5"
    save(problems()["lcp large"], path)
    with h5py.File(path) as file:
        start = file["lcp/M"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[start : start + 200] = bytes(200)
    path.write_bytes(content)
    assert "/lcp/M cannot be read, the file is truncated or damaged" in sentence(path)


def test_oversized_files_are_refused_before_anything_is_read(tmp_path):
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as file:  # declares 320 GB, holds nothing
        file.create_dataset("lcp/q", data=np.zeros(200_000), compression="gzip")
        file.create_dataset("lcp/M", shape=(200_000, 200_000), dtype="f8", chunks=(1000, 1000))
    assert path.stat().st_size < 100_000
    assert sentence(path) == (
        "/lcp/M has shape (200000, 200000), which brings the problem to 320001600000 bytes, "
        "expected at most max_bytes = 8589934592"
    )
    small = write(tmp_path / "small.h5", **LCP3)
    assert load(small, max_bytes=8 * 12).size == 3
    assert "expected at most max_bytes = 95" in sentence(small, max_bytes=8 * 12 - 1)


# saving


def test_saving_replaces_an_older_file(tmp_path):
    path = tmp_path / "f.h5"
    save(LCP(np.eye(2), [1, 2]), path)
    save(LCP(np.eye(3), [1, 2, 3]), path)
    assert load(path).size == 3
    assert os.listdir(tmp_path) == ["f.h5"]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "f.h5"
    save(LCP(np.eye(2), [1, 2]), path)
    write_array = files.write_array

    def fails_at_q(file, name, array):
        if name.endswith("q"):
            raise OSError(28, "No space left on device")
        write_array(file, name, array)

    monkeypatch.setattr(files, "write_array", fails_at_q)
    with pytest.raises(FileError) as caught:
        save(LCP(np.eye(3), [1, 2, 3]), path)
    assert str(caught.value) == f"{path}: cannot be written (No space left on device)"
    assert load(path).size == 2
    assert os.listdir(tmp_path) == ["f.h5"]


def test_an_interrupted_save_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(file, problem):
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "write_problem", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(LCP(np.eye(2), [1, 2]), tmp_path / "f.h5")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    problem = LCP(np.eye(2), [1, 2])
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "none" / "f.h5", tmp_path / "file" / "f.h5"):
        with pytest.raises(FileError) as caught:
            save(problem, path)
        assert str(caught.value).startswith(f"{path}: cannot be written (")
        assert "\n" not in str(caught.value)
    with pytest.raises(FileError, match="this is a folder, expected the name of a file"):
        save(problem, tmp_path)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="every folder may be written here")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match=r"cannot be written \(Permission denied\)$"):
        save(LCP(np.eye(2), [1, 2]), tmp_path / "f.h5")
    tmp_path.chmod(0o700)


def test_only_problems_are_saved(tmp_path):
    with pytest.raises(
        InputError,
        match=r"^save: got dict, expected LCP, MixedLCP, ConeProblem, CylinderProblem or LimitSurfaceProblem$",
    ):
        save({"M": 1}, tmp_path / "f.h5")
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "f.h5", tmp_path / "link.h5"
    save(LCP(np.eye(2), [1, 2]), target)
    link.symlink_to(target)
    save(LCP(np.eye(3), [1, 2, 3]), link)
    assert link.is_symlink()
    assert load(target).size == 3


def test_coulombs_law_is_not_written_down(tmp_path):
    """FCLIB files hold no law: a file of ours under Coulomb's law is one of them."""
    save(bodies_problem(), tmp_path / "coulomb.h5")
    save(bodies_problem(law="associated"), tmp_path / "associated.h5")
    with h5py.File(tmp_path / "coulomb.h5") as file:
        assert not any(file[group].attrs for group in file)
    with h5py.File(tmp_path / "associated.h5") as file:
        assert dict(file["fclib_local"].attrs) == {"law": "associated"}


@pytest.mark.parametrize("group", ["fclib_local", "fclib_global"])
@pytest.mark.parametrize("law", ["associated", b"associated", "coulomb"])
def test_a_law_in_either_form(group, law, tmp_path):
    path = tmp_path / "law.h5"
    save(bodies_problem(), path)
    with h5py.File(path, "r+") as file:
        del file["fclib_global" if group == "fclib_local" else "fclib_local"]
        file[group].attrs["law"] = law
    assert load(path).law == (law if isinstance(law, str) else law.decode())


@pytest.mark.parametrize("law", ["tresca", 3, ["associated", "coulomb"], b"\xff", ""])
def test_an_unknown_law_gets_one_sentence(law, tmp_path):
    path = tmp_path / "law.h5"
    save(problems()["cone"], path)
    with h5py.File(path, "r+") as file:
        file["fclib_local"].attrs["law"] = law
    text = sentence(path)
    assert "the attribute law of /fclib_local is " in text
    assert text.endswith("expected one of coulomb, associated")


# the public problems

CLASSES = {"lcp": LCP, "mlcp": MixedLCP, "box": MixedLCP, "fc2d": ConeProblem, "fc3d": ConeProblem}
CLASSES |= {"gfc2d": ConeProblem, "gfc3d": ConeProblem, "gen": ConeProblem}


@public
@pytest.mark.parametrize("path", sorted(PUBLIC.glob("*.h5")), ids=lambda path: path.stem)
def test_every_public_file_is_loaded_and_kept(path, tmp_path):
    family = path.name.split("_")[0]
    if family == "rfc3d":
        assert "rolling friction (5 components a contact), which is not supported yet" in sentence(path)
        return
    problem = load(path)
    assert type(problem) is CLASSES[family]
    assert problem.size > 0
    if isinstance(problem, ConeProblem):
        assert problem.dimension == (2 if "2d" in family else 3)
        assert (problem.bodies is not None) == (family[0] == "g")
    save(problem, tmp_path / "again.h5")
    assert_same_problem(problem, load(tmp_path / "again.h5"))


@public
@pytest.mark.parametrize("path", sorted(PUBLIC.glob("g*.h5")), ids=lambda path: path.stem)
def test_public_bodies_give_the_public_delassus_matrix(path):
    problem = load(path)
    bodies = problem.bodies
    again = ConeProblem.from_bodies(bodies.M, bodies.H, bodies.f, problem.mu, bodies.w)
    np.testing.assert_allclose(again.q, problem.q, rtol=0, atol=1e-12 * abs(problem.q).max())
    W = again.W
    if "GlobalFrictionContactProblem00046" in path.name:  # M is asymmetric by 1e-7, and the file's W symmetrised
        W = (W + W.T) / 2
    assert abs(W - problem.W).max() <= 1e-11 * abs(problem.W).max()
