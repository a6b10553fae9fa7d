"""stickslip: rigid bodies in frictional contact, treated as the complementarity problem it is.

    import stickslip as ss
    answer = ss.solve(ss.LCP([[2, 1], [1, 2]], [-5, -6]))
    answer.x, answer.status, answer.residual

The public names are those of `__init__.pyi`. They are loaded on first use, so that `import stickslip` is quick.
"""

from __future__ import annotations

import os

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Each public name and the module that defines it: the lines `from module import name as name` of the stub."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as stub:
        lines = [line.split() for line in stub]
    return {words[-1]: words[1] for words in lines if words[:1] == ["from"]}


_HOME = _homes()
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"stickslip has no {name!r}")
    value = getattr(__import__(_HOME[name], fromlist=[name]), name)  # a module's too
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
