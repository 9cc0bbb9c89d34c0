"""`Word`: what all 64-byte words share, and the table that finds the class of a word from its bytes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from dgekit.core.errors import DecodeError, EncodeError
from dgekit.layout import Field, Struct
from dgekit.layout.fields import data, enum, sub
from dgekit.words.enums import WORD_SIZE, ExtendedOpcode, Opcode
from dgekit.words.substructs import Events, Header

SUB_OPCODE_AT = 12

_CLASSES: dict[tuple[int, int | None], type[Word]] = {}


def head(opcode: Opcode) -> Field[Header]:
    """The header field of a word."""
    doc = f"opcode = {int(opcode):#x}, inst_word_len = 0x10"
    return sub(0, Header, doc, "H/O", default=Header(opcode=opcode))


def events(doc: str = "issue-side wait and update") -> Field[Events]:
    """The events field of a word."""
    return sub(4, Events, doc, "H/O")


def sub_opcode(doc: str, default: ExtendedOpcode = ExtendedOpcode.EXTENDED_ENGINE_NOP) -> Field[ExtendedOpcode | int]:
    """The sub-opcode of a 0xf0 word."""
    return enum(SUB_OPCODE_AT, ExtendedOpcode, doc, "H/O", default=default)


class Word(Struct):
    """One 64-byte word; a subclass passes its `opcode`, and its `sub` opcode if it is an extended one.

    `kind` is the specification's name of the structure, `code` the value of byte 0.
    """

    kind: ClassVar[str]
    code: ClassVar[int]
    sub_code: ClassVar[int | None]

    def __init_subclass__(cls, *, opcode: int = -1, sub: int | None = None, **more: Any) -> None:
        super().__init_subclass__(**({"size": WORD_SIZE} | more))
        if opcode >= 0:
            cls.kind, cls.code, cls.sub_code = cls.layout.name, int(opcode), sub
            _CLASSES[int(opcode), sub] = cls

    def __init__(self, *positional: Any, **values: Any) -> None:
        super().__init__(*positional, **values)
        check_identity(self, self.encode())

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview) -> Self:
        """The word of 64 bytes; raises DecodeError for another length or another word's opcode."""
        if len(data) == WORD_SIZE and word_class(data) is not cls:
            found = word_class(data).kind
            raise DecodeError(
                f"opcode {data[0]:#04x} is {found}, not {cls.kind}", rule="isa.opcode", values={"opcode": data[0]}
            )
        return super().decode(data)


class OpaqueWord(Word, name="OPAQUE", source="isa-words 2.1", tag="-"):
    """A word whose opcode this package has no layout for; the bytes are kept."""

    kind, code, sub_code = "OPAQUE", -1, None
    raw = data(WORD_SIZE, 0, "the whole word")

    @property
    def opcode(self) -> int:
        """Byte 0, as an `Opcode` where the enum has it."""
        known: dict[Any, Any] = Opcode._value2member_map_
        found: int = known.get(self.raw[0], self.raw[0])
        return found


def word_class(data: bytes | bytearray | memoryview) -> type[Word]:
    """The class of the word that these 64 bytes hold, by opcode and sub-opcode."""
    code = data[0]
    if code == Opcode.EXTENDED_INST:
        found = _CLASSES.get((code, data[SUB_OPCODE_AT]))
        if found is not None:
            return found
    return _CLASSES.get((code, None), OpaqueWord)


def check_identity(word: Word, encoded: bytes) -> None:
    """Raise EncodeError when the word's own bytes would decode as another kind."""
    found = word_class(encoded)
    if found is not type(word):
        raise EncodeError(
            f"opcode {encoded[0]:#04x} belongs to {found.kind}, not {word.kind}",
            rule="isa.opcode",
            values={"opcode": encoded[0]},
            fix="leave header and sub-opcode at their defaults, or use the other class",
        )


def word_classes() -> tuple[type[Word], ...]:
    """Every declared word, in order of declaration."""
    return tuple(_CLASSES.values())
