"""The SoC address map: which region of the device an address lies in, and what its routing bits say.

Sources: rings 4.1 to 4.4 and decision D45. Addresses are bytes; everything here is a pure function of a generation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dgekit.core.generations import GIB, KIB, MIB, Generation
from dgekit.core.routing import CHIP_ID_BITS, DEVICE_BITS, DIE_BIT, LOCAL_BITS

EVT_SEM_SIZE = 1 * MIB
PSUM_SIZE = 4 * MIB
PSUM_STRIDE = 32 * KIB
PSUM_ACTIVE = 16 * KIB
DGE_MEMORY_SIZE = 1 * GIB


@dataclass(frozen=True, slots=True)
class Region:
    """A named stretch of the SoC address space; `core` is the NeuronCore it belongs to, -1 for none."""

    name: str
    base: int
    size: int
    core: int = -1

    @property
    def end(self) -> int:
        """The first address after the region."""
        return self.base + self.size

    def __contains__(self, address: object) -> bool:
        return isinstance(address, int) and self.base <= address < self.end


@cache
def regions(generation: Generation) -> tuple[Region, ...]:
    """Every region the map knows, the most specific ones first."""
    return (*_tpb_regions(generation), *_hbm_regions(generation), *_engine_regions(generation), _host(generation))


def region_of(generation: Generation, address: int) -> Region | None:
    """The region an address lies in, or None where the map has a hole.

    >>> from dgekit.core.generations import CAYMAN
    >>> region_of(CAYMAN, 0x20000C0400).name, region_of(CAYMAN, 0x100).name
    ('SBUF', 'HBM 0 firmware reserve')
    """
    return next((region for region in regions(generation) if address in region), None)


def describe(generation: Generation, address: int) -> str:
    """Where an address is, in words, with partition and byte where the region has partitions.

    >>> from dgekit.core.generations import CAYMAN
    >>> describe(CAYMAN, 0x20000C0400)
    'SBUF of core 0, partition 3, byte 0x400'
    """
    if address >> DEVICE_BITS:
        return f"another device: routing bits {address >> DEVICE_BITS:#x} above bit {DIE_BIT}"
    region = region_of(generation, address)
    if region is None:
        return "no known region"
    offset = address - region.base
    owner = f"{region.name} of core {region.core}" if region.core >= 0 else region.name
    stride = {"SBUF": generation.partition_stride, "PSUM": PSUM_STRIDE}.get(region.name)
    if stride is None:
        return f"{owner}, byte {offset:#x}"
    return f"{owner}, partition {offset // stride}, byte {offset % stride:#x}"


def sbuf_size(generation: Generation) -> int:
    """Bytes of one core's SBUF window: all partitions with their stride."""
    return generation.partitions * generation.partition_stride


def ring_region(generation: Generation, core: int) -> Region:
    """Where this model keeps the rings of a core: DGE_MEMORY, or host memory where there is none (rings 3.4, MODEL)."""
    wanted = "DGE_MEMORY" if generation.address_map.dge_memory_offset else "host"
    return next(r for r in regions(generation) if r.name == wanted and r.core in (core, -1))


def _tpb_regions(generation: Generation) -> list[Region]:
    where = generation.address_map
    table = [("SBUF", where.sbuf_offset, sbuf_size(generation)), ("EVT_SEM", where.evt_sem_offset, EVT_SEM_SIZE)]
    if generation.has_psum:
        table.append(("PSUM", where.psum_offset, PSUM_SIZE))
    if where.dge_memory_offset:
        table.append(("DGE_MEMORY", where.dge_memory_offset, DGE_MEMORY_SIZE))
    table.extend(where.tpb_regions)
    return [
        Region(name, base + offset, size, core)
        for core, base in enumerate(where.tpb_bases)
        for name, offset, size in table
    ]


def _hbm_regions(generation: Generation) -> list[Region]:
    where = generation.address_map
    found = []
    for stack, base in enumerate(where.hbm_bases):
        reserve = where.hbm_reserved_low
        found.append(Region(f"HBM {stack} firmware reserve", base, reserve))
        found.append(Region(f"HBM {stack}", base + reserve, where.hbm_size - reserve))
    return found


def _engine_regions(generation: Generation) -> list[Region]:
    where = generation.address_map
    stride, per_pair = where.engine_stride, where.engines_per_pair
    return [
        Region(f"SDMA engine {pair * per_pair + index}", first + index * stride, stride)
        for pair, first in enumerate(where.engine_first)
        for index in range(per_pair)
    ]


def _host(generation: Generation) -> Region:
    """Host memory is selected by one address bit, so the window is as large as its base."""
    base = generation.address_map.host_base
    return Region("host", base, base)


@dataclass(frozen=True, slots=True)
class Routing:
    """The upper bits of a SoC address (rings 4.1), in both readings; `view` says which one `valid` selects nothing of.

    `local` is the byte inside a die. Chip view: `chip_id` (6 bits). Neighbour view: `exit_seng`, `exit_die`,
    `neighbor_route`, `peb`. Common: `die`, `id_valid`, `relaxed_ordering`, `may_fail`.
    """

    local: int
    die: int
    chip_id: int
    exit_seng: bool
    exit_die: bool
    neighbor_route: bool
    peb: bool
    id_valid: bool
    relaxed_ordering: bool
    may_fail: bool


def routing(address: int) -> Routing:
    """The routing bits of a v3 SoC address; the chip-id and the neighbour view share bits [53:48] (rings 4.1).

    >>> found = routing(0x0052800000100000)
    >>> hex(found.local), found.die, hex(found.chip_id), found.id_valid
    ('0x100000', 1, '0x12', True)
    """

    def bit(number: int) -> bool:
        return bool(address >> number & 1)

    return Routing(
        local=address & ((1 << LOCAL_BITS) - 1),
        die=address >> DIE_BIT & 1,
        chip_id=address >> DEVICE_BITS & (1 << CHIP_ID_BITS) - 1,
        exit_seng=bit(50),
        exit_die=bit(51),
        neighbor_route=bit(52),
        peb=bit(53),
        id_valid=bit(54),
        relaxed_ordering=bit(56),
        may_fail=bit(57),
    )
