"""The 1024-byte header of a NEFF, declared once (neff.md 1).

The offsets follow from C alignment and sum to 1024 exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dgekit.core.errors import EncodeError, InputError, Issue
from dgekit.frontends.neff.source import Source, source_of

HEADER_SIZE = 1024
HEADER_SIZE_OFFSET = 8
GZIP_MAGIC = b"\x1f\x8b"  # what follows the header, unless it is a plain tar archive
SUPPORTED_FEATURES = 0x80000000000000FF
NEWER_REFUSED_FEATURES = 0x7FFFFFFFF8000000  # bits 27 to 62 (neff.md 1)
MD5_VERSION = 2
LOADER_MAJOR = 2  # the highest major version that a loader takes (neff.md 1)
_MD5_TAIL = b"0" * 16

FieldKind = Literal["int", "text", "bytes"]


@dataclass(frozen=True, slots=True)
class HeaderField:
    """One field: its offset and size in bytes, little-endian, and what it means."""

    name: str
    offset: int
    size: int
    kind: FieldKind
    meaning: str


FIELDS: tuple[HeaderField, ...] = (
    HeaderField("pkg_version", 0, 8, "int", "version of the packaging tool; 1 = SHA-256, 2 = MD5"),
    HeaderField("header_size", 8, 8, "int", "1024"),
    HeaderField("data_size", 16, 8, "int", "bytes after the header"),
    HeaderField("neff_version_major", 24, 8, "int", "major version"),
    HeaderField("neff_version_minor", 32, 8, "int", "minor version"),
    HeaderField("neff_build_version", 40, 128, "text", "build text"),
    HeaderField("num_tpb", 168, 4, "int", "cores needed when every subgraph gets its own"),
    HeaderField("hash", 172, 32, "bytes", "hash of the package"),
    HeaderField("uuid", 204, 16, "bytes", "identity"),
    HeaderField("name", 220, 256, "text", "name"),
    HeaderField("requested_tpb_count", 476, 4, "int", "cores asked for at compile time"),
    HeaderField("tpb_per_node", 480, 64, "bytes", "one byte a kelf node"),
    HeaderField("feature_bits", 544, 8, "int", "incompatible features, compared with the runtime's mask"),
    HeaderField("lnc_size", 552, 4, "int", "logical core size, 1 or 2"),
    HeaderField("padding", 556, 468, "bytes", "zero"),
)

HeaderValue = int | str | bytes


@dataclass(frozen=True, slots=True)
class Header:
    """The values of a NEFF header by field name, and the bytes they were read from."""

    values: Mapping[str, HeaderValue]
    stored: bytes = b""

    def raw(self, field: HeaderField) -> bytes:
        """The bytes of a field as they are stored."""
        return self.stored[field.offset : field.offset + field.size]

    def number(self, name: str) -> int:
        """The value of a field that holds a number."""
        value = self.values[name]
        return value if isinstance(value, int) else 0

    def text(self, name: str) -> str:
        """The value of a field that holds text."""
        return str(self.values[name])

    def data(self, name: str) -> bytes:
        """The value of a field that holds bytes."""
        value = self.values[name]
        return value if isinstance(value, bytes) else b""


def decode_header(data: bytes, where: str) -> Header:
    """The header at the start of `data`; raises InputError when it is short or states another size."""
    if len(data) < HEADER_SIZE:
        raise InputError(
            f"{len(data)} bytes are too few for a NEFF header",
            rule="neff.header",
            where=where,
            values={"size": len(data), "needed": HEADER_SIZE},
        )
    header = Header({field.name: _decode_field(field, data) for field in FIELDS}, bytes(data[:HEADER_SIZE]))
    if header.number("header_size") != HEADER_SIZE:
        raise InputError(
            f"header_size {header.number('header_size')} is not {HEADER_SIZE}: this is no NEFF",
            rule="neff.header",
            where=where,
            values={"header_size": header.number("header_size"), "expected": HEADER_SIZE},
        )
    return header


def _decode_field(field: HeaderField, data: bytes) -> HeaderValue:
    raw = bytes(data[field.offset : field.offset + field.size])
    if field.kind == "int":
        return int.from_bytes(raw, "little")
    if field.kind == "text":
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")
    return raw


def encode_header(values: Mapping[str, HeaderValue]) -> bytes:
    """1024 bytes; fields left out are zero. Raises EncodeError for unknown names and values that do not fit."""
    unknown = set(values) - {field.name for field in FIELDS}
    if unknown:
        raise EncodeError(f"a NEFF header has no field {min(unknown)}", rule="neff.header", where=min(unknown))
    return b"".join(_encode_field(field, values.get(field.name)) for field in FIELDS)


def _encode_field(field: HeaderField, value: HeaderValue | None) -> bytes:
    if value is None:
        return bytes(field.size)
    try:
        raw = value.to_bytes(field.size, "little") if isinstance(value, int) else _as_bytes(value)
    except OverflowError:
        raw = None
    if raw is None or len(raw) > field.size:
        raise EncodeError(
            f"{field.name} = {value!r} does not fit its {field.size} bytes",
            where=field.name,
            values={"bytes": field.size},
        )
    return raw.ljust(field.size, b"\0")


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def package_hash(payload: bytes | Source) -> bytes:
    """The hash field of package version 2: the MD5 of the stored payload, then sixteen ASCII zeros (neff.md 1)."""
    import hashlib

    source = source_of(payload)
    digest = hashlib.md5(usedforsecurity=False)
    for piece in source.chunks(0, len(source)):
        digest.update(piece)
    return digest.digest() + _MD5_TAIL


HashStatus = Literal["verified", "differs", "unverified"]


def hash_status(header: Header, payload: bytes | Source) -> HashStatus:
    """Whether the stored hash is that of the payload; only package version 2 can be told (D88)."""
    if header.number("pkg_version") != MD5_VERSION:
        return "unverified"
    return "verified" if header.data("hash") == package_hash(payload) else "differs"


def check_header(
    header: Header, payload: bytes | Source, where: str, supported: int = SUPPORTED_FEATURES
) -> list[Issue]:
    """What is wrong with the header, seen beside its payload (D88)."""
    return [
        *_check_data_size(header, len(payload), where),
        *_check_features(header, where, supported),
        *_check_version(header, where),
        *_check_hash(header, payload, where),
    ]


def _check_data_size(header: Header, payload_size: int, where: str) -> list[Issue]:
    stated = header.number("data_size")
    if stated == payload_size:
        return []
    values = {"data_size": stated, "payload": payload_size}
    if stated > payload_size + HEADER_SIZE:
        message = f"data_size {stated} is larger than the file of {payload_size + HEADER_SIZE} bytes: it is cut short"
        return [Issue("neff.data_size", "error", message, where, values, "dec.D88")]
    message = f"data_size {stated} is not the {payload_size} bytes after the header"
    return [Issue("neff.data_size", "warning", message, where, values, "dec.D88")]


def _check_features(header: Header, where: str, supported: int) -> list[Issue]:
    beyond = header.number("feature_bits") & ~supported
    if not beyond:
        return []
    message = f"feature bits {beyond:#x} are outside the supported mask {supported:#x}"
    values = {"feature_bits": header.number("feature_bits"), "supported": supported}
    return [Issue("neff.features", "error", message, where, values, "dec.D88")]


def _check_version(header: Header, where: str) -> list[Issue]:
    major = header.number("neff_version_major")
    if major <= LOADER_MAJOR:
        return []
    return [
        Issue(
            "neff.version",
            "advice",
            f"major version {major} is above {LOADER_MAJOR}: a loader of version {LOADER_MAJOR} refuses it",
            where,
            {"major": major, "loader": LOADER_MAJOR},
            "neff 1, loader",
        )
    ]


def _check_hash(header: Header, payload: bytes | Source, where: str) -> list[Issue]:
    status = hash_status(header, payload)
    if status == "unverified":
        message = f"the hash of package version {header.number('pkg_version')} is unverified: its form is not known"
        return [Issue("neff.hash", "advice", message, where, source="dec.D88")]
    if status == "verified":
        return []
    values = {"stored": header.data("hash").hex(), "computed": package_hash(payload).hex()}
    return [Issue("neff.hash", "warning", "the hash is not the MD5 of the payload", where, values, "dec.D88")]
