"""From a transfer to pseudo words: the one entry that the run and the command line use."""

from __future__ import annotations

from collections.abc import Callable, Collection

from dgekit.core.choices import Choices
from dgekit.core.errors import Unsupported
from dgekit.core.generations import Generation
from dgekit.transfers.direct import copy_words
from dgekit.transfers.gather import indirect_words
from dgekit.transfers.gather_transpose import gather_transpose_words
from dgekit.transfers.placement import Placement
from dgekit.transfers.request import Request, open_request
from dgekit.transfers.transfer import Op, Transfer
from dgekit.transfers.transpose import transpose_words
from dgekit.transfers.values import Built
from dgekit.words.enums import Opcode

_RESOLVED: dict[Op, Opcode] = {
    "copy": Opcode.DMAMEMCPY,
    "transpose": Opcode.DMA_TRANSPOSE,
    "gather": Opcode.DMA_INDIRECT,
    "scatter": Opcode.DMA_INDIRECT,
    "gather_transpose": Opcode.DMA_GATHER_TRANSPOSE,
}


def build_words(
    transfer: Transfer,
    placement: Placement,
    generation: Generation,
    choices: Choices,
    *,
    used_registers: Collection[int] = (),
) -> Built:
    """The pseudo words of one transfer, with registers to load and indices to restage before they start.

    `used_registers` are the general registers the program sets itself; an index bound takes the lowest other one
    (D25). Raises LoweringError, CrossPartition, Overlap, Unsupported or Unspecified with rule, numbers and fix.
    """
    if transfer.op == "reduce":
        raise Unsupported(
            f"transfer {transfer.name}: reduce has no DGE word; this tool does not run it yet",
            rule="dec.D38",
            where=transfer.where or transfer.name,
            source="decision D38",
            fix='copy with accumulate = "add"',
        )
    request = open_request(transfer, placement, generation, choices)
    _check_opcode(request)
    indirect: dict[Op, Callable[[Request, Collection[int]], Built]] = {
        "gather": indirect_words,
        "scatter": indirect_words,
        "gather_transpose": gather_transpose_words,
    }
    if transfer.op in indirect:
        return indirect[transfer.op](request, used_registers)
    return transpose_words(request) if transfer.op == "transpose" else copy_words(request)


def _check_opcode(request: Request) -> None:
    """The resolved word must exist on the generation (isa-words 7)."""
    opcode = _RESOLVED[request.transfer.op]
    if opcode in request.generation.opcodes_absent:
        raise request.refuse(
            f"{request.generation.name} has no {opcode.name} word ({int(opcode):#x})",
            "isa.7",
            {"opcode": int(opcode)},
            "use mode none",
            "isa-words 7",
        )
