"""Building a NEFF: members in the given order, mtime 0, gzip level 9, so that the same members give the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

from dgekit.frontends.neff.header import HEADER_SIZE, MD5_VERSION, HeaderValue, encode_header, package_hash

DEFAULT_VALUES: Mapping[str, HeaderValue] = {
    "pkg_version": MD5_VERSION,
    "neff_version_major": 2,
    "num_tpb": 1,
    "requested_tpb_count": 1,
    "lnc_size": 1,
}
_MODE = 0o644


def build_neff(
    members: Mapping[str, bytes], header: Mapping[str, HeaderValue] | None = None, *, compress: bool = True
) -> bytes:
    """A NEFF of these members; `header` overrides field values, size and hash are computed unless given.

    Raises EncodeError for a header value that does not fit.
    """
    payload = _tar(members)
    if compress:
        payload = gzip.compress(payload, 9, mtime=0)
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
            entry.mode = _MODE
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
