"""YAML read into plain data with the line of every value kept, and written so that reading gives the same back.

Plain scalars mean what the core schema of YAML 1.2 [1] says: 1e-3 is a number, and yes, on and 12:30 are text. A key
given twice is refused, and so is an alias: each value stands where it is used, and has one line.

[1] YAML Ain't Markup Language, version 1.2.2, section 10.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

import yaml

from stickslip.errors import InputError

Path: TypeAlias = tuple[str | int, ...]  # keys and indices from the top of the file

CORE_SCHEMA = (
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
)
TAG = "tag:yaml.org,2002:"
DEEPEST = 20  # lists in lists


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


class Dumper(yaml.SafeDumper):  # type: ignore[misc]
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True


for name, pattern, first in CORE_SCHEMA:  # what a plain scalar is, by its first character
    for kind in (Loader, Dumper):
        kind.add_implicit_resolver(TAG + name, re.compile(f"^(?:{pattern})$"), list(first))


class LineError(InputError):
    """What is wrong in a file, at a line."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line


def read(text: str) -> tuple[Any, dict[Path, int]]:
    """The data of one YAML document, and the line of every value by its path."""
    lines: dict[Path, int] = {}
    try:
        loader = Loader(text)
        try:
            return document(loader, lines), lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise LineError(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise LineError(line, f"this is not YAML: {error.reason}") from None


def document(loader: Any, lines: dict[Path, int]) -> Any:
    """The one document of a stream; None where there is none."""
    loader.get_event()  # the stream starts
    if loader.check_event(yaml.StreamEndEvent):
        return None
    loader.get_event()  # the document starts
    data = plain(loader, (), lines)
    loader.get_event()  # the document ends
    if not loader.check_event(yaml.StreamEndEvent):
        raise LineError(line_of(loader.peek_event()), "a second document starts here, expected one")
    return data


def plain(loader: Any, path: Path, lines: dict[Path, int]) -> Any:
    """The value that starts with the next event."""
    event = loader.get_event()
    lines[path] = line_of(event)
    if len(path) > DEEPEST:
        raise LineError(line_of(event), f"{dotted(path[:1])} is nested more than {DEEPEST} deep, expected less")
    if isinstance(event, yaml.AliasEvent):
        raise LineError(line_of(event), f"{dotted(path)} is the alias *{event.anchor}, expected the value written out")
    if isinstance(event, yaml.SequenceStartEvent):
        found: list[Any] = []
        while not loader.check_event(yaml.SequenceEndEvent):
            found.append(plain(loader, (*path, len(found)), lines))
        loader.get_event()
        return found
    if isinstance(event, yaml.MappingStartEvent):
        return dict(pairs(loader, path, lines))
    return scalar(loader, event, path)


def pairs(loader: Any, path: Path, lines: dict[Path, int]) -> Iterator[tuple[str, Any]]:
    while not loader.check_event(yaml.MappingEndEvent):
        key = loader.get_event()
        if not isinstance(key, yaml.ScalarEvent):
            raise LineError(line_of(key), f"a key of {dotted(path)} is not a text, expected a word")
        below = (*path, key.value)
        if below in lines:
            raise LineError(line_of(key), f"{dotted(below)} is given a second time, first in line {lines[below]}")
        value = plain(loader, below, lines)
        lines[below] = line_of(key)
        yield key.value, value
    loader.get_event()


def scalar(loader: Any, event: Any, path: Path) -> str | float | bool | None:
    text = event.value
    tag = event.tag or loader.resolve(yaml.ScalarNode, text, event.implicit)
    try:
        match tag.removeprefix(TAG):
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
            case "float":
                return float(re.sub(r"\.(inf|nan)", r"\1", text, flags=re.IGNORECASE))
            case "str" | "!":
                return str(text)
    except ValueError:
        pass
    sentence = f"{dotted(path)} is {text[:60]!r} with the tag {tag}, expected a number or a text"
    raise LineError(line_of(event), sentence)


def line_of(event: Any) -> int:
    return event.start_mark.line + 1


def dotted(path: Path) -> str:
    """bodies[1].mass"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def write(data: Any) -> str:
    """YAML that `read` reads as the same data; lists of numbers stand in one line."""
    return yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
