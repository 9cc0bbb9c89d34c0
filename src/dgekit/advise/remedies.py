"""What could be changed about a program's transfers: candidates only, `advise.advice` measures and ranks them.

Each finder looks at a prediction and yields proposals. A proposal's key groups those that are one piece of advice:
64 loads of a loop that would all do better in another mode are told once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dgekit.advise.change import Change
from dgekit.advise.facts import TRANSPOSE_SHARE
from dgekit.advise.merges import MERGES
from dgekit.advise.predict import Predicted, Prediction
from dgekit.advise.proposal import (
    GUIDELINE,
    INTRO,
    RESERVED,
    Finder,
    Proposal,
    chip_side,
    copies,
    new_tensor,
    rows_of,
    tensors_of,
)
from dgekit.advise.rings import SEMAPHORE_WRITES
from dgekit.core.generations import Generation
from dgekit.core.state import NUM_SEMAPHORES
from dgekit.patterns.channels import dma_count
from dgekit.transfers.transfer import Access, Mode, Tensor, Transfer, Wait, Workload

DGE = "nki-dma 1: Descriptor Generation Engine (DGE) Reference"
ALTERNATE = ("sp", "act")  # the processors with a DGE block of their own
_FEW = 8  # descriptors a partition from which rows count as broken up


def proposals(prediction: Prediction) -> Iterator[Proposal]:
    """Everything that could be tried."""
    for finder in FINDERS:
        yield from finder(prediction)


# another mode


def _other_mode(prediction: Prediction) -> Iterator[Proposal]:
    """A mode whose own cost is lower; static expansion needs addresses known beforehand, and ring memory."""
    for row, item in copies(prediction):
        if row.cost is None:
            continue
        for mode, other in row.modes.items():
            if other.cost is None or other.path == row.path or not other.works or not _may(prediction, row, mode):
                continue
            if other.cost.latency_ns.estimate >= row.cost.latency_ns.estimate:
                continue
            yield Proposal(
                "mode",
                (item.mode, row.path, mode),
                _mode_text(row, mode),
                DGE,
                Change({row.number: (in_mode(item, mode),)}),
            )


def _may(prediction: Prediction, row: Predicted, mode: str) -> bool:
    """Only a mode that is legal; and the mode asked for may be illegal itself, which is no matter of time."""
    verdict = prediction.verdicts.get(row.number)
    return prediction.is_legal(row, mode) and (verdict is None or verdict.legal)


def _mode_text(row: Predicted, mode: str) -> str:
    if mode == "none":
        return (
            "use mode none: descriptors written before the run cost no time to generate, and "
            f"{row.rings.exact} bytes of ring memory a transfer"
        )
    return f"use mode {mode}: {_builder(mode)} instead of {_builder(row.path)} generates the descriptors"


def _builder(name: str) -> str:
    return {"hwdge": "a DGE block", "hardware": "a DGE block", "static": "the host"}.get(name, "GpSimd")


def in_mode(item: Transfer, mode: str, engine: str = "") -> Transfer:
    """The transfer in another mode, its call too; `engine` moves it to that processor."""
    chosen: Mode = mode  # type: ignore[assignment]
    call = item.call
    if call is not None:
        call = replace(call, dge_mode=mode, engine={"act": "scalar", "sp": "sync"}.get(engine, call.engine))
    return replace(item, mode=chosen, call=call, engine=engine or item.engine)


def _alternate(prediction: Prediction) -> Iterator[Proposal]:
    """Several transfers behind one builder: hwdge on Sync and Scalar by turns (nki-dma 8, practitioners)."""
    rows = [
        (row, item)
        for row, item in copies(prediction)
        if _could_alternate(row, item) and prediction.is_legal(row, "hwdge")
    ]
    if len(rows) < 2 or len({_builder_of(row) for row, _ in rows}) > 1 or _ordered([item for _, item in rows]):
        return
    items = {row.number: (in_mode(item, "hwdge", ALTERNATE[n % 2]),) for n, (row, item) in enumerate(rows)}
    busy = "GpSimd" if rows[0][0].path == "software" else "one DGE block"
    message = (
        f"{len(rows)} transfers queue behind {busy}: use hwdge, on Sync and Scalar by turns; order between them must "
        "then come from semaphores"
    )
    yield Proposal("alternate", (), message, "nki-dma 8: practitioners' reports", Change(items))


def _could_alternate(row: Predicted, item: Transfer) -> bool:
    hardware = row.modes.get("hwdge")
    return not item.queue and row.path != "static" and hardware is not None and hardware.works


def _builder_of(row: Predicted) -> str:
    return row.path if row.path == "software" else row.item.engine


def _ordered(items: Sequence[Transfer]) -> bool:
    """True when one writes what another one uses, which their common queue has kept in order."""
    written = [item.dst.tensor for item in items]
    return len(set(written)) < len(written) or any(item.src.tensor in written for item in items)


# the shape of a transfer


def _more_partitions(prediction: Prediction) -> Iterator[Proposal]:
    """A tile of few long rows, laid over up to 128 partitions: each engine takes eight of them."""
    tensors, generation = tensors_of(prediction.workload), prediction.generation
    for row, item in copies(prediction):
        side = chip_side(item, tensors)
        if item.op != "copy" or side is None or row.cost is None:
            continue
        rows, width = rows_of(getattr(item, side), tensors)
        times = _spread(rows, width, generation)
        if times < 2:
            continue
        tile = new_tensor(tensors[getattr(item, side).tensor], f"x{rows * times}", (rows * times, width // times))
        changed = _with_side(item, side, Access(tile.name))
        message = (
            f"use {rows * times} partitions: {width // times} elements on each of them instead of {width} on {rows} "
            f"keep {dma_count(rows * times, generation.engines)} DMA engines busy instead of {row.cost.engines}"
        )
        yield Proposal("partitions", (rows, width, times), message, INTRO, Change({row.number: (changed,)}, (tile,)))


def _spread(rows: int, width: int, generation: Generation) -> int:
    """How many times as many partitions the rows can be cut over evenly."""
    most = generation.partitions // rows if rows else 0
    return next((times for times in range(most, 1, -1) if width % times == 0), 1)


def _whole_rows(prediction: Prediction) -> Iterator[Proposal]:
    """Rows that lie in pieces, on either side: what goes to one partition laid together."""
    tensors = tensors_of(prediction.workload)
    for row, item in copies(prediction):
        side = chip_side(item, tensors)
        if item.op != "copy" or side is None or not row.sizes.total:
            continue
        rows, width = rows_of(getattr(item, side), tensors)
        if row.sizes.total < _FEW * rows:
            continue
        whole = [new_tensor(tensors[access.tensor], "rows", (rows, width)) for access in (item.src, item.dst)]
        changed = replace(item, src=Access(whole[0].name), dst=Access(whole[1].name), call=None)
        size = width * tensors[getattr(item, side).tensor].dtype.size
        message = (
            f"coalesce: lay the {size} bytes of a partition together on both sides; "
            f"{row.sizes.total} descriptors of {_shown(row)} become at most {2 * rows * -(-size // 65536)}"
        )
        yield Proposal(
            "coalesce",
            (rows, width, item.src.pattern),
            message,
            GUIDELINE,
            Change({row.number: (changed,)}, tuple(whole)),
        )


def _shown(row: Predicted) -> str:
    smallest = min(row.sizes.histogram)
    return f"{smallest} bytes and more" if len(row.sizes.histogram) > 1 else f"about {smallest} bytes"


def _as_transpose(prediction: Prediction) -> Iterator[Proposal]:
    """A copy that swaps two dimensions element by element, as a transpose of tiles."""
    tensors = tensors_of(prediction.workload)
    for row, item in copies(prediction):
        pattern, dst = item.src.pattern, tensors[item.dst.tensor]
        if item.op != "copy" or pattern is None or len(pattern) != 2 or dst.space != "sbuf":
            continue
        (outer, many), (inner, few) = pattern
        if outer != 1 or inner == 1 or item.accumulate or rows_of(item.dst, tensors)[0] != many:
            continue
        changed = replace(
            item, op="transpose", mode="unknown", src=replace(item.src, pattern=((inner, few), (1, many))), call=None
        )
        message = (
            f"transpose it with dma_transpose: {row.descriptors} descriptors of single elements become tiles, at up to "
            f"{TRANSPOSE_SHARE['hbm']:.0%} of a copy's rate"
        )
        yield Proposal("transpose", (pattern,), message, "nki-dma 4", Change({row.number: (changed,)}))


def _through_sbuf(prediction: Prediction) -> Iterator[Proposal]:
    """HBM to HBM has no partitions to split over engines (D23): two legs over 128 partitions."""
    workload, generation = prediction.workload, prediction.generation
    tensors = tensors_of(workload)
    for row, item in copies(prediction):
        source = tensors[item.src.tensor]
        if item.op != "copy" or row.cost is None or row.cost.engines > 1 or chip_side(item, tensors) is not None:
            continue
        size, parts = source.dtype.size, generation.partitions
        elements, left = divmod(row.nbytes, parts * size) if size else (0, 1)
        free = _free_semaphore(workload)
        if left or not elements or elements * size > generation.active_bytes - RESERVED or free is None:
            continue
        tile = Tensor(f"{item.name}~tile", "sbuf", (parts, elements), source.dtype)
        wait = Wait(free, SEMAPHORE_WRITES if item.mode == "none" else 1)
        load = replace(
            item, name=f"{item.name}_load", dst=Access(tile.name), semaphore=free, increment=1, updates=(), call=None
        )
        store = replace(item, name=f"{item.name}_store", src=Access(tile.name), wait=(wait,), call=None)
        message = (
            f"split it over the engines: HBM to HBM is one engine's (decision D23); through an SBUF tile of {parts} "
            f"partitions both legs have {generation.engines}"
        )
        yield Proposal("split", (row.nbytes,), message, INTRO, Change({row.number: (load, store)}, (tile,)))


def _with_side(item: Transfer, side: str, access: Access) -> Transfer:
    return replace(item, src=access, call=None) if side == "src" else replace(item, dst=access, call=None)


def _free_semaphore(workload: Workload) -> int | None:
    """The highest semaphore that the program does not name."""
    used = set(workload.state.semaphores)
    for item in workload.items:
        used |= {wait.semaphore for wait in item.wait} | {update.semaphore for update in item.updates}
        used.add(getattr(item, "semaphore", None) or 0)
    return next((number for number in reversed(range(NUM_SEMAPHORES)) if number not in used), None)


FINDERS: tuple[Finder, ...] = (
    _other_mode,
    _alternate,
    _more_partitions,
    _whole_rows,
    _as_transpose,
    _through_sbuf,
    *MERGES,
)
