"""The Ring Descriptor Manager: 24 queues that forward descriptor blocks into rings (rings 2.12, decision D35).

Registers and reset values are published; the order of events inside a push is a model. Blocks are 64 bytes, four BDs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dgekit.core.errors import EncodeError, InputError, RingError
from dgekit.descriptors import bd
from dgekit.descriptors.doorbell import LEGS, Leg
from dgekit.machine.ring import RING_IDS

QUEUES = 24
QUEUE_STRIDE = 36
BLOCK_BDS = 4
BLOCK_BYTES = BLOCK_BDS * bd.BD_BYTES
WRITE_IDS = 32  # the number of AXI write ids is not published (MODEL)
BASE_ALIGN = 4096

# offset inside a queue's block and field width, per leg (rings 2.12)
_BASE_LO = {"M2S": 0, "S2M": 16}
_BASE_HI = {"M2S": 4, "S2M": 20}
_TAIL_LO = {"M2S": 8, "S2M": 24}
_TAIL_HI = {"M2S": 12, "S2M": 28}
_SIZE = 32
_SIZE_RESET = 10
_WIDTHS = {0: 20, 4: 26, 8: 32, 12: 26, 16: 20, 20: 26, 24: 32, 28: 26, _SIZE: 22}

CAUSES = (
    "bvalid id not expected", "bvalid id already free", "bvalid while list empty", "linked list overflow",
    "write returned an error", "write strobes not all set", "unexpected write response", "spare 0", "spare 1",
)  # fmt: skip
NOT_EXPECTED, ALREADY_FREE, LIST_EMPTY, LIST_OVERFLOW, WRITE_ERROR, PARTIAL_STROBES = range(6)


@dataclass(frozen=True, slots=True)
class Register:
    """One control register: offset, name, access, implemented bits, value after reset."""

    offset: int
    name: str
    access: str
    bits: int
    reset: int


CONTROL = (
    Register(0x360, "same_id", "RW", 0x1FFFF, 0),
    Register(0x364, "queue_enable", "RW", 0xFFFFFF, 0),
    Register(0x368, "queue_disabled_drop_count", "RO", 0xFFFFFFFF, 0),
    Register(0x36C, "bresp_value", "RW", 0xFFFFFFFF, 0xFFFFFFFF),
    Register(0x370, "bresp_value_1", "RW", 0xFFFFFFFF, 0xFFFFFFFF),
    Register(0x374, "spare_rw_0", "RW", 0xFFFFFFFF, 0),
    Register(0x378, "spare_rw_1", "RW", 0xFFFFFFFF, 0),
    Register(0x37C, "spare_ro_0", "RO", 0xFFFFFFFF, 0),
    Register(0x380, "spare_ro_1", "RO", 0xFFFFFFFF, 0),
    Register(0x384, "sta_ids_available", "RO", 0xFFFFFFFF, 0),
    Register(0x388, "control", "RW", 0x1F, 0),
    Register(0x38C, "sta_is_pointer_write", "RO", 0xFFFFFFFF, 0),
    Register(0x390, "sta_debug", "RO", 0xFFFFFFFF, 0),
    Register(0x394, "sta_queue_head", "RO", 0xFFFFFFFF, 0),
    Register(0x398, "ctrl", "RW", 0x1, 1),
    Register(0x39C, "ringid_enable", "RW", 0xFFFFFF, 1),
    Register(0x3A0, "ringid_initial", "RW", 0xFFFFFFFF, 0x55555555),
    Register(0x3A4, "ringid_initial_1", "RW", 0xFFFF, 0x5555),
    Register(0x3A8, "ringid_reset", "RW", 0xFFFFFF, 0),
    Register(0x3AC, "sta_debug_1", "RO", 0x1F, 0),
)
_BY_NAME = {register.name: register for register in CONTROL}
_BY_OFFSET = {register.offset: register for register in CONTROL}

_FORCE, _AUTO, _CLEAR, _POP_ONE, _POP_ALL = (1 << bit for bit in range(5))  # bits of `control`


@dataclass(frozen=True, slots=True)
class _InFlight:
    """A block whose write response is outstanding."""

    id: int
    queue: int
    leg: Leg


class Rdm:
    """One instance. `write(address, block)` stores a block in memory, `write_tail(address, word)` a tail word.

    `absolute_tail` makes the tail word the ring's BD index instead of the increment 4 (choice `rdm_tail`). `causes`
    lists the interrupt causes raised so far. Status registers other than the drop count keep their reset value.
    """

    def __init__(
        self,
        write: Callable[[int, bytes], None],
        write_tail: Callable[[int, int], None],
        *,
        absolute_tail: bool = False,
    ) -> None:
        self._write_block = write
        self._write_tail = write_tail
        self._absolute_tail = absolute_tail
        self._registers = {register.offset: register.reset for register in CONTROL} | _queue_resets()
        self._heads: dict[tuple[int, Leg], int] = {}
        self._ring_ids: dict[tuple[int, Leg], int] = {}
        self._in_flight: list[_InFlight] = []
        self.frozen = False
        self.causes: list[int] = []
        for queue in range(QUEUES):
            self._reload_ring_id(queue)

    # registers

    def read(self, offset: int) -> int:
        """A register's value; raises RingError where there is none."""
        self._width(offset)
        return self._registers[offset]

    def write(self, offset: int, value: int) -> None:
        """Write a register; raises RingError for a read-only or unknown one, EncodeError for a value too wide."""
        mask = self._width(offset)
        register = _BY_OFFSET.get(offset)
        if register is not None and register.access == "RO":
            raise RingError(f"RDM register {register.name} is read-only", rule="rings.2.12", values={"offset": offset})
        if value & ~mask or value < 0:
            raise EncodeError(
                f"RDM register at {offset:#x} holds {mask.bit_length()} bits, not {value:#x}",
                rule="rings.2.12",
                values={"offset": offset, "value": value, "bits": mask.bit_length()},
            )
        self._registers[offset] = value
        if offset == _BY_NAME["control"].offset:
            self._control(value)
        elif offset == _BY_NAME["ringid_reset"].offset:
            self._registers[offset] = 0
            for queue in range(QUEUES):
                if value >> queue & 1:
                    self._reload_ring_id(queue)

    def get(self, name: str) -> int:
        """A control register by name."""
        return self._registers[_BY_NAME[name].offset]

    def put(self, name: str, value: int) -> None:
        """Write a control register by name."""
        self.write(_BY_NAME[name].offset, value)

    def set_queue(self, queue: int, bases: dict[Leg, int], tails: dict[Leg, int], bds: int) -> None:
        """Program a queue: ring bases, tail-pointer targets and ring size of both legs; enables nothing.

        Raises RingError for a base that is not 4 KiB aligned or a size that is no multiple of four BDs.
        """
        at = _queue_offset(queue)
        if bds % BLOCK_BDS or any(base % BASE_ALIGN for base in bases.values()):
            raise RingError(
                f"RDM queue {queue}: bases {[hex(b) for b in bases.values()]} need 4 KiB alignment and {bds} BDs a "
                "multiple of four",
                rule="rings.2.5",
                values={"queue": queue, "bds": bds},
                source="rings 2.5",
            )
        for leg in LEGS:
            self.write(at + _BASE_LO[leg], bases[leg] >> 12 & 0xFFFFF)
            self.write(at + _BASE_HI[leg], bases[leg] >> 32)
            self.write(at + _TAIL_LO[leg], tails[leg] & 0xFFFFFFFF)
            self.write(at + _TAIL_HI[leg], tails[leg] >> 32)
            self._heads[queue, leg] = 0
        self.write(at + _SIZE, bds // BLOCK_BDS)

    def base(self, queue: int, leg: Leg) -> int:
        """The ring base that a queue's registers hold."""
        at = _queue_offset(queue)
        return self._registers[at + _BASE_HI[leg]] << 32 | self._registers[at + _BASE_LO[leg]] << 12

    def tail_target(self, queue: int, leg: Leg) -> int:
        """Where a queue's tail words go."""
        at = _queue_offset(queue)
        return self._registers[at + _TAIL_HI[leg]] << 32 | self._registers[at + _TAIL_LO[leg]]

    # data path

    def push(self, queue: int, leg: Leg, block: bytes, *, strobes: bool = True) -> int | None:
        """Forward one block of four BDs; returns the write id, or None when it was refused or dropped.

        A disabled queue counts a drop and answers with `bresp(queue)`. Raises InputError for another block size.
        """
        if len(block) != BLOCK_BYTES:
            raise InputError(
                f"a block has {BLOCK_BYTES} bytes, not {len(block)}", rule="rings.2.12", values={"bytes": len(block)}
            )
        at = _queue_offset(queue)
        if not strobes:
            self.causes.append(PARTIAL_STROBES)
            return None
        if not self.get("queue_enable") >> queue & 1:
            self._registers[_BY_NAME["queue_disabled_drop_count"].offset] += 1
            return None
        free = sorted(set(range(WRITE_IDS)) - {entry.id for entry in self._in_flight})
        if not free:
            self.causes.append(LIST_OVERFLOW)
            return None
        key = (queue, leg)
        if self.get("ringid_enable") >> queue & 1:
            block = _with_ring_id(block, self._ring_ids[key])
        head = self._heads.get(key, 0)
        self._write_block(self.base(queue, leg) + BLOCK_BYTES * head, block)
        self._in_flight.append(_InFlight(free[0], queue, leg))
        self._heads[key] = head + 1
        if self._heads[key] >= self._registers[at + _SIZE]:
            self._heads[key] = 0
            self._ring_ids[key] = (self._ring_ids[key] + 1) % RING_IDS
        return free[0]

    def respond(self, write_id: int, *, error: bool = False) -> None:
        """A write response: on success the tail word goes out, unless pointer writes are frozen."""
        entry = next((e for e in self._in_flight if e.id == write_id), None)
        if entry is None:
            self.causes.append(self._unexpected(write_id))
            return
        self._in_flight.remove(entry)
        control = self.get("control")
        if error:
            self.causes.append(WRITE_ERROR)
            self.frozen = self.frozen or bool(control & _AUTO)
        elif not self.frozen and not control & _FORCE:
            word = self._heads[entry.queue, entry.leg] * BLOCK_BDS if self._absolute_tail else BLOCK_BDS
            self._write_tail(self.tail_target(entry.queue, entry.leg), word)

    def bresp(self, queue: int) -> int:
        """The 2-bit answer to pushes to a disabled queue."""
        _queue_offset(queue)
        name, slot = ("bresp_value", queue) if queue < 16 else ("bresp_value_1", queue - 16)
        return self.get(name) >> 2 * slot & 3

    def ring_id(self, queue: int, leg: Leg) -> int:
        """The ring id that the next block of a queue and leg gets."""
        return self._ring_ids[queue, leg]

    @property
    def in_flight(self) -> int:
        """Blocks whose write response is outstanding."""
        return len(self._in_flight)

    def _unexpected(self, write_id: int) -> int:
        if not self._in_flight:
            return LIST_EMPTY
        return ALREADY_FREE if 0 <= write_id < WRITE_IDS else NOT_EXPECTED

    def _control(self, value: int) -> None:
        """The strobes of the control register act once; only the two gate bits stay."""
        if value & _CLEAR:
            self.frozen = False
        if value & _POP_ALL:
            self._in_flight.clear()
        elif value & _POP_ONE:
            del self._in_flight[:1]
        self._registers[_BY_NAME["control"].offset] = value & (_FORCE | _AUTO)

    def _reload_ring_id(self, queue: int) -> None:
        name, slot = ("ringid_initial", queue) if queue < 16 else ("ringid_initial_1", queue - 16)
        for leg in LEGS:
            self._ring_ids[queue, leg] = self.get(name) >> 2 * slot & 3

    @staticmethod
    def _width(offset: int) -> int:
        """The implemented bits of the register at an offset."""
        register = _BY_OFFSET.get(offset)
        if register is not None:
            return register.bits
        if 0 <= offset < QUEUES * QUEUE_STRIDE and offset % 4 == 0:
            return (1 << _WIDTHS[offset % QUEUE_STRIDE]) - 1
        raise RingError(f"the RDM has no register at {offset:#x}", rule="rings.2.12", values={"offset": offset})


def _queue_resets() -> dict[int, int]:
    """Reset values of the queue registers: only queues 1 to 11 have a base, i and 2i in bits 57:32."""
    values = {}
    for queue in range(QUEUES):
        at = queue * QUEUE_STRIDE
        values.update({at + offset: 0 for offset in _WIDTHS})
        values[at + _SIZE] = _SIZE_RESET
        if 1 <= queue <= 11:
            values[at + _BASE_HI["M2S"]] = queue
            values[at + _BASE_HI["S2M"]] = 2 * queue
    return values


def _queue_offset(queue: int) -> int:
    if not 0 <= queue < QUEUES:
        raise RingError(f"the RDM has {QUEUES} queues, no {queue}", rule="rings.2.12", values={"queue": queue})
    return queue * QUEUE_STRIDE


def _with_ring_id(block: bytes, ring_id: int) -> bytes:
    """The block with bits [25:24] of all four word0 overwritten."""
    out = bytearray(block)
    byte, shift = bd.RING_ID_SHIFT // 8, bd.RING_ID_SHIFT % 8
    keep = 0xFF ^ bd.RING_ID >> 8 * byte
    for start in range(0, BLOCK_BYTES, bd.BD_BYTES):
        out[start + byte] = out[start + byte] & keep | ring_id << shift
    return bytes(out)
