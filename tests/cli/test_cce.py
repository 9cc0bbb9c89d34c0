"""dge cce decode, encode and plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cce_spec import PACKETS

Dge = Callable[..., Any]
GOLDEN = b"".join(bytes.fromhex(row["bytes"]) for rows in PACKETS.values() for row in rows)
HEX = "".join(f"{GOLDEN[at : at + 16].hex()}\n" for at in range(0, len(GOLDEN), 16)).encode()
PACKET = """generation = "trn2"
[[packets]]
op = "add"
dtype = "bfloat16"
elements = 2048
sources = [0x200010000000, 0x200010001000, 0x200010002000]
dests = [0x200020000000]
"""
PLAN = ("cce", "plan", "--op", "add", "--dtype", "bfloat16", "--elements", "5000", "--sources", "3")


@pytest.fixture
def packet_file(tmp_path: Path) -> Path:
    path = tmp_path / "packet.toml"
    path.write_text(PACKET)
    return path


def test_decode_then_encode_is_the_identity(dge: Dge) -> None:
    for given in (GOLDEN, HEX):
        lines = dge("cce", "decode", "--json", stdin=given)
        assert (lines.code, lines.err) == (0, "")
        decoded = lines.json_lines("cce_decode")
        assert [one["offset"] for one in decoded] == list(range(0, len(GOLDEN), 16))
        assert "".join(one["hex"] for one in decoded) == GOLDEN.hex()
        assert dge("cce", "encode", stdin=lines.out).out == HEX
        assert dge("cce", "encode", "--format", "bin", stdin=lines.out).out == GOLDEN
        assert dge("cce", "encode", "--json", stdin=lines.out).out == lines.out


def test_decode_for_people(dge: Dge) -> None:
    answer = dge("cce", "decode", "0010800980600a02 0020001000200000")
    assert answer.lines == [
        "0x0000  add                4096 B  ring 1  LAST last=1 out_dt=BFLOAT16 accum_dt=FP32 buf_ptr=0x200010002000"
    ]
    raw = dge("cce", "decode", "ff" * 16)
    assert raw.lines[0] == "0x0000  raw              ffffffff ffffffff ffffffff ffffffff"
    assert raw.lines[1].startswith("unspecified: 0x0: ")
    assert raw.code == 0


def test_findings_decide_the_exit(dge: Dge) -> None:
    selector = "0000800500001002001000030000003f"
    answer = dge("cce", "decode", selector, "--json")
    (line,) = answer.json_lines("cce_decode")
    assert answer.code == 1
    assert [(issue["rule"], issue["where"]) for issue in line["issues"]] == [("cce.CHOICE-12", "0x0 . operands.a_sel")]


def test_the_leg_and_the_profile(dge: Dge) -> None:
    buffer = "00100001000000000000002000200000"
    kinds = [dge("cce", "decode", buffer, "--leg", leg).lines[0].split()[1] for leg in ("auto", "s2m", "m2s")]
    assert kinds == ["buffer", "buffer", "copy"]
    strict = "0010000500600a020000001000200000"
    assert dge("cce", "decode", strict).lines[0].split()[1] == "raw"
    assert dge("cce", "decode", strict, "--set", "strict_meta=true").lines[0].split()[1] == "add"


def test_encode_a_packet_file(dge: Dge, packet_file: Path) -> None:
    expected = "".join(f"{row['bytes']}\n" for row in PACKETS["add_3src_bf16"]).encode()
    assert dge("cce", "encode", packet_file).out == expected
    assert dge("cce", "encode", "-", stdin=PACKET.encode()).out == expected
    kinds = [line["kind"] for line in dge("cce", "encode", packet_file, "--json").json_lines("cce_decode")]
    assert kinds == ["add", "add", "add", "buffer"]


def test_encode_writes_a_file(dge: Dge, packet_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "bds.bin"
    answer = dge("cce", "encode", packet_file, "--format", "bin", "-o", out)
    assert (answer.code, answer.out) == (0, b"")
    assert out.read_bytes().hex() == "".join(row["bytes"] for row in PACKETS["add_3src_bf16"])


def test_a_generation_on_the_command_line_wins(dge: Dge, packet_file: Path) -> None:
    answer = dge("cce", "encode", packet_file, "--gen", "trn1")
    assert (answer.code, answer.out) == (1, b"")
    assert "packet.toml: packets[0].elements" in answer.err
    assert "cce.5.1" in answer.err


@pytest.mark.parametrize(
    ("argv", "stdin", "code", "rule"),
    [
        (("decode",), b"00" * 15, 3, "cce.stream"),
        (("decode",), b'{"kind": "adder"}', 3, "cce.json"),
        (("decode",), b"generation = 'v3'\n", 2, "input.format"),
        (("decode", "nothing.hex"), b"", 3, "input.file"),
        (("encode",), b'{"kind": "add", "fields": {"meta_ctrl": {"last": 2}}}', 3, "layout.range"),
        (("encode",), b"[[packets]]\nop = 'add'\n", 3, "toml.missing"),
        (("encode",), b"[[packets]]\nop = '\xff'\n", 3, "toml.syntax"),
    ],
)
def test_refused_input(argv: tuple[str, ...], stdin: bytes, code: int, rule: str, dge: Dge) -> None:
    answer = dge("cce", *argv, stdin=stdin)
    assert answer.code == code
    assert f"[{rule}]" in answer.err


def test_plan(dge: Dge) -> None:
    told = dge(*PLAN, "--json").json("cce_plan")
    assert [(shape["packets"], shape["elements"]) for shape in told["shapes"]] == [(2, 2048), (1, 904)]
    assert told["totals"]["packets"] == 3
    assert "packets" not in told
    listed = dge(*PLAN, "--json", "--packets").json("cce_plan")["packets"]
    assert [(one["first_element"], one["source_offset"]) for one in listed] == [(0, 0), (2048, 4096), (4096, 8192)]
    lines = dge(*PLAN, "--packets").lines
    assert lines[-1] == "in all 3 packets, 9 tx and 3 rx BDs, 30000 bytes read, 10000 written"
    assert lines[-2] == "packet 2: elements 4096 to 4999, source + 8192, destination + 8192"


def test_plan_by_priority_class(dge: Dge) -> None:
    told = dge(*PLAN, "--priority-class", "1", "--priority-caps", "0,1000,0,0,0", "--json").json("cce_plan")
    assert told["packet_elements"] == 496  # 1000 bytes with the low five bits cleared
    assert dge(*PLAN, "--packet-bytes", "992", "--json").json("cce_plan") == told


def test_plan_takes_every_operand(dge: Dge) -> None:
    options = ("--accum", "float32", "--out-dtype", "float32", "--dests", "2", "--gen", "trn3")
    told = dge(*PLAN[:3], "max", *PLAN[4:], *options, "--constant", "6", "--json").json("cce_plan")
    assert told["dtypes"] == {"in": "BFLOAT16", "accum": "FP32", "out": "FP32"}
    assert (told["generation"], told["dests"], told["shapes"][0]["bds"][0]["kind"]) == ("MARIANA", 2, "minmax_constant")
    assert dge(*PLAN, "--seed", "0x10", "--json").json("cce_plan")["shapes"][0]["packets"] == 1


@pytest.mark.parametrize(
    ("options", "code", "rule"),
    [
        (("--sources", "33"), 1, "cce.CHOICE-04"),
        (("--sources", "0"), 1, "cce.CHOICE-04"),
        (("--dests", "2", "--gen", "v2"), 1, "cce.5.4"),
        (("--dtype", "float32r"), 1, "cce.5.2"),
        (("--dtype", "float33"), 2, "dec.D54"),
        (("--op", "fma", "--dtype", "int8", "--accum", "int32"), 1, "dec.D62"),
        (("--gen", "v5"), 1, "cce.5.1"),
        (("--elements", "0"), 1, "cce.CHOICE-43"),
        (("--elements", "many"), 2, "cli.number"),
        (("--packet-bytes", "64", "--priority-class", "0"), 2, "cli.plan"),
        (("--priority-class", "5"), 1, "cce.5.2"),
        (("--priority-class", "1", "--priority-caps", "1,2"), 1, "cce.5.2"),
        (("--elements", "0x7fffffffffffffff", "--packets"), 2, "cli.plan"),
        (("--constant", "1"), 1, "cce.3.6"),
    ],
)
def test_refused_plans(options: tuple[str, ...], code: int, rule: str, dge: Dge) -> None:
    answer = dge(*PLAN, *options)
    assert (answer.code, answer.out) == (code, b"")
    assert f"[{rule}]" in answer.err


def test_help_teaches(dge: Dge) -> None:
    for argv in ((), ("decode",), ("encode",), ("plan",)):
        answer = dge("cce", *argv, "--help")
        assert answer.code == 0
        assert "Example" in answer.text
