"""One record per hardware generation: every fact that differs between SUNDA, CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK.

Sources: isa-words 7, pipeline 9, rings 2.5, 4 and 8, decision D45 (the v4 address map is v3's).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import UsageError

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class AddressMap:
    """Where things are in the SoC address space (rings 4.2, 4.3); all values are byte addresses or sizes."""

    tpb_bases: tuple[int, ...]
    tpb_size: int
    sbuf_offset: int
    evt_sem_offset: int
    psum_offset: int
    dge_memory_offset: int
    hbm_bases: tuple[int, ...]
    hbm_size: int
    host_base: int
    hbm_reserved_low: int = 16 * MIB
    engine_first: tuple[int, ...] = ()
    engine_stride: int = 0x100000
    engines_per_pair: int = 32
    tpb_regions: tuple[tuple[str, int, int], ...] = ()  # further (name, offset, size) inside a TPB


@dataclass(frozen=True, slots=True)
class Generation:
    """The facts of one generation.

    `active_bytes` are the usable bytes of one SBUF partition, `partition_stride` the distance between two;
    `tx_cap` and `rx_cap` are BDs per packet on the M2S and S2M leg; `cce_elements` caps one compute packet,
    as do `cce_max_bytes` (of its accumulator) and `cce_tx_cap` (its tx BDs). `has_combo`: replication and the combined
    packets exist; `has_cce_registers`: seed and FP8 registers of the compute path (cce 5.1, 5.4, 8).
    """

    name: str
    nc: int
    aliases: tuple[str, ...]
    address_map: AddressMap
    partition_stride: int = 256 * KIB
    active_bytes: int = 224 * KIB
    partitions: int = 128
    engines: int = 16
    queues_per_engine: int = 16
    tx_cap: int = 64
    rx_cap: int = 60
    cce_elements: int = 2048
    cce_max_bytes: int = 8192
    cce_tx_cap: int = 65
    has_cce: bool = True
    has_combo: bool = True
    has_notification_mask: bool = False
    has_cce_registers: bool = False
    max_packet_bytes: int = 64 * KIB
    check_ring_id: bool = False
    strong_order_write: bool = True
    has_push_model: bool = True
    has_selector: bool = True
    has_regwrite: bool = False
    has_fast_path: bool = False
    has_inline_descriptors: bool = False
    has_event_modes: bool = True
    has_offset_waits: bool = False
    has_feature_flags: bool = True
    m2s_size: int = 0x20000
    has_psum: bool = True
    opcodes_absent: frozenset[int] = field(default_factory=frozenset)
    dge_kinds: int = 4
    dtypes: frozenset[int] = frozenset()
    availability_base: int = 0

    @property
    def modes(self) -> tuple[str, ...]:
        """The transfer modes that exist here (decision D47)."""
        return ("none", "unknown", "swdge", "hwdge") if self.has_push_model else ("none",)

    def sbuf_base(self, core: int) -> int:
        """SoC address of partition 0 of that core's SBUF."""
        return self.address_map.tpb_bases[core] + self.address_map.sbuf_offset

    @property
    def cores(self) -> int:
        """NeuronCores of one device."""
        return len(self.address_map.tpb_bases)


_DIE = 1 << 47
_V3_TPB = (0x2000000000, 0x3000000000, 0x6000000000, 0x7000000000)
_V3_ENGINE = (0x1002000000, 0x5004000000)
_V3_REGIONS = (
    ("SBUF scratch RAM", 0x4000000, 32 * MIB),
    ("SBUF decode alias", 0x800000000, 32 * MIB),
    *((f"Q7 core {n} IRAM", 0x803100000 + n * MIB, 128 * KIB) for n in range(8)),
    *((f"Q7 core {n} DRAM", 0x803180000 + n * MIB, 256 * KIB) for n in range(8)),
)
_V3_MAP = AddressMap(
    tpb_bases=_V3_TPB + tuple(base | _DIE for base in _V3_TPB),
    tpb_size=0x804000000,
    sbuf_offset=0,
    evt_sem_offset=0x802700000,
    psum_offset=0x802000000,
    dge_memory_offset=0x40000000,
    hbm_bases=(0, 0x4000000000, _DIE, 0x4000000000 | _DIE),
    hbm_size=24 * GIB,
    host_base=0x400000000000,
    engine_first=_V3_ENGINE + tuple(base | _DIE for base in _V3_ENGINE),
    tpb_regions=_V3_REGIONS,
)
_V4_MAP = AddressMap(
    tpb_bases=_V3_MAP.tpb_bases,
    tpb_size=_V3_MAP.tpb_size,
    sbuf_offset=0,
    evt_sem_offset=_V3_MAP.evt_sem_offset,
    psum_offset=_V3_MAP.psum_offset,
    dge_memory_offset=_V3_MAP.dge_memory_offset,
    hbm_bases=_V3_MAP.hbm_bases,
    hbm_size=36 * GIB,
    host_base=_V3_MAP.host_base,
    engine_first=_V3_MAP.engine_first,
    tpb_regions=_V3_REGIONS,
)
_V2_MAP = AddressMap(
    tpb_bases=(0xFFFC0000000, 0xFFFC4000000),
    tpb_size=0x4000000,
    sbuf_offset=0,
    evt_sem_offset=0x2700000,
    psum_offset=0x2000000,
    dge_memory_offset=0,
    hbm_bases=(0, 0x1000000000),
    hbm_size=16 * GIB,
    host_base=0x100000000000,
    engine_first=(0xFFFF0000000, 0xFFFF0700000),
    engine_stride=0x40000,
    engines_per_pair=16,
)

# isa-words 2.5: 16 element types on v2 and v3, 24 on v4, 30 on v5
_V3_DTYPES = frozenset(code for code in Dtype if code <= Dtype.FP8_EXP5)
_V4_DTYPES = _V3_DTYPES | {Dtype.FP4_EXP2} | {code for code in Dtype if code >= Dtype.CPTC1}
_V5_DTYPES = frozenset(Dtype)

SUNDA = Generation(
    "SUNDA", 2, ("trn1", "inf2", "nc-v2", "v2"), _V2_MAP,
    active_bytes=192 * KIB, tx_cap=64, rx_cap=128, cce_elements=1024, check_ring_id=True, strong_order_write=False,
    cce_max_bytes=4096, cce_tx_cap=128, has_combo=False,  # 4096 bytes: cce CHOICE-42
    has_push_model=False, has_selector=False, has_feature_flags=False, dge_kinds=2, dtypes=_V3_DTYPES,
    opcodes_absent=frozenset({0xB9, 0xBA, 0xBD, 0xBF, 0xD7, 0xF1}),
)  # fmt: skip
_V3_ABSENT = frozenset({0xB9, 0xBA})
CAYMAN = Generation(
    "CAYMAN", 3, ("trn2", "nc-v3", "v3"), _V3_MAP,
    has_regwrite=True, opcodes_absent=_V3_ABSENT, availability_base=0x5DA0, dtypes=_V3_DTYPES,
)  # fmt: skip
MARIANA = Generation(
    "MARIANA", 4, ("trn3", "nc-v4", "v4"), _V4_MAP, has_notification_mask=True, has_cce_registers=True,
    active_bytes=256 * KIB, has_regwrite=True, opcodes_absent=_V3_ABSENT, availability_base=0x5FE0,
    dtypes=_V4_DTYPES,
)  # fmt: skip
MARIANA_PLUS = Generation(
    "MARIANA_PLUS", 4, ("trn3+", "nc-v4+", "v4+"), _V4_MAP, has_notification_mask=True, has_cce_registers=True,
    active_bytes=256 * KIB, has_fast_path=True, opcodes_absent=_V3_ABSENT, availability_base=0x5FE0,
    dtypes=_V4_DTYPES,
)  # fmt: skip
MAVERICK = Generation(
    "MAVERICK", 5, ("trn4", "nc-v5", "v5"), _V4_MAP,
    partition_stride=1024 * KIB, active_bytes=512 * KIB, engines=8, max_packet_bytes=256 * KIB,
    has_push_model=False, has_inline_descriptors=True, has_event_modes=False, m2s_size=0x40000,
    has_psum=False, has_cce=False,
    has_offset_waits=True, dtypes=_V5_DTYPES,
)  # fmt: skip

GENERATIONS: tuple[Generation, ...] = (SUNDA, CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK)
DEFAULT = CAYMAN


def generation_named(name: str | Generation) -> Generation:
    """The record of a name or alias, without regard to case; raises UsageError listing them.

    >>> generation_named("trn2").name, generation_named("v4").name
    ('CAYMAN', 'MARIANA')
    """
    if isinstance(name, Generation):
        return name
    wanted = name.strip().lower()
    for generation in GENERATIONS:
        if wanted == generation.name.lower() or wanted in generation.aliases:
            return generation
    known = ", ".join(f"{g.name} ({', '.join(g.aliases)})" for g in GENERATIONS)
    raise UsageError(f"unknown generation {name!r}", rule="dge.generation", fix=f"one of {known}")
