"""Addresses of other devices: the routing bits above the 48 bits of one device (rings 4.1, decision D77).

The chip-id view names the device; the neighbour view says how to leave this one. Both share bits [53:48].
"""

from __future__ import annotations

from dgekit.core.errors import LoweringError

LOCAL_BITS = 47  # bits [46:0] are the byte inside one die
DIE_BIT = 47
DEVICE_BITS = 48  # a device's own addresses: both dies
CHIP_ID_BITS = 6
MAX_CHIP_ID = (1 << CHIP_ID_BITS) - 1
EXIT_DIE = 1 << 51
NEIGHBOUR_ROUTE = 1 << 52
ID_VALID = 1 << 54


def chip_view(address: int, chip_id: int) -> int:
    """The address of a byte of device `chip_id`, whose own address (bit 47 the die) it is there.

    Raises LoweringError for an id that does not fit bits [53:48].

    >>> hex(chip_view(0x100000 | 1 << 47, 0x12))
    '0x52800000100000'
    """
    if not 0 <= chip_id <= MAX_CHIP_ID:
        raise LoweringError(
            f"routing id {chip_id} does not fit the {CHIP_ID_BITS} bits of an address",
            rule="dec.D77.routing",
            values={"routing_id": chip_id, "maximum": MAX_CHIP_ID},
            source="rings 4.1, decision D77",
        )
    return address | chip_id << DEVICE_BITS | ID_VALID


def neighbour_view(address: int) -> int:
    """The address by way of a neighbour: leave the die, neighbour routing, id valid.

    >>> hex(neighbour_view(0x2000100000 | 1 << 47))
    '0x58802000100000'
    """
    return address | EXIT_DIE | NEIGHBOUR_ROUTE | ID_VALID
