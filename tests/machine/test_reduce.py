"""Reductions from end to end, through rings and engines, against the whole-number oracle and the chapter's values."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neffs import entry, neff

from dgekit.api import Device, run
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import UsageError
from dgekit.descriptors.batch import PacketKind
from dgekit.frontends.toml_file import loads
from dgekit.machine.contents import value_dtype
from dgekit.numerics.exact import add, extreme, from_integer, join, multiply, split, to_integer
from dgekit.numerics.formats import float_format, integer_limits

FLOATS = ("float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2", "float8_e3m4")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
WIDE = {"i": "int32", "u": "uint32"}
BF16 = "bfloat16"


def codes_of(ref):
    """The present contents of a tensor as unsigned codes."""
    array = ref.numpy()
    return array.view(f"u{array.dtype.itemsize}")


def tensor(device, codes, dtype, name="", space="hbm", **pins):
    """A tensor of given codes."""
    array = codes.view(value_dtype(dtype_named(dtype)))
    if space == "sbuf":
        return device.sbuf(array.shape, dtype, contents=array, name=name, **pins)
    return device.hbm(array, dtype=dtype, name=name, **pins)


def exact_float(op, codes, kind, accum, out, scales):
    """One element, in exact numbers, rounded to the accumulator after each source."""
    total = None
    for index, code in enumerate(codes):
        value = split(code, kind)
        if op == "fma":
            scaled = multiply(value, split(int(np.float32(scales[index]).view("u4")), float_format(10)))
            before = split(0, accum) if total is None else split(total, accum)
            total = join(add(scaled, before), accum)
        elif total is None:
            total = join(value, accum)
        else:
            before = split(total, accum)
            value = split(join(value, accum), accum)
            total = join(add(before, value) if op == "add" else extreme(before, value, largest=op == "max"), accum)
    return join(split(total, accum), out)


def exact_integer(op, values, low, high, wide_low, wide_high):
    total = values[0]
    for value in values[1:]:
        total = total + value if op == "add" else max(total, value) if op == "max" else min(total, value)
        span = wide_high - wide_low + 1
        total = (total - wide_low) % span + wide_low
    return min(max(total, low), high)


def plain(dtype):
    """A numpy type that stores the codes of an element type."""
    return f"u{dtype_named(dtype).size}"


@st.composite
def cases(draw):
    """Shapes, patterns, memories and generation of a small reduction."""
    rows, cols = draw(st.integers(1, 20)), draw(st.integers(1, 12))
    count = draw(st.integers(1, 5))
    return {
        "generation": draw(st.sampled_from(["trn1", "trn2", "trn3"])),
        "rows": rows,
        "cols": cols,
        "sides": [(draw(st.sampled_from(["hbm", "sbuf"])), draw(st.integers(0, 3))) for _ in range(count + 1)],
        "packet_bytes": draw(st.sampled_from([4, 24, 65536])),
        "seed": draw(st.integers(0, 1 << 20)),
    }


def carried(case, op, dtype, out, **options):
    """Run the case; source codes (n, elements) and the result's codes."""
    rows, cols = case["rows"], case["cols"]
    device = Device(case["generation"], {"packet_bytes": case["packet_bytes"]})
    rng = np.random.default_rng(case["seed"])
    sources, refs = [], []
    for index, (space, pad) in enumerate(case["sides"][:-1]):
        codes = rng.integers(0, 256, (rows, (cols + pad) * dtype_named(dtype).size), np.uint8).view(plain(dtype))
        ref = tensor(device, codes, dtype, f"s{index}", space)
        refs.append(ref.at([[cols + pad, rows], [1, cols]]))
        sources.append(codes[:, :cols].ravel())
    space, pad = case["sides"][-1]
    room = tensor(device, np.zeros((rows, cols + pad), plain(out)), out, "out", space)
    target = room.at([[cols + pad, rows], [1, cols]])
    done = device.reduce(target, refs, op, **options)
    assert done.ok, done.issues
    found = codes_of(room)
    assert not found[:, cols:].any()
    return np.array(sources), found[:, :cols].ravel(), done


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(["add", "max", "min", "fma"]), st.sampled_from(FLOATS), st.sampled_from(FLOATS))
def test_floats_against_the_oracle(case, op, dtype, out):
    scales = [0.5, -1.25, 3.0, 1e-3, 0.1][: len(case["sides"]) - 1]
    options = {"scales": scales} if op == "fma" else {}
    sources, found, done = carried(case, op, dtype, out, **options)
    kind, written, accum = (float_format(dtype_named(name).code) for name in (dtype, out, "float32"))
    wanted = [exact_float(op, column.tolist(), kind, accum, written, scales) for column in sources.T]
    moved = op == "add" and len(sources) == 1 and dtype == out and kind.bits == 8
    if moved:  # a lone 1-byte source of an even number of bytes keeps its NaN (cce 4.4)
        same = found == sources[0]
        wanted = np.where(same, found, wanted)
    assert found.tolist() == list(wanted)
    assert all(int(packet["kind"]) == PacketKind.COMPUTE for one in done.descriptors.channels for packet in one.packets)


@settings(max_examples=40, deadline=None)
@given(cases(), st.sampled_from(["add", "max", "min"]), st.sampled_from(INTEGERS))
def test_integers_against_python(case, op, dtype):
    sources, found, _ = carried(case, op, dtype, dtype)
    kind = np.dtype(dtype)
    low, high = integer_limits(dtype_named(dtype).code)
    wide = integer_limits(dtype_named(WIDE[kind.kind]).code)
    values = sources.view(kind)
    wanted = [exact_integer(op, column.tolist(), low, high, *wide) for column in values.T]
    assert found.view(kind).tolist() == wanted


@settings(max_examples=20, deadline=None)
@given(cases(), st.sampled_from(["int8", "uint16", "int32"]), st.sampled_from(FLOATS))
def test_integers_are_multiplied_through_fp32(case, dtype, out):
    scales = [0.5, -1.25, 3.0, 1e-3, 0.1][: len(case["sides"]) - 1]
    sources, found, done = carried(case, "fma", dtype, out, scales=scales)
    assert {int(code) for one in done.descriptors.channels for code in one.packets["accum_dtype"]} == {10}
    fp32, written = float_format(10), float_format(dtype_named(out).code)
    values = sources.view(np.dtype(dtype))
    wanted = []
    for column in values.T.tolist():
        codes = [join(from_integer(value), fp32) for value in column]
        wanted.append(exact_float("fma", codes, fp32, fp32, written, scales))
    assert found.tolist() == wanted


def test_floats_into_integers_round_and_saturate():
    device = Device("trn2")
    values = np.array([0.5, 1.5, 2.5, 300.0, -300.0, np.nan, 126.5, -0.5], np.float32)
    out = device.hbm(shape=[8], dtype="int8")
    done = device.reduce(out, [device.hbm(values), device.hbm(np.zeros(8, np.float32))])
    exact = [to_integer(split(int(v.view("u4")), float_format(10)), -128, 127) for v in values]
    assert out.numpy().tolist() == exact == [0, 2, 2, 127, -128, 0, 126, 0]
    assert done.lossy == 8


GOLDEN = """
generation = "trn2"
[tensors.s]
space = "hbm"
shape = [3, 2048]
dtype = "bfloat16"
init = "ones"
address = 0x10000000
[tensors.d]
space = "hbm"
shape = [2048]
dtype = "bfloat16"
address = 0x20000000
[[transfers]]
op = "reduce"
srcs = [
  { tensor = "s", pattern = [[1, 2048]] },
  { tensor = "s", offset = 2048, pattern = [[1, 2048]] },
  { tensor = "s", offset = 4096, pattern = [[1, 2048]] },
]
dst = "d"
"""


@pytest.mark.parametrize(
    ("keys", "tx"),
    [
        ('compute = "add"', ["0010800500600a020000001000000000", "0010800100600a020010001000000000", "0010800980600a020020001000000000"]),
        (
            'compute = "min"\nconstant = 6.0',
            ["0000800500002006001000020000c040", "0010800123662a020000001000000000", "0010800123662a020010001000000000", "00108009b3662a020020001000000000"],
        ),
        ('compute = "max"', ["0010800502060a020000001000000000", "0010800102060a020010001000000000", "0010800992060a020020001000000000"]),
    ],
)  # fmt: skip
def test_the_chapters_words_from_a_transfer_file(keys, tx):
    # cce 9.1, 9.3, 9.4 with ring id 1, at addresses below 4 GiB
    finished = run(loads(GOLDEN + keys, None))
    (channel,) = finished.transfers[0].descriptors.channels
    assert [row.astype("<u4").tobytes().hex() for row in channel.m2s] == tx
    assert channel.s2m.astype("<u4").tobytes().hex() == "00100001000000000000002000000000"
    assert finished.tensor("d").astype(float).tolist() == [3.0 if "add" in keys else 1.0] * 2048


def test_weights():
    # cce 9.2: s0 = 1.0, s1 = 3.0 with scales 0.5 give 2.0
    device = Device("trn2")
    s0, s1 = (
        device.hbm(np.full(1024, value, np.float32), address=at) for value, at in ((1, 0x10000000), (3, 0x10001000))
    )
    d = device.hbm(shape=[1024], dtype="float32", address=0x20000000)
    done = device.reduce(d, [s0, s1], "fma", scales=[0.5, 0.5])
    (channel,) = done.descriptors.channels
    assert [row.astype("<u4").tobytes().hex() for row in channel.m2s] == [
        "0000800500001002001000090000003f", "0010800100aa1a020000001000000000",
        "0000800100001006001000090000003f", "0010800980aa1a020010001000000000",
    ]  # fmt: skip
    assert (codes_of(d) == 0x40000000).all() and done.lossy == 0


def test_one_packet_rounds_once_and_two_round_twice():
    # cce 4.3: 1 + 2^-8 + 2^-8 in BF16
    device = Device("trn2")
    one, small = (device.hbm(np.full(4, code, np.uint16), dtype=BF16) for code in (0x3F80, 0x3B80))
    together, part, chained = (device.hbm(shape=[4], dtype=BF16) for _ in range(3))
    assert device.reduce(together, [one, small, small]).lossy == 0  # 1 + 2^-7 is a BF16 number
    first = device.reduce(part, [one, small])
    device.reduce(chained, [part, small])
    assert set(codes_of(together)) == {0x3F81} and set(codes_of(chained)) == {0x3F80} and first.lossy == 4


@settings(max_examples=25, deadline=None)
@given(cases(), st.sampled_from(["add", "fma"]), st.sampled_from(["bfloat16", "float32", "int16"]), st.data())
def test_how_packets_are_cut_never_changes_the_result(case, op, dtype, data):
    options = {"scales": [0.3] * (len(case["sides"]) - 1)} if op == "fma" else {}
    results = []
    for size in (65536, data.draw(st.integers(4, 64))):
        _, found, done = carried({**case, "packet_bytes": size}, op, dtype, dtype, **options)
        results.append((found.tolist(), done.lossy))
    assert results[0] == results[1]


def test_clamp_between_two_constants():
    device = Device("trn3")
    x = device.hbm(np.linspace(-9, 9, 64, dtype=np.float32).reshape(8, 8))
    low, y = device.sbuf((8, 8), "float32"), device.hbm(shape=[8, 8], dtype="float32")
    assert device.reduce(low, [x], "max", constant=-6.0).ok and device.reduce(y, [low], "min", constant=6.0).ok
    assert (y.numpy() == np.clip(x.numpy(), -6, 6)).all()


def test_integer_constants_are_exact():
    device = Device("trn2")
    big = (1 << 30) + 1  # no fp32 number
    x = device.hbm(np.array([big - 1, big, big + 1], np.int32))
    y = device.hbm(shape=[3], dtype="int32")
    assert device.reduce(y, [x], "max", constant=big).ok
    assert y.numpy().tolist() == [big, big, big + 1]
    assert device.reduce(y, [x], "max", constant=2.5, constant_dtype="float32").ok  # rounds to 2 in INT32
    assert y.numpy().tolist() == x.numpy().tolist()


def test_stochastic_rounding_has_the_chapters_draws():
    wanted = bytes.fromhex(
        "3F81 3F81 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F80 3F81 "
        "3F80 3F81 3F81 3F80 3F81 3F81 3F80 3F80 3F80 3F81 3F81 3F80 3F81 3F81 3F80 3F80"
    )
    for size in (65536, 64):  # in one packet, and in two of 16 elements: only the first sets the seed (D64)
        device = Device("trn2", {"packet_bytes": size})
        x, y = device.hbm(np.full(32, 1.00390625, np.float32)), device.hbm(shape=[32], dtype=BF16)
        done = device.reduce(y, [x], seed=0x12345678)
        assert codes_of(y).astype(">u2").tobytes() == wanted and done.lossy == 32
        again = device.reduce(y, [x], seed=0x12345678)
        assert codes_of(y).astype(">u2").tobytes() == wanted and again.ok


def test_every_channel_seeds_its_own_queue():
    device = Device("trn2")
    x, y = (
        device.sbuf((16, 16), "float32", contents=np.full((16, 16), 1.00390625, np.float32)),
        device.sbuf((16, 16), BF16),
    )
    done = device.reduce(y, [x], seed=5)
    assert [int(one.packets["m2s_count"].sum()) - len(one.packets) for one in done.descriptors.channels] == [1, 1]
    assert (codes_of(y)[:8] == codes_of(y)[8:]).all()


def test_several_destinations():
    device = Device("trn2")
    values = np.random.default_rng(3).standard_normal((16, 300)).astype(np.float32)
    a, b = device.hbm(values), device.sbuf((16, 300), "float32", contents=values[::-1].copy())
    outs = [device.hbm(shape=[16, 300], dtype="float32"), device.sbuf((16, 300), "float32")]
    done = device.reduce(outs, [a, b], semaphore=9)
    assert done.ok and device.semaphores == {9: 16}
    for out in outs:
        assert (out.numpy() == values + values[::-1]).all()


def test_a_destination_may_be_a_source():
    device = Device("trn2")
    x, y = device.hbm(np.arange(5000, dtype=np.int32)), device.hbm(np.ones(5000, np.int32))
    assert device.reduce(y, [x, y, y]).ok
    assert (y.numpy() == np.arange(5000) + 2).all()
    shifted = device.reduce(y.at([[1, 100]], 50), [y.at([[1, 100]])])
    assert shifted.status == "refused" and shifted.issues[0].rule == "memory.overlap"


def test_33_operands_take_two_reductions():
    device = Device("trn2")
    ones = device.hbm(np.ones(40, np.int16))
    partial, total = device.hbm(shape=[40], dtype="int16"), device.hbm(shape=[40], dtype="int16")
    assert device.reduce(partial, [ones] * 32).ok and device.reduce(total, [partial, ones]).ok
    assert set(total.numpy().tolist()) == {33}
    fma = device.reduce(total, [ones] * 32, "fma", scales=[2.0] * 32)
    assert fma.ok and set(total.numpy().tolist()) == {64}
    assert fma.descriptors.channels[0].packets["m2s_count"].tolist() == [64]
    seeded = device.reduce(device.hbm(shape=[40], dtype=BF16), [ones] * 32, "fma", scales=[2.0] * 32, seed=1)
    assert seeded.ok and seeded.descriptors.channels[0].packets["m2s_count"].tolist() == [65]


def test_what_loses_bits_is_warned_of():
    device = Device("trn2")
    bytes_, odd = device.hbm(np.arange(7, dtype=np.int8)), device.hbm(shape=[7], dtype="int8")
    done = device.reduce(odd, [bytes_])
    assert done.ok and [issue.rule for issue in done.issues] == ["dec.D70"]
    large, out = device.hbm(np.full(4, (1 << 24) + 1, np.int32)), device.hbm(shape=[4], dtype="int32")
    done = device.reduce(out, [large], "fma", scales=[1.0])
    assert done.ok and [issue.rule for issue in done.issues] == ["dec.D70"]
    assert set(out.numpy().tolist()) == {1 << 24}


def small(dtype=BF16, count=64, **more):
    return {"dtype": dtype, "count": count, **more}


REFUSED = [
    ("33 sources", [small()] * 33, [small()], {}, "trn2", "cce.CHOICE-04"),
    ("replication on v2", [small()], [small(), small()], {}, "trn1", "cce.5.4"),
    ("17 destinations", [small()], [small()] * 17, {}, "trn2", "cce.CHOICE-30"),
    ("fp32r has no size", [small("float32r")], [small("float32r")], {}, "trn2", "cce.5.2"),
    ("unequal sources", [small(), small(count=63)], [small()], {}, "trn2", "cce.4.10"),
    ("unequal destination", [small()], [small(count=63)], {}, "trn2", "cce.4.10"),
    ("misaligned", [small(address=0x70000001)], [small()], {}, "trn2", "cce.CHOICE-46"),
    ("sources of two types", [small(), small("float16")], [small()], {}, "trn2", "cce.4.3"),
    ("scales missing", [small()] * 2, [small()], {"compute": "fma"}, "trn2", "cce.2.3"),
    ("scales too few", [small()] * 2, [small()], {"compute": "fma", "scales": (1.0,)}, "trn2", "cce.CHOICE-04"),
    ("scales with add", [small()], [small()], {"scales": (1.0,)}, "trn2", "cce.2.3"),
    ("constant with add", [small()], [small()], {"constant": 1.0}, "trn2", "cce.3.6"),
    ("constant type", [small()], [small()], {"compute": "max", "constant": 1.0, "constant_dtype": "int8"}, "trn2", "cce.CHOICE-15"),
    ("constant too large", [small("int32")], [small("int32")], {"compute": "max", "constant": 1e12}, "trn2", "cce.CHOICE-14"),
    ("seed with min", [small()], [small()], {"compute": "min", "seed": 1}, "trn2", "cce.CHOICE-11"),
    ("large seed", [small()], [small()], {"seed": 1 << 32}, "trn2", "cce.CHOICE-16"),
    ("integer fma in int32", [small("int8")], [small("int8")], {"compute": "fma", "scales": (1.0,), "accum": "int32"}, "trn2", "dec.D62"),
    ("no such operation", [small()], [small()], {"compute": "xor"}, "trn2", "cce.1.1"),
    ("no compute path", [small()], [small()], {}, "maverick", "cce.5.1"),
    ("narrow type", [small("float8_e8m0")], [small("float8_e8m0")], {}, "trn3", "isa.2.5"),
    ("FMA and 3 seeds", [small()] * 32, [small()] * 2, {"compute": "fma", "scales": (1.0,) * 32}, "trn2", "cce.5.1"),
    ("twice written", [small()], [small(pattern=[[0, 64]])], {}, "trn2", "memory.overlap"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("srcs", "dsts", "options", "generation", "rule"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_is_refused_has_its_name_and_writes_nothing(srcs, dsts, options, generation, rule):
    device = Device(generation)

    def made(spec):
        size = dtype_named(spec["dtype"]).size
        codes = np.full(spec["count"], 7, f"u{size}")
        ref = tensor(device, codes, spec["dtype"], address=spec.get("address"))
        return ref.at(spec["pattern"]) if "pattern" in spec else ref

    sources, targets = [made(spec) for spec in srcs], [made(spec) for spec in dsts]
    done = device.reduce(targets, sources, semaphore=3, **options)
    assert done.status == "refused"
    assert next(issue.rule for issue in done.issues if issue.severity == "error") == rule
    assert not done.descriptors.channels and device.semaphores == {}
    for target in targets:
        assert (codes_of(target) == 7).all()


def test_a_type_that_does_not_exist_and_empty_lists():
    device = Device("trn2")
    x = device.hbm(np.ones(4, np.float32))
    with pytest.raises(UsageError, match="bfloat61"):
        device.reduce(x, [x], accum="bfloat61")
    for srcs, dst in (([], x), ([x], [])):
        with pytest.raises(UsageError) as caught:
            device.reduce(dst, srcs)
        assert caught.value.rule == "api.reduce"


@pytest.mark.parametrize("mode", ["none", "unknown", "swdge"])
@pytest.mark.parametrize(
    ("op", "combine"), [("add", np.add), ("max", np.maximum), ("min", np.minimum), ("multiply", np.multiply)]
)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", BF16])
def test_a_copy_updates_its_destination(op, combine, mode, dtype):
    device = Device("trn2")
    rng = np.random.default_rng(4)
    numpy_type = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    a, b = (rng.integers(-9, 9, (16, 40)).astype(numpy_type) for _ in range(2))
    src, dst = device.hbm(a), device.sbuf((16, 40), dtype, contents=b)
    done = device.copy(dst, src, accumulate=op, mode=mode)
    assert done.ok, done.issues
    assert (dst.numpy() == combine(b, a)).all()


def test_the_hardware_backend_refuses_to_compute():
    device = Device("trn2")
    x, y = device.hbm(np.ones((4, 8), np.float32)), device.hbm(np.ones((4, 8), np.float32))
    done = device.copy(y, x, accumulate="max", mode="hwdge")
    assert done.status == "refused" and [issue.rule for issue in done.issues] == ["dec.D16"]
    assert (y.numpy() == 1).all()


@pytest.mark.parametrize("op", ["add", "max", "min", "multiply"])
@pytest.mark.parametrize("mode", ["none", "swdge"])
def test_a_scatter_updates_repeated_rows_in_lane_order(op, mode):
    device = Device("trn2")
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((32, 16)).astype(ml_dtypes.bfloat16)
    table = rng.standard_normal((8, 16)).astype(ml_dtypes.bfloat16)
    lanes = rng.integers(0, 8, (1, 32)).astype(np.uint32)
    src, dst = device.hbm(rows), device.hbm(table)
    done = device.scatter(
        dst, src, device.sbuf((1, 32), "uint32", contents=lanes), accumulate=op, non_unique=True, mode=mode
    )
    assert done.ok, done.issues
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum, "multiply": np.multiply}[op]
    for lane, row in enumerate(lanes[0]):  # rounded to bfloat16 each time (D65)
        table[row] = combine(table[row].astype(np.float32), rows[lane].astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert (codes_of(dst) == table.view(np.uint16)).all()


@pytest.mark.parametrize("op", ["add", "max", "min", "multiply"])
@pytest.mark.parametrize("mode", ["none", "swdge"])
def test_a_gather_updates_what_it_writes(op, mode):
    device = Device("trn2")
    rng = np.random.default_rng(6)
    table, out = (rng.integers(-9, 9, (16, 8)).astype(np.int32) for _ in range(2))
    lanes = rng.integers(0, 16, (1, 16)).astype(np.uint32)
    src, dst = device.hbm(table), device.hbm(out)
    done = device.gather(dst, src, device.sbuf((1, 16), "uint32", contents=lanes), accumulate=op, mode=mode)
    assert done.ok, done.issues
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum, "multiply": np.multiply}[op]
    assert (dst.numpy() == combine(out, table[lanes[0]])).all()


def test_a_neff_computes(tmp_path):
    rng = np.random.default_rng(8)
    data = rng.standard_normal((3, 256)).astype(np.float32)
    part = {"from_sizes": [1024], "from_dtype": "float32"}
    desc = {
        "op": "fma",
        "from_arr": [{"from": "x", "from_off": 1024 * row, "scale": 0.5, **part} for row in range(3)],
        "to": "y",
        "to_sizes": [1024],
        "to_dtype": "float32",
    }
    clamp = {"op": "max", "from": "y", "to": "y", "to_off": 4096, "to_sizes": [1024], "to_dtype": "float32", **part}
    path = tmp_path / "f.neff"
    path.write_bytes(neff([entry(desc), entry({**clamp, "constant": 0}, id=1)], variables={
        name: {"type": kind, "var_id": number, "size": 8192}
        for number, (name, kind) in enumerate({"x": "input", "y": "output"}.items())
    }))  # fmt: skip
    finished = run(path, inputs={"x": np.concatenate([data.ravel(), np.zeros(1280, np.float32)])})
    assert finished.ok, [issue for one in finished.transfers for issue in one.issues]
    assert [(one.kind, one.backend.value) for one in finished.transfers] == [("reduce", "static")] * 2
    assert finished.semaphores == {3: 32}  # + num_queues each
    found = finished.tensor("y").view(np.float32).ravel()
    wanted = (np.float32(0.5) * data[0] + np.float32(0.5) * data[1]) + np.float32(0.5) * data[2]  # products are exact
    assert (found[:256] == wanted).all() and (found[1024:1280] == np.maximum(wanted, 0)).all()
