"""What an image is, by strings, offsets and anchors, whatever its name."""

from __future__ import annotations

import pytest
from synthetic_images import SIZES, dram, strings_of, with_moved_line

from dgekit.images.identify import by_published_name, identify, published_name
from dgekit.images.published import IMAGES
from dgekit.images.source import Image


@pytest.mark.parametrize("name", SIZES)
def test_dram_images_without_a_name(name, payloads):
    reference = f"img_{name}_POOL_DEBUG_DRAM"
    found = identify(Image("blob", "blob", payloads[reference]))
    assert (found.reference, found.mode, found.segment, found.agrees) == (reference, "DEBUG", "DRAM", None)
    assert found.build == ("published" if name in ("CAYMAN_NX", "CAYMAN_Q7", "MARIANA_PLUS_NX") else "other")
    assert found.hash == "differs"  # the strings stand where they should, the rest is zeros


@pytest.mark.parametrize("name", ["CAYMAN_NX", "CAYMAN_Q7", "MARIANA_NX", "MARIANA_PLUS_NX"])
def test_iram_images_without_a_name(name, payloads):
    reference = f"img_{name}_POOL_DEBUG_IRAM"
    found = identify(Image("blob", "blob", payloads[reference]))
    assert (found.reference, found.segment, found.build) == (reference, "IRAM", "published")
    longer = identify(Image("blob", "blob", payloads[reference] + bytes(16)))
    assert (longer.reference, longer.build) == (reference, "published")
    assert any("published are" in reason for reason in longer.evidence)


def test_one_moved_string_is_told_as_moved():
    found = identify(Image("blob", "blob", with_moved_line()))
    assert found.reference == "img_CAYMAN_NX_POOL_DEBUG_DRAM"
    assert found.build == "other"
    assert "moved: setup.start by +0x40" in found.evidence
    assert "49 strings stand at their published offsets, 1 elsewhere" in found.evidence


def test_a_rebuild_with_all_strings_elsewhere(payloads):
    strings = [(at + 0x10, text) for at, text in strings_of("MARIANA_PLUS_NX")]
    found = identify(Image("blob", "blob", dram("MARIANA_PLUS_NX", strings)))
    assert (found.reference, found.build) == ("img_MARIANA_PLUS_NX_POOL_DEBUG_DRAM", "other")


def test_lines_that_a_generation_lost_speak_against_it(payloads):
    strings = strings_of("CAYMAN_Q7")
    kept = [(at, text) for at, text in strings if (b"DGE " in text and at < 0x1000) or b"loop index" in text]
    found = identify(Image("blob", "blob", dram("CAYMAN_Q7", kept)))
    assert found.reference == "img_MAVERICK_Q7_POOL_DEBUG_DRAM"
    data = payloads["img_CAYMAN_Q7_POOL_DEBUG_DRAM"]
    assert identify(Image("blob", "blob", data)).candidates == ("img_CAYMAN_Q7_POOL_DEBUG_DRAM",)


def test_a_name_that_says_otherwise(payloads):
    data = payloads["img_CAYMAN_NX_POOL_DEBUG_DRAM"]
    found = identify(Image("img_MARIANA_NX_POOL_DEBUG_DRAM", "", data))
    assert found.agrees is False
    assert found.label.generation == "CAYMAN"
    assert identify(Image("img_CAYMAN_NX_POOL_DEBUG_DRAM", "", data)).agrees is True


def test_names_without_lines_are_a_test_image():
    found = identify(Image("blob", "blob", b"\0dge_backend_rtl.cpp\0dge_backend_rtl\0"))
    assert (found.mode, found.reference) == ("TEST", "")
    size = IMAGES["img_CAYMAN_NX_POOL_TEST_DRAM"].size
    whole = bytes.fromhex("34cb9960") + b"\0dge_backend_rtl.cpp\0dge_backend_rtl\0"
    found = identify(Image("blob", "blob", whole + bytes(size - len(whole))))
    assert (found.mode, found.reference) == ("TEST", "img_CAYMAN_NX_POOL_TEST_DRAM")


def test_what_cannot_be_decided_names_the_candidates():
    found = identify(
        Image("blob", "blob", b"\0S: push GENERATE to DMA[%d]: %s : addr=0x%llx, elem_size=%d, sem_num=%i\n\0")
    )
    assert (found.reference, found.build) == ("", "unknown")
    assert set(found.candidates) == {f"img_{g}_NX_POOL_DEBUG_DRAM" for g in ("CAYMAN", "MARIANA", "MARIANA_PLUS")}
    nothing = identify(Image("blob", "blob", bytes(100)))
    assert (nothing.reference, nothing.build, nothing.candidates) == ("", "unknown", ())


def test_a_silent_image_by_its_size():
    size = IMAGES["img_CAYMAN_NX_POOL_PERF_DRAM"].size
    found = identify(Image("blob", "blob", bytes.fromhex("34cb9960") + bytes(size - 4)))
    assert (found.reference, found.build, found.mode) == ("img_CAYMAN_NX_POOL_PERF_DRAM", "unknown", "PERF")
    both = identify(Image("blob", "blob", bytes(0x10120)))
    assert set(both.candidates) == {"img_CAYMAN_Q7_POOL_DKL_PERF_IRAM", "img_CAYMAN_Q7_POOL_DKL_TEST_IRAM"}
    assert both.reference == ""


def test_facts_are_looked_up_by_the_name_or_by_the_content(payloads):
    data = payloads["img_CAYMAN_NX_POOL_DEBUG_DRAM"]
    blob = Image("dump", "dump", data)
    named = Image("img_CAYMAN_NX_POOL_DEBUG_DRAM", "", data)
    assert published_name(blob) == named.name
    assert by_published_name((blob, named)) == {named.name: named}
    assert by_published_name((Image("x", "x", bytes(9)),)) == {}
