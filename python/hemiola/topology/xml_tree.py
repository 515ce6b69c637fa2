# SPDX-License-Identifier: Apache-2.0
"""XML as a tree of elements with line numbers; no document type, no entities, bounded depth and size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from hemiola.errors import FormatError
from hemiola.topology.place import Place, quote

_MAX_DEPTH = 64
_MAX_ELEMENTS = 1 << 20


@dataclass(slots=True)
class Element:
    """One element: name, attributes, children, place."""

    tag: str
    attributes: dict[str, str]
    place: Place
    children: list[Element] = field(default_factory=list)

    def named(self, tag: str) -> Iterator[Element]:
        """Yield the children of that name."""
        return (child for child in self.children if child.tag == tag)

    def descendants(self) -> Iterator[Element]:
        """Yield all elements below, in the order of the text."""
        for child in self.children:
            yield child
            yield from child.descendants()

    def number(self, attribute: str, default: float | None = None) -> float:
        """Read an attribute as a finite number >= 0; without one, or where it is empty, the default."""
        text = self.attributes.get(attribute, "").strip()
        if not text:
            if default is not None:
                return default
            self.place.fail(f"<{self.tag}>: expected the attribute {quote(attribute)}")
        try:
            value = float(int(text, 16) if text[:2] in ("0x", "0X") else text)
        except (ValueError, OverflowError):
            value = -1.0
        if not 0 <= value <= 1e12:
            self.place.fail(
                f"<{self.tag}>: expected a number >= 0 as {quote(attribute)}, found {quote(text)}"
            )
        return value


class _Builder:
    """Receives the parser's events."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[Element] = []
        self._count = 0
        self.root: Element | None = None
        # the declared encoding is ignored: we have decoded the file
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype

    def parse(self, text: str) -> None:
        self._parser.Parse(text.encode("utf-8", "surrogatepass"), True)

    def _place(self) -> Place:
        return Place(self._source, self._parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        self._place().fail("expected no document type (<!DOCTYPE>); NCCL writes none")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MAX_ELEMENTS:
            self._place().fail(f"expected at most {_MAX_ELEMENTS} elements")
        if len(self._open) >= _MAX_DEPTH:
            self._place().fail(f"expected at most {_MAX_DEPTH} levels of elements")
        element = Element(tag, attributes, self._place())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()


def parse(text: str, source: str) -> Element:
    """Read XML text into a tree; raise FormatError that names source and line."""
    builder = _Builder(source)
    try:
        builder.parse(text)
    except expat.ExpatError as error:
        raise FormatError(
            f"{source}, line {error.lineno}: not XML: {expat.ErrorString(error.code)}"
        ) from None
    if builder.root is None:
        Place(source).fail("not XML: no element found")
    return builder.root
