# SPDX-License-Identifier: Apache-2.0
"""Readers of the values in a topology file: each turns a node into a value or raises an error with the expected
type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hemiola import units
from hemiola.errors import FormatError
from hemiola.topology.place import quote
from hemiola.topology.yaml_tree import Node

Value = TypeVar("Value")
Reader = Callable[[Node], Value]

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def text(node: Node) -> str:
    """Read one word or line."""
    if not isinstance(node.value, str):
        node.place.fail(f"expected one value, found {_kind(node)}")
    return node.value


def count(node: Node) -> int:
    """Read a whole number >= 0 in decimal."""
    body = text(node).strip()
    if not (body.isascii() and body.isdigit() and len(body) <= 10):
        node.place.fail(f"expected a whole number such as 8, found {quote(body)}")
    value = int(body)
    if value >= 2**31:
        node.place.fail(f"expected a number below 2^31, found {quote(body)}")
    return value


def boolean(node: Node) -> bool:
    """Read true or false."""
    body = text(node).strip().lower()
    if body not in _BOOLEANS:
        node.place.fail(f"expected true or false, found {quote(body)}")
    return _BOOLEANS[body]


def factor(node: Node) -> float:
    """Read a decimal number; its range is checked where it is used."""
    body = text(node).strip()
    try:
        return float(body)
    except ValueError:
        node.place.fail(f"expected a number such as 2 or 1.5, found {quote(body)}")


def seconds(node: Node) -> float:
    """Read a time with its unit."""
    return _with_unit(node, units.parse_seconds, "a time such as '0.5 us'")


def bandwidth(node: Node) -> float:
    """Read a bandwidth with its unit."""
    return _with_unit(node, units.parse_bandwidth, "a bandwidth such as '50 GB/s' or '200 Gbit/s'")


def list_of(reader: Reader[Value]) -> Reader[list[Value]]:
    """Read a list, each item by `reader`."""

    def read(node: Node) -> list[Value]:
        if not isinstance(node.value, list):
            node.place.fail(f"expected a list, found {_kind(node)}")
        return [reader(item) for item in node.value]

    return read


def one_or_list_of(reader: Reader[Value]) -> Reader[Value | list[Value]]:
    """Read one value, or a list of them."""

    def read(node: Node) -> Value | list[Value]:
        return list_of(reader)(node) if isinstance(node.value, list) else reader(node)

    return read


def mapping(node: Node) -> dict[str, Node]:
    """Read a mapping."""
    if not isinstance(node.value, dict):
        node.place.fail(f"expected 'key: value' lines, found {_kind(node)}")
    return node.value


def _with_unit(node: Node, parse: Callable[[str], float], example: str) -> float:
    body = text(node)
    try:
        return parse(body)
    except FormatError:
        node.place.fail(f"expected {example}, found {quote(body)}")


def _kind(node: Node) -> str:
    if isinstance(node.value, list):
        return "a list"
    if isinstance(node.value, dict):
        return "a mapping"
    return quote(node.value)
