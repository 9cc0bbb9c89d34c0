"""`dge image` on the synthetic archive: what each subcommand prints, its JSON by schema, its exit code."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic_images

Dge = Callable[..., Any]
CAYMAN = "img_CAYMAN_NX_POOL_DEBUG_DRAM"
PLUS = "img_MARIANA_PLUS_NX_POOL_DEBUG_DRAM"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("image") / "libnrtucode.a"
    path.write_bytes(synthetic_images.archive(synthetic_images.payloads()))
    return path


def test_ls(dge: Dge, archive: Path) -> None:
    listed = dge("image", "ls", archive, "--json").json("image_ls")
    sizes = [size for pair in synthetic_images.SIZES.values() for size in pair]
    assert [one["size"] for one in listed] == sizes
    one = listed[3]
    assert (one["name"], one["generation"], one["core"], one["mode"], one["segment"]) == (
        CAYMAN, "CAYMAN", "NX", "DEBUG", "DRAM",
    )  # fmt: skip
    text = dge("image", "ls", archive)
    assert text.lines[-1].startswith(
        "images (published): SUNDA 2 (48), CAYMAN 4 (124), MARIANA 4 (124), MARIANA_PLUS 4"
    )
    assert dge("image", "ls", "-", stdin=archive.read_bytes()).text == text.text


def test_carve(dge: Dge, archive: Path, tmp_path: Path) -> None:
    carved = dge("image", "carve", archive, CAYMAN, "-o", tmp_path / "one", "--json").json("image_carve")
    assert [one["file"] for one in carved] == [f"{CAYMAN}.bin"]
    assert (tmp_path / "one" / f"{CAYMAN}.bin").read_bytes() == synthetic_images.dram("CAYMAN_NX")
    assert len(dge("image", "carve", archive, "--all", "-o", tmp_path / "all").lines) == 14
    assert len(os.listdir(tmp_path / "all")) == 14
    for argv in ((), (CAYMAN, "--all")):
        refused = dge("image", "carve", archive, *argv, "-o", tmp_path / "none")
        assert refused.code == 2
        assert "images.carve" in refused.err
    assert "images.unknown" in dge("image", "carve", archive, "img_X", "-o", tmp_path / "none").err
    assert not (tmp_path / "none").exists()


def test_strings(dge: Dge, archive: Path) -> None:
    entries = dge("image", "strings", archive, "--image", CAYMAN, "--json").json_lines("image_strings")
    by_text = {entry["text"]: entry for entry in entries}
    assert by_text["S: DGE: Select backend Pool"] == {
        "image": CAYMAN, "offset": "0x3157", "va": "0x83157", "text": "S: DGE: Select backend Pool", "format": "select.pool",
    }  # fmt: skip
    assert "RD" not in by_text
    lines = dge("image", "strings", archive, "--image", CAYMAN, "--min", "2").lines
    assert f"{CAYMAN}  0x386a  0x8386a  token.rd  RD" in lines
    assert not any("_IRAM" in line for line in dge("image", "strings", archive).lines)


def test_census(dge: Dge, archive: Path, tmp_path: Path) -> None:
    answer = dge("image", "census", archive, "--json")
    counts = answer.json("image_census")
    assert answer.code == 0
    pushes = (
        "GENERATE to DMA[%d]: %s : addr=0x%llx, elem_size=%d, sem_num=%i",
        "DIMPUSH to DMA[%d]: [%u,%u][%d,%d]",
        "REGWRITE to DMA[%d]",
    )
    assert {
        name: tuple(counts[f"img_{name}_NX_POOL_DEBUG_DRAM"][f"S: push {push}"] for push in pushes)
        for name in ("SUNDA", "CAYMAN", "MARIANA", "MARIANA_PLUS")
    } == {"SUNDA": (0, 0, 0), "CAYMAN": (1, 1, 1), "MARIANA": (1, 1, 1), "MARIANA_PLUS": (1, 1, 0)}  # fmt: skip
    rows = dge("image", "census", archive, "--json", "--published").json("image_published")
    assert not any(row["differs"] for row in rows)
    text = dge("image", "census", archive)
    (line,) = [line for line in text.lines if line.startswith("push REGWRITE")]
    assert line.split() == ["push", "REGWRITE", "lines", "0", "1", "1", "0"]
    blob = tmp_path / "blob.bin"
    blob.write_bytes(synthetic_images.dram("CAYMAN_NX").replace(b"push REGWRITE", b"push regwrite"))
    changed = dge("image", "census", blob)
    assert changed.code == 1
    assert any("push REGWRITE" in line and "0 != 1" in line for line in changed.lines)
    assert f"{CAYMAN}: missing: S: push REGWRITE to DMA[%d]" in changed.lines


def test_anchors(dge: Dge, archive: Path, tmp_path: Path) -> None:
    answer = dge("image", "anchors", archive, "--json")
    checks = answer.json("image_anchors")
    assert answer.code == 0
    assert sum(check["status"] == "match" for check in checks) == 77
    text = dge("image", "anchors", archive)
    assert text.lines[-1] == "match 77, unseen 12, absent 2"
    assert any("beqz a3, 0xf59f" in line and "match" in line for line in text.lines)
    code = bytearray(synthetic_images.iram("CAYMAN_NX"))
    code[0xF54E] ^= 0xFF
    (tmp_path / "code.bin").write_bytes(code)
    changed = dge("image", "anchors", tmp_path / "code.bin")
    assert changed.code == 1
    assert any("differs (published 16d304 beqz a3, 0xf59f)" in line for line in changed.lines)


def test_identify(dge: Dge, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(synthetic_images.dram("MARIANA_PLUS_NX"))
    answer = dge("image", "identify", tmp_path / "blob", "--json")
    (found,) = answer.json("image_identify")
    assert (found["generation"], found["core"], found["build"], answer.code) == ("MARIANA_PLUS", "NX", "published", 0)
    assert dge("image", "identify", archive, "--image", PLUS).lines[0].startswith(f"{PLUS}: MARIANA_PLUS NX DEBUG DRAM")
    (tmp_path / "blob").write_bytes(synthetic_images.with_moved_line())
    assert "  moved: setup.start by +0x40" in dge("image", "identify", tmp_path / "blob").lines
    (tmp_path / CAYMAN).write_bytes(synthetic_images.dram("MARIANA_PLUS_NX"))
    assert "  its name says otherwise" in dge("image", "identify", tmp_path / CAYMAN).lines
    (tmp_path / "blob").write_bytes(b"\0S: push DIMPUSH to DMA[%d]: [%u,%u][%d,%d]\n\0")
    unknown = dge("image", "identify", tmp_path / "blob")
    assert (unknown.code, unknown.lines[0]) == (1, "blob: not identified, build: unknown")
    assert unknown.lines[1].startswith("  candidates: img_MARIANA_NX_POOL_DEBUG_DRAM, ")


def test_diff(dge: Dge, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(synthetic_images.dram("CAYMAN_NX"))
    (tmp_path / "b.bin").write_bytes(synthetic_images.with_moved_line())
    answer = dge("image", "diff", tmp_path / "a.bin", tmp_path / "b.bin")
    assert (answer.code, answer.lines) == (
        1,
        [
            "a -> b",
            "  moved   0x388e -> 0x38ce (+0x40)  S: Setting up DGE\\n",
            "  0 lost, 0 gained, 1 moved (1 by +0x40)",
        ],
    )
    same = dge("image", "diff", archive, archive, "--json")
    assert same.code == 0
    assert same.json("image_diff")["only_left"] == []
    across = dge("image", "diff", archive, archive, "--image", CAYMAN, "--with", PLUS, "--json")
    (pair,) = across.json("image_diff")["images"]
    assert (across.code, pair["left"], pair["right"]) == (1, CAYMAN, PLUS)
    assert "images.diff" in dge("image", "diff", archive, archive, "--with", PLUS).err
    part = tmp_path / "part"
    part.mkdir()
    for name in ("CAYMAN_NX", "MARIANA_NX"):
        (part / f"img_{name}_POOL_DEBUG_DRAM.bin").write_bytes(synthetic_images.dram(name))
    fewer = dge("image", "diff", archive, part)
    assert fewer.code == 1
    assert f"only in {archive}: {PLUS}" in fewer.lines


def test_hostile_names_and_files(dge: Dge, tmp_path: Path) -> None:
    write = synthetic_images.maker()
    evil = "img_\x1b[31m/../x"
    (tmp_path / "evil.a").write_bytes(write.archive({evil: write.relocatable(b"\0S: NOTIFY\n\0")}))
    for verb in ("ls", "identify", "census", "strings"):
        assert dge("image", verb, tmp_path / "evil.a").code in (0, 1)
    refused = dge("image", "carve", tmp_path / "evil.a", "--all", "-o", tmp_path / "out")
    assert (refused.code, "images.name" in refused.err) == (3, True)
    (tmp_path / "cut.a").write_bytes((tmp_path / "evil.a").read_bytes()[:-100])
    cut = dge("image", "ls", tmp_path / "cut.a")
    assert (cut.code, "images.ar_truncated" in cut.err) == (3, True)
    assert dge("image", "ls", tmp_path / "missing").code == 3
    assert dge("image", "anchors", tmp_path / "evil.a").code == 1


def test_the_example_script_builds_the_same_archive(dge: Dge, process: Callable[..., Any], tmp_path: Path) -> None:
    done: subprocess.CompletedProcess[bytes] = process("examples/make_image.py", tmp_path / "made.a", python=True)
    assert done.returncode == 0, done.stderr
    for argv in (("census",), ("anchors",), ("identify",)):
        assert dge("image", *argv, tmp_path / "made.a").code == 0
    made = json.loads(dge("image", "ls", tmp_path / "made.a", "--json").text)
    assert [one["size"] for one in made] == [size for pair in synthetic_images.SIZES.values() for size in pair]
