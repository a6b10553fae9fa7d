"""Matrices and vectors made canonical once, where they enter: float64, C order, finite; sparse ones as sorted CSR."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from stickslip.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
Dense: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Sparse: TypeAlias = Any  # sparse.csr_array; SciPy ships no types
Matrix: TypeAlias = Any  # Dense, or Sparse


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
    matrix: Sparse = sparse.csr_array(value).astype(np.float64, copy=False)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's arrays stay as they are
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


def vector(owner: str, name: str, value: ArrayLike, size: int | None = None, infinite: bool = False) -> Vector:
    """A float64 vector of the given size; NaN never passes, infinities only where they mean something."""
    array = as_floats(owner, name, value)
    if array.ndim != 1 or (size is not None and array.size != size):
        expected = "a vector" if size is None else f"({size},)"
        raise InputError(f"{owner}: {name} has shape {array.shape}, expected {expected}")
    if not infinite:
        finite(owner, name, array)
    elif np.isnan(array).any():
        raise InputError(f"{owner}: {name}[{int(np.isnan(array).argmax())}] is nan, expected a number or an infinity")
    return array


def not_negative(owner: str, name: str, values: NDArray[np.float64], expected: str) -> None:
    if (values < 0).any():
        where = tuple(int(i) for i in np.argwhere(values < 0)[0])
        raise InputError(f"{owner}: {name}{list(where)} is {values[where]:g}, expected {expected} >= 0")


def as_floats(owner: str, name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":  # text such as "1" would be converted, complex numbers cut
            raise TypeError
        return np.ascontiguousarray(array, np.float64) if array.ndim else array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{owner}: {name} is {shortened(value)}, expected an array of real numbers") from None


def finite(owner: str, name: str, array: NDArray[np.float64]) -> None:
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.unravel_index(int(np.argmin(good)), array.shape))
        index = ", ".join(map(str, where))
        raise InputError(f"{owner}: {name}[{index}] is {array[where]}, expected a finite number")


@np.errstate(over="ignore", invalid="ignore")
def affine(matrix: Matrix, x: Vector, offset: Vector) -> Vector:
    """matrix x + offset. A diverged x overflows to inf or nan without a warning: the residual is what tells."""
    y: Vector = matrix @ x + offset
    return y


def shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


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
