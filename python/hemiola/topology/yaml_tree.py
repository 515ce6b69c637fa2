# SPDX-License-Identifier: Apache-2.0
"""YAML as a tree of text, lists and mappings that remembers line numbers.

Only the plain part of YAML is read: no aliases (a bomb is ten of them), no tags (they name types), no second
document, no key twice. Scalars stay text, so that `no` is no boolean and 010 no eight; the reader of a value checks its
type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from hemiola.progress import ProgressBar
from hemiola.topology.place import Place, quote

#: Bounds on the memory that a hostile file can make us hold: bytes of text, depth of nesting, scalars and brackets.
MAX_BYTES = 16 << 20
_MAX_DEPTH = 12
_MAX_EVENTS = 8 << 20

#: Events, some milliseconds.
_BETWEEN_REPORTS = 1 << 10

_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True)
class Node:
    """A scalar (str), a list or a mapping, and where it is."""

    value: str | list[Node] | dict[str, Node]
    place: Place


@dataclass(frozen=True)
class Document:
    """A tree, and whether the mark '...' says that nothing of it is missing."""

    root: Node
    is_ended: bool


def parse(text: str, source: str) -> Document:
    """Read YAML text into a tree; raise FormatError that names source and line."""
    place = Place(source)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        place.fail("expected text, found half a surrogate pair")
    if size > MAX_BYTES:
        place.fail(f"expected at most {MAX_BYTES} bytes of YAML, found {size}")
    with ProgressBar("parsing") as bar:
        return _document(_events(text, place, bar), place)


def _document(events: Iterator[yaml.Event], place: Place) -> Document:
    try:
        _take(events, yaml.StreamStartEvent, place)
        first = next(events)
        if isinstance(first, yaml.StreamEndEvent):
            place.fail("expected a topology, found an empty file")
        root = _node(next(events), events, place, depth=0)
        end = _take(events, yaml.DocumentEndEvent, place)
        after = next(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        Place(place.source, mark.line + 1 if mark else 0).fail(
            f"not YAML: {_one_line(error.problem or error.context)}"
        )
    except yaml.YAMLError as error:
        place.fail(f"not YAML: {_one_line(str(error))}")
    if not isinstance(after, yaml.StreamEndEvent):
        _at(after, place).fail("expected one YAML document, found a second one")
    return Document(root, bool(end.explicit))


def _events(text: str, place: Place, bar: ProgressBar) -> Iterator[yaml.Event]:
    """Yield at most _MAX_EVENTS events; tell the bar now and then how much of the text they come from."""
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if count % _BETWEEN_REPORTS == 0 and event.end_mark is not None:
            bar(event.end_mark.index, len(text))
        if count >= _MAX_EVENTS:
            _at(event, place).fail(f"expected at most {_MAX_EVENTS} values")
        yield event


def _take(events: Iterator[yaml.Event], kind: type[yaml.Event], place: Place) -> Any:
    event = next(events)
    if not isinstance(event, kind):
        _at(event, place).fail("expected one YAML document")
    return event


def _node(event: yaml.Event, events: Iterator[yaml.Event], place: Place, depth: int) -> Node:
    """Build the node that starts with `event`; recursion ends at _MAX_DEPTH."""
    here = _at(event, place)
    if depth > _MAX_DEPTH:
        here.fail(f"expected at most {_MAX_DEPTH} levels of nesting")
    if isinstance(event, yaml.AliasEvent):
        here.fail("expected no aliases (*name); write the value out")
    if getattr(event, "anchor", None) is not None:
        here.fail("expected no anchors (&name); write values out where they are needed")
    tag = getattr(event, "tag", None)
    if tag not in (None, "!"):
        here.fail(f"expected no tags, found {quote(tag)}")
    if isinstance(event, yaml.ScalarEvent):
        return Node(event.value, here)
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_node(item, events, place, depth + 1))
        return Node(items, here)
    return Node(_mapping(events, place, depth), here)


def _mapping(events: Iterator[yaml.Event], place: Place, depth: int) -> dict[str, Node]:
    entries: dict[str, Node] = {}
    while not isinstance(item := next(events), yaml.MappingEndEvent):
        key = _node(item, events, place, depth + 1)
        if not isinstance(key.value, str):
            key.place.fail("expected a word as key, found a list or a mapping")
        keyed = Place(place.source, key.place.line, key.value)
        if key.value in entries:
            keyed.fail("this key is there twice; keep one")
        value = _node(next(events), events, place, depth + 1)
        entries[key.value] = Node(value.value, Place(place.source, value.place.line, key.value))
    return entries


def _at(event: yaml.Event, place: Place) -> Place:
    mark = event.start_mark
    return Place(place.source, mark.line + 1 if mark else 0)


def _one_line(text: str | None) -> str:
    return quote(" ".join((text or "unreadable").split()))[1:-1]
