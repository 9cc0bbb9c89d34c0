"""Building a NEFF: members in the given order, mtime 0, gzip level 9, so that the same members give the same bytes."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Mapping

from dgekit.core.errors import EncodeError
from dgekit.frontends.neff.header import HEADER_SIZE, MD5_VERSION, HeaderValue, encode_header, package_hash

DEFAULT_VALUES: Mapping[str, HeaderValue] = {
    "pkg_version": MD5_VERSION,
    "neff_version_major": 2,
    "num_tpb": 1,
    "requested_tpb_count": 1,
    "lnc_size": 1,
}
# Magic, deflate, no flags, time 0, best compression, unknown system: the same on every machine.
_GZIP_HEADER = bytes.fromhex("1f8b08000000000002ff")
_U32 = 0xFFFFFFFF
_MODE = 0o644
_DIRECTORY_MODE = 0o755


def build_neff(
    members: Mapping[str, bytes], header: Mapping[str, HeaderValue] | None = None, *, compress: bool = True
) -> bytes:
    """A NEFF of these members; a name that ends in `/` is a directory.

    `header` overrides field values; size and hash are computed unless given.
    Raises EncodeError for a header value or a name that does not fit.
    """
    payload = _tar(members)
    if compress:
        payload = _gzip(payload)
    values: dict[str, HeaderValue] = {
        "header_size": HEADER_SIZE,
        "data_size": len(payload),
        "hash": package_hash(payload),
        **DEFAULT_VALUES,
        **(header or {}),
    }
    return encode_header(values) + payload


def _tar(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            entry.mode = _DIRECTORY_MODE if name.endswith("/") else _MODE
            try:
                archive.addfile(entry, io.BytesIO(content))
            except ValueError as problem:  # ustar: 100 characters, or 155 more of folders before them
                raise EncodeError(
                    f"{name[:60]}... is no name for an archive member: {problem}",
                    rule="neff.name",
                    where=name[:60],
                    values={"characters": len(name)},
                ) from None
    return buffer.getvalue()


def _gzip(data: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    return _GZIP_HEADER + body + zlib.crc32(data).to_bytes(4, "little") + (len(data) & _U32).to_bytes(4, "little")
