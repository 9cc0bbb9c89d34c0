"""How an image starts: two jumps in an IRAM, the control magic in a DRAM (pipeline 8.2, 8.6)."""

from __future__ import annotations

from dgekit.images.published import DRAM_MAGIC

PRIMARY, SECONDARY = 0, 6
DRAM_HEAD = DRAM_MAGIC.to_bytes(4, "little")
HEAD_BYTES = 9
# in all published pairs the secondary handler is 12 bytes behind the primary
_DISTANCE = 12


def jump_target(data: bytes, offset: int) -> int | None:
    """The target of the `j` at an offset of an image at 0; None if the bytes are no jump or leave the address space."""
    word = int.from_bytes(data[offset : offset + 3], "little")
    if len(data) < offset + 3 or word & 0x3F != 0x06:
        return None
    distance = word >> 6
    target = offset + 4 + distance - ((distance & 0x20000) << 1)
    return target if target >= 0 else None


def reset_targets(data: bytes) -> tuple[int, int] | None:
    """The targets of the two boot jumps; None for bytes that do not start with them.

    >>> [hex(target) for target in reset_targets(bytes.fromhex("067600000000867700")) or ()]
    ['0x1dc', '0x1e8']
    """
    primary, secondary = jump_target(data, PRIMARY), jump_target(data, SECONDARY)
    if primary is None or secondary is None or secondary - primary != _DISTANCE:
        return None
    return primary, secondary


def sniff_segment(data: bytes) -> str:
    """`IRAM` or `DRAM` by the first bytes, empty for neither."""
    if data[:4] == DRAM_HEAD:
        return "DRAM"
    return "IRAM" if reset_targets(data[:HEAD_BYTES]) else ""
