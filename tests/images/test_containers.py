"""Archives, ELF files, shared objects, blobs and folders: what is read, and what is refused."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from dgekit.core.errors import DgeError, InputError, UsageError
from dgekit.images import ar, elf, embedded, limits
from dgekit.images.boot import jump_target, reset_targets, sniff_segment
from dgekit.images.names import Label, image_name, read_label
from dgekit.images.published import MEMBERS, SHARED_OBJECT, Container, hash_check
from dgekit.images.source import Image, by_name, image_named, load_images, read_images


def refused(data: bytes, rule: str) -> None:
    with pytest.raises(DgeError) as caught:
        load_images(data, "lib.a")
    assert caught.value.rule == rule


def test_an_archive_gives_its_payloads_unchanged(archive, payloads):
    images = load_images(archive, "lib.a")
    assert {image.name: image.data for image in images} == payloads
    assert [image.member for image in images] == [f"{name}_contents.c.o" for name in payloads]
    assert all(image.sha256 == hashlib.sha256(payloads[image.name]).hexdigest() for image in images)


@pytest.mark.skipif(shutil.which("ar") is None or shutil.which("objcopy") is None, reason="no binutils")
def test_binutils_read_the_same(archive_file, payloads, tmp_path):
    name = "img_CAYMAN_NX_POOL_DEBUG_DRAM"
    listed = subprocess.run(["ar", "t", archive_file], capture_output=True, text=True, check=True).stdout.split()
    assert listed == [f"{one}_contents.c.o" for one in payloads]
    subprocess.run(["ar", "x", archive_file, f"{name}_contents.c.o"], cwd=tmp_path, check=True)
    command = ["objcopy", "-O", "binary", "--only-section=.rodata", f"{name}_contents.c.o", "out.bin"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "out.bin").read_bytes() == payloads[name]


@pytest.mark.skipif(shutil.which("ar") is None, reason="no binutils")
def test_an_archive_of_binutils_is_read(tmp_path):
    for name in ("short.bin", "a_name_that_is_longer_than_sixteen_characters.bin"):
        (tmp_path / name).write_bytes(name.encode() * 3)
    subprocess.run(["ar", "rcs", "x.a", "short.bin", *tmp_path.glob("a_name*")], cwd=tmp_path, check=True)
    images = read_images(tmp_path / "x.a")
    assert {image.member: image.data for image in images} == {
        name: name.encode() * 3 for name in ("short.bin", "a_name_that_is_longer_than_sixteen_characters.bin")
    }


def test_names_of_bsd_archives():
    data = b"img_x.bin\0\0\0payload!"
    member = f"{'#1/12':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data
    (found,) = ar.read_members(ar.MAGIC + member, "x")
    assert (found.name, bytes(found.data)) == ("img_x.bin", b"payload!")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("img_MARIANA_NX_POOL_DEBUG_DRAM", Label("MARIANA", "NX", "POOL", "DEBUG", "DRAM")),
        ("img_MARIANA_PLUS_NX_POOL_DEBUG_DRAM", Label("MARIANA_PLUS", "NX", "POOL", "DEBUG", "DRAM")),
        ("img_SUNDA_NX_ACT_RELEASE_IRAM", Label("SUNDA", "NX", "ACT", "RELEASE", "IRAM")),
        ("img_CAYMAN_Q7_POOL_PERF_EXTISA_0_JSON", Label("CAYMAN", "Q7", "POOL", "PERF_EXTISA_0", "JSON")),
        ("hwdecode_CAYMAN_TABLE", Label("CAYMAN")),
        ("img_MARIANAS_NX_POOL_DEBUG_DRAM", Label()),
        ("nrtucode_core", Label()),
    ],
)
def test_labels(name, label):
    assert read_label(name) == label


def test_names_without_their_container():
    for member in ("_contents.c.o", "_contents", ".bin", "_get.data", ".o"):
        assert image_name(f"img_SUNDA_NX_PE_TEST_IRAM{member}") == "img_SUNDA_NX_PE_TEST_IRAM"
    assert image_name("CAYMAN_NX_POOL_DEBUG_IRAM_get.data") == "img_CAYMAN_NX_POOL_DEBUG_IRAM"
    assert sum(MEMBERS.values()) == 435


def test_addresses_follow_the_segment():
    assert Image("img_CAYMAN_NX_POOL_DEBUG_DRAM", "", b"").va(0x3157) == 0x83157
    assert Image("img_CAYMAN_NX_POOL_DEBUG_IRAM", "", b"").va(0xF544) == 0xF544
    assert Image("img_MAVERICK_Q7_POOL_DEBUG_SRAM", "", b"").va(4) is None
    assert Image("blob", "", bytes.fromhex("34cb9960") + bytes(8)).va(4) == 0x80004


@pytest.mark.parametrize(
    ("head", "targets"),
    [
        ("067600000000867700", (0x1DC, 0x1E8)),
        ("067f00000000868000", (0x200, 0x20C)),
        ("067d00000000867e00", (0x1F8, 0x204)),
        ("067500000000867600", (0x1D8, 0x1E4)),
        ("067600000000867800", None),
        ("0676", None),
    ],
)
def test_boot_jumps(head, targets):
    data = bytes.fromhex(head)
    assert reset_targets(data) == targets
    assert sniff_segment(data) == ("IRAM" if targets else "")


def test_a_jump_backwards():
    assert jump_target(bytes(8) + bytes.fromhex("06fdff"), 8) == 0
    assert jump_target(bytes.fromhex("06fdff"), 0) is None


def test_hash_checks():
    assert hash_check("img_CAYMAN_NX_POOL_DEBUG_DRAM", 28448, "7bdf6ed7ccd27b37" + "0" * 48) == "same"
    assert hash_check("img_CAYMAN_NX_POOL_DEBUG_DRAM", 28449, "7bdf6ed7ccd27b37" + "0" * 48) == "differs"
    assert hash_check("img_CAYMAN_NX_ACT_DEBUG_DRAM", 28448, "7b") == ""
    assert SHARED_OBJECT.is_file(10_276_288, "b7c67e898a116454" + "0" * 39 + "632fc329b")
    assert not SHARED_OBJECT.is_file(10_276_288, "b7c67e898a116454" + "0" * 48)


# shared objects


def test_a_shared_object_by_symbols(maker, payloads):
    dram, code = payloads["img_CAYMAN_NX_POOL_DEBUG_DRAM"], payloads["img_CAYMAN_NX_POOL_DEBUG_IRAM"]
    blocks = [(".rodata", 0x1000, dram + code), (".text", 0x900000, bytes(64))]
    symbols = [
        ("CAYMAN_NX_POOL_DEBUG_DRAM_get.data", 0, 0x1000, len(dram)),
        ("CAYMAN_NX_POOL_DEBUG_IRAM_get.data", 0, 0x1000 + len(dram), 0),
        ("something_else", 0, 0x1000, 4),
        ("MARIANA_NX_POOL_DEBUG_IRAM_get.data", 0, 0x99999999, 4),
    ]
    images = load_images(maker.elf(3, blocks, symbols), "x.so")
    assert {image.name: image.data for image in images} == {
        "img_CAYMAN_NX_POOL_DEBUG_DRAM": dram,
        "img_CAYMAN_NX_POOL_DEBUG_IRAM": code,
    }


def test_a_getter_is_never_carved(maker):
    data = bytearray(maker.elf(3, [(".text", 0, bytes(64))], [("img_CAYMAN_NX_POOL_DEBUG_IRAM", 0, 0, 16)]))
    data[data.index(struct.pack("<BBHQQ", 0x11, 0, 1, 0, 16))] = 0x12  # a function
    with pytest.raises(InputError) as caught:
        load_images(bytes(data), "x.so")
    assert caught.value.rule == "images.none"


def test_a_stripped_shared_object_is_scanned(maker, payloads):
    dram, code = payloads["img_CAYMAN_NX_POOL_DEBUG_DRAM"], payloads["img_CAYMAN_NX_POOL_DEBUG_IRAM"]
    pad = bytes(32)
    body = bytes(-64 % 32) + pad + code + bytes(-len(code) % 32) + dram
    images = load_images(maker.elf(3, [(".rodata", 0, body)], []), "x.so")
    assert [image.segment for image in images] == ["IRAM", "DRAM"]
    assert images[0].data[: len(code)] == code
    assert images[1].data == dram


def test_the_published_shared_object_is_cut_at_its_offsets(maker, monkeypatch):
    body = bytes(range(256)) * 0x8000
    data = maker.elf(3, [(".rodata", 0, body)], [])
    known = Container("x.so", len(data), hashlib.sha256(data).hexdigest(), "")
    monkeypatch.setattr(embedded, "SHARED_OBJECT", known)
    images = {image.name: image for image in load_images(data, "x.so")}
    assert images["img_CAYMAN_NX_POOL_DEBUG_IRAM"].data == data[0x1B1420 : 0x1B1420 + 116_768]
    assert images["img_CAYMAN_NX_POOL_DEBUG_DRAM"].data == data[0x1CDC40 : 0x1CDC40 + 28_448]


def test_symbols_may_not_ask_for_more_than_the_limit(maker, monkeypatch):
    monkeypatch.setattr(embedded, "MAX_BYTES", 100)
    names = [f"img_CAYMAN_NX_POOL_DEBUG{i}_DRAM" for i in range(3)]
    data = maker.elf(3, [(".rodata", 0, bytes(64))], [(name, 0, 0, 60) for name in names])
    refused(data, "images.total")


def test_symbols_are_counted(maker, monkeypatch):
    monkeypatch.setattr(elf, "MAX_SYMBOLS", 2)
    data = maker.elf(3, [(".rodata", 0, bytes(64))], [(f"s{i}", 0, 0, 4) for i in range(3)])
    refused(data, "images.elf_symbols")


# folders and single files


def test_a_folder_of_blobs_and_objects(tmp_path, maker, payloads):
    for name in list(payloads)[:3]:
        (tmp_path / f"{name}.bin").write_bytes(payloads[name])
    (tmp_path / "img_CAYMAN_NX_ACT_PERF_DRAM_contents.c.o").write_bytes(maker.relocatable(b"abc"))
    (tmp_path / "inner").mkdir()
    images = {image.name: image.data for image in read_images(tmp_path)}
    assert images == {name: payloads[name] for name in list(payloads)[:3]} | {"img_CAYMAN_NX_ACT_PERF_DRAM": b"abc"}


def test_folders_and_files_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(InputError) as caught:
        read_images(tmp_path)
    assert caught.value.rule == "images.empty"
    for path in (tmp_path / "missing", Path("/dev/zero"), tmp_path / "nul\0name"):
        with pytest.raises(InputError) as caught:
            read_images(path)
        assert caught.value.rule == "images.file"
    (tmp_path / "a").write_bytes(bytes(60))
    (tmp_path / "b").write_bytes(bytes(60))
    monkeypatch.setattr(limits, "MAX_BYTES", 100)
    with pytest.raises(InputError) as caught:
        read_images(tmp_path)
    assert caught.value.rule == "images.bytes"
    monkeypatch.setattr(limits, "MAX_BYTES", 200)
    monkeypatch.setattr(limits, "MAX_MEMBERS", 1)
    with pytest.raises(InputError) as caught:
        read_images(tmp_path)
    assert caught.value.rule == "images.members"


def test_images_by_name():
    images = (Image("a", "a.o", b""), Image("b", "b.o", b""))
    assert by_name(images) == {"a": images[0], "b": images[1]}
    assert image_named(images, "b.o") is images[1]
    with pytest.raises(InputError) as twice:
        by_name((*images, Image("a", "other", b"")))
    assert twice.value.rule == "images.duplicate"
    with pytest.raises(UsageError) as unknown:
        image_named((Image("img_CAYMAN_NX_POOL_DEBUG_DRAM", "", b""),), "img_CAYMAN_NX_POOL_DEBUG_DRM")
    assert (unknown.value.rule, unknown.value.fix) == ("images.unknown", "write img_CAYMAN_NX_POOL_DEBUG_DRAM")


# hostile files


def test_truncated_archives_never_pass(archive):
    whole = {image.name for image in load_images(archive, "x")}
    for end in range(8, len(archive), 40_013):
        try:
            images = load_images(archive[:end], "x")
        except InputError as error:
            assert error.rule.startswith("images.")
        else:
            assert {image.name for image in images} < whole


def header(name: str = "a/", size: object = 4, mark: bytes = b"`\n") -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}".encode() + mark


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (header()[:30], "images.ar_truncated"),
        (header(size=9999999999), "images.ar_truncated"),
        (header(size=-4) + b"abcd", "images.ar_header"),
        (header(size="x") + b"abcd", "images.ar_header"),
        (header(mark=b"xx") + b"abcd", "images.ar_header"),
        (header(name="/77") + b"abcd", "images.ar_name"),
        (header(name="/x") + b"abcd", "images.ar_name"),
        (header(name="//", size=4) + b"abcd" + header(name="/0") + b"abcd", "images.ar_name"),
        (header(name="#1/9") + b"abcd", "images.ar_name"),
        (header(name="#1/x") + b"abcd", "images.ar_name"),
        (header() + elf.MAGIC, "images.elf_truncated"),
    ],
)
def test_damaged_archives(body, rule):
    refused(ar.MAGIC + body, rule)


@pytest.mark.parametrize("head", [b"\x1f\x8b\x08", b"PK\x03\x04", b"\xfd7zXZ\0", b"BZh9", b"\x28\xb5\x2f\xfd"])
def test_packed_files_are_not_unpacked(head):
    refused(head + bytes(99), "images.packed")


def test_thin_archives_and_large_counts(monkeypatch):
    refused(ar.THIN_MAGIC, "images.ar_thin")
    refused(ar.MAGIC + (header(size=0) * (limits.MAX_MEMBERS + 1)), "images.members")
    monkeypatch.setattr(limits, "MAX_BYTES", 10)
    refused(bytes(11), "images.bytes")


def damaged(maker, place: int, form: str, *values: int) -> bytes:
    data = bytearray(maker.relocatable(b"payload"))
    struct.pack_into(form, data, place, *values)
    return bytes(data)


@pytest.mark.parametrize(
    ("place", "form", "values", "rule"),
    [
        (4, "<B", (1,), "images.elf_class"),
        (5, "<B", (2,), "images.elf_class"),
        (40, "<Q", (1 << 63,), "images.elf_truncated"),
        (58, "<H", (40,), "images.elf_header"),
        (60, "<H", (0,), "images.elf_header"),
        (60, "<H", (65535,), "images.elf_truncated"),
    ],
)
def test_damaged_elf_headers(maker, place, form, values, rule):
    refused(damaged(maker, place, form, *values), rule)


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        (32, 1 << 62, "images.elf_truncated"),  # size
        (24, (1 << 64) - 8, "images.elf_truncated"),  # offset
        (8, 0x802, "images.elf_compressed"),  # flags
        (32, 20, "images.elf_overlap"),  # size into the next section
    ],
)
def test_damaged_sections(maker, field, value, rule):
    table = struct.unpack_from("<Q", maker.relocatable(b"payload"), 40)[0]
    refused(damaged(maker, table + 64 + field, "<Q", value), rule)


def test_two_payloads_are_refused(maker):
    refused(maker.elf(1, [(".rodata", 0, b"one"), (".rodata", 0, b"two")], []), "images.elf_sections")


def test_an_object_without_a_payload_is_an_empty_image(maker):
    (image,) = load_images(maker.elf(1, [(".text", 0, b"code")], []), "img_CAYMAN_NX_POOL_PERF_SRAM_contents.c.o")
    assert (image.name, image.data) == ("img_CAYMAN_NX_POOL_PERF_SRAM", b"")


def test_a_scan_of_nothing_but_starts_is_bounded(maker):
    start = time.perf_counter()
    refused(maker.elf(3, [(".rodata", 0, (bytes.fromhex("34cb9960") + bytes(28)) * 20_000)], []), "images.members")
    assert time.perf_counter() - start < 2
