"""Semaphores and events of one core: 256 signed 32-bit counters and 256 event words (rings 4.2, decision D42)."""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.errors import DgeError, MemoryFault, Unspecified, UsageError
from dgekit.core.evt_sem import EVENT, REGISTER_BYTES, SEM_DEC, SEM_INC, SEM_READ, SEM_SET
from dgekit.core.state import NUM_SEMAPHORES

NUM_EVENTS = NUM_SEMAPHORES
_FILES = {EVENT: "event", SEM_READ: "read", SEM_SET: "set", SEM_INC: "inc", SEM_DEC: "dec"}
_FILE_SIZE = NUM_SEMAPHORES * REGISTER_BYTES


def signed32(value: int) -> int:
    """The low 32 bits of a number as a signed value.

    >>> signed32(0xFFFFFFFF), signed32(1 << 31)
    (-1, -2147483648)
    """
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


@dataclass(frozen=True, slots=True)
class Change:
    """One update of a semaphore; `wrapped` is set when the sum left the signed 32-bit range.

    `core` is the core whose window was written, `device` the routing id of its device where that is another one.
    """

    semaphore: int
    before: int
    after: int
    wrapped: bool = False
    core: int = 0
    device: int | None = None


class Semaphores:
    """The counters and events of one core. Adding wraps modulo 2**32 and says so in the returned `Change`."""

    __slots__ = ("_events", "_values")

    def __init__(self) -> None:
        self._values = [0] * NUM_SEMAPHORES
        self._events = [0] * NUM_EVENTS

    def read(self, semaphore: int) -> int:
        """The signed value; raises UsageError for a number that is no semaphore."""
        return self._values[self._checked(semaphore)]

    def set(self, semaphore: int, value: int) -> Change:
        """Store a value (its low 32 bits, signed)."""
        before = self.read(semaphore)
        self._values[semaphore] = signed32(value)
        return Change(semaphore, before, self._values[semaphore], self._values[semaphore] != value)

    def add(self, semaphore: int, amount: int) -> Change:
        """Add a signed amount; an INC write adds the value written (rings 4.2)."""
        return self.set(semaphore, self.read(semaphore) + amount)

    def event(self, number: int) -> int:
        """The 32-bit word of an event."""
        return self._events[self._checked(number)]

    def nonzero(self) -> dict[int, int]:
        """All semaphores that are not 0, in order (D42)."""
        return {n: value for n, value in enumerate(self._values) if value}

    def read_window(self, offset: int) -> int:
        """The unsigned word that a 4-byte read at `offset` of the EVT_SEM window returns; raises `window_error`."""
        file, index = _register(offset, reading=True)
        return self._events[index] if file == EVENT else self._values[index] % (1 << 32)

    def write_window(self, offset: int, word: int) -> Change | None:
        """A 4-byte write at `offset` of the EVT_SEM window; None for an event. Raises `window_error`."""
        file, index = _register(offset, reading=False)
        if file == SEM_SET:
            return self.set(index, signed32(word))
        if file in (SEM_INC, SEM_DEC):
            return self.add(index, signed32(word) if file == SEM_INC else -signed32(word))
        self._events[index] = word % (1 << 32)
        return None

    @staticmethod
    def _checked(number: int) -> int:
        if not 0 <= number < NUM_SEMAPHORES:
            raise UsageError(
                f"semaphore {number} does not exist",
                rule="dec.D42",
                values={"semaphore": number, "semaphores": NUM_SEMAPHORES},
            )
        return number


def window_error(offset: int, size: int, *, reading: bool) -> DgeError | None:
    """Why an access of `size` bytes at `offset` of the EVT_SEM window is refused, or None when it is legal."""
    file = next((start for start in _FILES if start <= offset < start + _FILE_SIZE), None)
    values = {"offset": offset, "size": size}
    if size != REGISTER_BYTES or offset % REGISTER_BYTES:
        return MemoryFault(
            f"semaphores and events take aligned {REGISTER_BYTES}-byte accesses, not {size} bytes at window offset "
            f"{offset:#x}",
            rule="memory.evt_sem",
            values=values,
            source="rings 4.2",
        )
    if file is None:
        return MemoryFault(
            f"no semaphore or event is at window offset {offset:#x}", rule="memory.evt_sem", values=values
        )
    place = offset - file
    index = place // REGISTER_BYTES
    if reading and file not in (EVENT, SEM_READ):
        return Unspecified(
            f"no source says what reading the {_FILES[file]} window of semaphore {index} returns",
            rule="rings.4.2",
            values=values,
            fix=f"read at window offset {SEM_READ + place:#x}",
        )
    if not reading and file == SEM_READ:
        return MemoryFault(
            f"the read window of semaphore {index} takes no writes",
            rule="memory.evt_sem",
            values=values,
            fix=f"write at window offset {SEM_SET + place:#x} to set it, {SEM_INC + place:#x} to add",
        )
    return None


def _register(offset: int, *, reading: bool) -> tuple[int, int]:
    """The register file and the index at a window offset."""
    error = window_error(offset, REGISTER_BYTES, reading=reading)
    if error is not None:
        raise error
    file = max(start for start in _FILES if start <= offset)
    return file, (offset - file) // REGISTER_BYTES
