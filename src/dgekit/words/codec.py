"""One word at a time: 64 bytes to a typed word and back (isa-words 3).

Any 64 bytes decode: known opcodes with whatever their bodies hold, unknown opcodes as an `OpaqueWord`. Encoding what
was decoded gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from dgekit.core.errors import DecodeError
from dgekit.layout.codec import codec_of
from dgekit.words.enums import WORD_SIZE, Opcode
from dgekit.words.structs import Word, word_class
from dgekit.words.word import SUB_OPCODE_AT

_EXTENDED = int(Opcode.EXTENDED_INST)
_BY_OPCODE: dict[int, Callable[[bytes | bytearray | memoryview], Word]] = {}


def decode_word(data: bytes | bytearray | memoryview) -> Word:
    """The word that these 64 bytes hold; raises DecodeError for another length.

    >>> decode_word(bytes.fromhex("b810") + bytes(62)).kind
    'DMA_DIRECT2D'
    """
    if len(data) != WORD_SIZE:
        raise DecodeError(
            f"a word has {WORD_SIZE} bytes, not {len(data)}", rule="isa.size", values={"bytes": len(data)}
        )
    # Extended words are found by opcode and sub-opcode, the others by byte 0 alone.
    key = data[0] if data[0] != _EXTENDED else 0x100 + data[SUB_OPCODE_AT]
    decode = _BY_OPCODE.get(key)
    if decode is None:
        decode = _BY_OPCODE[key] = codec_of(word_class(data)).decode
    return decode(data)


def encode_word(word: Word) -> bytes:
    """The 64 bytes of a word."""
    return word.encode()
