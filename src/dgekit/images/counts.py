"""The published string census: what to count in which image, by which counter, and what was found (pipeline 8.5).

A row's pattern is a piece of text. Counter `lines` counts pieces between line feeds that hold it, as the sources did
with a line tool on the binary; `strings` counts NUL-ended strings that hold it. Names without a line feed run together
in one line, so the two differ. Totals that count unknown strings too are shown, never compared (decision D98).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LINES = "lines"
STRINGS = "strings"
_LETTERS = {"S": "SUNDA", "C": "CAYMAN", "M": "MARIANA", "P": "MARIANA_PLUS", "V": "MAVERICK"}


@dataclass(frozen=True, slots=True)
class Row:
    """One published row: the pattern, its counter, the image's core and engine, and the count by generation."""

    pattern: str
    counter: str
    counts: Mapping[str, int]
    core: str = "NX"
    engine: str = "POOL"
    compared: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Total:
    """One published count over several images: compared when all the images that make it up are there."""

    pattern: str
    count: int
    images: tuple[str, ...]
    note: str = ""


def _row(
    pattern: str, counts: str, core: str = "NX", counter: str = LINES, note: str = "", *, engine: str = "POOL",
    compared: bool = True,
) -> Row:  # fmt: skip
    """Counts as text: `S0 C1 M1 P0`; a generation that is not named is not published."""
    named = {_LETTERS[piece[0]]: int(piece[1:]) for piece in counts.split()}
    return Row(pattern, counter, named, core, engine, compared, note)


# fmt: off
ROWS = (
    _row("S: ", "C187", compared=False, note="counts unknown lines too"),
    _row("P%i:", "C0"),
    _row("dge_", "C8", counter=STRINGS, note="the eight known names and lines that hold it"),
    _row("S: DGE: Select backend Pool", "S0 C1 M1 P1"),
    _row("S: DGE: Select backend RTL", "S0 C1 M1 P1"),
    _row("S: DGE: NO BACKEND FOUND", "S0 C1 M1 P1"),
    _row("S: DGE $S[%i]+=%i@dmacomplete", "S0 C1 M1 P1", note="the Pool dump"),
    _row("S: DGE RTL backend:", "S0 C1 M1 P1", note="the RTL dump"),
    _row("S: DGE software backend:", "S0 C1 M1 P1", note="the software dump"),
    _row("dge_backend_rtl", "S0 C1 M1 P1", note="file and function name share a line"),
    _row("dge_reshape.cpp", "S1 C1 M1 P1", note="SUNDA has a stub"),
    _row("analyze_tensor_reshape", "S1 C1 M1 P1", note="SUNDA has a stub"),
    _row("DGE Reshape:", "S0 C3 M3 P3"),
    _row("tensor_reshape_transpose", "S0 C1 M1 P2", note="one more on MARIANA_PLUS: ..._sb2sb"),
    _row("tensor_reshape_indirect_transpose", "S0 C3 M3 P3", note="the name and three logs make three lines"),
    _row("Setting up DGE", "S0 C1 M1 P1"),
    _row("push GENERATE", "S0 C1 M1 P1"),
    _row("push DIMPUSH", "S0 C1 M1 P1"),
    _row("push REGWRITE", "S0 C1 M1 P0"),
    _row("Failed bounds check", "S0 C1 M1 P1"),
    _row("Dispatched error notification", "S0 C1 M1 P1"),
    _row("dge_reshape_memcopy_transpose_fast", "S0 C0 M0 P1"),
    _row("dge_decode_fast.cpp", "S0 C0 M0 P1"),
    _row("tensor_reshape_transpose_sb2sb", "S0 C0 M0 P1"),
    _row("wait_for_credit", "S0 C0 M0 P1"),
    _row("P%i:", "C156", "Q7", compared=False, note="counts unknown lines too"),
    _row("S: ", "C0", "Q7"),
    _row("Select backend Pool", "C0", "Q7"),
    _row("Select backend RTL", "C0", "Q7"),
    _row("NO BACKEND", "C0", "Q7"),
    _row("dge_backend_rtl", "C0", "Q7"),
    _row("make_gather_pattern", "C2 P2", "Q7"),
    _row("gen_spray_info", "C6 P6", "Q7"),
    _row("tensor_reshape_transpose", "C1 P2", "Q7"),
    _row("tensor_reshape_transpose_sb2sb", "C0 P1", "Q7"),
    _row("S: ", "M153 P152", engine="ACT", compared=False, note="counts unknown lines too"),
)
# fmt: on


def _engines(generations: tuple[str, ...]) -> tuple[str, ...]:
    names = ("ACT", "DVE", "PE", "POOL", "SP")
    return tuple(f"img_{generation}_NX_{engine}_DEBUG_DRAM" for generation in generations for engine in names)


_V3_V4 = ("CAYMAN", "MARIANA", "MARIANA_PLUS")
_Q7_KINDS = tuple(f"img_{generation}_Q7_POOL_DEBUG_DRAM" for generation in (*_V3_V4, "MAVERICK"))
_Q7_DKL = tuple(f"img_{generation}_Q7_POOL_DKL_DEBUG_DRAM" for generation in _V3_V4)

TOTALS = (
    Total("push GENERATE", 15, _engines(_V3_V4), "5 NX engines of 3 generations (pipeline 5.4)"),
    Total("push DIMPUSH", 15, _engines(_V3_V4), "5 NX engines of 3 generations (pipeline 5.4)"),
    Total("push REGWRITE", 10, _engines(_V3_V4), "5 NX engines of 2 generations (pipeline 5.4)"),
    Total("DGE DIRECT2D", 7, _Q7_KINDS + _Q7_DKL, "Q7 DEBUG of 4 generations and DKL_DEBUG of 3"),
)
SOURCE = "pipeline 8.5"
