"""What public names are told, checked and made canonical where it enters: one sentence for every mistake.

A kind of argument is a function (owner, field, value) that returns the value as the code behind wants it, or raises
`Refused`. `checked` says the kinds of the arguments of a function, or of the fields of a dataclass:

    @checked(tol=positive, x0=vector)                 @dataclass(frozen=True)
    def solve(problem, tol=None, x0=None):            @checked(tol=not_negative, max_iter=count)
        ...                                           class PGS: ...

What equals a default by identity is never asked. Kernels and what runs in every step are called with what was checked.
Tolerances (RELATIVE) are below 1 wherever they are asked for: no answer at all has a residual of 1.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stickslip.errors import InputError

Kind: TypeAlias = Callable[[str, str, Any], Any]
T = TypeVar("T", bound=Callable[..., Any])

MOST = 2**63 - 1  # the greatest count that kernels can hold
LARGEST = 1e100  # of numbers that describe something: their squares and cubes are finite
RELATIVE = {"tol", "accept", "rtol"}  # bounds of what is relative to the numbers of a problem
UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # of texts: nulls, and halves of characters
LONGEST_TITLE = 500  # characters
MISSING = object()


class Refused(InputError):
    """A value that cannot be. Field, value and expectation are kept, so that a file can add its line to them."""

    def __init__(self, owner: str, field: str, value: object, expected: str) -> None:
        super().__init__(f"{owner}: {field} is {shown(value)}, expected {expected}")
        self.field, self.value, self.expected = field, value, expected

    def __reduce__(self) -> tuple[Any, ...]:
        return InputError, (str(self),)  # its value may be what cannot be sent to another process


def shown(value: object, longest: int = 80) -> str:
    """A value in one line, cut where it is long."""
    try:
        text = repr(value.tolist() if isinstance(value, np.ndarray | np.generic) and value.size < 100 else value)
    except Exception:  # of an object that cannot be written, or a number of more digits than Python writes
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 3] + "..."


def checked(**kinds: Kind) -> Callable[[T], T]:
    """Check the arguments of a function, or the fields of a dataclass, of which this stands below the decorator."""

    kinds = {name: below_one(kind) if name in RELATIVE else kind for name, kind in kinds.items()}

    def decorate(target: T) -> T:
        check = check_fields if isinstance(target, type) else check_arguments
        return check(target, kinds)  # type: ignore[return-value]

    return decorate


def check_arguments(function: Callable[..., Any], kinds: Mapping[str, Kind]) -> Callable[..., Any]:
    parameters = inspect.signature(function).parameters
    unknown = set(kinds) - set(parameters)
    assert not unknown, f"{function.__qualname__} has no {unknown}"
    defaults = {name: each.default for name, each in parameters.items()}
    placed, rest = [], None
    for name, each in parameters.items():
        if each.kind is each.POSITIONAL_OR_KEYWORD:
            placed.append((name, kinds.get(name), each.default))
        elif each.kind is each.VAR_POSITIONAL:
            rest = name
    owner = function.__qualname__.removesuffix(".__init__").split(".")[-1]

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        values = [
            value if kind is None or value is default else kind(owner, name, value)
            for value, (name, kind, default) in zip(given, placed, strict=False)
        ]
        further = given[len(placed) :]
        if further:
            values += further if rest is None or rest not in kinds else [kinds[rest](owner, rest, v) for v in further]
        for name, value in named.items():
            kind = kinds.get(name)
            if kind is not None and value is not defaults[name]:
                named[name] = kind(owner, name, value)
        return function(*values, **named)

    return call


def check_fields(cls: Any, kinds: Mapping[str, Kind]) -> Any:
    after = getattr(cls, "__post_init__", None)  # its own, or inherited

    def __post_init__(self: Any) -> None:
        owner, values = type(self).__name__, self.__dict__
        for name, kind in kinds.items():
            value = values[name]
            if value is not getattr(type(self), name, MISSING):
                values[name] = kind(owner, name, value)
        if after is not None:
            after(self)

    cls.__post_init__ = __post_init__
    return cls


# numbers


NO_NUMBERS = bool | np.bool_ | np.timedelta64  # though Python, or NumPy, counts them among the integers


def is_number(value: object) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, NO_NUMBERS))


def scalar(value: Any) -> Any:
    """The only entry of an array without dimensions; all else as it is."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def real(owner: str, field: str, value: Any, expected: str = "a number") -> float:
    """A number, perhaps infinite; -0 becomes 0."""
    value = scalar(value)
    try:
        found = float(value) + 0.0 if is_number(value) else math.nan
    except OverflowError:
        found = math.nan
    if math.isnan(found):
        raise Refused(owner, field, value, expected)
    return found


def number(owner: str, field: str, value: Any, expected: str = "a finite number") -> float:
    found = real(owner, field, value, expected)
    if not abs(found) <= LARGEST:
        raise Refused(owner, field, value, f"{expected}, up to {LARGEST:g}" if math.isfinite(found) else expected)
    return found


def number_that(holds: Callable[[float], bool], usual: str, of: Callable[..., float] = number) -> Callable[..., float]:
    """Numbers of a kind for which something holds; `usual` is how an error calls them where nothing else is said."""

    def kind(owner: str, field: str, value: Any, expected: str = usual) -> float:
        found = of(owner, field, value, expected)
        if not holds(found):
            raise Refused(owner, field, value, expected)
        return found

    return kind


positive = number_that(lambda found: found > 0, "a positive number")
not_negative = number_that(lambda found: found >= 0, "a number >= 0")
fraction = number_that(lambda found: 0 <= found <= 1, "a number from 0 to 1")
bound = number_that(lambda found: found >= 0, "a number >= 0, or inf", real)  # inf where there is no bound


def between(low: float, high: float) -> Kind:
    """A number inside an interval."""
    return number_that(lambda found: low < found < high, f"a number between {low:g} and {high:g}")


def below_one(kind: Kind) -> Kind:
    """A kind of numbers, without those from 1 on."""

    def limited(owner: str, field: str, value: Any) -> Any:
        found = kind(owner, field, value)
        if found is not None and found >= 1:
            raise Refused(owner, field, value, "a number below 1, the residual of no answer at all")
        return found

    return limited


def truth(owner: str, field: str, value: Any) -> bool:
    value = scalar(value)
    if not isinstance(value, bool | np.bool_):
        raise Refused(owner, field, value, "True or False")
    return bool(value)


def whole(owner: str, field: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number from `least` to `most`, by default what kernels can hold."""
    value = scalar(value)
    if is_number(value) and isinstance(value, Integral) and least <= int(value) <= most:
        return int(value)
    limit = f" and at most {'2^63 - 1' if most == MOST else most}" if is_number(value) and value > most else ""
    raise Refused(owner, field, value, f"a whole number of at least {least}{limit}")


def wholes(least: int, most: int = MOST) -> Kind:
    return lambda owner, field, value: whole(owner, field, value, least, most)


count = wholes(1)  # how many: at least one


def numbers(
    owner: str, field: str, value: Any, counts: tuple[int, ...], expected: str, each: Callable[..., float] = number
) -> tuple[float, ...]:
    """As many finite numbers of a kind as one of `counts` says."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, tuple | list) or len(value) not in counts:
        raise Refused(owner, field, value, expected)
    try:
        return tuple(each(owner, field, item, expected) for item in value)
    except Refused as refused:
        raise Refused(owner, field, value, refused.expected) from None


def several(size: int, expected: str, each: Callable[..., float] = number) -> Kind:
    """So many numbers of a kind, as a tuple."""
    return lambda owner, field, value: numbers(owner, field, value, (size,), expected, each)


# arrays: float64 in C order


def as_floats(owner: str, name: str, value: ArrayLike) -> NDArray[np.float64]:
    """A copy: what the caller does to his array later is his affair."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value.copy()
    try:
        if np.ma.is_masked(value) or isinstance(value, bytearray):  # what is under a mask is no number, nor is a byte
            raise TypeError
        if isinstance(value, memoryview) and value.itemsize == 1:
            raise TypeError
        array = np.asarray(value)
        # text such as "1" would be converted, complex numbers cut, True taken for 1
        if array.dtype.kind not in "iuf" and (array.dtype.kind != "O" or not all(map(is_number, array.flat))):
            raise TypeError
        return array.astype(np.float64, order="C")
    except Exception:  # also of an object that makes no array of itself
        raise Refused(owner, name, value, "an array of real numbers") from None


def finite(owner: str, name: str, array: NDArray[np.float64]) -> None:
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.unravel_index(int(np.argmin(good)), array.shape))
        index = f"[{', '.join(map(str, where))}]" if where else ""
        raise InputError(f"{owner}: {name}{index} is {array[where]}, expected a finite number")


def floats(owner: str, name: str, value: ArrayLike) -> NDArray[np.float64]:
    """An array of finite numbers, of any shape."""
    array = as_floats(owner, name, value)
    finite(owner, name, array)
    return array


def vector(
    owner: str, name: str, value: ArrayLike, size: int | None = None, infinite: bool = False
) -> NDArray[np.float64]:
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


# words, files, functions, values of classes


def value_that(holds: Callable[[Any], bool], expected: str) -> Kind:
    """Values of which something holds, as they are."""

    def kind(owner: str, field: str, value: Any) -> Any:
        if not holds(value):
            raise Refused(owner, field, value, expected)
        return value

    return kind


text = value_that(lambda value: isinstance(value, str) and not UNWRITABLE.search(value), "a text that a file can hold")
function = value_that(lambda value: callable(value) and not isinstance(value, type), "a function")
mapping = value_that(lambda value: isinstance(value, Mapping), "a dictionary")


def heading(owner: str, field: str, value: Any) -> str:
    """The title of a figure, which has room for a few lines."""
    title = text(owner, field, value)
    if len(title) > LONGEST_TITLE:
        raise Refused(owner, field, value, f"a title of at most {LONGEST_TITLE} characters")
    return title


def path(owner: str, field: str, value: Any) -> str:
    """The name of a file."""
    try:
        name = os.fspath(value)
        if isinstance(name, str) and name and b"\0" not in os.fsencode(name):
            return name
    except (TypeError, UnicodeEncodeError):
        pass
    raise Refused(owner, field, value, "the name of a file, as text or a Path")


def one_of(*names: Any) -> Kind:
    """One of some words, which may also be given as a Literal."""
    words = tuple(word for name in names for word in (name if isinstance(name, tuple) else get_args(name) or (name,)))
    expected = " or ".join(map(repr, words)) if len(words) < 3 else f"one of {', '.join(words)}"
    return value_that(lambda value: isinstance(value, str) and value in words, expected)


def instance(*classes: type, expected: str = "") -> Kind:
    """A value of one of some classes."""
    names = " or ".join(", ".join(each.__name__ for each in classes).rsplit(", ", 1))
    said = expected or f"{'an' if names.startswith(('A', 'E', 'I', 'LCP', 'O')) else 'a'} {names}"

    def kind(owner: str, field: str, value: Any) -> Any:
        if not isinstance(value, classes):
            raise Refused(owner, "the problem" if field == "problem" else field, value, said)
        return value

    return kind


def either(*kinds: Kind, expected: str) -> Kind:
    """Whatever the first of some kinds takes."""

    def kind(owner: str, field: str, value: Any) -> Any:
        for each in kinds:
            try:
                return each(owner, field, value)
            except InputError:
                continue
        raise Refused(owner, field, value, expected)

    return kind


def optional(kind: Kind) -> Kind:
    """A kind, or None, where that is not the default anyway."""
    return lambda owner, field, value: None if value is None else kind(owner, field, value)


def tuple_of(each: Kind) -> Kind:
    """Any number of values of a kind."""

    def kind(owner: str, field: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise Refused(owner, field, value, "a list or tuple")
        return tuple(each(owner, f"{field}[{i}]", item) for i, item in enumerate(value))

    return kind
