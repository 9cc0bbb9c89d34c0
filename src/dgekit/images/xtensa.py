"""A decoder for just the Xtensa scalar instructions that the published anchors use.

The rules for const16, call8, j, beqz, bne, blti, entry and beqz.n are those of pipeline 8.7; the other few follow the
public instruction set in the same little-endian reading: the anchors' published meanings pin them. Bundles and all
other instructions are not decoded, so this is no disassembler: it reads what stands at a known address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_B4CONST = (-1, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 128, 256)
_PRID = 235


@dataclass(frozen=True, slots=True)
class Instruction:
    """One decoded instruction: its size in bytes, name, operands as text, and the address it goes to, if any."""

    address: int
    size: int
    name: str
    operands: tuple[str, ...]
    target: int | None = None

    @property
    def text(self) -> str:
        """As an assembler writes it, the target last."""
        shown = (*self.operands, *(() if self.target is None else (f"0x{self.target:x}",)))
        return f"{self.name} {', '.join(shown)}".rstrip()


def decode(data: bytes | memoryview, offset: int, address: int | None = None) -> Instruction | None:
    """The instruction at an offset (its address is the offset unless given); None for one that is not known here.

    >>> decode(bytes.fromhex("16d304"), 0, 0xF54E).text
    'beqz a3, 0xf59f'
    """
    pc = offset if address is None else address
    narrow = int.from_bytes(data[offset : offset + 2], "little")
    if len(data) >= offset + 2 and narrow & 0xF in _NARROW:
        return _NARROW[narrow & 0xF](pc, narrow)
    wide = int.from_bytes(data[offset : offset + 3], "little")
    if len(data) < offset + 3 or wide & 0xF not in _WIDE:
        return None
    return _WIDE[wide & 0xF](pc, wide)


def signed(value: int, bits: int) -> int:
    """A field as a two's complement number.

    >>> signed(0xFF, 8)
    -1
    """
    return value - ((value >> (bits - 1)) << bits)


def _nibble(word: int, index: int) -> int:
    return word >> (4 * index) & 0xF


def _register(word: int, index: int) -> str:
    return f"a{_nibble(word, index)}"


def _load_narrow(pc: int, word: int) -> Instruction:
    name = "l32i.n" if word & 0xF == 8 else "s32i.n"
    return Instruction(pc, 2, name, (_register(word, 1), _register(word, 2), str(4 * _nibble(word, 3))))


def _constant_or_branch_narrow(pc: int, word: int) -> Instruction | None:
    kind = _nibble(word, 1)
    high = (kind & 7 if kind < 8 else kind & 3) << 4
    value = high | _nibble(word, 3)
    if kind < 8:  # movi.n: -32..95
        return Instruction(pc, 2, "movi.n", (_register(word, 2), str(value - 128 if value >= 96 else value)))
    name = "beqz.n" if kind < 12 else "bnez.n"
    return Instruction(pc, 2, name, (_register(word, 2),), pc + 4 + value)


def _call_register(pc: int, word: int) -> Instruction | None:
    kind = _nibble(word, 1)
    if kind == 0xA:
        return Instruction(pc, 3, "jx", (_register(word, 2),))
    return Instruction(pc, 3, "callx8", (_register(word, 2),)) if kind == 0xE else None


def _register_form(pc: int, word: int) -> Instruction | None:
    """The group of low nibble 0, chosen by its two upper nibbles."""
    op1, op2 = _nibble(word, 4), _nibble(word, 5)
    if (op1, op2) == (0, 0) and _nibble(word, 3) == 0:
        return _call_register(pc, word)
    if (op1, op2) == (0, 0xA):
        return Instruction(pc, 3, "addx4", (_register(word, 3), _register(word, 2), _register(word, 1)))
    if op1 in (4, 5):
        shift = _nibble(word, 2) | (op1 & 1) << 4
        return Instruction(pc, 3, "extui", (_register(word, 3), _register(word, 1), str(shift), str(op2 + 1)))
    special = word >> 8 & 0xFF
    if (op1, op2) == (3, 0):
        return Instruction(pc, 3, "rsr.prid" if special == _PRID else f"rsr.{special}", (_register(word, 1),))
    if (op1, op2) == (3, 0xF):
        return Instruction(pc, 3, "wur", (_register(word, 1), str(special)))
    return None


def _literal_load(pc: int, word: int) -> Instruction:
    """The literal's address depends on a base that no source gives, so the field is shown as it is."""
    return Instruction(pc, 3, "l32r", (_register(word, 1), f"literal 0x{word >> 8:04x}"))


def _memory_form(pc: int, word: int) -> Instruction | None:
    found = {0: ("l8ui", 1), 2: ("l32i", 4), 6: ("s32i", 4)}.get(_nibble(word, 3))
    if found is None:
        return None
    name, scale = found
    return Instruction(pc, 3, name, (_register(word, 1), _register(word, 2), str(scale * (word >> 16))))


def _const16(pc: int, word: int) -> Instruction:
    return Instruction(pc, 3, "const16", (_register(word, 1), f"0x{word >> 8:x}"))


def _call8(pc: int, word: int) -> Instruction | None:
    if word & 0x3F != 0x25:
        return None
    return Instruction(pc, 3, "call8", (), (pc & ~3) + 4 + 4 * signed(word >> 6, 18))


def _jump_or_branch(pc: int, word: int) -> Instruction | None:
    low = word & 0xFF
    if word & 0x3F == 0x06:
        return Instruction(pc, 3, "j", (), pc + 4 + signed(word >> 6, 18))
    if low == 0x36:
        return Instruction(pc, 3, "entry", (_register(word, 2), str(8 * (word >> 12))))
    if low in (0x16, 0x56):
        name = "beqz" if low == 0x16 else "bnez"
        return Instruction(pc, 3, name, (_register(word, 2),), pc + 4 + signed(word >> 12, 12))
    if low == 0xA6:
        constant = str(_B4CONST[_nibble(word, 3)])
        return Instruction(pc, 3, "blti", (_register(word, 2), constant), pc + 4 + signed(word >> 16, 8))
    return None


def _compare(pc: int, word: int) -> Instruction | None:
    name = {1: "beq", 9: "bne"}.get(_nibble(word, 3))
    if name is None:
        return None
    return Instruction(pc, 3, name, (_register(word, 2), _register(word, 1)), pc + 4 + signed(word >> 16, 8))


Decoder = Callable[[int, int], Instruction | None]
_NARROW: dict[int, Decoder] = {8: _load_narrow, 9: _load_narrow, 0xC: _constant_or_branch_narrow}
_WIDE: dict[int, Decoder] = {
    0: _register_form, 1: _literal_load, 2: _memory_form, 4: _const16, 5: _call8, 6: _jump_or_branch, 7: _compare,
}  # fmt: skip
