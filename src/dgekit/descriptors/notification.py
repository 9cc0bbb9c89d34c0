"""The 16-byte notification records: DGE completion (rings 6.4) and error (pipeline 6.5)."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from dgekit.core.errors import EncodeError
from dgekit.layout.fields import enum as enum_field
from dgekit.layout.fields import reserved, sub, u8, u16, u32, u64, uint
from dgekit.layout.kinds import spelled
from dgekit.layout.struct import Struct

RECORD_BYTES = 16
DEBUG_HINT_DGE = 1
MAX_PACKETS = 4096  # stored as 0 (rings 6.4)
ENGINES_PER_GROUP = 16


@spelled("NOTIFIC_TYPE")
class NotificType(enum.IntEnum):
    """Record type, header [4:0] (rings 6.4); four a processor: start, end, explicit, event or semaphore."""

    DMA = 0x02
    ERROR = 0x03
    PE_START = 0x04
    PE_END = 0x05
    PE_EXPLICIT = 0x06
    PE_EVT_SEM = 0x07
    ACT_START = 0x08
    ACT_END = 0x09
    ACT_EXPLICIT = 0x0A
    ACT_EVT_SEM = 0x0B
    POOL_START = 0x0C
    POOL_END = 0x0D
    POOL_EXPLICIT = 0x0E
    POOL_EVT_SEM = 0x0F
    DVE_START = 0x10
    DVE_END = 0x11
    DVE_EXPLICIT = 0x12
    DVE_EVT_SEM = 0x13
    SP_START = 0x14
    SP_END = 0x15
    SP_EXPLICIT = 0x16
    SP_EVT_SEM = 0x17
    AXI_EVT_SEM = 0x1B
    HAM = 0x1E
    TPB_ERROR = 0x1F


@spelled("ERROR_ID")
class ErrorId(enum.IntEnum):
    """error_id of an error record (pipeline 6.5)."""

    FP_UNDERFLOW = 0x00
    FP_NAN = 0x01
    FP_INF = 0x02
    FP_OVERFLOW = 0x03
    MEMORY_ERROR = 0x04
    FAKE_ERROR = 0x05
    SEMAPHORE_ERROR = 0x06
    EVENT_ERROR = 0x07
    PSUM_COLLISION = 0x08
    SEQUENCER_NONFATAL = 0x09
    SEQUENCER_FATAL = 0x0A


class Header(Struct, name="NOTIFIC_HEADER", size=1, source="rings 6.4"):
    """Byte 3 of every record."""

    notific_type = enum_field(0, NotificType, "record type", bits=5)
    software_queue_overflow = uint(1, 0, "the ring in memory was full, earlier records are lost", bit=5)
    hardware_queue_overflow = uint(1, 0, "the input buffer was full, later records are lost", bit=6)
    phase = uint(1, 0, "toggles on each wrap of the ring", bit=7)


class ProgramPoint(Struct, name="DGE_NOTIFIC_PC", size=4, source="rings 6.4"):
    """Bytes 0 to 3 of a DGE completion record."""

    program_counter = uint(20, 0, "in units of 64 bytes", base=16)
    debug_hint = uint(4, 0, "1: DGE", bit=20, default=DEBUG_HINT_DGE)
    notific_type = enum_field(0, NotificType, "record type", bit=24, bits=5)
    software_queue_overflow = uint(1, 0, "the ring in memory was full, earlier records are lost", bit=29)
    hardware_queue_overflow = uint(1, 0, "the input buffer was full, later records are lost", bit=30)
    phase = uint(1, 0, "toggles on each wrap of the ring", bit=31)


class EngineUse(Struct, name="DGE_NOTIFIC_DMA", size=4, source="rings 6.4"):
    """Bytes 4 to 7 of a DGE completion record: who moved how much."""

    dma_map = uint(16, 0, "one bit an engine of the group", base=16)
    num_packets = uint(12, 0, "packets of each engine; 0 means 4096", bit=16)
    reserved_61_60 = reserved(2, 0, "unknown", "H/O", bit=28)
    infer_program_counter = uint(1, 0, "take the counter from the last start record", bit=30)
    dma_group_id = uint(1, 0, "0: engines 0 to 15, 1: engines 16 to 31", bit=31)


class DgeCompletion(Struct, name="NOTIFIC_DGE", size=RECORD_BYTES, source="rings 6.4"):
    """Sent after a DGE transfer while bit 1 of local register 38 is set."""

    head = sub(0, ProgramPoint, "program counter, hint and header")
    dma = sub(4, EngineUse, "engines and packets")
    timestamp = u64(8, "picoseconds", unit="ps")


class ErrorRecord(Struct, name="NOTIFIC_ERROR", size=RECORD_BYTES, source="pipeline 6.5"):
    """An error; its 48-bit metadata is split around the header."""

    error_id = enum_field(0, ErrorId, "what went wrong")
    metadata_lo = u16(1, "metadata [15:0]; sequencer: block id [3:0], program counter [15:4]", base=16)
    header = sub(3, Header, "record type and queue state")
    metadata_hi = u32(4, "metadata [47:16]; sequencer: info [7:0]", base=16)
    timestamp = u64(8, "picoseconds", unit="ps")

    @property
    def metadata(self) -> int:
        """The 48-bit metadata put together."""
        return self.metadata_lo | self.metadata_hi << 16


class SequencerMetadata(Struct, name="NOTIFIC_SEQUENCER_METADATA", size=8, source="pipeline 6.5"):
    """The metadata of a sequencer error (48 bits; the upper 16 here do not exist in the record)."""

    block_id = uint(4, 0, "block that failed")
    program_counter = uint(12, 0, "program counter", bit=4, base=16)
    info = u8(2, "by cause: bad opcode, signal number, floating point flags, exception type and cause", base=16)
    unnamed = uint(24, 3, "not published", "-", base=16)
    beyond = reserved(16, 6, "not part of the record", "-")


def dge_completion(
    program_counter: int,
    engines: Iterable[int],
    packets: int,
    timestamp: int = 0,
    *,
    notific_type: NotificType = NotificType.POOL_EXPLICIT,
    group: int = 0,
    phase: int = 1,
    infer: bool = False,
) -> DgeCompletion:
    """The completion record of a transfer that used `engines` (0..15 within the group), `packets` on each.

    `infer` says that the program counter is that of the last start record.
    Raises EncodeError for more than 4096 packets, an engine outside the group, or a counter over 20 bits.

    >>> dge_completion(0x123, range(16), 8, 0x1122334455).encode().hex(" ")
    '23 01 10 8e ff ff 08 00 55 44 33 22 11 00 00 00'
    """
    if not 1 <= packets <= MAX_PACKETS:
        raise EncodeError(
            f"num_packets: {packets} is not 1..{MAX_PACKETS}", values={"value": packets, "low": 1, "high": MAX_PACKETS}
        )
    dma_map = 0
    for engine in engines:
        if not 0 <= engine < ENGINES_PER_GROUP:
            raise EncodeError(f"dma_map: engine {engine} is outside its group of 16", values={"value": engine})
        dma_map |= 1 << engine
    head = ProgramPoint(program_counter=program_counter, notific_type=notific_type, phase=phase)
    dma = EngineUse(
        dma_map=dma_map, num_packets=packets % MAX_PACKETS, infer_program_counter=int(infer), dma_group_id=group
    )
    return DgeCompletion(head=head, dma=dma, timestamp=timestamp)


def sequencer_error(
    error_id: int, notific_type: int, program_counter: int = 0, info: int = 0, block_id: int = 0, *,
    timestamp: int = 0, phase: int = 1,
) -> ErrorRecord:  # fmt: skip
    """The error record of the sequencer class; which id and type a DGE bound failure has is the caller's choice."""
    metadata = SequencerMetadata(block_id=block_id, program_counter=program_counter, info=info).encode()
    return ErrorRecord(
        error_id=error_id,
        metadata_lo=int.from_bytes(metadata[:2], "little"),
        header=Header(notific_type=notific_type, phase=phase),
        metadata_hi=int.from_bytes(metadata[2:6], "little"),
        timestamp=timestamp,
    )


def decode_record(data: bytes) -> DgeCompletion | ErrorRecord:
    """A 16-byte record: error types (0x03, 0x1f) as ErrorRecord, all others as DgeCompletion.

    Raises DecodeError for another length. Whether a record that is no error is a DGE completion shows in its
    `debug_hint` (1).
    """
    error = ErrorRecord.decode(data)
    if error.header.notific_type in (NotificType.ERROR, NotificType.TPB_ERROR):
        return error
    return DgeCompletion.decode(data)
