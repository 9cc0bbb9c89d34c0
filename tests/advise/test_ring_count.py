"""Descriptors counted by arithmetic against the static expansion itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.advise.ring_count import MAX_PACKETS, Machine, Side, copy_segments
from dgekit.advise.rings import neff_rings
from dgekit.core.choices import Choices
from dgekit.core.errors import Unsupported
from dgekit.core.generations import CAYMAN, MARIANA, SUNDA, Generation
from dgekit.descriptors.expand import expand
from dgekit.frontends.neff.opened import open_neff
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff.write import build_neff
from dgekit.frontends.neff_run import workload
from dgekit.transfers.placement import place
from dgekit.transfers.static import static_work
from dgekit.transfers.transfer import Transfer

STRIDE = 0x40000
HBM, SB = 1 << 26, 128 * STRIDE


def neff_of(entries: list[dict[str, object]], num_queues: int = 16, **variables: dict[str, object]) -> bytes:
    """A NEFF of one queue `q` (and its instance `q_0`) whose Pool engine has these entries."""
    definition = {
        "pool": "pool.json",
        "dma_queue": {"q": {"type": "data", "num_queues": num_queues, "queue_instances": ["q_0"]}},
        "var": {
            "x": {"type": "input", "var_id": 0, "size": HBM},
            "y": {"type": "output", "var_id": 1, "size": HBM},
            "a": {"type": "state-buffer", "var_id": 2, "size": SB},
            **variables,
        },
    }
    members = {
        "neff.json": {"nodes": [{"attrs": {"func_name": "__kelf", "kelf": "kelf-0.json"}}]},
        "kelf-0.json": {"target": "*", "graphs": [{"name": "sg00", "definition": "sg00/def.json"}]},
        "sg00/def.json": definition,
        "sg00/pool.json": {"dma": entries},
    }
    return build_neff({name: json.dumps(value).encode() for name, value in members.items()})


def expanded(data: bytes, generation: Generation, choices: dict[str, object]) -> tuple[list[int], list[int]]:
    """Data BDs of both legs by channel, from the program's own static expansion."""
    settings_ = Choices({**choices, "neff_path": "static"})
    program = workload(read_neff(data), choices=settings_, generation=generation)
    placement = place(program.tensors, generation)
    m2s, s2m = [0] * generation.engines, [0] * generation.engines
    for item in program.items:
        assert isinstance(item, Transfer)
        plan = static_work(item, placement, generation, settings_)
        for channel in expand(plan.work, generation, settings_.number("packet_bytes"), barrier_last=False).channels:
            m2s[channel.dma] += len(channel.m2s)
            s2m[channel.dma] += len(channel.s2m)
    return m2s, s2m


@st.composite
def legs(draw: st.DrawFn) -> dict[str, object]:
    """A movement between any two places: the same counts on both sides, or the source in one piece."""
    sizes = [draw(st.sampled_from([1, 2, 64, 96, 100, 512, 2048, 3000, 5000])), draw(st.integers(1, 25))]
    if draw(st.booleans()):
        sizes.append(draw(st.integers(1, 5)))
    desc: dict[str, object] = {}
    kinds = [draw(st.sampled_from(["hbm", "sbuf"])) for _ in range(2)]
    if kinds == ["sbuf", "sbuf"]:
        kinds[draw(st.integers(0, 1))] = "hbm"  # one state buffer only: sides would overlap
    for side, kind, name in zip(("from", "to"), kinds, ("x", "y"), strict=True):
        steps, size = [1], sizes[0]
        for count in sizes[1:]:
            steps.append(size + draw(st.sampled_from([0, 0, 1, 64, 1000])))
            size = steps[-1] * count
        if kind == "sbuf":
            dim = draw(st.integers(1, len(sizes) - 1))
            steps[dim] = STRIDE
            for other in range(dim + 1, len(sizes)):
                steps[other] = draw(st.sampled_from([sizes[0], STRIDE * sizes[dim], 8192]))
        limit = (SB if kind == "sbuf" else HBM) - sum(s * (n - 1) for s, n in zip(steps, sizes, strict=True))
        offset = draw(st.sampled_from([0, 64, 1 << 14]))
        desc |= {f"{side}": "a" if kind == "sbuf" else name, f"{side}_sizes": sizes, f"{side}_steps": steps}
        desc[f"{side}_off"] = min(offset, limit - 1)
    if kinds[0] == "hbm" and draw(st.booleans()):
        total = sizes[0] * sizes[1] * (sizes[2] if len(sizes) > 2 else 1)
        desc |= {"from_sizes": [total], "from_steps": [1], "from_off": 0}
    return desc


@settings(max_examples=60, deadline=None)
@given(
    st.lists(legs(), min_size=1, max_size=4),
    st.sampled_from([1, 3, 16]),
    st.sampled_from([SUNDA, CAYMAN, MARIANA]),
    st.sampled_from([65536, 4096, 1000]),
    st.sampled_from(["none", "equal"]),
)
def test_the_count_is_that_of_the_expansion(
    descs: list[dict[str, object]], num_queues: int, generation: Generation, packet_bytes: int, split: str
) -> None:
    data = neff_of([{"id": 0, "queue": "q", "semaphore": 1, "desc": descs}], num_queues)
    choices: dict[str, object] = {"packet_bytes": packet_bytes, "hbm_split": split}
    m2s, s2m = expanded(data, generation, choices)
    (row,) = neff_rings(open_neff(data), Choices(choices), generation=generation).queues
    assert not row.uncounted
    pairs = [1] * num_queues + [0] * (16 - num_queues)  # a semaphore BD each
    assert list(row.m2s) == [a + b for a, b in zip(m2s, pairs, strict=False)][:num_queues]
    assert list(row.s2m) == [a + b for a, b in zip(s2m, pairs, strict=False)][:num_queues]
    assert row.exact == sum(m2s) + sum(s2m) + 2 * num_queues


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70), st.integers(1, 400), st.integers(1, 70), st.sampled_from([64, 100, 65536]))
def test_packets_of_any_run_lengths(src: int, runs: int, dst: int, packet: int) -> None:
    """Run lengths that share nothing: the walk over packets repeats and is jumped over."""
    total = src * dst * runs
    sides = [Side(((1, size), (size + 1, total // size)), False) for size in (src, dst)]
    machine = Machine(CAYMAN, 1, packet)
    ((_, _, m2s, s2m),) = copy_segments(*sides, machine)
    ends, position = [], 0
    while position < total:  # the definition of D32, one packet at a time
        position = min(
            position + packet, (position // src + 64) * src if src < total else total,
            (position // dst + 60) * dst if dst < total else total, total,
        )  # fmt: skip
        ends.append(position)
    for size, counted in ((src, m2s), (dst, s2m)):
        assert counted == len({*range(size, total + 1, size), *ends})


def test_a_queue_of_2_to_the_24_rows_is_counted_without_being_expanded() -> None:
    rows = Side(((1, 1), (2, 1 << 24)), False)
    assert copy_segments(rows, rows, Machine(CAYMAN, 16, 65536)) == ((0, 1, 1 << 24, 1 << 24),)


def test_what_is_too_large_says_so() -> None:
    machine = Machine(CAYMAN, 1, 1 << 16)
    odd = (1 << 40) - 87  # no two packets end alike
    a, b = Side(((1, odd), (odd + 1, 1 << 20)), False), Side(((1, odd * 2 + 1), (1 << 44, 3)), False)
    with pytest.raises(Unsupported) as caught:
        copy_segments(a, b, machine)
    assert caught.value.rule == "rings.count" and caught.value.values["limit"] == MAX_PACKETS
    touching = Side(((1, 2), (8, 1 << 21), (8 * (1 << 21) - 6, 2)), False)
    with pytest.raises(Unsupported) as caught:
        copy_segments(touching, touching, machine)
    assert caught.value.rule == "rings.count"
