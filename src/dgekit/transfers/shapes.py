"""From two walks to the shapes of words: folding (D2), splitting into several words (D4), two dimensions each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dgekit.core.errors import Unsupported
from dgekit.patterns.algebra import common_shape, fold_pair
from dgekit.patterns.walk import Walk
from dgekit.transfers.request import Request
from dgekit.words.enums import ELEM_SIZE_ZERO_MEANS

Pair = tuple[Walk, Walk]

WORD_DIMS = 2
MAX_COUNT = 0xFFFF
MAX_ELEM = ELEM_SIZE_ZERO_MEANS
MAX_WORDS = 1 << 14  # a limit of this tool: one transfer of 1 MiB of words is a mistake, not a program


def word_pairs(request: Request) -> list[Pair]:
    """The (source, destination) walks of each word of a copy, in order: at most two dimensions, each count a u16.

    Raises LoweringError `dec.D2` for shapes that neither nest nor fit, Unsupported for more than MAX_WORDS words.
    """
    src, dst = request.src.walk, request.dst.walk
    if not request.choices.flag("fold_element"):
        if _fits(src) and _fits(dst):
            return [(src, dst)]
        src, dst = src.without_unit_dims(), dst.without_unit_dims()
    common = common_shape(src, dst)
    if common is None:
        return [_leg_by_leg(request)]
    if request.choices.flag("fold_element"):
        common = fold_pair(*common)
    return _split(*common, request)


def _fits(walk: Walk) -> bool:
    return len(walk.dims) <= WORD_DIMS and max(walk.counts, default=1) <= MAX_COUNT and walk.elem <= MAX_ELEM


def _leg_by_leg(request: Request) -> Pair:
    """Shapes that do not nest, each folded alone (D2); the elements of a cast must keep pairing, so they stay."""
    fold = request.choices.flag("fold_element") and not request.is_cast
    walks = [leg.walk.folded() if fold else leg.walk.merged() for leg in (request.src, request.dst)]
    for walk, leg in zip(walks, (request.src, request.dst), strict=True):
        if not _fits(walk):
            raise request.refuse(
                f"shapes {list(request.src.walk.counts)} and {list(request.dst.walk.counts)} (innermost first) do not "
                f"nest, and the {leg.name} leg alone still has counts {list(walk.counts)}",
                "dec.D2",
                {"src": list(request.src.walk.counts), "dst": list(request.dst.walk.counts), leg.name: walk.counts},
                f"a word has {WORD_DIMS} dimensions of at most {MAX_COUNT}: give both patterns the same counts",
                "decision D2",
            )
    return walks[0], walks[1]


def _split(src: Walk, dst: Walk, request: Request) -> list[Pair]:
    """Words for a pair of equal counts: long runs cut, dimensions unrolled, counts cut (D4)."""
    whole = list(_cut_runs(src, dst, request.src.dtype.size, request.dst.dtype.size))
    plans = [(pair, _unrolled(*pair, request)) for pair in whole]
    words = sum(_word_count(pair[0], unrolled) for pair, unrolled in plans)
    if words > MAX_WORDS:
        raise Unsupported(
            f"counts {list(src.counts)} (innermost first) need {words} words, more than the {MAX_WORDS} this tool "
            "builds for one transfer",
            rule="transfers.words",
            where=request.where,
            values={"words": words, "limit": MAX_WORDS},
            fix="use several transfers, or mode none",
        )
    return [word for pair, unrolled in plans for word in _unroll(*pair, unrolled)]


def _cut_runs(src: Walk, dst: Walk, src_size: int, dst_size: int) -> Iterator[Pair]:
    """A run over 64 KiB as elements of 64 KiB and one rest; for a cast the larger side has the 64 KiB."""
    elements = src.elem // src_size
    chunk = MAX_ELEM // max(src_size, dst_size)
    full, rest = divmod(elements, chunk)
    if elements <= chunk:
        yield src, dst
        return
    yield _chunks(src, chunk * src_size, full), _chunks(dst, chunk * dst_size, full)
    if rest:
        yield _rest(src, full * chunk * src_size), _rest(dst, full * chunk * dst_size)


def _chunks(walk: Walk, size: int, count: int) -> Walk:
    return Walk(walk.start, ((size, count), *walk.dims), size).without_unit_dims()


def _rest(walk: Walk, done: int) -> Walk:
    return Walk(walk.start + done, walk.dims, walk.elem - done)


def _unrolled(src: Walk, dst: Walk, request: Request) -> list[int]:
    """The dimensions to unroll, outermost first: those that do not step through partitions go first (D4)."""
    stride = request.generation.partition_stride
    legs = ((src, request.src.in_sbuf), (dst, request.dst.in_sbuf))
    dims = list(range(len(src.dims)))
    chosen: list[int] = []
    while len(dims) > WORD_DIMS:
        free = [d for d in dims if not any(sbuf and abs(walk.dims[d][0]) >= stride for walk, sbuf in legs)]
        dim = max(free or dims)
        dims.remove(dim)
        chosen.append(dim)
    return sorted(chosen, reverse=True)


def _word_count(walk: Walk, unrolled: list[int]) -> int:
    words = 1
    for dim, count in enumerate(walk.counts):
        words *= count if dim in unrolled else -(-count // MAX_COUNT)
    return words


def _unroll(src: Walk, dst: Walk, unrolled: list[int]) -> Iterator[Pair]:
    """One pair for each index of the unrolled dimensions and each block of at most 65535 of the others."""
    blocks = []
    for dim, count in reversed(list(enumerate(src.counts))):
        size = 1 if dim in unrolled else MAX_COUNT
        blocks.append([(dim, lo, min(lo + size, count)) for lo in range(0, count, size)])
    for choice in itertools.product(*blocks):
        piece_src, piece_dst = src, dst
        for dim, lo, hi in choice:
            piece_src, piece_dst = piece_src.slice(dim, lo, hi), piece_dst.slice(dim, lo, hi)
        yield _without(piece_src, unrolled), _without(piece_dst, unrolled)


def _without(walk: Walk, dims: list[int]) -> Walk:
    return Walk(walk.start, tuple(dim for i, dim in enumerate(walk.dims) if i not in dims), walk.elem)
