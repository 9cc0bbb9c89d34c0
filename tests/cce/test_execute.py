"""Packets on memory: the chapter's semantics, in whole and as decoded BDs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dgekit.cce.build import build
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.execute import Plain, compute, compute_many, execute, execute_bds
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError, MemoryFault, Unspecified
from dgekit.core.generations import CAYMAN, MARIANA, SUNDA
from dgekit.machine.memory import Memory
from dgekit.numerics.stochastic import SrLanes

HBM = 0x1000_0000
SOURCES = tuple(HBM + 0x1000 * i for i in range(8))
OUT, OUT2, HEADER = HBM + 0x10000, HBM + 0x11000, HBM + 0x12000
FREE = Choices()
MODEL = Choices({"allow_model_codec": True})
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "cce.json").read_text())["golden"]["packets"]


def bits(*codes, size=2):
    return np.array(codes, f"<u{size}").view(np.uint8)


def add(**fields):
    packet = CcePacket(CceType.ADD, SOURCES[:3], (OUT,), 4, Dtype.BFLOAT16, Dtype.FP32, Dtype.BFLOAT16)
    return replace(packet, **fields)


@pytest.fixture
def memory():
    made = Memory(CAYMAN, FREE)
    made.add(HBM, 0x20000, "x")
    for address, code in zip(SOURCES, (0x3F80, 0x3B80, 0x3B80), strict=False):
        made.write(address, bits(*[code] * 4))
    return made


def read16(memory, address, count=4):
    return np.frombuffer(memory.read(address, 2 * count), "<u2").tolist()


def test_a_packet_rounds_once_a_chain_at_every_link(memory):
    """cce 4.3: BF16 1 + 2^-8 + 2^-8 is 3F81 in one packet, 3F80 in two chained packets."""
    result = execute(add(), memory, FREE, CAYMAN)
    assert read16(memory, OUT) == [0x3F81] * 4
    assert (result.elements, result.lossy, result.promoted) == (4, 0, False)
    first = execute(add(sources=SOURCES[:2]), memory, FREE, CAYMAN)
    execute(add(sources=(OUT, SOURCES[2])), memory, FREE, CAYMAN)
    assert read16(memory, OUT) == [0x3F80] * 4
    assert first.lossy == 4


def test_weighted_sum(memory):
    """cce 9.2: scales 0.5 and 0.5 of 1.0 and 3.0 give 2.0."""
    memory.write(SOURCES[0], bits(*[0x3F800000] * 4, size=4))
    memory.write(SOURCES[1], bits(*[0x40400000] * 4, size=4))
    packet = CcePacket(
        CceType.FMA, SOURCES[:2], (OUT,), 4, Dtype.FP32, Dtype.FP32, Dtype.FP32, scales=(0.5, 0.5)
    )  # fmt: skip
    execute(packet, memory, FREE, CAYMAN)
    assert memory.read(OUT, 16) == bits(*[0x40000000] * 4, size=4).tobytes()


@pytest.mark.parametrize(
    ("op", "limit", "want"),
    [(CceType.MIN, 0x40C00000, [0x3F80, 0x40C0, 0x40C0, 0xC110]), (CceType.MAX, 0, [0x4000, 0x4110, 0x4110, 0])],
)
def test_constants_clamp(memory, op, limit, want):
    """cce 4.2: MIN with 6.0 and MAX with 0.0 over two sources."""
    memory.write(SOURCES[0], bits(0x3F80, 0x4110, 0x4110, 0xC110))  # 1, 9, 9, -9
    memory.write(SOURCES[1], bits(0x4000, 0x4100, 0x40E0, 0xC100))  # 2, 8, 7, -8
    execute(add(op=op, sources=SOURCES[:2], constant=Constant(limit, Dtype.FP32)), memory, FREE, CAYMAN)
    assert read16(memory, OUT) == want


def test_thirty_two_sources(memory):
    packet = add(sources=tuple(SOURCES[i % 3] for i in range(32)))
    execute(packet, memory, FREE, CAYMAN)
    total = sum([1.0, 2.0**-8, 2.0**-8][i % 3] for i in range(32))
    assert np.frombuffer(memory.read(OUT, 2), "<u2")[0] == np.float32(total).view(np.uint32) + 0x8000 >> 16


def test_a_destination_may_be_a_source(memory):
    """cce CHOICE-41: everything is read before anything is written."""
    execute(add(dests=(SOURCES[0], SOURCES[1])), memory, FREE, CAYMAN)
    assert read16(memory, SOURCES[0]) == read16(memory, SOURCES[1]) == [0x3F81] * 4


def test_overlapping_sources_and_destinations(memory):
    memory.write(SOURCES[0], bits(0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0))
    execute(add(sources=(SOURCES[0], SOURCES[0] + 2), dests=(SOURCES[0] + 2,)), memory, FREE, CAYMAN)
    assert read16(memory, SOURCES[0], 5) == [0x3F80, 0x4040, 0x40A0, 0x40E0, 0x4110]  # 1, 3, 5, 7, 9


# promotion (cce 4.4)


def test_one_byte_source_is_moved(memory):
    nan = bits(0xFF, 0x79, 0x80, 0x7C, size=1)  # NaNs of E4M3 with payload and sign
    memory.write(SOURCES[0], nan)
    e4m3 = {"in_dtype": Dtype.FP8_EXP4, "out_dtype": Dtype.FP8_EXP4}
    result = execute(add(sources=SOURCES[:1], **e4m3), memory, FREE, CAYMAN)
    assert result.promoted
    assert memory.read(OUT, 4) == nan.tobytes()
    odd = execute(add(sources=SOURCES[:1], elements=3, **e4m3), memory, FREE, CAYMAN)
    assert not odd.promoted
    assert [issue.rule for issue in odd.issues] == ["dec.D70"]
    assert memory.read(OUT, 3) == bytes([0x7C, 0x7C, 0x80])


@pytest.mark.parametrize(
    "fields",
    [
        {"dests": (OUT, OUT2)},
        {"op": CceType.MAX},
        {"op": CceType.FMA, "scales": (1.0,)},
        {"sources": SOURCES[:2]},
        {"out_dtype": Dtype.FP8_EXP5},
        {"seed": 1},
        {"in_dtype": Dtype.BFLOAT16, "out_dtype": Dtype.BFLOAT16},
    ],
)
def test_what_is_not_promoted(memory, fields):
    packet = replace(
        add(sources=SOURCES[:1], in_dtype=Dtype.FP8_EXP4, out_dtype=Dtype.FP8_EXP4), **fields
    )  # fmt: skip
    assert not execute(packet, memory, FREE, CAYMAN).promoted


def test_packets_of_mixed_parity_computed_together():
    data = bits(0xFF, 0x79, 0x80, 0xFF, 0x79, size=1)
    packet = add(sources=(0,), in_dtype=Dtype.FP8_EXP4, out_dtype=Dtype.FP8_EXP4)
    together = compute_many(packet, [data], (2, 3), FREE, CAYMAN)
    assert together.data.tolist() == [0xFF, 0x79, 0x80, 0x7C, 0x7C]
    assert together.issues[0].values == {"packets": 1, "bytes": 3}


# FP8 forms and policies


def test_saturation_and_the_fn_form():
    data = bits(0x43E88000, 0xC3E88000, 0x43E80000, 0x7F800000, size=4)  # 465, -465, 464, infinity
    packet = CcePacket(CceType.ADD, (0,), (0,), 4, Dtype.FP32, Dtype.FP32, Dtype.FP8_EXP4)
    saturate = Choices({"ocp_sat": True})
    extended = Choices({"fp8_range_extension": True})

    def run(packet, choices, generation=MARIANA):
        return compute(packet, [data], choices, generation).data.tolist()

    assert run(packet, FREE) == [0x78, 0xF8, 0x78, 0x78]
    assert run(packet, saturate) == [0x77, 0xF7, 0x77, 0x77]
    assert run(replace(packet, out_fn=True), FREE) == [0x7F, 0x7F, 0x7E, 0x7F]  # D63: 7F of either sign
    assert run(replace(packet, out_fn=True), saturate) == [0x7E, 0xFE, 0x7E, 0x7E]
    assert run(packet, extended) == [0x7F, 0x7F, 0x7E, 0x7F]
    assert run(packet, extended, CAYMAN) == [0x78, 0xF8, 0x78, 0x78]  # CHOICE-38: one form before v4


def test_the_policy_is_asked_only_where_it_matters():
    choices = Choices()
    compute(add(elements=1), [bits(0x3F80)] * 3, choices, MARIANA)
    assert choices.used() == {}
    compute(add(elements=1, out_dtype=Dtype.FP8_EXP5), [bits(0x3F80)] * 3, choices, MARIANA)
    assert choices.used() == {"ocp_sat": False}


# stochastic rounding


def test_seeds_persist_from_packet_to_packet():
    """cce 4.9: the golden conversions, in two packets of one queue."""
    data = bits(*[0x3F808000] * 16, size=4)
    packet = CcePacket(CceType.ADD, (0,), (0,), 16, Dtype.FP32, Dtype.FP32, Dtype.BFLOAT16)
    lanes = SrLanes()
    first = compute(replace(packet, seed=0x12345678), [data], FREE, CAYMAN, lanes)
    second = compute(replace(packet, stochastic=True), [data], FREE, CAYMAN, lanes)
    golden = GOLDEN_32.split()
    assert [f"{code:04X}" for code in first.data.view("<u2")] == golden[:16]
    assert [f"{code:04X}" for code in second.data.view("<u2")] == golden[16:]
    assert (first.lossy, second.lossy) == (16, 16)


GOLDEN_32 = """3F81 3F81 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F80 3F81
3F80 3F81 3F81 3F80 3F81 3F81 3F80 3F80 3F80 3F81 3F81 3F80 3F81 3F81 3F80 3F80"""


@pytest.mark.parametrize("counts", [(32, 32, 7), (5, 16, 40), (3,)])
def test_packets_computed_together_draw_as_one_by_one(counts):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(sum(counts)).astype(np.float32)
    packet = CcePacket(CceType.ADD, (0,), (0,), 0, Dtype.FP32, Dtype.FP32, Dtype.BFLOAT16, seed=9)
    together = compute_many(packet, [values.view(np.uint8)], counts, FREE, CAYMAN)
    lanes, parts, first = SrLanes(), [], 0
    for index, count in enumerate(counts):
        one = replace(packet, elements=count, seed=None if index else 9, stochastic=True)
        part = values[first : first + count].view(np.uint8)
        parts.append(compute(one, [part], FREE, CAYMAN, lanes).data)
        first += count
    assert np.array_equal(together.data, np.concatenate(parts))


def test_rounding_to_nearest_leaves_the_lanes_alone():
    lanes = SrLanes(5)
    before = lanes.states
    compute(add(elements=1), [bits(0x3F80)] * 3, FREE, CAYMAN, lanes)
    assert lanes.states == before
    integers = replace(add(elements=1), out_dtype=Dtype.INT16, stochastic=True)
    compute(integers, [bits(0x3F80)] * 3, FREE, CAYMAN, lanes)
    assert lanes.states == before  # CHOICE-40: float to float only


@pytest.mark.parametrize("lanes", [None, SrLanes()])
def test_an_unseeded_queue_cannot_round_stochastically(lanes):
    with pytest.raises(ComputeError, match="nothing has seeded") as caught:
        compute(add(elements=1, stochastic=True), [bits(0x3F80)] * 3, FREE, CAYMAN, lanes)
    assert caught.value.rule == "cce.CHOICE-40"


# packets of equal shape


@pytest.mark.parametrize("op", [CceType.ADD, CceType.FMA, CceType.MAX, CceType.MIN])
@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FP8_EXP4, Dtype.INT16, Dtype.FP32])
def test_together_is_packet_by_packet(op, dtype):
    """Decision D61."""
    rng = np.random.default_rng(int(op) * 16 + dtype)
    size = {Dtype.BFLOAT16: 2, Dtype.FP8_EXP4: 1, Dtype.INT16: 2, Dtype.FP32: 4}[dtype]
    accum = Dtype.INT32 if dtype == Dtype.INT16 and op != CceType.FMA else Dtype.FP32
    scales = (0.5, 0.25, 2.0) if op == CceType.FMA else ()
    packet = CcePacket(op, (0, 0, 0), (0,), 0, dtype, accum, dtype, scales=scales)
    counts = (256, 256, 31)
    sources = [rng.integers(0, 256, sum(counts) * size).astype(np.uint8) for _ in range(3)]
    together = compute_many(packet, sources, counts, FREE, CAYMAN)
    first, lossy = 0, 0
    for count in counts:
        part = [source[first * size : (first + count) * size] for source in sources]
        one = compute(replace(packet, elements=count), part, FREE, CAYMAN)
        assert np.array_equal(one.data, together.data[first * size : (first + count) * size])
        first, lossy = first + count, lossy + one.lossy
    assert together.lossy == lossy


def test_a_product_of_large_integers_is_a_warning():
    """Decision D70."""
    packet = CcePacket(CceType.FMA, (0, 0), (0,), 1, Dtype.INT32, Dtype.FP32, Dtype.INT32, scales=(1.0, 0.0))
    times = replace(packet, selectors=((1, 2, 0), (1, 0, 2)))
    small = compute(times, [bits(1 << 12, size=4), bits(3, size=4)], FREE, CAYMAN)
    assert (small.data.view("<i4").tolist(), small.issues) == ([3 << 12], ())
    large = compute(times, [bits((1 << 24) + 1, size=4), bits(1, size=4)], FREE, CAYMAN)
    assert large.data.view("<i4").tolist() == [1 << 24]
    assert [(issue.rule, issue.severity) for issue in large.issues] == [("dec.D70", "warning")]


# compression stages


def test_compression_needs_the_choice(memory):
    before = memory.read(HBM, 0x20000)
    for gce, text in (
        (Gce(HEADER, True, Dtype.BFLOAT16), "Failed to build buffer packet for gce op"),
        (Gce(HEADER, False, Dtype.BFLOAT16), "Failed to build decompression header"),
    ):
        op = CceType.ADD if gce.compress else CceType.GCE
        with pytest.raises(Unspecified, match=text) as caught:
            execute(add(op=op, gce=gce), memory, FREE, CAYMAN)
        assert caught.value.rule == "cce.CHOICE-31"
    assert memory.read(HBM, 0x20000) == before


def test_compress_then_decompress(memory):
    """cce CHOICE-31: header 32 bytes; the flushed, converted elements are the payload."""
    stage = Gce(HEADER, True, Dtype.BFLOAT16)
    packed = execute(add(gce=stage, dests=(OUT, OUT2)), memory, MODEL, CAYMAN)
    header = bytes.fromhex("47434530 06 06 0000 04000000 0000803f" + "00" * 16)
    assert packed.header == memory.read(HEADER, 32) == header
    assert read16(memory, OUT) == read16(memory, OUT2) == [0x3F81] * 4
    expand = CcePacket(
        CceType.GCE, (OUT,), (OUT2,), 4, Dtype.FP32, Dtype.FP32, Dtype.FP32, gce=replace(stage, compress=False)
    )  # fmt: skip
    execute(expand, memory, MODEL, CAYMAN)
    assert memory.read(OUT2, 16) == bits(*[0x3F810000] * 4, size=4).tobytes()


def test_a_narrower_payload(memory):
    stage = Gce(HEADER, True, Dtype.FP8_EXP5)
    result = execute(add(gce=stage), memory, MODEL, CAYMAN)
    assert result.data.tolist() == [0x3C] * 4  # 1.0078125 to E5M2
    assert result.lossy == 4
    assert result.header[4:6] == bytes([Dtype.FP8_EXP5, Dtype.BFLOAT16])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ((0, b"GCE1"), "Failed to build decompression header"),
        ((8, bytes([5])), "describes 5 x bfloat16, the packet reads 4 x bfloat16"),
        ((4, bytes([7])), "describes 4 x float16"),
        ((4, bytes([0x20])), "describes 4 x dtype 0x20"),
    ],
)
def test_a_header_that_does_not_fit(memory, change, match):
    execute(add(gce=Gce(HEADER, True, Dtype.BFLOAT16)), memory, MODEL, CAYMAN)
    memory.write(HEADER + change[0], change[1])
    before = memory.read(HBM, 0x20000)
    expand = add(op=CceType.GCE, sources=(OUT,), dests=(OUT2,), gce=Gce(HEADER, False, Dtype.BFLOAT16))
    with pytest.raises(ComputeError, match=match) as caught:
        execute(expand, memory, MODEL, CAYMAN)
    assert caught.value.rule == "cce.4.6"
    assert memory.read(HBM, 0x20000) == before


def test_a_header_must_be_there_and_whole():
    expand = add(op=CceType.GCE, sources=(0,), gce=Gce(HEADER, False, Dtype.BFLOAT16))
    with pytest.raises(ComputeError, match="a header of 0 bytes"):
        compute(expand, [bits(1, 2, 3, 4)], MODEL, CAYMAN)
    with pytest.raises(ComputeError, match="2 packets share one compression header"):
        compute_many(replace(expand, gce=Gce(HEADER, True, 6)), [bits(1, 2, 3, 4)], (2, 2), MODEL, CAYMAN)


# refusals: the named error, nothing written


@pytest.mark.parametrize(
    ("fields", "generation", "rule"),
    [
        ({"sources": SOURCES[:1] * 33}, CAYMAN, "cce.CHOICE-04"),
        ({"sources": ()}, CAYMAN, "cce.CHOICE-04"),
        ({"dests": (OUT, OUT2)}, SUNDA, "cce.5.4"),
        ({"in_dtype": Dtype.FP32R}, CAYMAN, "cce.5.2"),
        ({"in_dtype": 0x20}, CAYMAN, "cce.1.2"),
        ({"accum_dtype": 0}, CAYMAN, "cce.1.2"),
        ({"op": CceType.EXT}, CAYMAN, "cce.2.2"),
        ({"op": CceType.FMA}, CAYMAN, "cce.2.3"),
        ({"op": CceType.FMA, "scales": (1.0,)}, CAYMAN, "cce.CHOICE-04"),
        ({"op": CceType.FMA, "scales": (1.0,) * 3, "accum_dtype": Dtype.INT32}, CAYMAN, "dec.D62"),
        ({"op": CceType.FMA, "scales": (1.0,) * 3, "selectors": ((1, 3, 0),) * 3}, CAYMAN, "cce.CHOICE-12"),
        ({"op": CceType.MIN, "constant": Constant(1, Dtype.FP8_EXP4)}, CAYMAN, "cce.CHOICE-15"),
        ({"op": CceType.MIN, "constant": Constant(0x13F80, Dtype.BFLOAT16)}, CAYMAN, "cce.CHOICE-14"),
        ({"sources": (HBM + 1,)}, CAYMAN, "cce.CHOICE-46"),
        ({"elements": 2049}, CAYMAN, "cce.5.1"),
        ({"dests": (1 << 63,)}, CAYMAN, "cce.3.4"),
    ],
)
def test_refusals(memory, fields, generation, rule):
    before = memory.read(HBM, 0x20000)
    with pytest.raises(ComputeError) as caught:
        execute(add(**fields), memory, FREE, generation)
    assert caught.value.rule == rule
    assert memory.read(HBM, 0x20000) == before


def test_integer_products_accumulate_in_fp32_only():
    """Decision D62."""
    packet = CcePacket(CceType.FMA, (0,), (0,), 1, Dtype.INT16, Dtype.BFLOAT16, Dtype.INT16, scales=(1.0,))
    with pytest.raises(ComputeError, match="accumulates in fp32, not in bfloat16") as caught:
        compute(packet, [bits(3)], FREE, CAYMAN)
    assert caught.value.rule == "dec.D62"


@pytest.mark.parametrize(
    ("sources", "rule"), [([bits(1, 2)] * 2, "cce.CHOICE-04"), ([bits(1, 2), bits(1), bits(1, 2)], "cce.4.10")]
)
def test_sources_that_are_not_the_packets(sources, rule):
    with pytest.raises(ComputeError) as caught:
        compute(add(elements=2), sources, FREE, CAYMAN)
    assert caught.value.rule == rule


def test_memory_that_refuses_one_destination_is_not_written(memory):
    before = memory.read(HBM, 0x20000)
    with pytest.raises(MemoryFault):
        execute(add(dests=(OUT, HBM + 0x20000)), memory, FREE, CAYMAN)
    assert memory.read(HBM, 0x20000) == before


# decoded BDs


def table(rows):
    return np.array([[int(word, 16) for word in row["words"]] for row in rows], np.uint32)


def split_legs(name):
    rows = GOLDEN[name]
    tx = [row for row in rows if not row["bd"].startswith("R")]
    return table(tx), table([row for row in rows if row["bd"].startswith("R")])


class Sparse:
    """Memory of addresses that no generation has, with read and write only."""

    def __init__(self, cells):
        self.cells = dict(cells)

    def read(self, address, size):
        return self.cells.get(address, b"").ljust(size, b"\0")[:size]

    def write(self, address, data):
        self.cells[address] = data


S0, D0 = 0x200010000000, 0x200020000000


@pytest.mark.parametrize(
    ("name", "codes", "size", "want"),
    [
        ("add_3src_bf16", (0x3F80, 0x3B80, 0x3B80), 2, 0x3F81),  # cce 9.1
        ("fma_2src_fp32", (0x3F800000, 0x40400000), 4, 0x40000000),  # cce 9.2
        ("min_const_2src_bf16", (0x4110, 0x4100), 2, 0x40C0),  # cce 9.3
        ("max_noconst_2src_bf16", (0x3F80, 0xC000), 2, 0x3F80),  # cce 9.4
        ("add_replicate", (0x3F80, 0x3B80), 2, 0x3F80),  # cce 9.6
    ],
)
def test_the_chapters_examples_run(name, codes, size, want):
    tx, rx = split_legs(name)
    cells = {S0 + 0x1000 * i: bits(*[code] * 2048, size=size).tobytes() for i, code in enumerate(codes)}
    memory = Sparse(cells)
    (result,) = execute_bds(tx, rx, Plain(memory), FREE, CAYMAN)
    assert set(result.data.view(f"<u{size}").tolist()) == {want}
    for address in range(D0, D0 + 0x1000 * len(rx), 0x1000):
        assert memory.cells[address] == result.data.tobytes()


def test_the_chapters_compressed_sum_runs():
    """cce 9.5: a seeded sum of three sources, compressed; 1 + 2^-7 is exact, so the seed changes nothing."""
    tx, rx = split_legs("ext_gce")
    codes = (0x3F80, 0x3B80, 0x3B80)
    memory = Sparse({S0 + 0x1000 * i: bits(*[code] * 2048).tobytes() for i, code in enumerate(codes)})
    lanes = SrLanes()
    (result,) = execute_bds(tx, rx, Plain(memory), MODEL, CAYMAN, lanes)
    assert set(result.data.view("<u2").tolist()) == {0x3F81}
    assert memory.cells[D0] == result.data.tobytes()
    assert memory.cells[0x200030000000] == result.header
    again = SrLanes(0x12345678)
    again.draws(2048)
    assert lanes.states == again.states


def test_a_built_packet_runs_as_the_packet_itself(memory):
    for packet in (
        add(),
        add(dests=(OUT, OUT2), strong_order=True),
        add(op=CceType.FMA, scales=(1.0, -0.5, 3.0)),
        add(op=CceType.MAX, constant=Constant(0x3F808000, Dtype.FP32)),
        add(seed=7),
    ):
        built = build(packet, CAYMAN, FREE)
        direct = execute(packet, memory, FREE, CAYMAN)
        (decoded,) = execute_bds(built.tx, built.rx, memory, FREE, CAYMAN)
        assert np.array_equal(direct.data, decoded.data)


def test_bds_that_are_no_compute_packet(memory):
    built = build(add(), CAYMAN, FREE)
    tx = built.tx.copy()
    tx[-1, 1] &= ~np.uint32(1 << 7)  # no flush
    before = memory.read(HBM, 0x20000)
    with pytest.raises(ComputeError, match="flush"):
        execute_bds(np.concatenate((built.tx, tx)), np.concatenate((built.rx, built.rx)), memory, FREE, CAYMAN)
    assert memory.read(HBM, 0x20000) == before
