"""A stream of words: slots of 64 bytes, with each extension word paired to the pseudo word before it (isa-words 3.6).

Nothing here raises for any bytes: what cannot be placed is an issue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dgekit.core.errors import Issue
from dgekit.words.codec import decode_word
from dgekit.words.enums import WORD_SIZE, Opcode
from dgekit.words.structs import OpaqueWord, PseudoDmaDirect2D, PseudoDmaExt, Word

SOURCE = "isa-words 3.6"


class Item(NamedTuple):
    """One word at its byte offset; `extension` is the 0xda word that follows a 0xd4, one slot later."""

    offset: int
    word: Word
    extension: PseudoDmaExt | None


@dataclass(frozen=True, slots=True)
class Stream:
    """The words of a stream in order, and what could not be placed."""

    items: tuple[Item, ...]
    issues: tuple[Issue, ...]


def split_stream(data: bytes | bytearray | memoryview) -> Stream:
    """Cut bytes into words; a 0xda directly behind a 0xd4 becomes that item's extension. Never raises.

    >>> split_stream(bytes.fromhex("d410") + bytes(62) + b"\\xda" + bytes(63)).items[0].extension.kind
    'PSEUDO_DMA_EXT'
    """
    issues: list[Issue] = []
    items = tuple(iter_stream(data, issues))
    return Stream(items, tuple(issues))


def iter_stream(data: bytes | bytearray | memoryview, issues: list[Issue]) -> Iterator[Item]:
    """The items of `split_stream` one by one, for streams too long to hold; findings are appended to `issues`."""
    opaque: dict[int, list[int]] = {}
    pending: Item | None = None
    before = -1
    for offset in range(0, len(data) - len(data) % WORD_SIZE, WORD_SIZE):
        word = decode_word(data[offset : offset + WORD_SIZE])
        if isinstance(word, PseudoDmaExt) and pending is not None:
            yield pending._replace(extension=word)
            pending = None
        else:
            if pending is not None:
                yield pending
            pending = Item(offset, word, None)
            if isinstance(word, PseudoDmaExt):
                issues.append(_alone(offset, before))
            elif isinstance(word, OpaqueWord):
                opaque.setdefault(word.opcode, []).append(offset)
            if not isinstance(word, PseudoDmaDirect2D):
                yield pending
                pending = None
        before = data[offset]
    if pending is not None:
        yield pending
    issues.extend(_opaque(opcode, offsets) for opcode, offsets in opaque.items())
    if len(data) % WORD_SIZE:
        issues.append(_partial(len(data)))


def _alone(offset: int, before: int) -> Issue:
    """An extension that no 0xd4 owns; behind a TRIGGER_COLLECTIVE2 the opcode means another layout."""
    where = f"{offset:#x} PSEUDO_DMA_EXT"
    if before == Opcode.PSEUDO_TRIGGER_COLLECTIVE2:
        return Issue(
            "isa.stream.other_extension",
            "advice",
            "the 0xda word extends the PSEUDO_TRIGGER_COLLECTIVE2 before it; no source gives that layout, "
            "so its fields mean nothing here",
            where,
            {"offset": offset},
            SOURCE,
        )
    found = f"opcode {before:#04x} is" if before >= 0 else "nothing is"
    return Issue(
        "isa.stream.extension",
        "error",
        f"a 0xda word must directly follow a PSEUDO_DMA_DIRECT2D (0xd4), but {found} before it",
        where,
        {"offset": offset, "before": before},
        SOURCE,
        "put the 0xda word right behind its 0xd4 word",
    )


def _opaque(opcode: int, offsets: list[int]) -> Issue:
    known = isinstance(opcode, Opcode)
    name = f"{int(opcode):#04x} ({opcode.name})" if isinstance(opcode, Opcode) else f"{int(opcode):#04x}"
    plural = "s" if len(offsets) > 1 else ""
    return Issue(
        "isa.stream.opaque",
        "advice" if known else "warning",
        f"{len(offsets)} word{plural} with opcode {name} kept as bytes: "
        + ("its layout is outside this package" if known else "it is not among the opcodes of the specification"),
        f"{offsets[0]:#x} OPAQUE",
        {"opcode": int(opcode), "count": len(offsets), "first": offsets[0]},
        "isa-words 2.1",
    )


def _partial(length: int) -> Issue:
    left = length % WORD_SIZE
    return Issue(
        "isa.stream.partial",
        "error",
        f"the stream ends with {left} bytes of a {WORD_SIZE}-byte word",
        f"{length - left:#x}",
        {"bytes": length, "left": left, "word": WORD_SIZE},
        "isa-words 0",
        "a stream is a whole number of 64-byte words",
    )
