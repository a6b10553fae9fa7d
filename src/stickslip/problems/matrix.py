"""Matrices and vectors made canonical once, where they enter: float64, C order, finite; sparse ones as sorted CSR."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from stickslip.checks import as_floats, finite
from stickslip.errors import InputError
from stickslip.jit import kernel

Vector: TypeAlias = NDArray[np.float64]
Dense: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Sparse: TypeAlias = Any  # sparse.csr_array; SciPy ships no types
Matrix: TypeAlias = Any  # Dense, or Sparse


class Frozen:
    """Data whose arrays are read-only, as are those of its copies: what is remembered of them stays true.

    Kernels take such arrays as any other; see typeof_pyval of compiling.py.
    """

    def hold(self, **fields: Any) -> None:
        """Set fields of a frozen dataclass."""
        self.__dict__.update({name: frozen(value) for name, value in fields.items()})

    @classmethod
    def unchecked(cls, **fields: Any) -> Self:
        """One of arrays that are known to be right, canonical and finite, and that nobody else will write to."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        for value in fields.values():
            frozen(value)
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hold(**state)


def frozen(value: Any) -> Any:
    """The same array, dense or sparse, read-only from now on; what is no array is left as it is."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, sparse.csr_array):
        for array in (value.data, value.indices, value.indptr):
            array.setflags(write=False)
    return value


class OfRows(Frozen):
    """What (mixed) linear complementarity problems share: w = M z + q, a row for each unknown."""

    M: Matrix
    q: Vector

    tolerance: ClassVar[float] = 1e-10  # on the residual, where the caller states none

    @property
    def size(self) -> int:
        return self.q.size

    def value(self, z: Vector) -> Vector:
        """w = M z + q."""
        return affine(self.M, point(type(self).__name__, "z", z, self.size), self.q)


def square(owner: str, name: str, value: ArrayLike | Any) -> Matrix:
    """A finite square matrix, dense or CSR."""
    matrix = canonical(owner, name, value)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{owner}: {name} has shape {matrix.shape}, expected a square matrix")
    return matrix


def canonical(owner: str, name: str, value: ArrayLike | Any) -> Matrix:
    """A finite float64 matrix, dense in C order or CSR with sorted 32-bit indices and no duplicates."""
    if sparse.issparse(value):
        return canonical_sparse(owner, name, value)
    array = as_floats(owner, name, value)
    finite(owner, name, array)
    return array


def canonical_sparse(owner: str, name: str, value: Any) -> Sparse:
    if value.dtype.kind not in "biuf":
        raise InputError(f"{owner}: {name} has entries of type {value.dtype}, expected real numbers")
    check_indices(owner, name, value)
    matrix: Sparse = sparse.csr_array(value, dtype=np.float64, copy=True)  # the caller's arrays stay his
    matrix.has_canonical_format = False  # his word for it is not taken: SciPy keeps a flag that he may have set
    matrix.sum_duplicates()
    if matrix.indices.dtype != np.int32 and max(*matrix.shape, matrix.nnz) <= np.iinfo(np.int32).max:
        indices, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
        matrix = sparse.csr_array((matrix.data, indices, starts), shape=matrix.shape)
    good = np.isfinite(matrix.data)
    if not good.all():
        entry = int(np.argmin(good))
        row, column = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, matrix.indices[entry]
        raise InputError(f"{owner}: {name}[{row}, {column}] is {matrix.data[entry]}, expected a finite number")
    return matrix


def check_indices(owner: str, name: str, value: Any) -> None:
    """Refuse a sparse matrix whose indices lie outside of it: kernels, and SciPy itself, would read elsewhere."""
    if value.format in ("csr", "csc", "bsr"):
        rows, columns = value.shape if value.format != "csc" else value.shape[::-1]
        if value.format == "bsr":
            rows, columns = rows // value.blocksize[0], columns // value.blocksize[1]
        indices, starts = np.asarray(value.indices), np.asarray(value.indptr)
        count = min(indices.size, value.data.shape[0])
        if starts.shape != (rows + 1,) or starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > count:
            raise InputError(
                f"{owner}: {name} has row starts that do not fit its {count} entries, expected them to rise from 0"
            )
        outside = (indices[: starts[-1]] < 0) | (indices[: starts[-1]] >= columns)
    elif value.format == "coo":
        indices = np.concatenate([np.asarray(each) for each in value.coords])
        limit = np.repeat(value.shape, [np.size(each) for each in value.coords])
        outside = (indices < 0) | (indices >= limit)
    else:
        return  # the other formats are made of these, or checked by SciPy
    if outside.any():
        worst = int(indices[: outside.size][outside][0])
        raise InputError(f"{owner}: {name} has an entry with index {worst}, expected indices within {value.shape}")


def not_negative(owner: str, name: str, values: NDArray[np.float64], expected: str) -> None:
    if values.min(initial=0.0) < 0.0:
        where = tuple(int(i) for i in np.argwhere(values < 0)[0])
        raise InputError(f"{owner}: {name}{list(where)} is {values[where]:g}, expected {expected} >= 0")


def point(owner: str, name: str, x: ArrayLike, size: int) -> Vector:
    """An iterate: NaN and Inf may be in it, and the residual is then inf."""
    array = as_floats(owner, name, x)
    if array.shape != (size,):
        raise InputError(f"{owner}: {name} has shape {array.shape}, expected ({size},)")
    return array


def affine(matrix: Matrix, x: Vector, offset: Vector) -> Vector:
    """matrix x + offset. A diverged x overflows to inf or nan without a warning: the residual is what tells."""
    y: Vector
    if isinstance(matrix, np.ndarray):
        y = np.empty(offset.size)
        affine_dense(matrix, x, offset, y)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            y = matrix @ x + offset
    return y


@kernel
def affine_dense(matrix, x, offset, y):
    """y = matrix x + offset, whatever the number of threads of BLAS."""
    for i in range(offset.size):
        total = 0.0
        for j in range(x.size):
            total += matrix[i, j] * x[j]
        y[i] = total + offset[i]


@kernel
def all_finite(array):
    """Is every entry of an array, of any shape, a number?"""
    finite_so_far = True
    for x in array.flat:
        finite_so_far = finite_so_far and abs(x) < np.inf
    return finite_so_far


def density(matrix: Matrix) -> float:
    """The share of entries that are not zero."""
    rows, columns = matrix.shape
    count = int(matrix.nnz) if isinstance(matrix, sparse.csr_array) else int(np.count_nonzero(matrix))
    return count / max(int(rows * columns), 1)


def as_dense(matrix: Matrix) -> Dense:
    return matrix.toarray() if isinstance(matrix, sparse.csr_array) else matrix


def as_sparse(matrix: Matrix) -> Sparse:
    return matrix if isinstance(matrix, sparse.csr_array) else sparse.csr_array(matrix)


def both_sides(matrix: Matrix, s: Vector) -> Matrix:
    """s_i M_ij s_j."""
    if not sparse.issparse(matrix):
        return matrix * s * s[:, None]
    entries = matrix.data * s[matrix.indices] * np.repeat(s, np.diff(matrix.indptr))
    return sparse.csr_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)


def asymmetry(matrix: Matrix) -> float:
    """The largest |M_ij - M_ji|, as a share of the largest |M_ij|; 0 for a matrix of zeros."""
    difference = matrix - matrix.T
    apart, size = (np.abs(m.data if sparse.issparse(m) else m).max(initial=0.0) for m in (difference, matrix))
    return float(apart / size) if size > 0 else 0.0
