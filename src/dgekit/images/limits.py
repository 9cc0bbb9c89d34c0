"""What a file of images may ask of this tool at most (decision D99)."""

from __future__ import annotations

from dgekit.core.errors import InputError

MAX_BYTES = 256 << 20
MAX_MEMBERS = 10_000
MAX_STRING = 4 << 10
# strings of one image; the published ones have some hundreds
MAX_STRINGS = 1 << 17
# symbols of one shared object that are looked at; the published one has some thousands
MAX_SYMBOLS = 1 << 20


def limited_bytes(size: int, where: str) -> None:
    """Refuse more bytes than a container may hold; raises InputError."""
    if size > MAX_BYTES:
        raise InputError(
            f"{size} bytes, more than the limit of {MAX_BYTES}",
            rule="images.bytes",
            where=where,
            values={"bytes": size, "limit": MAX_BYTES},
        )


def limited_members(count: int, where: str) -> None:
    """Refuse more members than a container may hold; raises InputError."""
    if count > MAX_MEMBERS:
        raise InputError(
            f"more than {MAX_MEMBERS} members",
            rule="images.members",
            where=where,
            values={"limit": MAX_MEMBERS},
        )
