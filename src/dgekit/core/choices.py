"""Every modelling switch: what no source settles has a name, a documented default and a reason here.

A function that depends on an open question takes a `Choices` value and asks it; the value remembers which
switches were asked, so that a result can list the choices it depended on.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from dgekit.core.choice import Choice, Value
from dgekit.core.choices_remote import REMOTE
from dgekit.core.errors import UsageError

__all__ = ["CHOICES", "Choice", "Choices", "Value", "choice_named"]

_ALL = (
    # words and units
    Choice(
        "step_unit",
        ("bytes", "elements"),
        "unit of step_elem in words",
        "a published decode shows bytes, the compiler stores bytes, the 32-byte rules need them",
        "dec.D1",
    ),
    Choice(
        "fold_element",
        (True, False),
        "fold contiguous inner dimensions into the element when a word is built",
        "gives the published form of a 128 x 128 BF16 load; step_unit = elements implies off unless set",
        "dec.D2",
    ),
    Choice(
        "xpose_walk",
        ("tiles", "elements"),
        "what the counts and steps of DMA_DIRECT2D_XPOSE walk",
        "only a walk over tiles satisfies every rule of isa-words 4.4",
        "dec.D10",
    ),
    Choice(
        "xpose_dtype",
        ("two_or_four", "two"),
        "element widths a DMA_DIRECT2D_XPOSE may have",
        "two pages differ; the strict form takes 2-byte types only",
        "isa-words 4.4",
    ),
    Choice(
        "gather_elem_size",
        ("dst", "src"),
        "which element size of a pseudo becomes elem_size of DMA_GATHER_XPOSE",
        "the destination's lies at the same offset, 60",
        "isa-words 8.30",
    ),
    Choice(
        "kind0_compute_op",
        ("extension", "none"),
        "where the compute_op of a resolved DMA_DIRECT2D comes from",
        "an ADD needs the extension's; whether the loader reads it is not published",
        "isa-words 5.2",
    ),
    # selection and emit
    Choice(
        "select",
        ("two_tier", "chained", "visible_only"),
        "order in which backends are tried",
        "the context's sw flag is read before the table",
        "dec.D14",
    ),
    Choice(
        "capability_guard",
        (True, False),
        "whether a backend refuses kinds it is not known to take",
        "nothing published stops Pool from being handed an indirect word",
        "dec.D16",
    ),
    Choice(
        "neff_path",
        ("dge", "static"),
        "how the dma lists of a NEFF run",
        "dge shows the whole way; static expands as the runtime does",
        "dec.D17",
    ),
    Choice(
        "generate_pairing",
        ("single", "pair"),
        "which GENERATE lines the log shows",
        "the documented form shows one leg; a program always holds both",
        "dec.D18",
    ),
    Choice(
        "dimpush_order",
        ("inner_first", "outer_first"),
        "order of DIMPUSH",
        "the worked examples push the fastest dimension first",
        "dec.D19",
    ),
    Choice(
        "regwrite",
        ("broadcast", "always", "never"),
        "when a REGWRITE is emitted",
        "CAYMAN and MARIANA, when more than one DMA is used",
        "dec.D20",
    ),
    Choice(
        "dump_index",
        ("semaphore", "shape_register"),
        "what $S[i] += n names",
        "semaphore and increment is the better reading",
        "dec.D22",
    ),
    Choice(
        "dump_bracket",
        ("bound_byte", "elem_size"),
        "what the first bracket of a dump prints",
        "open between two readings",
        "pipeline 7.4",
    ),
    Choice(
        "dump_position",
        ("before_push", "after_push"),
        "where the dump line stands",
        "the selector page prints it before issuing",
        "pipeline 5.2",
    ),
    Choice(
        "check_position",
        ("before_push", "after_push"),
        "when bounds are checked",
        "a failure means that nothing is emitted",
        "pipeline 5.2",
    ),
    Choice(
        "hbm_split",
        ("none", "equal"),
        "whether an HBM to HBM copy is split over DMAs",
        "no partition axis to split on",
        "dec.D23",
    ),
    Choice(
        "q7_kind_line",
        ("software", "always"),
        "which copies print the P%i: DGE kind line",
        "the line belongs to the Q7 leg",
        "pipeline 7.4",
    ),
    Choice(
        "transpose_log",
        ("both", "sequencer", "q7"),
        "which processors print the tile, BEFORE and AFTER lines of a transpose",
        "both images hold the lines; whether the reshape of a transpose runs on NX or Q7 is open",
        "pipeline 3.1, pipeline 11.32",
    ),
    Choice(
        "credits",
        ("free_slots", "none"),
        "what the credit wait of the fast path counts",
        "credit mechanics are unknown",
        "pipeline 3.8",
    ),
    Choice(
        "shape_reg_width",
        ("16", "32"),
        "width of a step in a shape register",
        "the dump prints 16 bits, the working state holds 32",
        "pipeline 2.4",
    ),
    Choice(
        "inline_legs",
        ("m2s_first", "refuse"),
        "which legs the two descriptors of DMA_IMMEDIATE are",
        "a copy needs an M2S and an S2M descriptor; their order in the word is not described",
        "isa-words 3.11",
    ),
    # bounds and notifications
    Choice(
        "bound_address",
        ("last_element", "start", "last_byte"),
        "effective address of a direct word",
        "what the check compares is not published",
        "dec.D24",
    ),
    Choice(
        "notif_type",
        ("0x1f", "0x03"),
        "notification type of a bounds record",
        "TPB_ERROR or ERROR, not published which",
        "pipeline 6.5",
    ),
    Choice(
        "error_id",
        ("0x09", "0x0a"),
        "error id of a bounds record",
        "SEQUENCER_NONFATAL is expected",
        "pipeline 6.5",
    ),
    Choice(
        "no_backend_notify",
        ("flag", "never"),
        "whether NO BACKEND sends a notification",
        "which arm dispatches is not published",
        "pipeline 6.4",
    ),
    Choice(
        "oob_skip_log",
        ("row", "word", "none"),
        "what the log and the notifications say of rows dropped by oob = skip",
        "a failed descriptor is logged and the next goes on; whether the index check of a row counts is not published",
        "pipeline 6.3, dec.D25",
    ),
    # descriptors, rings, completion
    Choice(
        "packet_bytes",
        (65536,),
        "byte cap of one packet when no priority class sets one",
        "register reset value of v2 to v4",
        "dec.D32",
        1,
    ),
    Choice("ring_size", (4096,), "BDs in each ring", "the producer waits when it is full", "dec.D34", 32),
    Choice(
        "sem_mode",
        ("once", "per_engine"),
        "how often a DGE transfer applies its increment",
        "once, after the last channel",
        "dec.D33",
    ),
    Choice(
        "check_ring_id",
        ("generation", "always", "never"),
        "whether a wrong ring id aborts the engine",
        "active on v2, masked by the driver on v3",
        "rings 2.6",
    ),
    Choice("rdm", (False, True), "whether the RDM model writes the rings", "its role is open", "dec.D35"),
    Choice(
        "rdm_tail",
        ("increment", "absolute"),
        "what the RDM writes to a tail pointer",
        "a doorbell target needs an increment",
        "rings 2.12",
    ),
    Choice("carveout_reserved", (0,), "descriptors of the carveout kept back", "number unknown", "rings 3.4"),
    Choice(
        "allow_psum",
        (False, True),
        "whether engines may touch PSUM",
        "no page shows such a transfer",
        "rings 4.4",
    ),
    Choice(
        "uninitialised",
        ("allow", "fault"),
        "whether reading bytes nobody wrote is a fault",
        "the device returns what the memory holds",
        "rings 2.10",
    ),
    # compute words
    Choice(
        "unified_minmax",
        (False, True),
        "what bits [22:20] and [15:12] of a MIN or MAX word hold",
        "off: constant dtype and output dtype, as the builders are written; on: compute type and constant dtype",
        "cce.CHOICE-06, dec.D37, dec.D67",
    ),
    Choice(
        "strict_meta",
        (False, True),
        "whether only BDs without a source address carry the metadata bit",
        "off: every tx BD of a compute packet carries it",
        "cce.CHOICE-09",
    ),
    Choice(
        "strict_reducible",
        (False, True),
        "which element types a collective may reduce",
        "on: the runtime's table, which lacks fp32 and the integers",
        "cce.CHOICE-45",
    ),
    # collectives
    Choice(
        "ring_credits",
        (4,),
        "pieces that a rank may send before the next one has taken any out",
        "two a half-chunk; one a half deadlocks from three ranks on",
        "dec.D60",
        1,
    ),
    Choice(
        "ring_path",
        ("device", "host"),
        "how the last reduce of a ring all-reduce reaches the next rank",
        "device: reduced into the output, then copied on; host: one packet writes both (2R2W)",
        "cce 7.2, cce.CHOICE-48",
    ),
    # between cores and devices
    *REMOTE,
    # numerics
    Choice(
        "ocp_sat",
        (False, True),
        "whether FP8 overflow saturates to the largest finite value",
        "off: overflow gives the infinity, or NaN where the format has none",
        "cce.CHOICE-36, cce.CHOICE-39",
    ),
    Choice(
        "fp8_range_extension",
        (False, True),
        "whether E4M3 in a compute packet is the FN form on a generation that has both",
        "the policy block's flag of that name; its meaning is a reading",
        "cce.CHOICE-39",
    ),
    Choice(
        "allow_model_codec",
        (False, True),
        "whether compression stages run with a stand-in codec",
        "the real codec and its header are in silicon; the stand-in stores elements as they are",
        "cce.CHOICE-31",
    ),
    # front doors and output
    Choice(
        "solo_collective",
        ("copy", "refuse"),
        "what a collective does at one rank",
        "a copy keeps the program running",
        "dec.D43",
    ),
    Choice(
        "small_bytes",
        (512,),
        "bytes below which a descriptor is counted as small",
        "no public page gives a threshold; nothing but a count depends on it",
        "dec.D85",
        1,
    ),
    Choice(
        "log_stages",
        ("all", "select"),
        "which stages the log shows",
        "select: from the selection on, the lines worked in the specification",
        "dec.D48",
    ),
)

CHOICES: Mapping[str, Choice] = {choice.name: choice for choice in _ALL}


def choice_named(name: str) -> Choice:
    """The declaration of a switch; raises UsageError with the nearest right name."""
    found = CHOICES.get(name)
    if found is None:
        near = difflib.get_close_matches(name, CHOICES, 1)
        raise UsageError(
            f"no choice is named {name!r}",
            rule="choices.name",
            fix=f"write {near[0]}" if near else "dge choices lists them",
        )
    return found


class Choices(Mapping[str, Value]):
    """The switches of one run: defaults, overridden by what the user set; remembers which were asked.

    >>> choices = Choices({"step_unit": "elements"})
    >>> choices.text("step_unit"), choices.flag("fold_element")
    ('elements', False)
    >>> choices.used()
    {'fold_element': False, 'step_unit': 'elements'}
    """

    __slots__ = ("_asked", "_set")

    def __init__(self, overrides: Mapping[str, object] | None = None) -> None:
        self._set: dict[str, Value] = {n: choice_named(n).parse(v) for n, v in (overrides or {}).items()}
        self._asked: set[str] = set()

    def __getitem__(self, name: str) -> Value:
        choice = choice_named(name)
        self._asked.add(name)
        if name in self._set:
            return self._set[name]
        if name == "fold_element" and self._set.get("step_unit") == "elements":
            return False  # D2: element steps keep the user's dimensions
        return choice.default

    def __iter__(self) -> Iterator[str]:
        return iter(CHOICES)

    def __len__(self) -> int:
        return len(CHOICES)

    def text(self, name: str) -> str:
        """The value of a switch with named values."""
        return str(self[name])

    def flag(self, name: str) -> bool:
        """The value of a yes or no switch."""
        return bool(self[name])

    def number(self, name: str) -> int:
        """The value of a switch that takes a number (a hex text counts)."""
        value = self[name]
        return value if isinstance(value, int) else int(value, 0)

    def overrides(self) -> dict[str, Value]:
        """What the user set."""
        return dict(self._set)

    def used(self) -> dict[str, Value]:
        """The switches that were asked so far, by name."""
        asked = sorted(self._asked)
        return {name: self[name] for name in asked}
