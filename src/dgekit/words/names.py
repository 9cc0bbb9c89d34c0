"""The names of a word: the structure's, the wire's (isa-words 2.1) and the Python class's, in any case."""

from __future__ import annotations

from functools import cache

from dgekit.core.errors import UsageError
from dgekit.layout.say import brief, suggestion
from dgekit.words.enums import Opcode
from dgekit.words.structs import OpaqueWord, Word, word_classes


def word_named(name: str) -> type[Word]:
    """The class of a word by any of its names; raises UsageError with the nearest right one.

    >>> word_named("dma_memcpy").kind, word_named("DMAMEMCPY").kind, word_named("DmaCopy2D").kind
    ('DMA_DIRECT2D', 'DMA_DIRECT2D', 'DMA_COPY2D')
    """
    found = _names().get(_plain(name))
    if found is None:
        kinds = [cls.kind for cls in all_words()]
        fix = suggestion(name.upper(), kinds)
        raise UsageError(f"there is no word {brief(name)}", rule="words.kind", fix=fix)
    return found


def aliases(cls: type[Word]) -> tuple[str, ...]:
    """The wire names of a word, besides its `kind`: the opcode's, and that with an underscore behind DMA."""
    if cls is OpaqueWord or cls.sub_code is not None:
        return ()
    wire = Opcode(cls.code).name
    spaced = wire.replace("DMA", "DMA_", 1) if "DMA" in wire and "DMA_" not in wire else wire
    return tuple(dict.fromkeys(name for name in (wire, spaced) if name != cls.kind))


def all_words() -> tuple[type[Word], ...]:
    """Every declared word, and the opaque one."""
    return (*word_classes(), OpaqueWord)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.upper() if letter.isalnum())


@cache
def _names() -> dict[str, type[Word]]:
    table: dict[str, type[Word]] = {}
    for cls in all_words():
        for name in (cls.kind, cls.__name__, *aliases(cls)):
            table.setdefault(_plain(name), cls)
    return table
