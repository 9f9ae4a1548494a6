"""The messages of the profiler's files, as far as they are read.

They are built from field numbers (xplane.proto of TensorFlow's profiler), with lines and events
left as bytes, so that no Python object with attributes is made for an event.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELDS: dict[str, dict[str, tuple[int, str]]] = {
    "XSpace": {
        "planes": (1, "*XPlane"),
        "errors": (2, "*string"),
        "warnings": (3, "*string"),
        "hostnames": (4, "*string"),
    },
    "XPlane": {
        "name": (2, "bytes"),
        "lines": (3, "*bytes"),
        "event_metadata": (4, "*Named"),
        "stat_metadata": (5, "*Named"),
    },
    "Named": {"key": (1, "int64"), "value": (2, "Name")},
    "Name": {"name": (2, "bytes")},
    "LineHead": {"timestamp_ns": (3, "int64")},
    "XLine": {
        "name": (2, "bytes"),
        "timestamp_ns": (3, "int64"),
        "events": (4, "*bytes"),
        "display_name": (11, "bytes"),
    },
    "XEvent": {"stats": (4, "*XStat")},
    "XStat": {
        "metadata_id": (1, "int64"),
        "double_value": (2, "double"),
        "uint64_value": (3, "uint64"),
        "int64_value": (4, "int64"),
        "str_value": (5, "string"),
        "bytes_value": (6, "bytes"),
        "ref_value": (7, "uint64"),
    },
}
"""What is read of xplane.proto: name → number and type; `*` repeats."""


def _messages() -> dict[str, Any]:
    """Message classes of the fields above; proto2, which tells an absent value from 0."""
    package = "keras_perf_xplane"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package)
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            scalar = f"TYPE_{kind.lstrip('*').upper()}"
            made = described.field.add(
                name=name,
                number=number,
                label=kinds.LABEL_REPEATED if kind[0] == "*" else kinds.LABEL_OPTIONAL,
            )
            if hasattr(kinds, scalar):
                made.type = kinds.Type.Value(scalar)
            else:
                made.type = kinds.TYPE_MESSAGE
                made.type_name = f".{package}.{kind.lstrip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = (pool.FindMessageTypeByName(f"{package}.{name}") for name in _FIELDS)
    return {described.name: message_factory.GetMessageClass(described) for described in found}


MESSAGES = _messages()
