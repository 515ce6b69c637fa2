# SPDX-License-Identifier: Apache-2.0
"""The messages of Chakra's execution traces (et_def.proto of mlcommons/chakra 1.0.0), made at run time.

A descriptor in place of generated code: no version of protobuf has to fit a generator's. Fields that Hemiola does not
write are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from hemiola.environment.packages import optional

_PACKAGE = "HemiolaChakra"
COMP_NODE, SEND_NODE, RECV_NODE = 4, 5, 6
#: Fields of each message: name, number, type, whether it repeats.
_FIELDS = {
    "AttributeProto": (
        ("name", 1, "STRING", False),
        ("int32_val", 7, "INT32", False),
        ("int64_val", 9, "INT64", False),
        ("uint32_val", 11, "UINT32", False),
        ("uint64_val", 13, "UINT64", False),
        ("bool_val", 27, "BOOL", False),
        ("string_val", 29, "STRING", False),
    ),
    "GlobalMetadata": (("version", 1, "STRING", False), ("attr", 2, "AttributeProto", True)),
    "Node": (
        ("id", 1, "UINT64", False),
        ("name", 2, "STRING", False),
        ("type", 3, "INT32", False),
        ("ctrl_deps", 4, "UINT64", True),
        ("data_deps", 5, "UINT64", True),
        ("start_time_micros", 6, "UINT64", False),
        ("duration_micros", 7, "UINT64", False),
        ("attr", 10, "AttributeProto", True),
    ),
}


@cache
def _classes() -> dict[str, Any]:
    """Return the classes of the messages; raise MissingPackageError where protobuf is not installed."""
    descriptors = optional("google.protobuf.descriptor_pb2")
    pool = optional("google.protobuf.descriptor_pool").DescriptorPool()
    field = descriptors.FieldDescriptorProto
    file = descriptors.FileDescriptorProto(name="hemiola_chakra.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _FIELDS.items():
        made = file.message_type.add(name=message)
        is_value = message == "AttributeProto"
        if is_value:
            made.oneof_decl.add(name="value")
        for name, number, kind, repeats in fields:
            label = field.LABEL_REPEATED if repeats else field.LABEL_OPTIONAL
            one = made.field.add(name=name, number=number, label=label)
            if kind in _FIELDS:
                one.type, one.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                one.type = getattr(field, f"TYPE_{kind}")
            if is_value and name != "name":
                one.oneof_index = 0
    pool.Add(file)
    factory = optional("google.protobuf.message_factory")
    return {
        name: factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _FIELDS
    }


def new_node(**fields: Any) -> Any:
    """Return a node with these fields."""
    return _classes()["Node"](**fields)


def add_attribute(node: Any, name: str, field: str, value: int | bool | str) -> None:
    """Add an attribute, in one of the fields `int32_val`, `int64_val`, `bool_val`, `string_val`."""
    setattr(node.attr.add(name=name), field, value)


def joined(nodes: Iterable[Any], version: str) -> bytes:
    """Return a trace: the metadata and the nodes, each with its length before it."""
    parts = bytearray()
    for message in (_classes()["GlobalMetadata"](version=version), *nodes):
        data = message.SerializeToString(deterministic=True)
        parts += _varint(len(data)) + data
    return bytes(parts)


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])
