"""Names of the values of a line (D92): micro-ops as in JSON output, all others by the words before the value.

A value without words of its own joins the one before it as a list. Addresses are hex strings, steps are signed,
`elem_size` 0 reads 65536 (D49).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dgekit.logs.formats import FORMATS, LogFormat
from dgekit.logs.printf import Conversion, split_format
from dgekit.words.enums import ELEM_SIZE_ZERO_MEANS

_SIGN_BIT, _WRAP = 1 << 31, 1 << 32

# The last words of a literal before a value: `name=`, `several words = `, else just the last word.
_TIGHT = re.compile(r"([#\w.]+)=\[? ?(?:0x)?\$?\Z")
_SPACED = re.compile(r"([#\w.](?:[\w.#]| (?=[\w.#]))*)(?:\[\d+\])? ?[=:] \[? ?(?:0x)?\Z")
_LAST_WORD = re.compile(r"(\w+)\W*?(?:0x)?\Z")
_NO_WORD = re.compile(r"[\W_]*(?:0x)?\Z")
_ADDRESS_WORD = re.compile(r"addr|base", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one value goes: the `path` of keys, whether it is one of a list, and its form.

    Forms: `int` as printed, `hex` string, `signed` 32 bits, `size` with 0 read as 65536, `high` and `low` halves of
    one 64-bit address, `text`.
    """

    path: tuple[str, ...]
    many: bool = False
    form: str = "int"


def _side(name: str, dims: int) -> tuple[str, ...]:
    return (f"{name}.bracket", f"{name}.addr@", *(f"{name}.step[]-",) * dims, *(f"{name}.num[]",) * dims)


_DOLLAR = ("$S", "increment")
_CAST = ("cast[]", "cast[]")
_BOUNDS = tuple(f"bounds.{leg}.{what}" for leg in ("src", "dst") for what in ("enabled", "addr@", "limit@"))
# path, [] for a list, then the form: @ hex, - signed, * size, ^ high half, _ low half
_NAMED: Mapping[str, tuple[str, ...]] = {
    "setup.contexts": ("contexts[]", "contexts[]", "sw", "engine", "queue_idx", "queue_num"),
    "shape.step": ("dge_shape", *("step[]",) * 4),
    "shape.num": ("dge_shape", *("num[]",) * 4),
    "reshape.analyzed": (
        "nelem_target", "step_target", "step_target P", "base@", "base P",
        "Reshape Strategy", "Requested Reshape Kind", "Partition Range", "Num Partitions",
    ),
    "dump.pool": (*_DOLLAR, *_side("src", 2), *_side("dst", 2), *_CAST, *_BOUNDS, "compute_op"),
    "dump.rtl": (*_DOLLAR, *_side("src", 7), *_side("dst", 7)),
    "dump.software": (*_DOLLAR, *_side("src", 4), *_side("dst", 4), *_CAST, "indirection_dim", "reshape_kind"),
    "bounds.failed": _DOLLAR,
    "push.generate": ("dma", "dir", "addr@", "elem_size*", "sem_num"),
    "push.dimpush": ("dma", "num[]", "num[]", "step[]", "step[]"),
    "push.regwrite": ("dma",),
    "indirection.before": ("address^", "address_", "last_indices", "indirection_step-"),
    "indirection.after": ("address^", "address_"),
    "indirection.start": ("dim", "last_indices", "indirection_step-"),
    "rdma_gen.windows": ("xt_addrs[]^", "xt_addrs[]_") * 16,
    "rdma_gen.iteration": ("role", "iter[]", "iter[]", "base_addr@", "n_active_dmas", "bytes_per_P"),
    "rdma_gen.routed": ("role", "remote_routing_id", "dst_addr@", "n_active_dmas"),
    "doorbell.rdma_trigger": ("role", "ring", "addr@", "mask", "n_desc"),
    "seq.assertion": ("assertion", "file", "line"),
    "sb2sb.bases": ("engine_base_addr@", "tpb_base_addr@", "is_tpb", "is_die_0", "engine_idx"),
    "indirection.shared": ("shared_indirection_dim", "sizeof(uint32_t)"),
    "indirection.batman_dim": ("shared_indirection_dim",),
    "swdge.loop": ("index[]",) * 5,
    "legacy.idma_buffer": ("descriptor",),
    "legacy.dram_ring": ("allocate", "submit", "comp", "first_slot", "min_comp"),
}  # fmt: skip
_FORMS = {"@": "hex", "-": "signed", "*": "size", "^": "high", "_": "low", "": "int"}
_WRITTEN = re.compile(r"(?P<path>.+?)(?P<many>\[\])?(?P<form>[@\-*^]|(?<=\]|s)_)?\Z")
_OPS = {"push.generate": "GENERATE", "push.dimpush": "DIMPUSH", "push.regwrite": "REGWRITE"}


@cache
def slots(key: str) -> tuple[Slot, ...]:
    """One slot a value of a format, the processor id of a `P%i:` line left out.

    >>> [slot.path[0] for slot in slots("spray.pattern_end")]
    ['pattern', 'mask']
    """
    row = FORMATS[key]
    literals, conversions = split_format(row.text)
    if row.prefix == "P%i:":
        literals, conversions = literals[1:], conversions[1:]
    if key in _NAMED:
        return tuple(_written(name, conversion) for name, conversion in zip(_NAMED[key], conversions, strict=True))
    return _derived(literals, conversions)


def _written(text: str, conversion: Conversion) -> Slot:
    match = _WRITTEN.match(text)
    path, many, form = match["path"], match["many"], match["form"] or ""  # type: ignore[index]
    return Slot(tuple(path.split(".")), bool(many), "text" if conversion.kind == "s" else _FORMS[form])


def _derived(literals: Sequence[str], conversions: Sequence[Conversion]) -> tuple[Slot, ...]:
    names: list[str] = []
    for literal, conversion in zip(literals, conversions, strict=False):
        names.append(_name(literal, conversion, names[-1] if names else ""))
    return tuple(
        Slot((name,), names.count(name) > 1, _form(name, conversion))
        for name, conversion in zip(names, conversions, strict=True)
    )


def _name(literal: str, conversion: Conversion, previous: str) -> str:
    """The words before a value; `role` for the bracketed token of the RDMA lines, which has none."""
    if conversion.kind == "s":
        return "role"
    if previous and _NO_WORD.match(literal):
        return previous
    for pattern in (_TIGHT, _SPACED, _LAST_WORD):
        if match := pattern.search(literal):
            return match[1]
    return "value"


def _form(name: str, conversion: Conversion) -> str:
    if conversion.kind == "s":
        return "text"
    is_wide_hex = conversion.kind in "xX" and conversion.bits == 64
    if conversion.kind == "p" or is_wide_hex or (conversion.kind in "xX" and _ADDRESS_WORD.search(name)):
        return "hex"
    return "size" if name == "elem_size" else "int"


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring values that go to one place: their slot, and where they stand among the arguments."""

    slot: Slot
    outer: tuple[str, ...]
    name: str
    start: int
    stop: int


@cache
def _groups(key: str) -> tuple[_Group, ...]:
    found: list[_Group] = []
    for place, slot in enumerate(slots(key)):
        last = found[-1] if found else None
        if last is not None and last.slot.path == slot.path and (slot.many or slot.form == "low"):
            found[-1] = _Group(last.slot, last.outer, last.name, last.start, place + 1)
        else:
            found.append(_Group(slot, slot.path[:-1], slot.path[-1], place, place + 1))
    return tuple(found)


def name_fields(row: LogFormat, args: Sequence[Any]) -> dict[str, Any]:
    """The named values of a line; an argument that a cut has taken is None.

    >>> name_fields(FORMATS["push.generate"], (3, "RD", 0x1000, 0, 10))
    {'op': 'GENERATE', 'dma': 3, 'dir': 'RD', 'addr': '0x1000', 'elem_size': 65536, 'sem_num': 10}
    """
    op = _OPS.get(row.key)
    tree: dict[str, Any] = {"op": op} if op else {}
    for group in _groups(row.key):
        values = args[group.start : group.stop]
        form = group.slot.form
        if form != "int" and form != "text":
            values = _joined(values) if form == "high" else [_shaped(form, value) for value in values]
        place = tree
        for outer in group.outer:
            place = place.setdefault(outer, {})
        if not group.slot.many:
            place[group.name] = values[0]
        elif group.name in place:
            place[group.name].extend(values)
        else:
            place[group.name] = list(values)
    return tree


def _joined(halves: Sequence[Any]) -> list[str | None]:
    """64-bit addresses from high and low halves."""
    pairs = zip(halves[::2], halves[1::2], strict=True)
    return [None if low is None else hex(high << 32 | low) for high, low in pairs]


def _shaped(form: str, arg: Any) -> Any:
    if arg is None:
        return None
    if form == "hex":
        return hex(arg)
    return signed(arg) if form == "signed" else arg or ELEM_SIZE_ZERO_MEANS


def signed(value: int) -> int:
    """A 32-bit value that was printed as `0x%x`, as the signed step it stands for.

    >>> signed(0xFFFFFF80)
    -128
    """
    return value - _WRAP if value & _SIGN_BIT else value
