"""Problems in HDF5 files: `load(path)` and `save(problem, path)`.

    /fclib_local/spacedim, W, vectors/{q, mu}         ConeProblem                FCLIB [1]
    /fclib_global/spacedim, M, H, vectors/{f, w, mu}  ConeProblem with bodies    FCLIB [1]
    /lcp/{M, q}                                       LCP
    /mlcp/{M, q, is_comp, n, m}                       MixedLCP, each row free (is_comp 0) or [0, inf) (is_comp 1)
    /box/{M, q, lb, ub}                               MixedLCP with any bounds
    /cylinder/{W, q, bound}                           CylinderProblem
    /limit_surface/{A, b, mu, e, slip, state, set}    LimitSurfaceProblem; `set` is 0 for Ellipsoid, 1 for Mixed, 2 for
                                                      Polyhedron with its rows in `planes`; or (nc, 3), a set for
                                                      each contact, and where its rows begin and end

A matrix is a 2-D dataset, or a group {m, n, nz, nzmax, p, i, x} as in CSparse [2] with indices from 0: nz = -2 means
CSR (p row starts, i columns), nz = -1 CSC (p column starts, i rows), nz >= 0 triplets (i rows, p columns). FCLIB's own
matrices are always such groups, and are loaded sparse. Sparse stays sparse and dense stays dense in the other layouts.

Where a file holds both FCLIB forms, W and q are taken from the local one as they stand, because that is what FCLIB's
users grade, and the global one becomes `bodies`; the two must agree in spacedim, in size and in mu. Their values are
not compared: public files exist whose local W is the symmetrised Hᵀ M⁻¹ H of a slightly asymmetric M. From the global
form alone, W and q are computed. A problem with bodies is saved in both forms, so loading it recomputes nothing.

The law of friction is the attribute `law` of /fclib_local, or of /fclib_global where that stands alone: "coulomb" or
"associated". It is ours, written for the associated law only: FCLIB knows Coulomb's, and without it that is meant.

Equality rows of FCLIB (G, or V and R) and rolling friction (5 components a contact) are refused, not dropped.

[1] Acary et al., FCLIB: a collection of discrete 3D frictional contact problems, Inria technical report RT-444, 2014.
[2] Davis, Direct Methods for Sparse Linear Systems, SIAM 2006.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stickslip.checks import checked, count, shown
from stickslip.checks import path as file_path
from stickslip.errors import FileError, InputError, reading, replacing
from stickslip.problems.cone import LAWS, BodyForm, ConeProblem, Law
from stickslip.problems.cylinder import CylinderProblem
from stickslip.problems.friction_sets import (
    NO_PLANES,
    Ellipsoid,
    FrictionMap,
    FrictionSet,
    FrictionSets,
    Mixed,
    Polyhedron,
    sets_data,
)
from stickslip.problems.lcp import LCP
from stickslip.problems.limit_surface import LimitSurfaceProblem
from stickslip.problems.matrix import Dense, Indices, Matrix, Sparse, Vector, as_sparse
from stickslip.problems.mixed import MixedLCP
from stickslip.problems.residual import Problem

MAX_BYTES = 8 * 2**30
MOST_PACKED = 1100  # times smaller can deflate make zeros
UNHELD = 2**16  # bytes that a dataset may have without any in the file
LAYOUTS = ("fclib_local", "fclib_global", "lcp", "mlcp", "box", "cylinder", "limit_surface")


@checked(path=file_path, max_bytes=count)
def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Problem:
    """The problem in an HDF5 file. Datasets that declare more than `max_bytes` together are not read."""
    import h5py

    name = os.fspath(path)
    try:
        with reading(name, "an HDF5 file", "the file is truncated or damaged"):
            check_hdf5(name)
            with h5py.File(name, "r") as file:
                return read_problem(Reader(file, max_bytes))
    except MemoryError:
        raise FileError(f"{name}: the problem does not fit into memory") from None


def check_hdf5(name: str) -> None:
    import h5py

    with open(name, "rb"):
        pass
    if not h5py.is_hdf5(name):
        raise InputError("this is not an HDF5 file")


@checked(path=file_path)
def save(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the problem, exactly. The file appears complete or not at all, and replaces an older one at once."""
    with made_whole(path) as file:
        write_problem(file, problem)


@contextlib.contextmanager
def made_whole(path: str | os.PathLike[str]) -> Iterator[Any]:
    """A new HDF5 file, which takes the place of the one at `path` at once. It is made in memory: on a disk that is full
    HDF5 would complain once for every dataset, and end the process."""
    import h5py

    with replacing(path) as temporary:
        whole = io.BytesIO()
        with h5py.File(whole, "w") as file:
            yield file
        with open(temporary, "xb") as plain:
            plain.write(whole.getbuffer())


@dataclass
class Reader:
    """The datasets of an open file by their path: each is looked at before it is read, and what is read is counted."""

    file: Any  # h5py.File
    max_bytes: int
    declared: int = 0

    def names(self) -> list[str]:
        with readable("the list of groups"):
            return list(self.file)

    def is_group(self, path: str) -> bool:
        return hasattr(self.node(path), "keys")

    def node(self, path: str) -> Any:
        """The group or dataset at `path`; None if there is none."""
        return own_node(self.file, path)

    def array(self, path: str, shape: tuple[int | None, ...], kinds: str, expected: str) -> NDArray[Any]:
        """The numbers at `path`, whose type is one of `kinds` and whose shape is `shape`; None fits any length."""
        dataset = self.node(path)
        if dataset is None:
            raise InputError(f"/{path} is missing")
        with readable(f"/{path}"):
            kind, found = getattr(dataset, "dtype", None), getattr(dataset, "shape", None)
        if kind is None or found is None or kind.kind not in kinds:
            raise InputError(f"/{path} holds no array of {expected}")
        if len(found) != len(shape) or any(n not in (None, k) for n, k in zip(shape, found, strict=True)):
            wanted = "a vector" if shape == (None,) else f"shape {shape}"
            raise InputError(f"/{path} has shape {found}, expected {wanted}")
        self.declared += math.prod(found) * max(8, kind.itemsize)
        if self.declared > self.max_bytes:
            raise InputError(
                f"/{path} has shape {found}, which brings the problem to {self.declared} bytes, "
                f"expected at most max_bytes = {self.max_bytes}"
            )
        check_held(dataset, path)
        with readable(f"/{path}"):
            return np.asarray(dataset[()])

    def floats(self, path: str, *shape: int | None) -> Vector:
        return self.array(path, shape, "fiu", "real numbers").astype(np.float64)

    def integers(self, path: str, *shape: int | None) -> Indices:
        return self.array(path, shape, "iub", "integers").astype(np.int64)

    def attribute(self, path: str, name: str, default: str) -> object:
        """A text beside a group: what is stored, or the default where nothing is."""
        with readable(f"the attribute {name} of /{path}"):
            value = self.node(path).attrs.get(name, default)
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    def integer(self, path: str) -> int:
        """One integer, stored as a scalar or as an array of length 1."""
        shape = (1,) if getattr(self.node(path), "shape", ()) == (1,) else ()
        return int(self.integers(path, *shape).item())


def own_node(file: Any, path: str) -> Any:
    """The group or dataset at a path of an open file, None if there is none. A file may name others by links, and have
    us read what its sender could not; such links are refused."""
    import h5py

    node = file
    for name in path.split("/"):
        with readable(f"/{path}"):
            link = node.get(name, getlink=True) if hasattr(node, "keys") else None
            strange = link is not None and not isinstance(link, h5py.HardLink)
        if link is None or strange:
            break
        with readable(f"/{path}"):
            node = node[name]
            strange = isinstance(node, h5py.Dataset) and (node.is_virtual or bool(node.external))
    if strange:
        raise InputError(f"/{path} is a link to something else, expected the data in the file itself")
    return None if link is None else node


def check_held(dataset: Any, path: str, packed: int = MOST_PACKED) -> None:
    """Does the file hold what a dataset says that it has? HDF5 would make up zeros, of any size."""
    with readable(f"/{path}"):
        said, held = math.prod(dataset.shape) * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if said > UNHELD + packed * held:
        raise InputError(f"/{path} has shape {dataset.shape} but {held} bytes in the file, expected its numbers there")


@contextlib.contextmanager
def readable(what: str) -> Iterator[None]:
    """HDF5 answers damage with errors of many types; they become one."""
    try:
        yield
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{what} cannot be read, the file is truncated or damaged ({reason})") from None


def read_problem(reader: Reader) -> Problem:
    groups = reader.names()
    if any(name.startswith("fclib") and name.endswith("rolling") for name in groups):
        raise InputError("this is a problem with rolling friction (5 components a contact), which is not supported yet")
    match [name for name in LAYOUTS if reader.is_group(name)]:
        case ["lcp"]:
            q = reader.floats("lcp/q", None)
            return LCP(read_matrix(reader, "lcp/M", (q.size, q.size)), q)
        case ["mlcp"]:
            return read_mlcp(reader)
        case ["box"]:
            q = reader.floats("box/q", None)
            lower, upper = reader.floats("box/lb", q.size), reader.floats("box/ub", q.size)
            return MixedLCP(read_matrix(reader, "box/M", (q.size, q.size)), q, lower, upper)
        case ["cylinder"]:
            q, bound = reader.floats("cylinder/q", None), reader.floats("cylinder/bound", None)
            return CylinderProblem(read_matrix(reader, "cylinder/W", (q.size, q.size)), q, bound)
        case ["limit_surface"]:
            return read_limit_surface(reader)
        case ["fclib_local"]:
            return read_local(reader, None)
        case ["fclib_global"]:
            bodies, mu = read_global(reader)
            law = read_law(reader, "fclib_global")
            return ConeProblem.from_bodies(bodies.M, bodies.H, bodies.f, mu, bodies.w, law)
        case ["fclib_local", "fclib_global"]:
            bodies, mu = read_global(reader)
            problem = read_local(reader, bodies)
            if not np.array_equal(problem.mu, mu):
                raise InputError(
                    "/fclib_local/vectors/mu and /fclib_global/vectors/mu differ, expected the same contacts"
                )
            return problem
        case []:
            found = ", ".join(f"/{name}" for name in groups[:8]) or "nothing"
            expected = ", ".join(f"/{name}" for name in LAYOUTS)
            raise InputError(f"this file holds {found}, expected one of the groups {expected}")
        case several:
            raise InputError(f"this file holds {' and '.join(f'/{name}' for name in several)}, expected one problem")


def read_mlcp(reader: Reader) -> MixedLCP:
    q = reader.floats("mlcp/q", None)
    complementary = reader.integers("mlcp/is_comp", q.size)
    strange = ~np.isin(complementary, (0, 1))
    if strange.any():
        row = int(np.argmax(strange))
        raise InputError(f"/mlcp/is_comp[{row}] is {complementary[row]}, expected 0 (free) or 1 (complementary)")
    for name, what, wanted in (("n", 0, q.size - complementary.sum()), ("m", 1, complementary.sum())):
        stated = reader.integer(f"mlcp/{name}")
        if stated != wanted:
            raise InputError(f"/mlcp/{name} is {stated}, expected {wanted}, the number of rows with is_comp = {what}")
    M = read_matrix(reader, "mlcp/M", (q.size, q.size))
    return MixedLCP(M, q, np.where(complementary, 0.0, -np.inf), np.full(q.size, np.inf))


def read_limit_surface(reader: Reader) -> LimitSurfaceProblem:
    group = "limit_surface"
    b, mu = reader.floats(f"{group}/b", None), reader.floats(f"{group}/mu", None)
    e, slip = (reader.floats(f"{group}/{name}", mu.size, 3) for name in ("e", "slip"))
    state = reader.floats(f"{group}/state", mu.size, 5)
    surface: FrictionSet | list[FrictionSet]
    if len(getattr(reader.node(f"{group}/set"), "shape", ())) == 2:
        kinds, planes = reader.integers(f"{group}/set", mu.size, 3), reader.floats(f"{group}/planes", None, 3)
        surface = [read_set(int(kind), planes[first:last]) for kind, first, last in kinds]
    else:
        kind = reader.integer(f"{group}/set")
        surface = read_set(kind, reader.floats(f"{group}/planes", None, 3) if kind == 2 else NO_PLANES)
    return LimitSurfaceProblem(read_matrix(reader, f"{group}/A", (b.size, b.size)), b, mu, e, slip, surface, state)


def read_local(reader: Reader, bodies: BodyForm | None) -> ConeProblem:
    for name in ("V", "R"):
        refuse_equalities(reader, f"fclib_local/{name}")
    q = reader.floats("fclib_local/vectors/q", None)
    mu = read_friction(reader, "fclib_local", q.size)
    W = read_matrix(reader, "fclib_local/W", (q.size, q.size))
    if bodies is not None and bodies.w.size != q.size:
        raise InputError(
            f"/fclib_local has {q.size} contact unknowns and /fclib_global {bodies.w.size}, expected as many"
        )
    return ConeProblem(W, q, mu, bodies, read_law(reader, "fclib_local"))


def read_law(reader: Reader, group: str) -> Law:
    """Coulomb's law unless the attribute `law` of the group names another."""
    law = reader.attribute(group, "law", "coulomb")
    if not isinstance(law, str) or law not in LAWS:
        raise InputError(f"the attribute law of /{group} is {shown(law)}, expected one of {', '.join(LAWS)}")
    return cast(Law, law)


def read_global(reader: Reader) -> tuple[BodyForm, Vector]:
    refuse_equalities(reader, "fclib_global/G")
    f = reader.floats("fclib_global/vectors/f", None)
    w = reader.floats("fclib_global/vectors/w", None)
    mu = read_friction(reader, "fclib_global", w.size)
    M = as_sparse(read_matrix(reader, "fclib_global/M", (f.size, f.size)))
    H = as_sparse(read_matrix(reader, "fclib_global/H", (f.size, w.size)))
    return BodyForm(M, H, f, w), mu


def read_friction(reader: Reader, group: str, size: int) -> Vector:
    """mu, one a contact; `size` contact unknowns must be spacedim times as many."""
    dimension = reader.integer(f"{group}/spacedim")
    if dimension == 5:
        raise InputError("this is a problem with rolling friction (5 components a contact), which is not supported yet")
    if dimension not in (2, 3):
        raise InputError(f"/{group}/spacedim is {dimension}, expected 2 or 3")
    mu = reader.floats(f"{group}/vectors/mu", None)
    if size != dimension * mu.size:
        raise InputError(
            f"/{group} has {size} contact unknowns, spacedim {dimension} and {mu.size} coefficients mu, "
            f"expected {dimension * mu.size} unknowns"
        )
    return mu


def refuse_equalities(reader: Reader, path: str) -> None:
    """FCLIB may add bilateral rows; a matrix without columns adds none."""
    if reader.is_group(path) and reader.integer(f"{path}/m") and reader.integer(f"{path}/n"):
        raise InputError(f"/{path} holds equality constraints beside the contacts, which are not supported yet")


def read_matrix(reader: Reader, path: str, shape: tuple[int, int]) -> Matrix:
    if reader.is_group(path):
        return read_sparse(reader, path, shape)
    return reader.floats(path, *shape)


def read_sparse(reader: Reader, path: str, shape: tuple[int, int]) -> Sparse:
    stated = reader.integer(f"{path}/m"), reader.integer(f"{path}/n")
    if stated != shape:  # before anything of that size is allocated
        raise InputError(f"/{path} has m, n = {stated}, expected {shape} as the vectors have")
    form = reader.integer(f"{path}/nz")
    if form >= 0:
        return read_triplets(reader, path, shape, form)
    if form not in (-1, -2):
        raise InputError(f"/{path}/nz is {form}, expected -2 (CSR), -1 (CSC) or a number of triplets")
    lines, across = shape if form == -2 else shape[::-1]
    starts = reader.integers(f"{path}/p", lines + 1)
    if starts[0] != 0:
        raise InputError(f"/{path}/p starts with {starts[0]}, expected 0")
    if (np.diff(starts) < 0).any():
        line = int(np.argmax(np.diff(starts) < 0))
        raise InputError(f"/{path}/p decreases from {starts[line]} to {starts[line + 1]}, expected no decrease")
    count = int(starts[-1])
    places, values = read_entries(reader, path, "i", count, across), first_of(reader.floats, f"{path}/x", count)
    if form == -2:
        return sparse.csr_array((values, places, starts), shape=shape)
    return sparse.csr_array(sparse.csc_array((values, places, starts), shape=shape))


def read_triplets(reader: Reader, path: str, shape: tuple[int, int], count: int) -> Sparse:
    rows = read_entries(reader, path, "i", count, shape[0])
    columns = read_entries(reader, path, "p", count, shape[1])
    values = first_of(reader.floats, f"{path}/x", count)
    return sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))


def read_entries(reader: Reader, path: str, name: str, count: int, limit: int) -> Indices:
    """The first `count` indices, each in [0, limit)."""
    indices = first_of(reader.integers, f"{path}/{name}", count)
    outside = (indices < 0) | (indices >= limit)
    if outside.any():
        where = int(np.argmax(outside))
        raise InputError(f"/{path}/{name}[{where}] is {indices[where]}, expected an index from 0 to {limit - 1}")
    return indices


def first_of(read: Callable[..., Any], path: str, count: int) -> Any:
    """The first `count` numbers at a path. There may be room for more (nzmax)."""
    values = read(path, None)
    if values.size < count:
        raise InputError(f"/{path} has {values.size} entries, expected {count}")
    return values[:count]


def write_problem(file: Any, problem: Problem) -> None:
    match problem:
        case LCP():
            write(file, "lcp", M=problem.M, q=problem.q)
        case MixedLCP() if only_free_or_positive(problem):
            paired = np.isfinite(problem.lower)
            sizes = {"n": int((~paired).sum()), "m": int(paired.sum())}
            write(file, "mlcp", M=problem.M, q=problem.q, is_comp=paired.astype(np.int8), **sizes)
        case MixedLCP():
            write(file, "box", M=problem.M, q=problem.q, lb=problem.lower, ub=problem.upper)
        case ConeProblem():
            write_cone(file, problem)
        case LimitSurfaceProblem():
            write_limit_surface(file, problem)
        case CylinderProblem():
            write(file, "cylinder", W=problem.W, q=problem.q, bound=problem.bound)
        case _:
            raise InputError(
                f"save: got {type(problem).__name__}, expected LCP, MixedLCP, ConeProblem, CylinderProblem or "
                "LimitSurfaceProblem"
            )


def only_free_or_positive(problem: MixedLCP) -> bool:
    return bool((np.isposinf(problem.upper) & (np.isneginf(problem.lower) | (problem.lower == 0))).all())


def write_cone(file: Any, problem: ConeProblem) -> None:
    d, mu, bodies = problem.dimension, problem.mu, problem.bodies
    write(file, "fclib_local", spacedim=d, W=as_sparse(problem.W))
    write(file, "fclib_local/vectors", q=problem.q, mu=mu)
    if problem.law != "coulomb":
        file["fclib_local"].attrs["law"] = problem.law
    if bodies is not None:
        write(file, "fclib_global", spacedim=d, M=bodies.M, H=bodies.H)
        write(file, "fclib_global/vectors", f=bodies.f, w=bodies.w, mu=mu)


def read_set(kind: int, planes: Dense) -> FrictionSet:
    if kind not in (0, 1, 2):
        raise InputError(f"/limit_surface/set is {kind}, expected 0, 1 or 2")
    return Polyhedron(planes) if kind == 2 else (Ellipsoid(), Mixed())[kind]


def write_limit_surface(file: Any, problem: LimitSurfaceProblem) -> None:
    sets = problem.surface.sets if isinstance(problem.surface, FrictionSets) else (problem.surface,)
    if any(isinstance(each, FrictionMap) for each in sets):
        raise InputError("save: the surface is a FrictionMap, expected a set that is not a function")
    parts = {name: getattr(problem, name) for name in ("A", "b", "mu", "e", "slip", "state")}
    if isinstance(problem.surface, FrictionSets):
        kinds, planes, _ = sets_data(problem.surface, problem.contacts)
        parts |= {"set": kinds, "planes": planes}
    else:
        parts["set"] = problem.surface.kind
        parts |= {"planes": problem.surface.planes} if isinstance(problem.surface, Polyhedron) else {}
    write(file, "limit_surface", **parts)


def write(file: Any, group: str, **parts: Any) -> None:
    """Datasets of a group by their names: numbers, arrays, and of a sparse matrix a group of its own."""
    for name, part in parts.items():
        path = f"{group}/{name}"
        if isinstance(part, int):
            kind = np.int64 if part > np.iinfo(np.int32).max else np.int32
            file.create_dataset(path, data=np.array([part], kind))
        elif sparse.issparse(part):
            m, n = part.shape
            write(file, path, m=m, n=n, nz=-2, nzmax=part.nnz, p=part.indptr, i=part.indices, x=part.data)
        else:
            write_array(file, path, part)


def write_array(file: Any, path: str, array: NDArray[Any]) -> None:
    worth_packing = array.nbytes > 1024  # a packed dataset costs a chunk index
    file.create_dataset(path, data=array, compression="gzip" if worth_packing else None)
