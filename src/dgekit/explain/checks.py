"""What a card says, derived again: bytes, pushes, channels, bounds, analysis, the lines a generation has (D96).

A statement that contradicts another line of the same log is an error. What only the model holds (how rows are dealt
out, what an effective address is) is a warning, since no source settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dgekit.core.errors import Issue
from dgekit.explain.cards import Card, Group, Side
from dgekit.explain.checks_software import check_software
from dgekit.explain.finding import Setting, finding
from dgekit.firmware.emit import FORMS
from dgekit.firmware.values import Backend, Kind
from dgekit.logs.formats import FORMATS
from dgekit.words.legs import dtype_bits

_LOW32 = 0xFFFF_FFFF
_INDEXED = (Kind.INDIRECT, Kind.GATHER_TRANSPOSE)
_TRANSPOSES = (Kind.TRANSPOSE, Kind.SB2SB)
_LEGS = ("RD", "WR")


def check_card(card: Card, at: Setting) -> list[Issue]:
    """Everything that does not add up in one card."""
    return [issue for check in _CHECKS for issue in check(card, at)]


def _generation(card: Card, at: Setting) -> Iterator[Issue]:
    """Lines that the generation's firmware does not hold: REGWRITE on MARIANA_PLUS, any DGE line on SUNDA."""
    if at.generation is None:
        return
    if card.pushes and card.backend is Backend.FAST and not at.generation.has_fast_path:
        yield finding(
            "pipeline.3.8", "warning",
            f"pushes without selection and dump; {at.generation.name} has no fast path that would leave them out",
            card.pushes[0], generation=at.generation.name,
            fix="lines before them are missing, or belong to the word before",
        )  # fmt: skip
    for key in dict.fromkeys(entry.key for entry in card.lines):
        row = FORMATS[key]
        # a list of one generation says where the text was read, not that others lack it
        if len(row.generations) < 2 or at.generation.name in row.generations:
            continue
        entry = card.lines.first(key)
        yield finding(
            "pipeline.5.4" if key == "push.regwrite" else "pipeline.7.3", "error",
            f"the firmware of {at.generation.name} does not hold the line {row.text!r}", entry,
            generation=at.generation.name, generations=list(row.generations),
            fix="the log is of another generation: give --gen",
        )  # fmt: skip


def _analysis(card: Card, at: Setting) -> Iterator[Issue]:
    """The analysis against the dump: elements, base, partitions."""
    stride = at.partition_stride
    for entry in card.lines.all("reshape.analyzed"):
        fields = entry.fields
        base, step = int(fields["base"], 16), fields["step_target"]
        step = step - (1 << 32) if step >> 31 else step
        for name, value, printed in (("base", base, fields["base P"]), ("step_target", step, fields["step_target P"])):
            wanted = value // stride if value >= 0 else -(-value // stride)
            if printed != wanted:
                yield finding(
                    "pipeline.3.3", "error", f"{name} {value:#x} is {wanted} partitions, the line says {printed}",
                    entry, value=hex(value), partitions=wanted, printed=printed, stride=stride,
                )  # fmt: skip
    if card.sides is None or len(card.analysis) != 2 or card.lines.first("shape.num"):
        return
    for side, fields in zip(card.sides, card.analysis, strict=True):
        if int(fields["base"], 16) != side.addr & _LOW32:
            yield finding(
                "pipeline.3.3", "error",
                f"{side.name}: the analysis has base {fields['base']}, the dump address {side.addr:#x}", card.dump,
                analysis=fields["base"], dump=hex(side.addr),
                fix="the two lines belong to two words, or a line is missing",
            )  # fmt: skip
        if fields["nelem_target"] != side.count and card.kind is not Kind.GATHER_TRANSPOSE:
            yield finding(
                "pipeline.3.3", "error",
                f"{side.name}: {fields['nelem_target']} elements analyzed, {side.count} dumped", card.dump,
                analysis=fields["nelem_target"], dump=side.count,
            )  # fmt: skip


def _assessment(card: Card, at: Setting) -> Iterator[Issue]:
    """The assessment against the analysis, the dump and the pushes."""
    assessed, entry = card.assessed, card.lines.first("reshape.pair", "reshape.simple")
    if not assessed:
        return
    if assessed["#DMA"] > assessed["#DMA Avail"]:
        yield finding(
            "pipeline.3.3", "error", f"{assessed['#DMA']} DMAs used of {assessed['#DMA Avail']} available", entry,
            used=assessed["#DMA"], available=assessed["#DMA Avail"],
        )  # fmt: skip
    if len(card.analysis) == 2:
        counts = [fields["Num Partitions"] for fields in card.analysis]
        printed = [assessed.get("Num Partitions A"), assessed.get("Num Partitions B")]
        if "Min Num Partitions" in assessed:
            counts, printed = [min(counts)], [assessed["Min Num Partitions"]]
        if counts != printed:
            yield finding(
                "pipeline.3.3", "error", f"analysis counts {counts} partitions, the assessment {printed}", entry,
                analysis=counts, assessed=printed,
            )  # fmt: skip
    if card.dump is not None and "reshape_kind" in card.dump.fields:
        kind = card.dump.fields["reshape_kind"]
        if kind != assessed["Reshape Kind"]:
            yield finding(
                "pipeline.3.2", "error", f"reshape kind {assessed['Reshape Kind']} assessed, {kind} dumped", card.dump,
                assessed=assessed["Reshape Kind"], dump=kind,
            )  # fmt: skip
    used = len(card.dmas)
    # rows that were dropped may leave a channel without work
    is_off = used > assessed["#DMA"] if card.kind in _INDEXED else used != assessed["#DMA"]
    if card.pushes and is_off:
        ends = card.is_last and used < assessed["#DMA"]
        where = ", where the log ends" if ends else ""
        yield finding(
            "pipeline.3.3", "warning" if ends else "error",
            f"#DMA = {assessed['#DMA']}, but pushes go to {used} channels{where}", entry,
            assessed=assessed["#DMA"], channels=list(card.dmas),
        )  # fmt: skip


def _bytes(card: Card, at: Setting) -> Iterator[Issue]:
    """Both sides hold the same: bytes of a copy, elements of a cast, tiles of a transpose (pipeline 6.1)."""
    if card.sides is None or card.kind is Kind.GATHER_TRANSPOSE or card.lines.first("shape.num"):
        return
    src, dst = card.sides
    if card.kind in _TRANSPOSES:
        if src.count != dst.count:
            yield _unequal(card, "tiles", src.count, dst.count)
        return
    sizes = card.elem_sizes()
    cast = card.dump.fields.get("cast") if card.dump is not None else None
    widths = [(dtype_bits(code) or 0) // 8 for code in cast] if cast else [0, 0]
    is_cast = cast is not None and cast[0] != cast[1]
    unit = dict(zip(("src", "dst"), widths, strict=True)) if is_cast and all(widths) else {"src": 1, "dst": 1}
    what = "elements" if is_cast else "bytes"
    totals = {side.name: side.count * sizes[side.name] // unit[side.name] for side in card.sides if side.name in sizes}
    if len(totals) == 2:
        if totals["src"] != totals["dst"]:
            yield _unequal(card, what, totals["src"], totals["dst"])
    elif totals:
        (name, total), other = next(iter(totals.items())), dst if "src" in totals else src
        if not other.count or total % other.count:
            yield finding(
                "pipeline.6.1", "error",
                f"{total} {what} on the {name} side do not divide over the {other.count} elements of the other",
                card.dump, total=total, elements=other.count,
            )  # fmt: skip


def _unequal(card: Card, what: str, src: int, dst: int) -> Issue:
    return finding(
        "pipeline.6.1", "error", f"the source has {src} {what}, the destination {dst}", card.dump, src=src, dst=dst,
        fix="such a word is illegal: a line of the log is missing or false",
    )  # fmt: skip


def _pushes(card: Card, at: Setting) -> Iterator[Issue]:
    """DIMPUSHes of each group against the backend, semaphores, and elements against the dump (pipeline 5.2)."""
    yield from _partners(card)
    if not card.pushes:
        return
    wanted = FORMS[card.backend].rank if card.backend in FORMS else None
    for position, group in enumerate(card.groups):
        unfinished = card.is_last and position == len(card.groups) - 1
        if wanted is not None and len(group.pushes) != wanted and not (unfinished and len(group.pushes) < wanted):
            yield finding(
                "pipeline.4.3", "error",
                f"{len(group.pushes)} DIMPUSHes to DMA[{group.dma}]; the {card.backend.value} backend pushes {wanted}",
                (group.pushes or group.generates)[0], pushed=len(group.pushes), wanted=wanted, dma=group.dma,
                fix="lines are missing here, or the pushes are of another word",
            )  # fmt: skip
        if not group.generates:
            yield finding(
                "pipeline.5.2", "error", f"DIMPUSHes to DMA[{group.dma}] follow no GENERATE", group.pushes[0],
                dma=group.dma,
            )  # fmt: skip
    printed = card.semaphore()
    numbers = {entry.args[4] for entry in card.pushes if entry.key == "push.generate"}
    if printed is not None and at.choices.text("dump_index") == "semaphore" and numbers - {printed[0]}:
        yield finding(
            "dec.D22", "error", f"GENERATE names semaphore {sorted(numbers)}, the dump $S[{printed[0]}]", card.dump,
            generate=sorted(numbers), dump=printed[0],
            fix="--set dump_index=shape_register if $S is a shape register here",
        )  # fmt: skip
    if card.sides is not None and not card.lines.first("shape.num") and not _is_unfinished(card):
        yield from _shares(card)


def _partners(card: Card) -> Iterator[Issue]:
    """A dump and pushes go together; the fast path alone has no dump, and a word without rows left no pushes."""
    if card.pushes and card.dump is None and card.backend is not Backend.FAST and not card.is_last:
        yield finding(
            "pipeline.5.2", "warning", "pushes without a dump", card.pushes[0], fix="the dump line is missing",
        )  # fmt: skip
    if card.dump is not None and not card.pushes and card.kind not in _INDEXED and not card.is_last:
        yield finding(
            "pipeline.5.2", "error", "a dump without pushes", card.dump, fix="the push lines are missing",
        )  # fmt: skip


def _is_unfinished(card: Card) -> bool:
    """Whether the log may end within the word: fewer pushes or channels than it should have."""
    if not card.is_last:
        return False
    if not card.groups or card.pushes[-1].key != "push.dimpush":
        return True
    rank = FORMS[card.backend].rank if card.backend in FORMS else 0
    return len(card.groups[-1].pushes) < rank or len(card.dmas) < card.assessed.get("#DMA", 0)


def _shares(card: Card) -> Iterator[Issue]:
    """The channels together push what the dump shows: rows of an indexed word, tiles of a transpose, else elements."""
    if card.sides is None or any(len(group.pushes) == 0 for group in card.groups):
        return
    leg = next((leg for leg in _LEGS if any(group.generated(leg) for group in card.groups)), "RD")
    if card.kind in _INDEXED:
        if card.kind is Kind.INDIRECT:
            yield from _lanes(card, leg)
        return
    for which, side in enumerate(card.sides):
        total = sum(_product(group, which) * max(1, len(group.generated(leg))) for group in card.groups)
        wanted = {side.count}
        if card.kind in _TRANSPOSES:
            wanted.add(side.count * len(card.dmas))  # columns are dealt out, every channel has all tiles (D10)
        if total not in wanted:
            yield finding(
                "dec.D21", "error",
                f"the channels push {total} {side.name} elements, the dump has {side.count}", card.dump,
                pushed=total, dump=side.count, channels=list(card.dmas),
                fix="push lines are missing, or belong to another word",
            )  # fmt: skip


def _lanes(card: Card, leg: str) -> Iterator[Issue]:
    """One GENERATE a row that is left, and the rows counted again in the first DIMPUSH of each channel (D25)."""
    for group in card.groups:
        rows, counted = len(group.generated(leg)), {count for pair in group.counts for count in pair}
        if rows and rows not in counted:
            yield finding(
                "dec.D25", "warning",
                f"{rows} rows generated on DMA[{group.dma}], DIMPUSH counts {sorted(counted)}", group.pushes[0],
                generated=rows, pushed=sorted(counted),
            )  # fmt: skip
    rows = sum(len(group.generated(leg)) for group in card.groups)
    lanes = max(side.dims[0][1] for side in card.sides or ())
    if rows + len(card.failures) != lanes and (card.failures or rows > lanes):
        yield finding(
            "dec.D25", "warning",
            f"{rows} rows generated and {len(card.failures)} failed bounds, of {lanes} rows", card.dump,
            generated=rows, failed=len(card.failures), rows=lanes,
        )  # fmt: skip


def _product(group: Group, which: int) -> int:
    total = 1
    for counts in group.counts:
        total *= counts[which]
    return total


def _addresses(card: Card, at: Setting) -> Iterator[Issue]:
    """Where each channel starts: blocks of one dimension, one behind the other (D23)."""
    if card.sides is None or card.kind is not Kind.DIRECT2D or card.lines.first("shape.num") or not card.assessed:
        return
    for side, leg, which in ((card.sides[0], "RD", 0), (card.sides[1], "WR", 1)):
        starts = [(group, group.generated(leg)) for group in card.groups]
        found = [(group, generates[0].args[2]) for group, generates in starts if generates]
        if not found or any(len(group.pushes) < 2 for group, _ in found):
            continue
        unit = card.elem_sizes().get(side.name, 1) if at.choices.text("step_unit") == "elements" else 1
        order = -1 if at.choices.text("dimpush_order") == "outer_first" else 1
        counts = [[pair[which] for pair in group.counts[::order]] for group, _ in found]
        if [address for _, address in found] != _starts(side, counts, unit):
            yield finding(
                "dec.D23", "warning",
                f"the {side.name} addresses of the channels are not those of consecutive blocks", card.dump,
                addresses=[hex(address) for _, address in found], dump=hex(side.addr),
                fix="--set step_unit=elements if steps count elements here",
            )  # fmt: skip


def _starts(side: Side, counts: list[list[int]], unit: int) -> list[int]:
    """The start of each channel's block of the dimension that is dealt out; `counts` of each channel, inner first."""
    ranks = min(map(len, counts))
    for dim, (step, count) in enumerate(side.dims[:ranks]):
        parts = [own[dim] for own in counts]
        if sum(parts) == count and len(parts) > 1:
            return [side.addr + sum(parts[:place]) * step * unit for place in range(len(parts))]
    return [side.addr] * len(counts)


def _bounds(card: Card, at: Setting) -> Iterator[Issue]:
    """The bounds of a Pool dump: what passed must be within its limit, and be the address that the walk reaches."""
    if card.dump is None or card.dump.key != "dump.pool" or card.sides is None:
        return
    for side in card.sides:
        bound = card.dump.fields["bounds"][side.name]
        address, limit = int(bound["addr"], 16), int(bound["limit"], 16)
        if bound["enabled"] and address > limit and card.status == "done":
            yield finding(
                "pipeline.6.1", "error",
                f"{side.name} address {address:#x} is above its limit {limit:#x}, and yet the word was pushed",
                card.dump, effective=hex(address), limit=hex(limit),
            )  # fmt: skip
        if not bound["enabled"] and limit:
            yield finding(
                "dec.D24", "warning", f"{side.name}: a bound that is off prints the limit {limit:#x}", card.dump,
                limit=hex(limit),
            )  # fmt: skip
        wanted = _effective(card, side, at) if bound["enabled"] else None
        if wanted is not None and wanted != address:
            yield finding(
                "dec.D24", "warning",
                f"{side.name}: the effective address {address:#x} is not {wanted:#x}, which the walk reaches",
                card.dump, effective=hex(address), derived=hex(wanted),
                fix="--set bound_address=start or last_byte if the firmware compares another address",
            )  # fmt: skip


def _effective(card: Card, side: Side, at: Setting) -> int | None:
    """The address that a bound compares, where the log tells all of it (a transpose hides its row step)."""
    rule, size = at.choices.text("bound_address"), card.elem_sizes().get(side.name)
    if rule == "start":
        return side.addr
    needs_size = rule == "last_byte" or at.choices.text("step_unit") == "elements"
    if card.kind is not Kind.DIRECT2D or card.lines.first("shape.num") or (needs_size and size is None):
        return None
    unit = size if at.choices.text("step_unit") == "elements" and size else 1
    highest = side.addr + sum(max(0, step * unit * (count - 1)) for step, count in side.dims if count)
    return highest + (size or 1) - 1 if rule == "last_byte" else highest


def _transposes(card: Card, at: Setting) -> Iterator[Issue]:
    """BEFORE and AFTER hold the same dimensions in another order; the dump of a transpose swaps them or keeps them."""
    for lines in (card.lines, *(job.lines for job in card.jobs)):
        for before_key, after_key in (("reshape.before", "reshape.after"), ("spray.before", "spray.after")):
            for before, after in zip(lines.all(before_key), lines.all(after_key), strict=False):
                old, new = before.fields, after.fields
                pairs = [
                    sorted(zip(fields["num_elem"], map(abs, fields["step_elem"]), strict=True)) for fields in (old, new)
                ]
                if pairs[0] != pairs[1] or old["elem_size"] != new["elem_size"]:
                    yield finding(
                        "pipeline.3.4", "error", "AFTER is no permutation of the dimensions BEFORE", after,
                        before=pairs[0], after=pairs[1], elem_size=[old["elem_size"], new["elem_size"]],
                    )  # fmt: skip
    if card.kind is Kind.TRANSPOSE and card.sides is not None and not card.lines.first("shape.num"):
        src, dst = ([count for _, count in side.dims[:2]] for side in card.sides)
        if dst not in (src, src[::-1]):
            yield finding(
                "dec.D10", "warning", f"a transpose with counts {src} and {dst}: neither kept nor swapped", card.dump,
                src=src, dst=dst,
            )  # fmt: skip


def _software(card: Card, at: Setting) -> Iterator[Issue]:
    yield from check_software(card)


_CHECKS: tuple[Callable[[Card, Setting], Iterator[Issue]], ...] = (
    _generation, _analysis, _assessment, _bytes, _pushes, _addresses, _bounds, _transposes, _software,
)  # fmt: skip
