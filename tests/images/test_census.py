"""The census against the published counts, as pipeline 8.5 prints them, and the offsets against the golden table."""

from __future__ import annotations

import random

import pytest
from synthetic_images import ENTRIES, core_of, dram, offset_in, strings_of

from dgekit.core.errors import InputError
from dgekit.images.census import (
    compare_rows,
    count_formats,
    count_pattern,
    format_counter,
    missing_formats,
    unlisted_formats,
)
from dgekit.images.counts import ROWS, TOTALS
from dgekit.images.cstrings import c_strings, count_lines, string_at
from dgekit.images.known import find_format
from dgekit.images.offsets import OFFSETS, cores_of, expected_formats
from dgekit.logs.formats import FORMATS

G = ("SUNDA", "CAYMAN", "MARIANA", "MARIANA_PLUS")
# pipeline 8.5, NX_POOL DEBUG DRAM, in lines: SUNDA, CAYMAN, MARIANA, MARIANA_PLUS
NX_LINES = {
    "Select backend Pool": (0, 1, 1, 1),
    "Select backend RTL": (0, 1, 1, 1),
    "NO BACKEND": (0, 1, 1, 1),
    "DGE $S[%i]+=%i@dmacomplete": (0, 1, 1, 1),
    "DGE RTL backend": (0, 1, 1, 1),
    "DGE software backend": (0, 1, 1, 1),
    "dge_backend_rtl": (0, 1, 1, 1),
    "dge_reshape.cpp": (1, 1, 1, 1),
    "analyze_tensor_reshape": (1, 1, 1, 1),
    "DGE Reshape:": (0, 3, 3, 3),
    "tensor_reshape_transpose": (0, 1, 1, 2),
    "tensor_reshape_indirect_transpose": (0, 3, 3, 3),
    "Setting up DGE": (0, 1, 1, 1),
    "push GENERATE": (0, 1, 1, 1),
    "push DIMPUSH": (0, 1, 1, 1),
    "push REGWRITE": (0, 1, 1, 0),
    "Failed bounds": (0, 1, 1, 1),
    "Dispatched error": (0, 1, 1, 1),
    "dge_reshape_memcopy_transpose_fast": (0, 0, 0, 1),
    "dge_decode_fast.cpp": (0, 0, 0, 1),
    "tensor_reshape_transpose_sb2sb": (0, 0, 0, 1),
    "wait_for_credit": (0, 0, 0, 1),
}
Q7_LINES = {  # CAYMAN, MARIANA_PLUS
    "make_gather_pattern": (2, 2),
    "gen_spray_info": (6, 6),
    "tensor_reshape_transpose": (1, 2),
    "tensor_reshape_transpose_sb2sb": (0, 1),
}


def image(generation: str, core: str = "NX") -> str:
    return f"img_{generation}_{core}_POOL_DEBUG_DRAM"


@pytest.mark.parametrize("pattern", NX_LINES)
def test_published_line_counts(pattern, payloads):
    found = tuple(count_pattern(payloads[image(g)], pattern, "lines", g) for g in G)
    assert found == NX_LINES[pattern]
    # the sources' own counter: lines of the binary that hold the text
    assert found == tuple(sum(pattern.encode() in line for line in payloads[image(g)].split(b"\n")) for g in G)


@pytest.mark.parametrize("pattern", Q7_LINES)
def test_published_line_counts_of_the_q7(pattern, payloads):
    found = tuple(count_pattern(payloads[image(g, "Q7")], pattern, "lines", g) for g in ("CAYMAN", "MARIANA_PLUS"))
    assert found == Q7_LINES[pattern]


def test_names_are_counted_as_strings_where_the_source_did(payloads):
    data = payloads[image("CAYMAN")]
    assert count_pattern(data, "dge_", "strings", "x") == 8
    assert count_pattern(data, "dge_", "lines", "x") != 8
    assert sum(b"dge_" in part for part in data.split(b"\0")) == 8


def test_every_compared_row_is_as_published(payloads):
    found = compare_rows(payloads)
    assert not [row for row in found if row.differs]
    assert {row.counter for row in found} == {"lines", "strings"}
    compared = [row for row in found if row.compared and row.published is not None]
    assert len(compared) >= 4 * len(NX_LINES)
    by_key = {(row.images[0], row.pattern): row.count for row in compared}
    assert [by_key[image(g), "push REGWRITE"] for g in G] == [0, 1, 1, 0]
    unknown_too = {row.pattern for row in found if not row.compared}
    assert unknown_too == {"S: ", "P%i:"}


def test_published_rows_are_those_of_the_chapter():
    rows = {(row.pattern, row.core): row for row in ROWS if row.compared and row.counter == "lines"}
    for pattern, counts in NX_LINES.items():
        (row,) = [one for (text, core), one in rows.items() if core == "NX" and same_row(pattern, text)]
        assert tuple(row.counts[g] for g in G) == counts
    for pattern, counts in Q7_LINES.items():
        row = rows[pattern, "Q7"]
        assert (row.counts["CAYMAN"], row.counts["MARIANA_PLUS"]) == counts


def same_row(pattern: str, text: str) -> bool:
    return text == pattern or (" " in pattern and pattern in text)


def test_a_changed_image_differs(payloads):
    name = image("MARIANA_PLUS")
    changed = payloads[name].replace(b"S: push GENERATE", b"S: push REGWRITE")
    found = {row.pattern: row for row in compare_rows({name: changed}) if row.differs}
    assert {pattern: (row.count, row.published) for pattern, row in found.items()} == {
        "push GENERATE": (0, 1),
        "push REGWRITE": (1, 0),
    }
    counts = count_formats(changed, name)
    assert missing_formats(name, counts) == ("push.generate",)
    news = payloads[name].replace(b"S: DGE: Select backend RTL", b"S: Setup Halt\0" + bytes(12))
    assert unlisted_formats(name, count_formats(news, name)) == ("seq.setup_halt",)


def test_totals_need_all_their_images(payloads):
    line = {g: payloads[image(g)] for g in ("CAYMAN", "MARIANA", "MARIANA_PLUS")}
    engines = {
        f"img_{g}_NX_{engine}_DEBUG_DRAM": data
        for g, data in line.items()
        for engine in ("ACT", "DVE", "PE", "POOL", "SP")
    }
    found = {row.pattern: row for row in compare_rows(engines) if len(row.images) == 15}
    assert {pattern: row.count for pattern, row in found.items()} == {
        "push GENERATE": 15, "push DIMPUSH": 15, "push REGWRITE": 10,
    }  # fmt: skip
    assert not any(row.differs for row in found.values())
    engines.pop("img_CAYMAN_NX_SP_DEBUG_DRAM")
    assert not [row for row in compare_rows(engines) if len(row.images) > 1]
    kinds = dict.fromkeys(TOTALS[-1].images, payloads[image("CAYMAN", "Q7")])
    assert [(row.count, row.differs) for row in compare_rows(kinds) if len(row.images) == 7] == [(7, False)]


def test_counts_by_format(payloads):
    for generation in G:
        counts = count_formats(payloads[image(generation)], generation)
        assert set(counts) == set(FORMATS)
        listed = {key for key, row in FORMATS.items() if generation in row.generations and "NX" in cores_of(key)}
        assert {key for key, count in counts.items() if count} == listed
        assert all(counts[key] == 1 for key in listed if format_counter(key) == "strings")


def test_offsets_are_the_golden_ones():
    for name, table in OFFSETS.items():
        golden = {}
        for key, entry in zip(FORMATS, ENTRIES, strict=True):
            offset = offset_in(entry, name)
            if offset is not None:
                golden[offset] = key
        assert dict(table) == golden
    placed = sum(bool(e["file_offset"]) + sum(bool(a["file_offset"]) for a in e["also"]) for e in ENTRIES)
    assert placed == sum(len(table) for table in OFFSETS.values())


def test_cores_are_the_golden_images():
    for key, entry in zip(FORMATS, ENTRIES, strict=True):
        assert set(cores_of(key)) == core_of(entry), key


def test_expected_formats_of_images_without_any():
    assert expected_formats("img_CAYMAN_NX_POOL_PERF_DRAM") == frozenset()
    assert {FORMATS[key].stage for key in expected_formats(image("MAVERICK", "Q7"))} == {"decode", "swdge"}
    assert len(expected_formats(image("SUNDA"))) == 4


@pytest.mark.parametrize("key", FORMATS)
def test_every_format_is_found_by_its_text(key):
    row = FORMATS[key]
    text = row.text.replace("...", "and some more") if row.is_elided and row.stage != "boot" else row.text
    assert find_format(text) == key
    if row.is_uncertain or key == "dump.software":
        assert find_format(text + " ") == key
        assert find_format(text + " ,") is None
    elif not row.is_elided:
        assert find_format(text + "~") is None


def test_texts_with_one_byte_more():
    trigger = FORMATS["doorbell.trigger"].text
    assert find_format(trigger.replace("mask = 0x%08x", "mask = 0x%08x,")) == "doorbell.trigger"
    assert find_format(trigger.replace("mask", "mast")) is None
    assert find_format(FORMATS["indirection.after"].text.replace("After ", "After  ")) == "indirection.after"
    assert find_format("S: BEGIN on mariana_plus") == "boot.mariana_plus"
    assert find_format("S: BEGIN on mariana now") == "boot.mariana"


def test_strings_and_their_places(payloads):
    found = {(s.offset, s.text) for s in c_strings(payloads[image("CAYMAN")], "x", 2)}
    assert found >= {(at, text[:-1].decode()) for at, text in strings_of("CAYMAN_NX")}
    assert [s.text for s in c_strings(b"ab\0\x80abc\n\0abcd", "x", 3)] == ["abc\n"]
    assert string_at(b"\0abc\0", 1).text == "abc"
    assert string_at(b"\0abc", 1) is None
    assert string_at(b"", 9) is None
    assert next(c_strings(b"a\tb\0", "x")).shown == "a\\tb"


def test_an_endless_string_is_refused():
    assert len(list(c_strings(b"a" * 4096 + b"\0", "x"))) == 1
    with pytest.raises(InputError) as caught:
        list(c_strings(bytes(9) + b"a" * 4097 + b"\0", "x"))
    assert caught.value.rule == "images.string"


def test_endless_strings_are_refused():
    with pytest.raises(InputError) as caught:
        list(c_strings(b"ab\0" * ((1 << 17) + 1), "x"))
    assert caught.value.rule == "images.strings"


def test_lines_of_random_bytes_as_a_plain_split_counts_them():
    rng = random.Random(5)
    for _ in range(300):
        data = bytes(rng.choice(b"ab\n\0") for _ in range(rng.randrange(40)))
        for pattern in (b"a", b"ab", b"aa"):
            assert count_lines(data, pattern) == sum(pattern in line for line in data.split(b"\n"))


def test_the_layout_of_the_archive_is_the_published_one():
    data = dram("CAYMAN_NX")
    assert data[0x386A:0x3870] == b"RD\0WR\0"  # read by a source behind GENERATE
    assert data[0x3868:0x386A] == b"\n\0"
