"""Packet files: the six worked packets as TOML, defaults, and every refusal at its place."""

import pytest
from cce_spec import EXAMPLES, PACKETS
from schema_checker import problems

from dgekit.cce.packet import Constant
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import ComputeError, InputError
from dgekit.core.generations import CAYMAN, MARIANA
from dgekit.export.publish import stored_schema
from dgekit.frontends.packet_file import loads_packets

FIELDS = "op = 'add'\ndtype = 'bfloat16'\nelements = 4\nsources = [0, 64]\ndests = [128]\n"
PACKET = "[[packets]]\n" + FIELDS


def as_toml(packet):
    """A packet as a user writes it."""
    lines = [
        f"op = '{packet.op.name.lower()}'",
        f"dtype = '{dtype_info(packet.in_dtype).name}'",
        f"elements = {packet.elements}",
        f"sources = [{', '.join(hex(address) for address in packet.sources)}]",
        f"dests = [{', '.join(hex(address) for address in packet.dests)}]",
    ]
    if packet.scales:
        lines.append(f"scales = {list(packet.scales)}")
    if packet.constant:
        lines.append("constant = 6.0")
    if packet.seed is not None:
        lines.append(f"seed = {packet.seed}")
    if packet.gce is not None:
        lines.append(f"gce = {{ header = {packet.gce.header:#x} }}")
    return "[[packets]]\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", PACKETS)
def test_the_worked_packets(name):
    file = loads_packets(as_toml(EXAMPLES[name]))
    assert file.packets == (EXAMPLES[name],)
    (built,) = file.build()
    assert built.encode().hex() == "".join(row["bytes"] for row in PACKETS[name])


def test_everything_can_be_said():
    text = """
        generation = "trn3"
        ring_id = 2
        choices = { unified_minmax = true }
        [[packets]]
        op = "min"
        dtype = "float16"
        accum = "float32"
        out_dtype = "bfloat16"
        elements = 8
        sources = [0x40]
        dests = [0x80]
        constant = { bits = 0x7c00, dtype = "float16" }
        strong_order = true
        write_barrier = true
        [[packets]]
        op = "fma"
        dtype = "float8_e4m3fn"
        elements = 8
        sources = [0x40]
        dests = [0x80]
        scales = [2]
        selectors = [[1, 2, 0]]
        [[packets]]
        op = "gce"
        dtype = "float32"
        elements = 8
        sources = [0x40]
        dests = [0x80]
        gce = { header = 0x20, compress = false, payload = "bfloat16" }
    """
    file = loads_packets(text, "p.toml")
    first, second, third = file.packets
    assert (file.generation, file.ring_id, file.choices) == (MARIANA, 2, {"unified_minmax": True})
    assert first.constant == Constant(0x7C00, 7)
    assert (first.out_dtype, first.accum_dtype, first.strong_order, first.write_barrier) == (6, 10, True, True)
    assert (second.in_dtype, second.in_fn, second.out_fn, second.selectors) == (14, True, True, ((1, 2, 0),))
    assert (third.gce.compress, third.gce.payload_dtype, third.source_dtype) == (False, 6, 6)
    built = file.build()
    assert [len(one.tx) for one in built] == [2, 2, 2]
    assert f"{built[0].tx[0, 1]:08x}" == "06300000"
    literal = file.build(CAYMAN, {"unified_minmax": False})
    assert f"{literal[0].tx[0, 1]:08x}" == "06700000"


@pytest.mark.parametrize(
    ("text", "rule", "where"),
    [
        ("", "toml.missing", "p.toml"),
        ("packets = []", "toml.value", "p.toml: packets"),
        ("[[packets]]\nop = 'add'", "toml.missing", "p.toml: packets[0]"),
        (PACKET + "element = 3", "toml.key", "p.toml: packets[0]"),
        (PACKET.replace("'add'", "'mul'"), "toml.value", "p.toml: packets[0].op"),
        (PACKET.replace("bfloat16", "bfloat17"), "toml.value", "p.toml: packets[0].dtype"),
        (PACKET + "seed = -1", "toml.value", "p.toml: packets[0].seed"),
        (PACKET + "selectors = [[1, 2]]", "toml.value", "p.toml: packets[0].selectors[0]"),
        ("choices = { unified = true }\n" + PACKET, "toml.key", "p.toml: choices.unified"),
        ("generation = 'trn9'\n" + PACKET, "toml.value", "p.toml: generation"),
        ("ring_id = 4\n" + PACKET, "toml.value", "p.toml: ring_id"),
        ("[[packets]\n", "toml.syntax", "p.toml: line 1, column 10"),
    ],
)
def test_refused_files(text, rule, where):
    with pytest.raises(InputError) as caught:
        loads_packets(text, "p.toml")
    assert (caught.value.rule, caught.value.where) == (rule, where)


@pytest.mark.parametrize(
    ("more", "rule", "where"),
    [
        ("scales = [1.0, 1.0]", "cce.2.3", "p.toml: packets[1].scales"),
        ("constant = 1.0", "cce.3.6", "p.toml: packets[1].constant"),
        ("gce = { header = 33 }", "cce.4.6", "p.toml: packets[1].gce.header"),
    ],
)
def test_what_the_runtime_refuses_names_the_packet(more, rule, where):
    file = loads_packets(PACKET + PACKET + more, "p.toml")
    with pytest.raises(ComputeError) as caught:
        file.build()
    assert (caught.value.rule, caught.value.where) == (rule, where)


def test_a_constant_beyond_fp32_is_its_infinity():
    text = PACKET.replace("'add'", "'max'") + "constant = 1e39"
    assert loads_packets(text).packets[0].constant == Constant(0x7F800000, 10)


def test_the_schema_takes_what_the_loader_takes():
    import tomllib

    schema = stored_schema("cce_packets")
    for packet in EXAMPLES.values():
        assert problems(tomllib.loads(as_toml(packet)), schema) == []
    for wrong in ("", "[[packets]]\nop = 'add'", PACKET + "element = 3", PACKET + "seed = -1"):
        assert problems(tomllib.loads(wrong), schema)
