"""What the machine would refuse of a batch, found before anything moves: packet rules, arithmetic, every address."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, Issue, Uninitialised
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import ChannelBatch
from dgekit.descriptors.build import addresses_of, bytes_read, lengths_of
from dgekit.machine.arithmetic import arithmetic_error
from dgekit.machine.feed import packet_ends, table_issue
from dgekit.machine.memory import Memory
from dgekit.machine.operations import group_starts
from dgekit.machine.packets import Limits, read_packets
from dgekit.patterns.runs import Runs


def written_runs(channels: tuple[ChannelBatch, ...]) -> Runs:
    """Everything that the S2M BDs of a batch write."""
    return Runs.joined(Runs(addresses_of(channel.s2m), lengths_of(channel.s2m)) for channel in channels)


def validate_channel(
    channel: ChannelBatch,
    generation: Generation,
    memory: Memory,
    limits: Limits,
    ring_size: int,
    written: Runs,
    choices: Choices,
) -> list[Issue]:
    """The findings of one channel: of several in one leg, the first. `written` is what the whole batch writes."""
    placed = _placement_issue(channel, generation) or table_issue(channel, ring_size)
    if placed is not None:
        return [placed]
    return [*_packet_issues(channel, generation, limits, choices), *_address_issues(channel, memory, written)]


def _placement_issue(channel: ChannelBatch, generation: Generation) -> Issue | None:
    for name, number, limit in (
        ("dma", channel.dma, generation.engines),
        ("queue", channel.queue, generation.queues_per_engine),
    ):
        if not 0 <= number < limit:
            return Issue(
                "rings.3.3",
                "error",
                f"{name} {number} does not exist on {generation.name}",
                f"dma {channel.dma} queue {channel.queue}",
                {name: number, "limit": limit},
            )
    return None


def _packet_issues(channel: ChannelBatch, generation: Generation, limits: Limits, choices: Choices) -> Iterator[Issue]:
    packets = channel.packets
    window = read_packets(channel.m2s, channel.s2m, lambda firsts: packets[: len(firsts)], limits)
    problem = window.problem
    if problem is not None:
        yield _placed(problem.error, channel, f"packet {problem.packet} {problem.unit} BD {problem.bd}")
    elif window.waiting:
        wanted = {"packet": "has no LAST", "s2m": "has too few S2M BDs"}[window.waiting]
        yield Issue(
            "rings.1.8",
            "error",
            f"packet {len(window)} {wanted}: it would never finish",
            f"dma {channel.dma} queue {channel.queue} packet {len(window)}",
        )
    starts = group_starts(window, len(window))
    starts[:1] = True
    for packet in np.flatnonzero(starts).tolist():
        error = arithmetic_error(window, packet, generation, choices)
        if error is not None:
            yield _placed(error, channel, f"packet {packet}")
            return


def _address_issues(channel: ChannelBatch, memory: Memory, written: Runs) -> Iterator[Issue]:
    for leg, bds, ends in zip(("M2S", "S2M"), (channel.m2s, channel.s2m), packet_ends(channel), strict=True):
        lengths = bytes_read(bds) if leg == "M2S" else lengths_of(bds)
        rows = np.flatnonzero(lengths)
        fault = memory.first_fault(addresses_of(bds[rows]), lengths[rows], reading=leg == "M2S")
        if fault is None or _written_before(fault[1], written):
            continue
        number = int(rows[fault[0]])
        packet = int(np.searchsorted(ends, number, "right"))
        yield _placed(fault[1], channel, f"packet {packet} {leg} BD {number}")


def _written_before(error: DgeError, written: Runs) -> bool:
    """True for a read of bytes that nothing has written yet but the batch itself writes: the engine finds the order."""
    if not isinstance(error, Uninitialised):
        return False
    address = int(error.values["address"], 16)
    return bool(((written.starts <= address) & (address < written.starts + written.lengths)).any())


def _placed(error: DgeError, channel: ChannelBatch, place: str) -> Issue:
    return error.as_issue().at(f"dma {channel.dma} queue {channel.queue} {place}")
