"""The names of words."""

import pytest

from dgekit.core.errors import UsageError
from dgekit.words.names import aliases, all_words, word_named

WIRE = {
    "DMAMEMCPY": "DMA_DIRECT2D",
    "DMA_MEMCPY": "DMA_DIRECT2D",
    "DMA_INDIRECT": "DMA_INDIRECT1D",
    "DMA_TRANSPOSE": "DMA_DIRECT2D_XPOSE",
    "DMA_GATHER_TRANSPOSE": "DMA_GATHER_XPOSE",
    "DMA_MEMCPY2": "DMA_COPY2D",
    "MOVE_SHAPE": "CTRL_MS",
    "SB2SB_COLLECTIVE": "S3D3_COLLECTIVE",
    "PSEUDO_EXTENSION": "PSEUDO_DMA_EXT",
    "PSEUDO_DMATRIGGER": "PSEUDO_DMA_TRIGGER",
    "PSEUDO_DMAMEMCPY_FULL_IND": "PSEUDO_DMA_MEMCPY_FULL_IND",
    "EXTENDED_INST": "EXTENDED",
}


@pytest.mark.parametrize(("wire", "kind"), WIRE.items())
def test_wire_names_in_any_case(wire, kind) -> None:
    assert word_named(wire).kind == word_named(wire.lower()).kind == kind


def test_every_name_of_every_word_finds_it() -> None:
    for cls in all_words():
        for name in (cls.kind, cls.kind.lower(), cls.__name__, *aliases(cls)):
            assert word_named(name) is cls
    assert aliases(word_named("DMA_DIRECT2D")) == ("DMAMEMCPY", "DMA_MEMCPY")


@pytest.mark.parametrize(
    ("wrong", "fix"), [("DMA_DIRECT3D", "write DMA_DIRECT2D"), ("qqq", "one of "), ("", "one of ")]
)
def test_a_wrong_name_gets_the_nearest(wrong, fix) -> None:
    with pytest.raises(UsageError, match="there is no word") as fault:
        word_named(wrong)
    assert fault.value.rule == "words.kind" and fault.value.fix.startswith(fix)
