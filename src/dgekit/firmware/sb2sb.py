"""SB2SB_COLLECTIVE (0xbf): its patterns as one leg between cores, and its lines (pipeline 3.7, isa-words 3.17, D77).

The word runs for LNC1 (the core itself) and LNC2 (its peer) as one generate and one start. It names neither engines
nor semaphores, so those are choices, as is the peer.
"""

from __future__ import annotations

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import LoweringError, Unspecified, Unsupported
from dgekit.core.events import EventLog
from dgekit.core.generations import MIB, Generation
from dgekit.core.state import NUM_SEMAPHORES, StateView
from dgekit.descriptors.doorbell import engine_base
from dgekit.firmware.context import channels as allowed_engines
from dgekit.firmware.rdma import processors
from dgekit.firmware.remote import (
    ENGINE_COUNTS,
    RESERVED_BYTES,
    Iteration,
    Leg,
    Peer,
    Sides,
    check_fits,
    check_generation,
    on_chip_place,
    peer_base,
)
from dgekit.patterns.runs import Runs, runs
from dgekit.patterns.walk import Walk
from dgekit.words.legs import step_bytes
from dgekit.words.structs import S3D3Collective, Tensor3D

MAX_ELEMENTS = 256
WINDOW = 0x0700_0000  # the first dynamic window of a Q7 core, 16 MiB (rings 4.5)
WINDOW_BYTES = 16 * MIB
Q7_REGION = 0x8_0300_0000  # what the window shows of the peer: its Q7 cores, IRAM and DRAM (rings 4.2)
Q7_DRAM = 0x18_0000


def read_collective(
    word: S3D3Collective, state: StateView, generation: Generation, choices: Choices, chip_id: int
) -> Leg:
    """The leg of a word on the executing core; `chip_id` is the routing id of its own device.

    Raises LoweringError for sizes and places out of range, Unspecified for what nobody describes: other group sizes,
    legs of unequal size (the reduce mode), register forms of the patterns; Unsupported for a cast.
    """
    check_generation(generation)
    if int(word.in_dtype) != int(word.out_dtype):
        raise Unsupported(
            "the collective does not cast",
            rule="isa.3.17.no_cast",
            where="out_dtype",
            values={"in_dtype": int(word.in_dtype), "out_dtype": int(word.out_dtype)},
            source="pipeline 3.7",
        )
    rows = _channels(word, generation)
    src_first, src = _pattern(word, "src", state, choices)
    dst_first, dst = _pattern(word, "dst", state, choices)
    _check_sizes(src, dst)
    _check_place(src, src_first, rows, generation.active_bytes, "src_mem_pattern", generation)
    _check_place(dst, dst_first, rows, generation.active_bytes - RESERVED_BYTES, "dst_mem_pattern", generation)
    peer = Peer(_peer(word, state.core, generation, choices), chip_id)
    semaphore = _semaphore(choices)
    dmas = _engines(rows, state, generation, choices)
    stride = generation.partition_stride
    src = src.moved(src.start + generation.sbuf_base(state.core) + src_first * stride)
    dst = dst.moved(dst.start + peer_base(peer.core, generation) + dst_first * stride)
    block = rows // len(dmas)
    sides = [
        (Sides(_rows(src, part * block, block, stride), _rows(dst, part * block, block, stride)),)
        for part in range(len(dmas))
    ]
    return Leg(
        core=state.core, peer=peer, local_sem=semaphore, remote_sem=semaphore + 1, dmas=dmas,
        src=src.start, dst=dst.start, nbytes=src.nbytes, spans=(src.span(), dst.span()), rows=block,
        sides=tuple(sides), iterations=(Iteration(src.start, dst.start, src.nbytes),),
    )  # fmt: skip


def _rows(walk: Walk, first: int, count: int, stride: int) -> Runs:
    """The pattern of partitions `first` to `first + count`, one partition after the other."""
    return runs(Walk(walk.start + first * stride, (*walk.dims, (stride, count)), walk.elem))


def tell_collective(leg: Leg, word: S3D3Collective, generation: Generation, choices: Choices, events: EventLog) -> None:
    """The lines before the leg's own, in the order of their strings (the order in time is the model's)."""
    processor = processors(choices)[0][0]
    guesses = choices.text("rdma_log_args") == "model"

    def say(name: str, *args: int) -> None:
        events.emit("remote", name, f"sb2sb.{name}", args, processor=processor)

    def guess(*values: int) -> tuple[int, ...]:
        return values if guesses else (0,) * len(values)

    core, peer = leg.core, leg.peer.core
    own_base, peer_tpb = (generation.address_map.tpb_bases[one] for one in (core, peer))
    say("handler")
    say("decode_sbuf")
    say("decode")
    say("channels", int(word.num_active_channels), core)
    src, dst = (_elements(pattern) for pattern in (word.src_mem_pattern, word.dst_mem_pattern))
    say("totals", src, dst, int(word.in_dtype), peer, core, leg.mask)
    on_die_0 = int(core < generation.cores // 2)
    say("bases", *guess(engine_base(generation, core * generation.engines)), own_base, *guess(1), on_die_0, core)
    low = WINDOW_BYTES - 1
    shown = peer_tpb + Q7_REGION
    say("program_window", *guess(0, 1, WINDOW, shown, ~low & (1 << 64) - 1, low))
    say("remapped_window", *guess(0, ~low & (1 << 64) - 1, WINDOW, shown))
    if peer != core:
        say("presync", core, peer)
        say("presync_addresses", *guess(WINDOW, WINDOW + Q7_DRAM, WINDOW + Q7_DRAM))


# the parts of a word


def _channels(word: S3D3Collective, generation: Generation) -> int:
    channels = int(word.num_active_channels)
    if not 1 <= channels <= generation.partitions:
        raise LoweringError(
            f"num_active_channels is {channels}, the range is 1..{generation.partitions}",
            rule="isa.3.17.channels",
            where="num_active_channels",
            values={"channels": channels, "minimum": 1, "maximum": generation.partitions},
            source="pipeline 3.7",
        )
    return channels


def _elements(pattern: Tensor3D) -> int:
    total = 1
    for count in pattern.num_elem:
        total *= int(count)
    return total


def _pattern(word: S3D3Collective, leg: str, state: StateView, choices: Choices) -> tuple[int, Walk]:
    """First partition of a pattern, and its bytes inside each partition."""
    name = f"{leg}_mem_pattern"
    pattern: Tensor3D = getattr(word, name)
    partition, byte = on_chip_place(pattern.start_addr, f"{name}.start_addr", state)
    size = dtype_info(int(word.in_dtype)).size
    if not size:
        raise Unsupported(
            f"elements of {dtype_info(int(word.in_dtype)).name} are no whole bytes",
            rule="sb2sb.dtype",
            where="in_dtype",
            values={"dtype": int(word.in_dtype)},
        )
    steps = (step_bytes(int(step), size, choices) for step in pattern.step_elem)
    return partition, Walk(byte, tuple(zip(steps, map(int, pattern.num_elem), strict=True)), size)


def _check_sizes(src: Walk, dst: Walk) -> None:
    if not 1 <= src.count <= MAX_ELEMENTS:
        raise LoweringError(
            f"the source has {src.count} elements a channel, the range is 1..{MAX_ELEMENTS}",
            rule="sb2sb.elements",
            where="src_mem_pattern.num_elem",
            values={"elements": src.count, "maximum": MAX_ELEMENTS},
            source="pipeline 3.7",
        )
    if src.count != dst.count:
        raise Unspecified(
            f"the source has {src.count} elements a channel and the destination {dst.count}; the reduce mode of this "
            "word is not described",
            rule="sb2sb.reduce",
            where="dst_mem_pattern.num_elem",
            values={"source": src.count, "destination": dst.count},
            source="decision D77",
            fix="equal numbers of elements: a copy",
        )


def _check_place(walk: Walk, first: int, rows: int, limit: int, name: str, generation: Generation) -> None:
    low, high = walk.span()
    if low < 0 or first + rows > generation.partitions:
        raise LoweringError(
            f"{name} leaves SBUF: partitions {first} to {first + rows - 1}, bytes {low} to {high - 1}",
            rule="sb2sb.place",
            where=name,
            values={"first": first, "channels": rows, "low": low, "high": high},
            source="pipeline 3.7",
        )
    check_fits(high, limit, name)


def _peer(word: S3D3Collective, core: int, generation: Generation, choices: Choices) -> int:
    """The core itself for LNC1, its peer for LNC2."""
    lnc = int(word.lnc_size_fmt) + (1 if choices.text("lnc_size_fmt") == "index" else 0)
    if lnc not in (1, 2):
        raise Unspecified(
            f"lnc_size_fmt {int(word.lnc_size_fmt)} is neither LNC1 nor LNC2; no source gives other values",
            rule="sb2sb.lnc",
            where="lnc_size_fmt",
            values={"lnc_size_fmt": int(word.lnc_size_fmt)},
            source="isa-words 8.35, decision D77",
            fix="1 or 2 (see the choice lnc_size_fmt)",
        )
    if lnc == 1:
        return core
    return core ^ (1 if choices.text("sb2sb_peer") == "pair" else 2)


def _semaphore(choices: Choices) -> int:
    first = choices.number("sb2sb_sems")
    if first + 1 >= NUM_SEMAPHORES:
        raise LoweringError(
            f"semaphores {first} and {first + 1} do not both exist",
            rule="sb2sb.semaphores",
            values={"sb2sb_sems": first, "maximum": NUM_SEMAPHORES - 2},
            fix=f"sb2sb_sems at most {NUM_SEMAPHORES - 2}",
        )
    return first


def _engines(rows: int, state: StateView, generation: Generation, choices: Choices) -> tuple[int, ...]:
    """The lowest engines that may be used, as many as a leg can have and as divide the channels."""
    allowed = allowed_engines(state, generation)
    most = min(len(allowed), choices.number("sb2sb_engines"))
    count = max(number for number in ENGINE_COUNTS if number <= most and rows % number == 0)
    return allowed[:count]
