"""Texts as attributes of HDF5 files, of a fixed length: they lie in the header of an object, which has a checksum.

Python's own texts would go to a heap that has none, where a flipped bit may let HDF5 search for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def fixed(text: str | Sequence[str]) -> Any:
    """A text, or several, for an attribute."""
    encoded = np.char.encode(np.asarray(text, np.str_), "utf-8")
    return encoded.astype(f"S{max(1, encoded.dtype.itemsize)}")


def text_of(value: Any) -> str:
    """What an attribute says, also one of Python's own texts."""
    return value.decode() if isinstance(value, bytes) else str(value)
