"""Every declared bit against the specification's table, and the golden words."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import DecodeError, EncodeError
from dgekit.descriptors import bd, decode
from dgekit.descriptors.completion import CompletionEntry, CompletionStatus, SecondBuffer
from dgekit.descriptors.notification import (
    DgeCompletion,
    ErrorId,
    ErrorRecord,
    Header,
    NotificType,
    ProgramPoint,
    decode_record,
    dge_completion,
    sequencer_error,
)

GOLDEN = Path(__file__).parent.parent / "golden" / "spec" / "rings.json"
SPEC = json.loads(GOLDEN.read_text())
EXAMPLES = {example["id"]: example for example in SPEC["examples"]}

WAYS = {"DRIVER": "H/D", "H-OBSERVED": "H/O", "H-CARRIED": "H/C", "M-CARRIED": "M/C", "M-INFERRED": "M/I"}
WAYS |= {"L-INFERRED": "L/I", "L-CARRIED": "L/C"}


@pytest.mark.parametrize(
    ("struct", "table"),
    [
        (bd.M2SControl, SPEC["descriptor"]["tx_word0"]),
        (bd.S2MControl, SPEC["descriptor"]["rx_word0"]),
        (bd.CopyMeta, SPEC["descriptor"]["tx_word1_cme"]),
        (bd.ComputeMeta, SPEC["descriptor"]["tx_word1_cce"]),
        (CompletionStatus, SPEC["completion_entry"]["word0"]),
        (SecondBuffer, SPEC["completion_entry"]["word2"]),
    ],
)
def test_each_field_has_the_specified_place_and_evidence(struct, table):
    fields = struct.layout.fields
    assert [field.name for field in fields] == [row["name"] for row in table]
    for field, row in zip(fields, table, strict=True):
        assert (field.start, field.bits) == (row["lsb"], row["width"]), field.name
        assert bd.mask(struct, field.name) == int(row["mask"], 16)
        assert field.tag == WAYS[row["confidence"].split(" ")[0]], field.name
        assert field.doc


def test_notification_header_bits():
    rows = SPEC["notification"]["header"]
    word = {field.name: field for field in ProgramPoint.layout.fields}
    for field, row in zip(Header.layout.fields, rows, strict=True):
        assert (field.name, field.start + 24, field.bits) == (row["name"], row["lsb"], row["width"])
        assert word[field.name].start == row["lsb"]


@pytest.mark.parametrize(
    ("record", "table"),
    [
        (DgeCompletion, "dge_record"),
        (ErrorRecord, "error_record"),
    ],
)
def test_notification_records(record, table):
    """The rows read `[high:low] name ...`, bits counted from the start of the record."""
    found = {
        path.rpartition(".")[2]: (start, start + field.bits - 1) for path, field, _, start in record().placed_leaves()
    }
    for row in SPEC["notification"][table]:
        place, name = re.match(r"\[([\d:]+)\] (\w+)", row).groups()
        high, _, low = place.partition(":")
        if name == "header":
            assert found["notific_type"][0] == int(low) and found["phase"][1] == int(high)
        elif name != "reserved":
            assert found[name] == (int(low or high), int(high)), row
    assert record.layout.size == SPEC["notification"]["entry_bytes"]


def test_notification_types():
    named = {int(k): v for k, v in SPEC["notification"]["types"].items() if "-" not in k}
    assert {number: NotificType(number).name for number in named} == named
    for first, processor in ((4, "PE"), (8, "ACT"), (12, "POOL"), (16, "DVE"), (20, "SP")):
        kinds = ("START", "END", "EXPLICIT", "EVT_SEM")
        assert [NotificType(first + n).name for n in range(4)] == [f"{processor}_{kind}" for kind in kinds]
    assert len(NotificType) == len(named) + 20


def test_enums_have_the_specified_numbers():
    enums = SPEC["descriptor"]["enums"]
    for members, table in ((bd.SdmaOp, "sdma_op"), (bd.CmeOptype, "cme_optype"), (bd.CceOptype, "cce_optype")):
        for number, name in enums[table].items():
            assert name.upper().replace("/", " ").startswith(members(int(number)).name), (table, number)
        assert len(members) == len(enums[table])
    assert NotificType(0x1F).name == "TPB_ERROR"
    assert ErrorId(9).name == "SEQUENCER_NONFATAL"


def test_constants_fall_out_of_the_fields():
    assert f"{bd.COPY_WORD1:#010x}" == SPEC["descriptor"]["default_copy_word1"]
    assert f"{bd.COPY_WORD1 | bd.WRITE_BARRIER:#010x}" == SPEC["descriptor"]["write_barrier_word1"]
    assert bd.TRANSPOSE_WORD1 == 0x00900000
    rows = {row["label"]: row for row in EXAMPLES["E10"]["rows"]}
    assert bd.add_word1(6, 10, last=False) == int(rows["ADD, out bf16(6), accum fp32(10)"]["word1"], 16)
    assert bd.add_word1(6, 10, last=True) == int(rows["same, last source (bit 7)"]["word1"], 16)
    fma = bd.ComputeMeta(in_dtype=6, out_dtype=10, accum_dtype=10, optype=bd.CceOptype.FMA)
    assert bd.value(fma) == 0x021AA600
    assert bd.value(bd.M2SControl(first=1, md=1)) == 0x04800000
    with pytest.raises(EncodeError):
        bd.add_word1(16, 10, last=True)


def test_e9_completion_entry():
    golden = bytes.fromhex(EXAMPLES["E9"]["rows"][0]["bytes"])
    entry = CompletionEntry.decode(golden + bytes(12))
    assert (entry.word0.ring_id, entry.word0.first, entry.word0.last, entry.word0.error) == (1, 1, 1, 0)
    assert entry.encode()[:4] == golden
    assert golden[3] & 3 == entry.word0.ring_id


def test_e14_dge_record():
    golden = bytes.fromhex(SPEC["examples_extra"]["dge_notification"])
    assert dge_completion(0x123, range(16), 8, 0x1122334455).encode() == golden
    record = decode_record(golden)
    assert isinstance(record, DgeCompletion)
    assert (record.head.program_counter, record.head.debug_hint, record.head.phase) == (0x123, 1, 1)
    assert (record.dma.dma_map, record.dma.num_packets, record.head.notific_type) == (0xFFFF, 8, 0x0E)
    assert dge_completion(0, [0], 4096).dma.num_packets == 0


@pytest.mark.parametrize("arguments", [(0, [0], 4097), (0, [0], 0), (0, [16], 1), (1 << 20, [0], 1)])
def test_a_record_refuses_what_it_cannot_hold(arguments):
    with pytest.raises(EncodeError):
        dge_completion(*arguments)


def test_error_record_splits_its_metadata_around_the_header():
    record = sequencer_error(ErrorId.SEQUENCER_NONFATAL, NotificType.TPB_ERROR, 0xABC, 0x5D, 3, timestamp=7)
    data = record.encode()
    assert data.hex(" ") == "09 c3 ab 9f 5d 00 00 00 07 00 00 00 00 00 00 00"
    assert record.metadata == 0x5DABC3
    assert decode_record(data) == record
    with pytest.raises(DecodeError):
        decode_record(data[:15])


@given(st.binary(min_size=16, max_size=16))
@settings(max_examples=60, deadline=None)
def test_decoding_is_total_and_encoding_its_inverse(data):
    for leg in ("m2s", "s2m"):
        assert decode.decode_bd(data, leg).encode() == data
        assert data.hex(" ") in decode.bd_line(data, leg)
        assert decode.bd_to_json(data, leg)["hex"] == data.hex()
    assert decode_record(data).encode() == data
    assert CompletionEntry.decode(data).encode() == data
    assert ErrorRecord.decode(data).encode() == data


@pytest.mark.parametrize(
    ("words", "kind", "view"),
    [
        ("0d000000 01080003 01000000 00000000", "copy", bd.M2SCopy),
        ("81000100 00000000 00040100 00000020", "continuation", bd.M2SCopy),
        ("0c000800 00000003 00000000 00000000", "copy", bd.M2SCopy),
        ("04000100 01100003 00000000 00000000", "crc32", bd.M2SCopy),
        ("04000100 00900000 00000000 00000000", "transpose", bd.M2SCopy),
        ("04000100 00f00000 00000000 00000000", "raw", bd.M2SCopy),
        ("04000100 02000000 00000000 00000000", "raw", bd.M2SCompute),
        ("04800100 01080003 00000000 00000000", "raw", bd.M2SCopy),
        ("05801000 020a6000 10000000 00002000", "add", bd.M2SCompute),
        ("05801000 420a6000 10000000 00002000", "add", bd.M2SCompute),
        ("05801000 020a0002 10000000 00002000", "max", bd.M2SCompute),
        ("05801000 020a0003 10000000 00002000", "min", bd.M2SCompute),
        ("05801000 021aa600 10000000 00002000", "fma", bd.M2SCompute),
        ("05800000 02100000 09001000 3f000000", "fma_parameter", bd.M2SParameter),
        ("01800000 06100000 09001000 3f000000", "fma_parameter", bd.M2SParameter),
        ("05801000 02400000 00000000 00000000", "ext", bd.M2SCompute),
        ("05801000 02500000 00000000 00000000", "gce", bd.M2SCompute),
        ("05801000 02600000 00000000 00000000", "raw", bd.M2SCompute),
        ("05800000 06500001 00000000 00000000", "gce_parameter", bd.M2SParameter),
        ("05800000 06200000 02001000 40c00000", "minmax_constant", bd.M2SParameter),
        ("05800000 06000000 00000000 12345678", "seed", bd.M2SParameter),
        ("05800000 06000000 00000001 12345678", "raw", bd.M2SCompute),
        ("05800000 00000000 02001000 00000000", "minmax_parameter", bd.M2SParameter),
        ("05800000 00a00002 00000000 00000000", "replication", bd.M2SParameter),
    ],
)  # fmt: skip
def test_kinds_of_the_published_words(words, kind, view):
    data = b"".join(int(word, 16).to_bytes(4, "little") for word in words.split())
    assert decode.m2s_kind(data) == kind
    decoded = decode.decode_bd(data, "m2s")
    assert type(decoded) is view
    assert decoded.encode() == data


def test_json_and_line_of_a_golden_bd():
    tx, rx = (bytes.fromhex(row["bytes"]) for row in EXAMPLES["E3"]["rows"])
    obj = decode.bd_to_json(tx, "m2s")
    assert (obj["kind"], obj["bytes"], obj["address"], obj["ring_id"]) == ("copy", 256, "0x1020000", 3)
    assert obj["fields"]["len_ctrl"]["dmb"] == 1
    assert obj["fields"]["meta_ctrl"]["op"] == "CME"
    assert decode.bd_line(rx, "s2m").startswith("S2M buffer 256 B at 0x2000100000 ring 3 int_en word1=0x00000000 |")
    parameter = bytes.fromhex("0000800500001002001000090000003f")
    assert decode.bd_to_json(parameter, "m2s")["address"] is None
    assert "meta1=0x09001000 meta2=0x3f000000" in decode.bd_line(parameter, "m2s")


def test_a_short_bd_is_named():
    for leg in ("m2s", "s2m"):
        with pytest.raises(DecodeError):
            decode.decode_bd(bytes(15), leg)
