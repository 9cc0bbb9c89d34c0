"""The key table of transfer files: validation, nearest-key errors and the published JSON Schema all come from here.

Sources: the transfer file's surface, decisions D25 (bounds), D39 (pins), D41 (machine state), D53 (waits),
D83 (priority classes).
"""

from __future__ import annotations

from typing import Any

from dgekit.core.dtypes import DtypeInfo, dtype_named
from dgekit.core.errors import UsageError
from dgekit.core.generations import DEFAULT, generation_named
from dgekit.core.routing import MAX_CHIP_ID
from dgekit.core.state import NUM_REGISTERS, NUM_SEMAPHORES, NUM_SHAPE_REGISTERS, REG_DMA_CONFIG, REG_FEATURE_FLAGS
from dgekit.frontends.kinds import Array, Boolean, Either, Integer, Key, Mapping, Number, Parsed, Section, Text
from dgekit.transfers.transfer import ENGINES, MODES, OOB, OPS, REDUCTIONS, UPDATES
from dgekit.words.enums import WORD_SIZE

INITS = ("arange", "zeros", "ones", "random")
MAX_DIMS = 8
MAX_EXTENT = 1 << 40
MAX_INDEX_TABLE = 0xFFFF
U32 = (1 << 32) - 1
I32 = (1 << 31) - 1
_FAR = 64  # sources: a list that is a little too long gets the packet's own refusal

_semaphore = Integer(0, NUM_SEMAPHORES - 1)
_register = Integer(0, NUM_REGISTERS - 1)
_address = Integer(0, (1 << 64) - 1)
_word32 = Integer(0, U32)
_name = Text(what="a name")
_step = Integer(-MAX_EXTENT, MAX_EXTENT)


def _init(text: str) -> str:
    if text not in INITS and not text.endswith(".npy"):
        raise UsageError(
            f"{text!r} is no initial content", rule="tensor.init", fix="one of " + ", ".join(INITS) + ' or "file.npy"'
        )
    return text


def _dtype(name: str) -> DtypeInfo:
    info = dtype_named(name)
    if info.size == 0:
        raise UsageError(f"{name} is narrower than a byte: no tensor holds it", rule="isa.DTYPE", fix="use uint8")
    return info


def _words(text: str) -> bytes:
    digits = "".join(text.split())
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        raise UsageError("a word is hex digits, two a byte, spaces allowed", rule="dec.D41") from None
    if len(found) not in (WORD_SIZE, 2 * WORD_SIZE):
        raise UsageError(
            f"{len(found)} bytes are neither one word nor two",
            rule="dec.D41",
            fix=f"{WORD_SIZE} bytes, or {2 * WORD_SIZE} for a pseudo word and its extension",
        )
    return found


ACCESS = Section(
    "access",
    (
        Key("tensor", _name, "name of the tensor", required=True),
        Key("offset", Integer(0, MAX_EXTENT), "first element, in elements of the tensor's dtype", 0),
        Key(
            "pattern",
            Array(Array(_step, 2, 2), 1, MAX_DIMS),
            "[step, count] pairs in elements, outermost first; absent: the whole tensor",
        ),
    ),
    "A walk over one tensor.",
)
_access = Either((_name, ACCESS))

WAIT = Section(
    "wait",
    (
        Key("semaphore", _semaphore, "semaphore waited on", required=True),
        Key("at_least", Integer(-I32 - 1, I32), "start once the semaphore holds at least this", required=True),
        Key("decrement", Boolean(), "subtract at_least when the wait is over", False),
        Key("core", Integer(0, 7), "core whose semaphores count; absent: the word's `core`, else 0"),
    ),
    "Hold the transfer back until a semaphore is high enough (D53).",
)

BOUND = Section(
    "bound",
    (
        Key("register", _register, "general register that holds the limit", required=True),
        Key("limit", _address, "highest legal address (index, for an indirect leg); absent: what the register holds"),
        Key("notify", Boolean(), "send a notification when the check fails", True),
    ),
    "A bounds check on one leg.",
)

TENSOR = Section(
    "tensor",
    (
        Key("space", Text(("hbm", "sbuf")), "memory; in sbuf the first dimension is the partition", required=True),
        Key("shape", Array(Integer(1, MAX_EXTENT), 1, MAX_DIMS), "extents, outermost first", required=True),
        Key("dtype", Parsed(_name, _dtype), "element type, ml_dtypes names (D54)", required=True),
        Key("init", Parsed(Text(what="initial contents"), _init), "arange, zeros, ones, random or a .npy file"),
        Key("seed", Integer(0, U32), "seed of init = random"),
        Key("address", _address, "hbm only: SoC byte address"),
        Key("partition", Integer(0, 127), "sbuf only: first partition"),
        Key("offset", Integer(0, U32), "sbuf only: byte inside each partition"),
        Key("core", Integer(0, 7), "NeuronCore whose memory holds it"),
        Key("var_id", Integer(0, (1 << 24) - 1), "variable id in pseudo words; absent: in order of declaration"),
    ),
    "A named block of memory; pins that are absent are chosen by placement (D39).",
)

TRANSFER = Section(
    "transfer",
    (
        Key("name", _name, "how results name it; t0, t1, ... when absent"),
        Key("op", Text(OPS), "what it does", "copy"),
        Key("src", _access, "where it reads: a tensor's name or an access (all ops but reduce)"),
        Key("dst", _access, "where it writes: a tensor's name or an access"),
        Key("mode", Text(MODES), "who expands it into descriptors (D15)", "unknown"),
        Key("semaphore", _semaphore, "semaphore incremented when it is done; absent: none"),
        Key("increment", Integer(0, 255), "amount added to the semaphore (1 unless given)"),
        Key("wait", Array(WAIT), "conditions for its start"),
        Key("indices", _access, "u32 row indices (gather, scatter, gather_transpose)"),
        Key("oob", Text(OOB), "what an out-of-range index does: nothing moves, or its row is skipped"),
        Key(
            "accumulate",
            Text(UPDATES),
            "update the destination with what is read instead of replacing it (copy, gather, scatter)",
        ),
        Key("non_unique_dst_idx", Boolean(), "several indices may hit one row (scatter)"),
        Key("src_bound", BOUND, "bounds check on the source"),
        Key("dst_bound", BOUND, "bounds check on the destination"),
        Key("priority", Integer(0, 4), "priority class; 0 is the default class", 0),
        Key("queue", _name, "queue name; absent: by engine and mode (D84)"),
        Key("engine", Text(ENGINES), "engine that triggers it; transfers of one engine run in order", "pool"),
        Key("srcs", Array(_access, 1, _FAR), "sources, in order, 32 at most (reduce)"),
        Key("dsts", Array(_access, 1, _FAR), "destinations that all get the result, instead of dst (reduce)"),
        Key("compute", Text(REDUCTIONS), "operation (reduce)"),
        Key("scales", Array(Number(), 1, _FAR), "one factor a source (reduce, fma)"),
        Key("constant", Number(), "constant operand (reduce, min and max)"),
        Key("constant_dtype", _name, "its element type; absent: the accumulator's, or float32 (reduce)"),
        Key("accum", _name, "accumulation type; absent: by operation and types (reduce)"),
        Key("seed", _word32, "seed of stochastic rounding; absent: to nearest (reduce)"),
        Key(
            "word",
            Parsed(Text(what="a word as hex digits"), _words),
            "64 bytes as hex (128: a pseudo word and its extension), instead of op, src and dst",
        ),
        Key("core", Integer(0, 7), "core that executes a word; absent: the one whose SBUF it names, else 0"),
    ),
    "One transfer, by its meaning or as a word.",
)

SHAPE_REGISTER = Section(
    "shape register",
    (
        Key("index", Integer(0, NUM_SHAPE_REGISTERS - 1), "register number", required=True),
        Key("num", Array(Integer(1, 0xFFFF), 1, 4), "counts, fastest dimension first", [1]),
        Key("step", Array(Integer(-I32 - 1, I32), 1, 4), "steps, fastest dimension first", [1]),
    ),
    "Contents of one DGE shape register; dimensions left out count 1.",
)

ADDRESS_ENTRY = Section(
    "address table entry",
    (
        Key("entry", Integer(0, MAX_INDEX_TABLE), "entry id", required=True),
        Key("address", _address, "SoC byte address"),
        Key("tensor", _name, "tensor whose address it holds, instead of address"),
    ),
    "One entry of the DGE address table.",
)

MAILBOX = Section(
    "mailbox",
    (
        Key("priority", Integer(0, 255), "operations of a greater class number are masked", 0xFF),
        Key("mask", Integer(0, 0xFFFF), "DMAs such operations may use", 0xFFFF),
    ),
    "One DGE mailbox.",
)

_choice = Either((Boolean(), Integer(0, (1 << 63) - 1), Text(what="a choice's value")))

PROGRAM = Section(
    "program",
    (
        Key("generation", Parsed(_name, generation_named), "hardware generation: name or alias", DEFAULT.aliases[0]),
        Key("choices", Mapping(_choice, what="choice"), "modelling switches, as `dge choices` lists them"),
        Key("tensors", Mapping(TENSOR, what="tensor"), "tensors by name"),
        Key("transfers", Array(TRANSFER), "what to do, in program order"),
        Key("registers", Mapping(_word32, 0, NUM_REGISTERS - 1, "general register"), "general registers by number"),
        Key(
            "local_registers",
            Mapping(_word32, REG_FEATURE_FLAGS, REG_DMA_CONFIG, "local register"),
            "38 feature flags, 39 carveout, 40 DMAs and queues",
        ),
        Key("shape_registers", Array(SHAPE_REGISTER, 0, NUM_SHAPE_REGISTERS), "DGE shape registers"),
        Key("address_table", Array(ADDRESS_ENTRY), "DGE address table"),
        Key("mailboxes", Array(MAILBOX, 0, 4), "DGE mailboxes, first to last"),
        Key("priority_bytes", Array(Integer(1, U32), 0, 4), "preferred bytes a packet of classes 1 to 4"),
        Key("semaphores", Mapping(Integer(-I32 - 1, I32), 0, NUM_SEMAPHORES - 1, "semaphore"), "start values"),
        Key("chip_id", Integer(0, MAX_CHIP_ID), "routing id of the device, as words between cores name it", 0),
    ),
    "A DMA program: tensors, machine state and transfers.",
)


def program_schema() -> dict[str, Any]:
    """The JSON Schema of a transfer file (of the data that TOML holds)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "dgekit.program/1",
        "title": "dgekit transfer file",
        **PROGRAM.schema(),
    }
