"""NEFFs as folders and back: byte for byte, and nothing outside of the folder or half written."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neffs import copy, entry, members, pack

from dgekit.core.errors import DgeError, EncodeError, InputError, UsageError
from dgekit.frontends.neff.archive import Limits
from dgekit.frontends.neff.folder import HEADER_FILE, build_folder, extract
from dgekit.frontends.neff.header import HEADER_SIZE, encode_header
from dgekit.frontends.neff.opened import OpenNeff, open_neff
from dgekit.frontends.neff.write import build_neff

EXAMPLE = Path(__file__).parents[3] / "examples" / "gradient.neff"


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def packed(*entries: tuple[tarfile.TarInfo, bytes]) -> OpenNeff:
    """An opened NEFF with more archive entries, as they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members([]).items():
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
        for info, content in entries:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    payload = buffer.getvalue()
    return open_neff(encode_header({"header_size": HEADER_SIZE, "data_size": len(payload)}) + payload, name="f.neff")


def named(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def test_the_example_comes_back_byte_for_byte(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    opened = open_neff(EXAMPLE)
    paths = extract(opened, folder)
    assert files(folder) == {*opened.members, HEADER_FILE} == {p.relative_to(folder).as_posix() for p in paths}
    assert all((folder / name).read_bytes() == opened.members[name] for name in opened.members)
    assert build_folder(folder) == EXAMPLE.read_bytes()


headers = st.fixed_dictionaries(
    {},
    optional={
        "pkg_version": st.sampled_from([0, 1, 2]),
        "num_tpb": st.integers(0, 3),
        "name": st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace")),
        "neff_build_version": st.binary(max_size=20),
        "hash": st.binary(min_size=32, max_size=32),
        "data_size": st.integers(0, 100),
        "uuid": st.binary(max_size=16),
        "tpb_per_node": st.binary(max_size=64),
        "feature_bits": st.integers(0, (1 << 64) - 1),
        "padding": st.binary(max_size=9),
    },
)


@settings(max_examples=40, deadline=None)
@given(
    header=headers, compress=st.booleans(), order=st.permutations(sorted(members([], cores=2))), folders=st.booleans()
)
def test_any_header_and_order_come_back(
    header: dict[str, Any], compress: bool, order: list[str], folders: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = members([entry(copy())], cores=2)
    listed = {"sg01/": b"", "empty/": b""} if folders else {}
    data = pack({**listed, **{name: found[name] for name in order}}, header, compress=compress)
    folder = tmp_path_factory.mktemp("f") / "out"
    extract(open_neff(data), folder)
    assert build_folder(folder) == data


def test_some_members_only(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    extract(open_neff(EXAMPLE), folder, ["sg00/pool.json"])
    extract(open_neff(EXAMPLE), folder, ["sg00/pe.json", "sg00/pool.json"])
    assert files(folder) == {"sg00/pool.json", "sg00/pe.json"}
    with pytest.raises(UsageError) as caught:
        extract(open_neff(EXAMPLE), folder, ["sg00/poool.json"])
    assert caught.value.rule == "neff.extract" and "sg00/pool.json" in caught.value.fix


def snapshot(folder: Path) -> dict[str, Any]:
    return {path.as_posix(): path.lstat().st_mode for path in folder.rglob("*")}


HOSTILE = [
    (named("../evil"), "neff.path"),
    (named("sg00/../../evil"), "neff.path"),
    (named("/evil"), "neff.path"),
    (named("../evil/", tarfile.DIRTYPE), "neff.path"),
    (named("link", tarfile.SYMTYPE, "/etc"), "neff.member"),
    (named("hard", tarfile.LNKTYPE, "/etc/passwd"), "neff.member"),
    (named("neff.json"), "neff.duplicate"),
    (named("pipe", tarfile.FIFOTYPE), "neff.member"),
    (named("neff.json/x"), "neff.extract"),
    (named("n" * 300), "neff.extract"),
    (named(HEADER_FILE), "neff.extract"),
]


@pytest.mark.parametrize(("info", "rule"), HOSTILE, ids=[info.name[:20] for info, _ in HOSTILE])
def test_hostile_archives_write_nothing(info: tarfile.TarInfo, rule: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        extract(packed((info, b"")), tmp_path / "out")
    assert caught.value.rule == rule and snapshot(tmp_path) == {}


@pytest.mark.parametrize("way", ["link", "file", "folder"])
def test_what_stands_in_the_way(way: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "out", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    if way == "link":
        (folder / "sg00").symlink_to(outside)
    elif way == "file":
        (folder / "sg00").write_bytes(b"mine")
    else:
        (folder / "neff.json").mkdir()
    before = snapshot(tmp_path)
    with pytest.raises(InputError) as caught:
        extract(open_neff(EXAMPLE), folder)
    assert caught.value.rule == "neff.extract" and snapshot(tmp_path) == before


def test_a_link_in_a_files_place_is_replaced_not_written_through(tmp_path: Path) -> None:
    folder, mine = tmp_path / "out", tmp_path / "mine"
    folder.mkdir()
    mine.write_bytes(b"mine")
    (folder / "neff.json").symlink_to(mine)
    extract(open_neff(EXAMPLE), folder)
    assert mine.read_bytes() == b"mine" and not (folder / "neff.json").is_symlink()


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        extract(open_neff(EXAMPLE), tmp_path / "out")
    assert snapshot(tmp_path) == {}


def test_a_folder_without_a_header_file(tmp_path: Path) -> None:
    """Defaults, names sorted, the same bytes each time; the same as the writer gives."""
    wanted = {
        name: value if isinstance(value, bytes) else json.dumps(value).encode() for name, value in members([]).items()
    }
    for name, content in reversed(wanted.items()):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    built = build_folder(tmp_path)
    assert built == build_folder(tmp_path) == build_neff(dict(sorted(wanted.items())))
    assert list(open_neff(built).members) == sorted(wanted)
    plain = build_folder(tmp_path, header={"header": {"name": "n", "feature_bits": "0x100"}, "members": ["neff.json"]},
                         compress=False)  # fmt: skip
    opened = open_neff(plain)
    assert (opened.header.text("name"), opened.header.number("feature_bits")) == ("n", 0x100)
    assert next(iter(opened.members)) == "neff.json" and not opened.members.compressed


def test_folders_that_are_no_neff(tmp_path: Path) -> None:
    def refused(rule: str, **more: Any) -> None:
        with pytest.raises(DgeError) as caught:
            build_folder(tmp_path, **more)
        assert caught.value.rule == rule

    with pytest.raises(InputError):
        build_folder(tmp_path / "none")
    (tmp_path / "a").write_bytes(b"1")
    refused("neff.reference", header={"members": ["b"]})
    refused("neff.duplicate", header={"members": ["a", "a"]})
    refused("neff.path", header={"members": ["../x/"]})
    refused("neff.key", header={"headers": {}})
    refused("neff.header", header={"header": {"uuid": "no hex"}})
    refused("neff.header", header={"header": {"num_tpb": "many"}})
    refused("layout.range", header={"header": {"num_tpb": 1 << 40}})
    refused("neff.limit", limits=Limits(unpacked=0))
    (tmp_path / "link").symlink_to("a")
    refused("neff.member")
    (tmp_path / "link").unlink()
    (tmp_path / "b\nc").write_bytes(b"")
    refused("neff.path")
    (tmp_path / "b\nc").unlink()
    (tmp_path / HEADER_FILE).write_bytes(b"{")
    refused("neff.json")


def test_names_too_long_for_the_archive(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 200)
    deep.mkdir(parents=True)
    (deep / "f").write_bytes(b"")
    with pytest.raises(EncodeError) as caught:
        build_folder(tmp_path)
    assert caught.value.rule == "neff.name"
