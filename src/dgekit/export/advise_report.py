"""A report of `advise` as data and as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dgekit.advise.cost import Band
from dgekit.advise.predict import Predicted, Prediction
from dgekit.advise.report import Report, facts_json
from dgekit.advise.rings import QUEUE_LIMIT
from dgekit.advise.whatif import Row
from dgekit.core.generations import KIB, MIB, Generation
from dgekit.firmware.values import Backend

ADVISE_SCHEMA = "dgekit.advise/1"
WHAT_IF_SCHEMA = "dgekit.what_if/1"
_SHOWN = 40  # transfers listed for people; the rest is counted


def report_to_json(report: Report) -> dict[str, Any]:
    """The object that `dge advise --json` prints."""
    prediction = report.prediction
    rows = prediction.transfers if prediction is not None else ()
    return {
        "schema": ADVISE_SCHEMA,
        "source": report.source,
        "generation": report.generation.name,
        "choices": dict(report.choices),
        "notes": list(report.notes),
        "totals": _totals(report, prediction),
        "carveout": _carveout(prediction),
        "queues": [queue.to_json() for queue in report.queues],
        "transfers": [transfer_to_json(row) for row in rows],
        "advice": [advice.to_json(rank) for rank, advice in enumerate(report.advice, 1)],
        "facts": facts_json(report.generation),
        "issues": [issue.to_json() for issue in report.issues],
    }


def _totals(report: Report, prediction: Prediction | None) -> dict[str, Any]:
    largest = report.largest_queue
    sizes = prediction.sizes if prediction is not None else None
    return {
        "transfers": sum(queue.transfers for queue in report.queues),
        "descriptors": report.descriptors,
        "bytes": report.nbytes,
        "packets": sum(row.packets for row in prediction.transfers) if prediction is not None else None,
        "small_descriptors": sizes.small if sizes is not None else None,
        "small_bytes": report.small_bytes,
        "sizes": sizes.to_json() if sizes is not None else [],
        "per_engine": _per_engine(prediction),
        "ring_bytes": report.rings.to_json(),
        "largest_queue": largest and {"name": largest.name, "largest_ring": largest.largest_ring, "limit": QUEUE_LIMIT},
        "time_ns": _time(report.time_ns),
    }


def _per_engine(prediction: Prediction | None) -> list[dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for row in prediction.transfers if prediction is not None else ():
        for use in row.engines:
            total = found.setdefault(use.engine, {"engine": use.engine, "m2s": 0, "s2m": 0, "bytes": 0})
            total["m2s"] += use.m2s
            total["s2m"] += use.s2m
            total["bytes"] += use.nbytes
    return [found[engine] for engine in sorted(found)]


def _carveout(prediction: Prediction | None) -> dict[str, int] | None:
    """What register 39 sets aside for the descriptors that GpSimd and Pool write, where a program sets it."""
    if prediction is None or not prediction.carveout:
        return None
    return {
        "descriptors": prediction.carveout >> 16,
        "largest_word": max((row.carveout for row in prediction.transfers), default=0),
        "software_descriptors": software_descriptors(prediction),
    }


def software_descriptors(prediction: Prediction) -> int:
    """Descriptors that GpSimd writes."""
    return sum(row.descriptors for row in prediction.transfers if row.backend is Backend.SOFTWARE)


def transfer_to_json(row: Predicted) -> dict[str, Any]:
    """One entry of `transfers`."""
    cost, engines = row.cost, [use.to_json() for use in row.engines]
    return {
        "name": row.name,
        "where": row.where,
        "mode": row.mode,
        "backend": row.backend.value,
        "status": row.status,
        "queue": row.queue,
        "descriptors": {
            "m2s": sum(use.m2s for use in row.engines),
            "s2m": sum(use.s2m for use in row.engines),
            "bytes": row.nbytes,
            "per_engine": engines,
        },
        "packets": row.packets,
        "small_descriptors": row.sizes.small,
        "sizes": row.sizes.to_json(),
        "ring_bytes": row.rings.to_json(),
        "time_ns": _time(cost.latency_ns if cost is not None else None),
        "interval_ns": _time(cost.interval_ns if cost is not None else None),
        "data_ns": _time(cost.data_ns if cost is not None else None),
        "bound_by": cost.bound_by if cost is not None else None,
        "issues": [issue.to_json() for issue in row.issues],
    }


def _time(band: Band | None) -> dict[str, float] | None:
    return band.to_json() if band is not None else None


def what_if_to_json(rows: Sequence[Row], generation: Generation, source: str) -> dict[str, Any]:
    """The object that `dge advise --what-if --json` prints."""
    return {
        "schema": WHAT_IF_SCHEMA,
        "source": source,
        "generation": generation.name,
        "transfers": [row.to_json() for row in rows],
    }


# for people


def report_lines(report: Report) -> Iterator[str]:
    """Totals, transfers, queues, advice, notes."""
    yield from _total_lines(report)
    if report.prediction is not None and report.prediction.transfers:
        yield ""
        yield from _transfer_lines(report.prediction.transfers)
    if report.queues:
        yield ""
        yield from _queue_lines(report)
    if report.advice:
        yield ""
        yield "what to change, by the time it saves the program"
    for rank, advice in enumerate(report.advice, 1):
        share = round(100 * advice.gain_ns / advice.before.estimate)
        yield f"{rank:3}. {nanoseconds(advice.gain_ns)} ({share} %) {_names(advice.transfers)}: {advice.message}"
        yield f"     [{advice.source}]"
    if report.prediction is not None and report.time_ns is not None and not report.advice:
        yield ""
        yield "nothing to change that the model says would save time"
    for note in report.notes:
        yield f"note: {note}"


def _total_lines(report: Report) -> Iterator[str]:
    count = sum(queue.transfers for queue in report.queues)
    yield (
        f"{report.source or 'program'} on {report.generation.name}: {_many(count, 'transfer')}, "
        f"{report.nbytes} bytes, {report.descriptors} descriptors"
    )
    if report.time_ns is not None:
        band = report.time_ns
        yield (
            f"time (estimate): {nanoseconds(band.estimate)}, between {nanoseconds(band.low)} and "
            f"{nanoseconds(band.high)}"
        )
    rings = report.rings
    yield (
        f"ring memory, if the host expands them: {size(rings.exact)} exact, {size(rings.estimate_a)} by estimate A, "
        f"{size(rings.estimate_b)} by estimate B"
    )
    prediction = report.prediction
    if prediction is None:
        return
    sizes = prediction.sizes
    listed = ", ".join(f"{count} of {size(low)} and more" for low, count in sizes.histogram.items())
    yield f"data descriptors: {sizes.total}, {sizes.small} below {report.small_bytes} bytes ({listed})"
    carveout = _carveout(prediction)
    if carveout is not None:
        yield (
            f"carveout: {carveout['descriptors']} descriptors, the largest word needs {carveout['largest_word']}; "
            f"{carveout['software_descriptors']} are GpSimd's"
        )


def _transfer_lines(rows: Sequence[Predicted]) -> Iterator[str]:
    head = ("transfer", "mode", "by", "engines", "m2s", "s2m", "bytes", "time", "interval", "bound by")
    lines = [head, *(_transfer_cells(row) for row in rows[:_SHOWN])]
    yield from columns(lines)
    if len(rows) > _SHOWN:
        yield f"... and {len(rows) - _SHOWN} more (--json lists all)"


def _transfer_cells(row: Predicted) -> tuple[str, ...]:
    cost = row.cost
    return (
        row.name,
        row.mode,
        row.backend.value if row.works else row.status,
        str(len({use.engine for use in row.engines if use.nbytes})),
        str(sum(use.m2s for use in row.engines)),
        str(sum(use.s2m for use in row.engines)),
        str(row.nbytes),
        nanoseconds(cost.latency_ns.estimate) if cost is not None else "-",
        nanoseconds(cost.interval_ns.estimate) if cost is not None else "-",
        cost.bound_by if cost is not None else "-",
    )


def _queue_lines(report: Report) -> Iterator[str]:
    head = ("queue", "transfers", "descriptors", "bytes", "ring bytes", "fullest ring", "of limit")
    rows = [
        (
            queue.name,
            str(queue.transfers),
            str(queue.descriptors),
            str(queue.nbytes),
            str(queue.ring_bytes.exact),
            str(queue.largest_ring),
            f"{100 * queue.largest_ring / QUEUE_LIMIT:.2f} %",
        )
        for queue in report.queues
    ]
    yield from columns([head, *rows])


def what_if_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The table of `--what-if` for people."""
    head = ("transfer", "mode", "legal", "descriptors", "ring bytes", "time", "interval", "rules")
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        star = "*" if row["mode"] == row["requested"] else ""
        lines.append(
            (
                str(row["transfer"]),
                f"{row['mode']}{star}",
                str(row["legal"]),
                str(row["descriptors"]),
                str(row["ring_bytes"]),
                _cell(row["time_ns"]),
                _cell(row["interval_ns"]),
                str(row["rules"]),
            )
        )
    yield from columns(lines)
    yield "* the mode asked for; times are estimates"


def _cell(value: object) -> str:
    return nanoseconds(value) if isinstance(value, float) else "-"


def columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows under a head, each column as wide as it must be; numbers to the right."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.rjust(width) if _is_number(rows[-1][n]) else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text == "-"


def nanoseconds(value: float) -> str:
    """A time for people.

    >>> nanoseconds(1416.4), nanoseconds(66247.2), nanoseconds(12_345_678)
    ('1416 ns', '66.2 us', '12.3 ms')
    """
    if value < 1e4:
        return f"{value:.0f} ns"
    return f"{value / 1e3:.1f} us" if value < 1e7 else f"{value / 1e6:.1f} ms"


def size(nbytes: int) -> str:
    """Bytes for people.

    >>> size(1312), size(65536), size(51_694_796)
    ('1312 B', '64 KiB', '49.3 MiB')
    """
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if nbytes >= 10 * unit:
            return f"{nbytes / unit:.4g} {name}" if nbytes % unit else f"{nbytes // unit} {name}"
    return f"{nbytes} B"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
