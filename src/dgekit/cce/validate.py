"""Whether a packet can be built: the checks of cce 2.3 and the limits and gates of cce 5, each with its rule.

`check_packet` returns every finding and raises nothing; the builder raises the first error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dgekit.cce.dtypes import accum_size, constant_code, element_size, is_float
from dgekit.cce.enums import CceType, Dtype, FmaOperand
from dgekit.cce.faults import finding
from dgekit.cce.host import fp32_bits
from dgekit.cce.limits import MAX_DESTS, MAX_SOURCES, max_elements
from dgekit.cce.packet import CcePacket
from dgekit.core.errors import ComputeError, Issue
from dgekit.core.generations import Generation

ADDRESS_LIMIT = 1 << 64
WORD_LIMIT = 1 << 32
HEADER_ALIGN = 32
_MIN_MAX = (CceType.MIN, CceType.MAX)
_OPS = (CceType.ADD, CceType.FMA, CceType.MAX, CceType.MIN, CceType.GCE)


def check_packet(packet: CcePacket, generation: Generation) -> list[Issue]:
    """Every reason why this generation does not take the packet; an empty list when it does."""
    issues = [*_operation(packet), *_counts(packet), *_generation(packet, generation), *_operands(packet)]
    sizes = list(_sizes(packet))
    issues += sizes or [*_amounts(packet, generation), *_alignment(packet)]
    return issues


def check_operands(packet: CcePacket) -> list[Issue]:
    """The findings of `check_packet` that no generation changes: operation, counts and operands."""
    return [*_operation(packet), *_counts(packet), *_operands(packet)]


def tx_count(packet: CcePacket) -> int:
    """The tx BDs that the packet takes: sources, operands, and what its stages add (cce 3.4)."""
    count = len(packet.sources) * (2 if packet.op == CceType.FMA else 1)
    count += packet.seed is not None
    count += packet.constant is not None
    if packet.gce is not None:
        count += 2 if packet.has_stage else 1
    return count + packet.is_combo + (len(packet.dests) > 1)


def _error(rule: str, message: str, where: str = "", fix: str = "", **values: Any) -> Issue:
    return Issue(rule, "error", message, where, values, "cce " + rule.removeprefix("cce."), fix)


def _operation(packet: CcePacket) -> Iterator[Issue]:
    if packet.op not in _OPS:
        yield finding(
            "vring_op", int(packet.op), rule="cce.2.2", op=int(packet.op), fix="ADD 0, FMA 1, MAX 2, MIN 3 or GCE 5"
        )
    if packet.op == CceType.GCE and packet.gce is None:
        yield _error("cce.4.6", "a compression packet names no header", "gce", "give the header's address")
    if packet.op != CceType.GCE and packet.gce is not None and not packet.gce.compress:
        yield _error("cce.4.6", "a sum is compressed on its way out, never decompressed", "gce", "compress = true")


def _counts(packet: CcePacket) -> Iterator[Issue]:
    for rule, what, count, most in (
        ("cce.CHOICE-04", "sources", len(packet.sources), MAX_SOURCES),
        ("cce.CHOICE-30", "dests", len(packet.dests), MAX_DESTS),
    ):
        if not 1 <= count <= most:
            yield _error(rule, f"{count} {what}, one packet takes 1 to {most}", what, count=count, limit=most)
    if packet.op == CceType.FMA and not packet.scales:
        yield finding("info_null", rule="cce.2.3", message="FMA without scales", where="scales", fix="one a source")
    for what, given in (("scales", packet.scales), ("selectors", packet.selectors)):
        if not given:
            continue
        if packet.op != CceType.FMA:
            yield _error("cce.2.3", f"only FMA takes {what}, not {packet.op.name}", what)
        elif len(given) != len(packet.sources):
            counts: dict[str, Any] = {"given": len(given), "sources": len(packet.sources)}
            yield _error("cce.CHOICE-04", f"{len(given)} {what} for {len(packet.sources)} sources", what, **counts)


def _generation(packet: CcePacket, generation: Generation) -> Iterator[Issue]:
    place = {"generation": generation.name}
    try:
        max_elements(generation)
    except ComputeError as problem:
        yield problem.as_issue()
        return
    if len(packet.dests) > 1 and not generation.has_combo:
        yield finding(
            "replication_arch",
            rule="cce.5.4",
            message=f"{len(packet.dests)} destinations on {generation.name}",
            where="dests",
            dests=len(packet.dests),
            **place,
        )
    elif packet.gce is not None and not generation.has_combo:
        message = f"compression on {generation.name}"
        yield finding("concat", rule="cce.5.4", message=message, where="gce", **place)
    if packet.strong_order and not generation.strong_order_write:
        message = f"strong order on {generation.name}"
        yield finding("sow_arch", rule="cce.5.4", message=message, where="strong_order", **place)
    needed, most = tx_count(packet), generation.cce_tx_cap
    if needed > most:
        message = f"{needed} tx BDs, {generation.name} takes {most}"
        numbers: dict[str, Any] = {"tx": needed, "limit": most}
        if packet.is_combo:
            yield finding("concat", rule="cce.5.1", message=message, **numbers)
        else:
            yield finding("too_many_tx", needed, most, rule="cce.5.1", message=message, **numbers)


def _operands(packet: CcePacket) -> Iterator[Issue]:
    for index, chosen in enumerate(packet.selectors):
        for name, selector in zip("abc", chosen, strict=False):
            if selector not in FmaOperand._value2member_map_:
                where = f"selectors[{index}].{name}"
                fix = "0 stored, 1 input or 2 scale"
                yield _error("cce.CHOICE-12", f"selector {selector} selects nothing", where, fix, selector=selector)
    for index, scale in enumerate(packet.scales):
        yield from _problem_of(f"scales[{index}]", fp32_bits, scale)
    if packet.constant is not None:
        yield from _constant(packet, packet.constant.bits, packet.constant.dtype)
    if packet.seed is not None:
        yield from _seed(packet, packet.seed)
    if packet.gce is not None:
        yield from _header(packet.gce.header, packet.gce.compress)


def _constant(packet: CcePacket, bits: int, dtype: int) -> Iterator[Issue]:
    if packet.op not in _MIN_MAX:
        yield _error("cce.3.6", f"only MIN and MAX take a constant, not {packet.op.name}", "constant")
    yield from _problem_of("constant", constant_code, dtype)
    if not 0 <= bits < WORD_LIMIT:
        yield _error("cce.CHOICE-14", f"the constant's bits {bits:#x} do not fit 32", "constant", bits=bits)


def _seed(packet: CcePacket, seed: int) -> Iterator[Issue]:
    if not 0 <= seed < WORD_LIMIT:
        yield _error("cce.CHOICE-16", f"the seed {seed:#x} does not fit 32 bits", "seed", seed=seed)
    if packet.op in _MIN_MAX and not (packet.is_combo and packet.constant is None):
        # the first slot of a MIN or MAX packet is the constant's
        yield _error(
            "cce.CHOICE-11", f"a {packet.op.name} packet has no place for a seed", "seed", "seed the queue before"
        )


def _header(header: int, compress: bool) -> Iterator[Issue]:
    if header == 0 or header % HEADER_ALIGN or not 0 <= header < ADDRESS_LIMIT:
        yield finding(
            "gce_header",
            "" if compress else "de",
            header,
            rule="cce.4.6",
            where="gce.header",
            header=header,
            align=HEADER_ALIGN,
        )


def _sizes(packet: CcePacket) -> Iterator[Issue]:
    """Element types; without them nothing can be counted."""
    for name, dtype in (
        ("in_dtype", packet.in_dtype),
        ("out_dtype", packet.out_dtype),
        *([("gce.payload_dtype", packet.gce.payload_dtype)] if packet.gce is not None else []),
    ):
        yield from _problem_of(name, element_size, dtype)
    yield from _problem_of("accum_dtype", accum_size, packet.accum_dtype)
    integers = not is_float(packet.in_dtype)
    if packet.op == CceType.FMA and not (
        packet.accum_dtype == Dtype.FP32 if integers else is_float(packet.accum_dtype)
    ):
        what = "FMA on integers accumulates in fp32" if integers else "FMA accumulates in floating point"
        yield _error("dec.D62", what, "accum_dtype", "accumulate in FP32", dtype=int(packet.accum_dtype))


def _amounts(packet: CcePacket, generation: Generation) -> Iterator[Issue]:
    lanes = generation.cce_max_bytes // accum_size(packet.accum_dtype)
    most = min(generation.cce_elements, lanes)
    if not 1 <= packet.elements <= most:
        message = f"{packet.elements} elements, one packet of this accumulator takes 1 to {most} on {generation.name}"
        yield _error(
            "cce.5.1", message, "elements", "cut it with dgekit.cce.plan", elements=packet.elements, limit=most
        )


def _alignment(packet: CcePacket) -> Iterator[Issue]:
    """Addresses lie on elements (CHOICE-46)."""
    for what, addresses, dtype in (
        ("sources", packet.sources, packet.source_dtype),
        ("dests", packet.dests, packet.dest_dtype),
    ):
        size = element_size(dtype)
        for index, address in enumerate(addresses):
            where = f"{what}[{index}]"
            if not 0 <= address < ADDRESS_LIMIT:
                yield _error("cce.3.4", f"{address:#x} is no 64-bit address", where, address=address)
            elif address % size:
                message = f"{address:#x} is no multiple of the element's {size} bytes"
                yield _error("cce.CHOICE-46", message, where, "align it", address=f"{address:#x}", align=size)


def _problem_of(where: str, check: Callable[[Any], object], value: object) -> Iterator[Issue]:
    try:
        check(value)
    except ComputeError as problem:
        issue = problem.as_issue()
        yield issue if issue.where else issue.at(where)
