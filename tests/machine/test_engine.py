import numpy as np
import pytest

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import CrossPartition, EngineError, RingError, Unmapped, Unsupported
from dgekit.core.generations import SUNDA
from dgekit.descriptors import bd
from dgekit.descriptors.batch import PACKET_DTYPE, PacketKind
from dgekit.machine import causes
from dgekit.machine.completion import CompletionRing
from dgekit.machine.engine import Engine, State
from dgekit.machine.memory import Memory
from dgekit.machine.ring import Ring

HBM = 0x10000000
COPY = 0x01080003


def side_row(kind, **columns):
    row = np.zeros(1, PACKET_DTYPE)
    row["kind"] = kind
    for name, value in columns.items():
        row[name] = value
    return row


def test_cause_names_are_the_specs(rings):
    masks = {
        unit: next(r for r in rings["registers"][f"{unit.lower()}_global"] if r["name"] == f"{unit}.err_log_mask")
        for unit in ("M2S", "S2M")
    }
    for name, high, low in masks["M2S"]["fields"]:
        for bit in range(low, high + 1):
            assert causes.name("M2S", bit) == name
    for name, high, low in masks["S2M"]["fields"]:
        assert high == low
        assert causes.name("S2M", low) == name
    assert (causes.name("M2S", 32), causes.name("S2M", 0)) == ("unnamed", "unnamed")


def test_example_e6_gathers_three_rows(memory, make_engine, packet, push):
    memory.add(0x2000000, 768, "out")
    rows = [(0x2000000100 + p * 0x40000, 256) for p in range(3)]
    for value, (address, _) in enumerate(rows):
        memory.write(address, bytes([value + 1]) * 256)
    engine = make_engine(memory)
    m2s, s2m = packet(rows, [(0x2000000, 768)])
    assert m2s.astype("<u4").tobytes()[:16].hex(" ") == "00 01 00 04 03 00 08 01 00 01 00 00 20 00 00 00"
    push(engine, (m2s, s2m))
    done = engine.step()
    assert (done.packets, done.m2s, done.s2m, done.bytes, done.waiting) == (1, 3, 1, 768, "")
    assert memory.read(0x2000000, 768) == b"\1" * 256 + b"\2" * 256 + b"\3" * 256


def test_example_e5_bumps_a_semaphore(memory, make_engine, bds, push):
    memory.write(0x2000037FFC, (7).to_bytes(4, "little"))
    engine = make_engine(memory)
    push(engine, (bds([(0x0D000004, COPY, 0x2000037FFC)]), bds([(0x01000004, 0, 0x2802701828)])))
    engine.run()
    assert memory.semaphores.nonzero() == {10: 7}


def test_a_stored_length_of_zero_moves_64_kib(memory, make_engine, packet, push):
    memory.add(HBM + 0x100000, np.arange(65536, dtype=np.uint16).view(np.uint8)[:65536], "in")
    memory.add(HBM + 0x200000, 65536, "out")
    engine = make_engine(memory)
    push(engine, packet([(HBM + 0x100000, 65536)], [(HBM + 0x200000, 65536)]))
    assert engine.step().bytes == 65536
    assert memory.read(HBM + 0x200000, 65536) == memory.read(HBM + 0x100000, 65536)


def test_an_idle_engine_moves_nothing(memory, packet, push):
    engine = Engine(0, memory.generation, memory)
    engine.add_queue(0, Ring("M2S", 0, 32), Ring("S2M", 0, 32))
    push(engine, packet([(HBM, 4)], [(HBM + 64, 4)]))
    assert (engine.state, engine.step().waiting, engine.drain(0).waiting) == (State.IDLE, "idle", "idle")
    engine.arm()
    assert engine.step().packets == 1
    engine.stop()
    assert engine.state is State.IDLE


def test_state_of_the_engine_is_the_worst_of_its_units(memory, make_engine):
    engine = make_engine(memory)
    engine.units["S2M"] = State.IDLE
    assert engine.state is State.NORMAL
    engine.abort("S2M")
    assert engine.state is State.ABORT
    engine.stop()
    assert engine.state is State.ABORT
    with pytest.raises(EngineError, match="in abort since S2M") as caught:
        engine.arm()
    assert caught.value.rule == "rings.2.9"
    engine.initialise()
    assert engine.state is State.IDLE


def test_queues_that_do_not_exist(memory, make_engine):
    engine = make_engine(memory)
    with pytest.raises(RingError, match="already has its rings"):
        engine.add_queue(0, Ring("M2S", 0, 32), Ring("S2M", 0, 32))
    with pytest.raises(RingError, match="does not exist"):
        engine.add_queue(16, Ring("M2S", 0, 32), Ring("S2M", 0, 32))


def test_waiting_for_last_and_for_room(memory, make_engine, packet, push):
    engine = make_engine(memory)
    m2s, s2m = packet([(HBM, 4), (HBM + 8, 4)], [(HBM + 64, 3), (HBM + 72, 5)])
    assert engine.step().waiting == ""
    push(engine, (m2s[:1], s2m[:0]))
    assert engine.step().waiting == "packet"
    push(engine, (m2s[1:], s2m[:0]))
    assert engine.step().waiting == engine.drain(0).waiting == "s2m"
    push(engine, (m2s[:0], s2m[:1]))
    assert engine.run().waiting == "s2m"
    push(engine, (m2s[:0], s2m[1:]))
    assert engine.step().packets == 1
    assert memory.read(HBM + 64, 13) == bytes([0, 1, 2, 67, 68, 69, 70, 71, 3, 8, 9, 10, 11])


BROKEN = {  # cause: (unit, rows of M2S (word0, word1, address), S2M lengths)
    "no FIRST": (causes.NO_FIRST, [(0x08000004, COPY, HBM)], [4]),
    "FIRST before LAST": (causes.NO_LAST, [(0x04000004, COPY, HBM), (0x0C000004, COPY, HBM)], [8]),
    "too many BDs": (
        causes.TOO_MANY,
        [(0x04000004, COPY, HBM)] + [(4, 0, HBM)] * 65 + [(0x08000004, 0, HBM)],
        [4] * 67,
    ),
    "S2M BD too long": (causes.MISMATCH, [(0x0C000004, COPY, HBM)], [5]),
    "S2M BD spans": (causes.MISMATCH, [(0x0C000004, COPY, HBM), (0x0C000004, COPY, HBM)], [3, 5]),
}


@pytest.mark.parametrize("one", [True, False], ids=["step", "drain"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_packets_abort_with_their_cause(name, one, memory, make_engine, bds, push):
    cause, m2s, lengths = BROKEN[name]
    engine = make_engine(memory, length=128)
    push(engine, (bds(m2s), bds([(n, 0, HBM + 1024 + 8 * i) for i, n in enumerate(lengths)])))
    with pytest.raises(EngineError, match=r"engine 0 queue 0 packet 0 .*BD 0|BD 1") as caught:
        engine.step() if one else engine.drain(0)
    assert caught.value.cause == cause
    assert causes.name("M2S", cause) in str(caught.value)
    assert engine.state is State.ABORT
    assert memory.read(HBM + 1024, 64) == bytes((np.arange(1024, 1088) % 251).astype(np.uint8))
    with pytest.raises(EngineError, match=f"error cause {cause}"):
        engine.arm()


def test_too_many_bytes_in_a_packet(memory, make_engine, packet, push):
    memory.add(HBM + 0x100000, 65536, "in")
    engine = make_engine(memory, length=64)
    push(engine, packet([(HBM + 0x100000, 65536)] * 16, [(HBM + 0x100000, 65536)] * 16))  # 0x100000 > 0xfffff
    with pytest.raises(EngineError, match="1048576 bytes are over 1048575") as caught:
        engine.step()
    assert caught.value.cause == causes.TOO_LONG


@pytest.mark.parametrize(("leg", "cause"), [("M2S", 17), ("S2M", 11)])
def test_a_wrong_ring_id_aborts_v2_and_passes_on_v3(leg, cause, memory, make_engine, packet, push):
    v2 = Memory(SUNDA)
    v2.add(HBM, bytes(range(64)), "block")
    for mem, aborts in ((v2, True), (memory, False)):
        engine = make_engine(mem)
        m2s, s2m = packet([(HBM, 4)], [(HBM + 8, 4)])
        pair = engine.queues[0]
        pair.s2m.store(s2m, keep_ring_id=leg == "S2M")  # 0 where the slot is in pass 1
        pair.s2m.doorbell(1)
        pair.m2s.store(m2s, keep_ring_id=leg == "M2S")
        pair.m2s.doorbell(1)
        if not aborts:
            assert engine.step().packets == 1
            continue
        with pytest.raises(EngineError, match=f"{leg} error cause {cause}") as caught:
            engine.drain(0)
        assert (caught.value.values["found"], caught.value.values["expected"]) == (0, 1)
        assert engine.error == (leg, cause)
        assert v2.read(HBM + 8, 4) == bytes(range(8, 12))


@pytest.mark.parametrize(
    ("word1", "flags", "text"),
    [
        (0x01180003, 0, r"op 2 \(CME\) optype 1 \(CRC32\)"),
        (0x02100000, 0, r"op 4 \(CCE\) optype 1 \(FMA\)"),
        (0x00900000, 0, r"op 1 \(DRE\) optype 1 \(TRANSPOSE\)"),
        (0x03800000, 0, r"op 7 \(unnamed\) optype 0 \(unnamed\)"),
        (COPY, 1 << 23, r"op 2 \(CME\) optype 0 \(COPY\)"),  # a metadata BD
    ],
)
def test_other_operations_are_unsupported_by_name(word1, flags, text, memory, make_engine, packet, push):
    engine = make_engine(memory)
    push(engine, packet([(HBM, 4)], [(HBM + 8, 4)], word1, flags))
    with pytest.raises(Unsupported, match=text) as caught:
        engine.step()
    assert caught.value.rule == "rings.1.6"
    assert engine.state is State.NORMAL  # the tool's limit, not the device's


def test_op_0_is_a_copy(memory, make_engine, packet, push):
    engine = make_engine(memory)
    push(engine, packet([(HBM + 1, 4)], [(HBM + 8, 4)], 0x00000003))  # rings E8
    engine.step()
    assert memory.read(HBM + 8, 4) == bytes([1, 2, 3, 4])


def test_a_side_row_must_fit_its_word(memory, make_engine, packet, push):
    engine = make_engine(memory)
    push(engine, packet([(HBM, 4)], [(HBM + 8, 4)]), side=side_row(PacketKind.CAST, in_dtype=6, out_dtype=10))
    with pytest.raises(RingError, match="marked CAST carries op 2") as caught:
        engine.step()
    assert caught.value.rule == "rings.1.4"


def test_memory_faults_have_their_place_and_stop_after_the_packets_before(memory, make_engine, packet, push):
    engine = make_engine(memory)
    for address in (HBM + 100, HBM + 200):
        push(engine, packet([(HBM, 4)], [(address, 4)]))
    push(engine, packet([(HBM, 4), (HBM + 0x2000, 4)], [(HBM + 300, 8)]))
    push(engine, packet([(HBM, 4)], [(HBM + 400, 4)]))
    with pytest.raises(Unmapped) as caught:
        engine.drain(0)
    assert caught.value.where == "engine 0 queue 0 packet 2 M2S BD 3 (slot 3)"
    assert engine.error == ("M2S", causes.READ_RESPONSE)
    assert memory.read(HBM + 200, 4) == bytes([0, 1, 2, 3])
    assert memory.read(HBM + 300, 4) != bytes([0, 1, 2, 3])
    assert engine.queues[0].m2s.head == 2


def test_a_bad_destination_is_named_on_its_leg(memory, make_engine, packet, push):
    engine = make_engine(memory)
    push(engine, packet([(HBM, 8)], [(HBM + 64, 4), (0x2000037FFE, 4)]))
    with pytest.raises(CrossPartition, match=r"packet 0 S2M BD 1 \(slot 1\)"):
        engine.step()
    assert engine.error == ("S2M", causes.UNKNOWN)
    assert memory.read(HBM + 64, 4) == bytes([64, 65, 66, 67])


def test_cast_in_one_group_and_packet_by_packet(memory, make_engine, packet, push):
    values = np.array([1.0, -2.5, 3.25, 100.0], np.float32)
    expected = (values.view(np.uint32) >> 16).astype("<u2").tobytes()  # exact in bfloat16
    side = side_row(PacketKind.CAST, in_dtype=Dtype.FP32, accum_dtype=Dtype.FP32, out_dtype=Dtype.BFLOAT16)
    memory.write(HBM, values.tobytes())
    for one in (True, False):
        memory.write(HBM + 64, bytes(8))
        engine = make_engine(memory)
        for i in range(2):
            push(engine, packet([(HBM + 8 * i, 8)], [(HBM + 64 + 4 * i, 4)], 0x020A6080, 1 << 23), side=side)
        done = [engine.step(), engine.step()] if one else [engine.drain(0)]
        assert sum(step.packets for step in done) == 2
        assert memory.read(HBM + 64, 8) == expected


@pytest.mark.parametrize(
    ("kind", "src", "dst", "word1"),
    [
        (PacketKind.CAST, [(HBM, 4), (HBM, 4)], [(HBM + 64, 4)], 0x020A6080),
        (PacketKind.CAST, [(HBM, 6)], [(HBM + 64, 3)], 0x020A6080),
        (PacketKind.COMPUTE, [(HBM, 8), (HBM, 4)], [(HBM + 64, 6)], 0x020AA080),
        (PacketKind.COMPUTE, [(HBM, 6)], [(HBM + 64, 3)], 0x020AA080),
        (PacketKind.COMPUTE, [(HBM, 8)], [(HBM + 64, 2), (HBM + 80, 2)], 0x020AA080),
        (PacketKind.COMPUTE, [(HBM, 8196)], [(HBM + 64, 4098)], 0x020AA080),
        (PacketKind.TRANSPOSE, [(HBM, 4), (HBM, 4)], [(HBM + 64, 8)], 0x00900000),
        (PacketKind.TRANSPOSE, [(HBM, 4), (HBM, 6)], [(HBM + 64, 5), (HBM + 80, 5)], 0x00900000),
    ],
)
def test_packets_that_do_not_fit_their_kind(kind, src, dst, word1, memory, make_engine, packet, push):
    engine = make_engine(memory)
    row = side_row(kind, in_dtype=Dtype.FP32, out_dtype=Dtype.BFLOAT16, tile_rows=2, tile_cols=2)
    push(engine, packet(src, dst, word1), side=row)
    with pytest.raises(EngineError) as caught:
        engine.step()
    assert caught.value.cause == causes.MISMATCH
    rules = {PacketKind.TRANSPOSE: ("dec.D12",), PacketKind.COMPUTE: ("cce.4.10", "cce.5.1")}
    assert caught.value.rule in rules.get(kind, ("rings.1.8",))


@pytest.mark.parametrize("one", [True, False])
def test_accumulation_with_a_repeated_destination(one, memory, make_engine, packet, push):
    memory.write(HBM, np.array([1, 10, 100, 1000], np.int32).tobytes())
    memory.write(HBM + 64, np.array([5, 6], np.int32).tobytes())
    engine = make_engine(memory)
    side = side_row(PacketKind.COMPUTE, in_dtype=Dtype.INT32, accum_dtype=Dtype.FP32, out_dtype=Dtype.INT32)
    for row, target in enumerate([0, 1, 0, 0]):
        to = HBM + 64 + 4 * target
        bds, buffers = packet([(to, 4), (HBM + 4 * row, 4)], [(to, 4)])
        bds[:, 0] = bds[:, 0] & ~np.uint32(bd.CONCAT) | bd.MD
        bds[:, 1] = 0x020A8000, 0x020A8080
        push(engine, (bds, buffers), side=side)
    if one:
        while engine.step().packets:
            pass
    else:
        engine.drain(0)
    assert np.frombuffer(memory.read(HBM + 64, 8), np.int32).tolist() == [5 + 1 + 100 + 1000, 6 + 10]


def test_arithmetic_the_tool_does_not_have(memory, make_engine, packet, push):
    engine = make_engine(memory)
    side = side_row(PacketKind.COMPUTE, in_dtype=Dtype.FP8_EXP2, out_dtype=Dtype.FP8_EXP2)
    push(engine, packet([(HBM, 4), (HBM, 4)], [(HBM + 64, 4)], 0x020A6000), side=side)
    with pytest.raises(Unsupported, match="float8_e2m5"):
        engine.step()
    assert memory.read(HBM + 64, 4) == bytes([64, 65, 66, 67])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
def test_transpose_of_tiles(size, memory, make_engine, packet, push):
    rows, cols, tiles = 3, 5, 2
    data = np.arange(tiles * rows * cols * size).astype(np.uint8)
    memory.write(HBM, data)
    src = [(HBM + i * cols * size, cols * size) for i in range(tiles * rows)]
    dst = [(HBM + 1024 + i * rows * size, rows * size) for i in range(tiles * cols)]
    engine = make_engine(memory)
    push(engine, packet(src, dst, 0x00900000), side=side_row(PacketKind.TRANSPOSE, tile_rows=rows, tile_cols=cols))
    engine.step()
    expected = data.reshape(tiles, rows, cols, size).transpose(0, 2, 1, 3)
    assert memory.read(HBM + 1024, data.size) == expected.tobytes()


def test_a_packet_reads_all_before_it_writes(memory, make_engine, packet, push):
    engine = make_engine(memory)
    push(engine, packet([(HBM, 64)], [(HBM + 1, 64)]))
    engine.step()
    assert memory.read(HBM + 1, 64) == bytes(range(64))


def test_interrupts_and_completions(memory, make_engine, packet, push, bds):
    engine = make_engine(memory, queues=(3,))
    pair = engine.queues[3]
    pair.completions = {"M2S": CompletionRing("M2S", 0, 32), "S2M": CompletionRing("S2M", 0, 32)}
    m2s, s2m = packet([(HBM, 8)], [(HBM + 64, 4), (HBM + 72, 4)])
    push(engine, (m2s, s2m), 3)
    s2m[1, 0] |= 1 << 28  # rings E3
    push(engine, (m2s, s2m), 3)
    engine.run()
    assert engine.interrupts == {"M2S": 0, "S2M": 8}
    assert (pair.completions["M2S"].written, pair.completions["S2M"].written) == (2, 4)
    first_bytes = [pair.completions["S2M"].entry(slot)[3] for slot in range(3)]
    assert first_bytes == [0x05, 0x09, 0x05]  # FIRST, LAST, FIRST, all with ring id 1
    engine.initialise()
    assert (pair.completions["S2M"].written, engine.interrupts["S2M"], pair.m2s.head) == (0, 0, 0)


def test_queues_take_turns_at_packet_boundaries(memory, make_engine, packet, push):
    engine = make_engine(memory, queues=(0, 5, 9))
    for queue, packets in ((0, 3), (5, 1), (9, 2)):
        for i in range(packets):
            push(engine, packet([(HBM, 4)], [(HBM + 256 + queue * 64 + 4 * i, 4)]), queue)
    order = []
    heads = dict.fromkeys(engine.queues, 0)
    while engine.step().packets:
        moved = next(q for q, pair in engine.queues.items() if pair.m2s.head != heads[q])
        heads[moved] = engine.queues[moved].m2s.head
        order.append(moved)
    assert order == [0, 5, 9, 0, 9, 0]


def test_run_serves_every_queue(memory, make_engine, packet, push):
    engine = make_engine(memory, queues=(0, 1))
    for queue in (0, 1, 1):
        push(engine, packet([(HBM, 4)], [(HBM + 256 + queue * 64, 4)]), queue)
    done = engine.run()
    assert (done.packets, done.bytes, done.waiting) == (3, 12, "")


def test_a_dmb_starts_a_new_group(memory, make_engine, packet, push):
    groups = []
    for enabled in (True, False):
        engine = make_engine(memory, dmb_enabled=enabled)
        for flags in (0, 1 << 30, 0):
            push(engine, packet([(HBM, 4)], [(HBM + 256, 4)], flags=flags))
        window = engine._read(engine.queues[0], one=False)
        groups.append(list(engine._groups(window, 3)))
        assert engine.run().packets == 3
    assert groups == [[(0, 1), (1, 3)], [(0, 3)]]


@pytest.mark.parametrize("one", [True, False], ids=["step", "drain"])
def test_packets_of_different_kinds_in_one_queue(one, memory, make_engine, packet, push):
    engine = make_engine(memory)
    memory.write(HBM, np.array([1.0, 2.0], np.float32).tobytes() + bytes(range(16)))
    bf16 = side_row(PacketKind.CAST, in_dtype=Dtype.FP32, accum_dtype=Dtype.FP32, out_dtype=Dtype.BFLOAT16)
    fp16 = side_row(PacketKind.CAST, in_dtype=Dtype.FP32, accum_dtype=Dtype.FP32, out_dtype=Dtype.FP16)
    push(engine, packet([(HBM, 4)], [(HBM + 64, 4)]))
    push(engine, packet([(HBM, 8)], [(HBM + 72, 4)], 0x020A6080, 1 << 23), side=bf16)
    push(engine, packet([(HBM, 8)], [(HBM + 80, 4)], 0x020A7080, 1 << 23), side=fp16)
    for rows, cols, to in ((2, 4, HBM + 96), (4, 2, HBM + 112)):
        tile = side_row(PacketKind.TRANSPOSE, tile_rows=rows, tile_cols=cols)
        src = [(HBM + 8 + cols * r, cols) for r in range(rows)]
        push(engine, packet(src, [(to + rows * c, rows) for c in range(cols)], 0x00900000), side=tile)
    if one:
        while engine.step().packets:
            pass
    else:
        assert engine.drain(0).packets == 5
    assert memory.read(HBM + 64, 4) == memory.read(HBM, 4)
    assert memory.read(HBM + 72, 4).hex() == "803f0040"
    assert memory.read(HBM + 80, 4) == np.array([1.0, 2.0], np.float16).tobytes()
    assert memory.read(HBM + 96, 8) == bytes([0, 4, 1, 5, 2, 6, 3, 7])
    assert memory.read(HBM + 112, 8) == bytes([0, 2, 4, 6, 1, 3, 5, 7])
