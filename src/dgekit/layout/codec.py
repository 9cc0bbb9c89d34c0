"""The scalar codec: straight-line Python generated from a declaration at first use, then kept.

A structure of 1, 2, 4 or 8 bytes is cut from one integer with shifts and masks; a larger one is unpacked with one
`struct` call. Nothing is checked here: every instance is valid already (see `dgekit.layout.struct`).
"""

from __future__ import annotations

import struct as packing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dgekit.layout.fields import Field
from dgekit.layout.kinds import BytesKind, IntKind, Namespace
from dgekit.layout.struct import INT_SIZES, Layout, Struct

_UNSIGNED = dict(zip(INT_SIZES, "BHIQ", strict=True))


@dataclass(frozen=True, slots=True)
class Codec:
    """`decode` and `encode` work on the raw form: an int for small structures, bytes for large ones."""

    layout: Layout
    decode: Callable[[Any], Any]
    encode: Callable[[Any], Any]
    text: str

    def from_bytes(self, data: bytes | bytearray | memoryview) -> Any:
        """The instance of exactly `layout.size` bytes."""
        return self.decode(int.from_bytes(data, "little") if self.layout.is_int else data)

    def to_bytes(self, value: Struct) -> bytes:
        """The bytes of an instance."""
        raw = self.encode(value)
        encoded: bytes = raw.to_bytes(self.layout.size, "little") if self.layout.is_int else raw
        return encoded

    def table(self) -> list[Any]:
        """Every instance of a one-byte structure, by its byte."""
        return [self.decode(byte) for byte in range(256)]


_CODECS: dict[type[Struct], Codec] = {}


def codec_of(cls: type[Struct]) -> Codec:
    """The codec of a structure, generated on the first call."""
    codec = _CODECS.get(cls)
    if codec is None:
        codec = _CODECS[cls] = _generate(cls)
    return codec


def _generate(cls: type[Struct]) -> Codec:
    namespace: Namespace = {
        "new": object.__new__,
        "cls": cls,
        "__builtins__": {"int": int, "tuple": tuple, "bytes": bytes},
    }
    build = _int_source if cls.layout.is_int else _packed_source
    text = build(cls.layout, namespace)
    exec(compile(text, f"<codec of {cls.layout.name}>", "exec"), namespace)
    return Codec(cls.layout, namespace["decode"], namespace["encode"], text)


def _int_source(layout: Layout, ns: Namespace) -> str:
    decode, encode = [], []
    for field in layout.fields:
        mask = (1 << field.bits) - 1
        raw = f"(raw >> {field.start} & {mask:#x})" if field.start else f"(raw & {mask:#x})"
        value = f"value.{field.name}"
        decode.append(f"    own[{field.name!r}] = {_from_int(field, raw, ns)}")
        bits = _to_int(field, value, ns)
        encode.append(f"{bits} << {field.start}" if field.start else bits)
    return (
        "def decode(raw):\n    value = new(cls)\n    own = value.__dict__\n"
        + "\n".join(decode)
        + "\n    return value\n\ndef encode(value):\n    return "
        + " | ".join(encode)
        + "\n"
    )


def _from_int(field: Field[Any], raw: str, ns: Namespace) -> str:
    if field.kind.raw_is_bytes:
        return field.kind.decode_expr(f'{raw}.to_bytes({field.size}, "little")', ns)
    if isinstance(field.kind, IntKind) and field.kind.signed:
        sign = 1 << (field.bits - 1)
        return f"({raw} ^ {sign:#x}) - {sign:#x}"
    return field.kind.decode_expr(raw, ns)


def _to_int(field: Field[Any], value: str, ns: Namespace) -> str:
    raw = field.kind.encode_expr(value, ns)
    if field.kind.raw_is_bytes:
        return f'int.from_bytes({raw}, "little")'
    if isinstance(field.kind, IntKind) and field.kind.signed:
        return f"({raw} & {(1 << field.bits) - 1:#x})"
    return raw


def _packed_source(layout: Layout, ns: Namespace) -> str:
    formats, names, decode, encode = ["<"], [], [], []
    for index, field in enumerate(layout.fields):
        parts = [f"r{index}"] if _is_one_item(field) else [f"r{index}_{k}" for k in range(field.count or 0)]
        formats.append(_format(field) * len(parts))
        names.extend(parts)
        decode.append(f"    own[{field.name!r}] = {_from_parts(field, parts, ns)}")
        encode.extend(_to_parts(field, ns))
    packer = packing.Struct("".join(formats))
    ns["unpack"], ns["pack"] = packer.unpack, packer.pack
    return (
        f"def decode(raw):\n    {', '.join(names)}, = unpack(raw)\n    value = new(cls)\n    own = value.__dict__\n"
        + "\n".join(decode)
        + "\n    return value\n\ndef encode(value):\n    return pack("
        + ", ".join(encode)
        + ")\n"
    )


def _is_byte_run(field: Field[Any]) -> bool:
    return field.count is not None and isinstance(field.kind, IntKind) and field.kind.bits == 8


def _is_one_item(field: Field[Any]) -> bool:
    return field.count is None or _is_byte_run(field)


def _format(field: Field[Any]) -> str:
    if _is_byte_run(field) or field.kind.raw_is_bytes:
        return f"{field.size if _is_one_item(field) else field.kind.bits // 8}s"
    code = _UNSIGNED[field.kind.bits // 8]
    return code.lower() if isinstance(field.kind, IntKind) and field.kind.signed else code


def _from_parts(field: Field[Any], parts: list[str], ns: Namespace) -> str:
    if _is_byte_run(field):
        return f"tuple({parts[0]})"
    if field.select:
        first, *rest = field.select.split(".")
        selector = ".".join((f"own[{first!r}]", *rest))
        return field.kind.selected_expr(parts[0], selector, ns)  # type: ignore[attr-defined,no-any-return]
    values = [field.kind.decode_expr(part, ns) for part in parts]
    return values[0] if field.count is None else f"({', '.join(values)},)"


def _to_parts(field: Field[Any], ns: Namespace) -> list[str]:
    value = f"value.{field.name}"
    if _is_byte_run(field):
        return [f"bytes({value})"]
    if field.count is None:
        return [field.kind.encode_expr(value, ns)]
    if isinstance(field.kind, (IntKind, BytesKind)):
        return [f"*{value}"]
    return [field.kind.encode_expr(f"{value}[{index}]", ns) for index in range(field.count)]
