"""Descriptions agree with the specification's data, and every name has one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dgekit.core.errors import UsageError
from dgekit.words.checks import RULES
from dgekit.words.describe import describe, names, names_by_kind

SPEC = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())


def table(name: str, title: str) -> list[dict[str, str]]:
    tables = {t["title"]: t["rows"] for t in describe(name).to_json()["tables"]}
    return tables[title]


@pytest.mark.parametrize("name", sorted(SPEC["structs"]))
def test_words_show_the_fields_of_the_specification(name: str) -> None:
    described = describe(name)
    assert described.kind == "word" and f"{SPEC['structs'][name]['opcode']:#04x}" in described.title
    rows = table(name, f"{name}, 64 bytes")
    wanted = [(str(f["offset"]), str(f["size"]), f["confidence"]) for f in SPEC["structs"][name]["fields"]]
    assert [(row["off"], row["size"], row["conf"]) for row in rows] == wanted
    assert [row["field"].partition("[")[0] for row in rows] == [f["name"] for f in SPEC["structs"][name]["fields"]]
    assert described.diagram and described.evidence is not None


@pytest.mark.parametrize("name", ["SUNDA", "CAYMAN", "MARIANA", "MARIANA_PLUS", "MAVERICK"])
def test_words_of_a_generation(name: str) -> None:
    listed = next(line for line in describe(name).text if line.startswith("words: "))
    wanted = {word for word, struct in SPEC["structs"].items() if name in struct["generations"]}
    assert set(listed.removeprefix("words: ").split(", ")) == wanted


@pytest.mark.parametrize("name", sorted(set(SPEC["enums"]) - {"ADDR8_MARKER_BIT"}))
def test_enums_show_the_members_of_the_specification(name: str) -> None:
    rows = table(name, "members")
    assert {row["name"]: int(row["value"], 16) for row in rows} == SPEC["enums"][name]


@pytest.mark.parametrize("name", ["DTYPE", "WAIT_MODE", "UPDATE_MODE", "OPCODE", "DGE_OPCODE"])
def test_enum_members_name_their_generations(name: str) -> None:
    given = SPEC["enum_generations"][name]
    rows = {row["name"]: (int(row["value"], 16), row["generations"]) for row in table(name, "members")}
    for value, there in rows.values():
        if value in given.get("not on MAVERICK", []):
            assert there == "SUNDA, CAYMAN, MARIANA, MARIANA_PLUS"
        if value in given.get("MAVERICK only", []):
            assert there == "MAVERICK"
        if value in given.get("absent on SUNDA", []) or (name == "DGE_OPCODE" and value not in given["SUNDA"]):
            assert there == "CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK"
    if name == "DTYPE":
        assert {n for n, (_, there) in rows.items() if there == "MAVERICK"} == set(given["MAVERICK"])
        v4 = {n for n, (_, there) in rows.items() if there == "MARIANA, MARIANA_PLUS, MAVERICK"}
        assert v4 == set(given["MARIANA"])


def test_inferred_members_are_marked() -> None:
    rows = table("UPDATE_MODE", "members")
    assert {int(r["value"], 16) for r in rows if r["evidence"] == "M/I"} == set(
        SPEC["enum_generations"]["UPDATE_MODE"]["inferred values"]
    )


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("0xb8", "word", "DMA_DIRECT2D"),
        ("184", "word", "DMA_DIRECT2D"),
        ("DmaDirect2D", "word", "DMA_DIRECT2D"),
        ("dma_direct2d", "word", "DMA_DIRECT2D"),
        ("DMAMEMCPY", "word", "DMA_DIRECT2D"),
        ("0xf0", "word", "EXTENDED"),
        ("0xc3", "opcode", "PSEUDO_DMABARRIER"),
        ("DMA_DIRECT2D.src_elem_size", "field", "DMA_DIRECT2D.src_elem_size"),
        ("src_elem_size", "field", "src_elem_size"),
        ("HEADER", "struct", "HEADER"),
        ("header", "field", "header"),
        ("ADDR8", "union", "ADDR8"),
        ("WaitMode", "enum", "WAIT_MODE"),
        ("isa.C7", "rule", "isa.C7"),
        ("c7", "rule", "isa.C7"),
        ("4.2.total_bytes", "rule", "isa.4.2.total_bytes"),
        ("isa.5.1.var", "rule", "isa.5.1.var"),
        ("trn2", "generation", "CAYMAN"),
        ("bf16", "dtype", "bfloat16"),
        ("FP8_EXP4", "dtype", "float8_e4m3"),
    ],
)  # fmt: skip
def test_names_are_found(name: str, kind: str, found: str) -> None:
    described = describe(name)
    assert (described.kind, described.name) == (kind, found)


def test_a_bare_field_shows_every_word_that_has_it() -> None:
    wanted = {n for n, s in SPEC["structs"].items() if any(f["name"] == "sem_increment" for f in s["fields"])}
    assert {row["in"] for row in table("sem_increment", "places")} == wanted


def test_a_field_shows_its_enum() -> None:
    assert len(table("DMA_DIRECT2D.compute_op", "members")) == 5


def test_a_word_lists_its_rules() -> None:
    shown = {row["rule"] for row in table("DMA_INDIRECT1D", "rules")}
    assert shown == {rule.id for rule in RULES.values() if "DMA_INDIRECT1D" in rule.words}


def test_a_rule_says_statement_severity_words_generations_and_source() -> None:
    text = "\n".join(describe("isa.4.4.tile_rows").lines())
    for part in ("16 rows", "severity: error", "DMA_DIRECT2D_XPOSE", "CAYMAN, MARIANA", "H/O", "isa-words 4.4"):
        assert part in text


def test_every_name_is_described_as_text_and_json() -> None:
    listed = names()
    assert len(listed) == len(set(listed)) and set(RULES) <= set(listed)
    for group, members in names_by_kind().items():
        for name in members:
            described = describe(name)
            assert next(iter(described.lines())) == described.title, (group, name)
            json.dumps(described.to_json())


@pytest.mark.parametrize("name", ["", "DMA_DIRECT3D", "src_elem_sise", "0x01", "0x1ff", "isa.C99", "DMA_DIRECT2D.nope"])
def test_unknown_names_are_usage_errors(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        describe(name)
    assert caught.value.rule == "spec.name" and caught.value.fix


def test_the_nearest_name_is_offered() -> None:
    with pytest.raises(UsageError) as caught:
        describe("DMA_DIRECT3D")
    assert "DMA_DIRECT2D" in caught.value.fix
