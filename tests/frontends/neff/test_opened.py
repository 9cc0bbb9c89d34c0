"""NEFFs that are not read whole: large archives from remembered states, dma lists as streams, leniency."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import threading
from pathlib import Path

import pytest
from neffs import copy, entry, members, neff, pack

from dgekit.core.errors import InputError, Issue
from dgekit.frontends.neff import archive
from dgekit.frontends.neff.archive import GzipSource, Limits, read_archive
from dgekit.frontends.neff.header import HEADER_SIZE
from dgekit.frontends.neff.opened import open_neff
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff.source import BytesSource, open_source, source_of
from dgekit.frontends.neff.write import build_neff


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept, and a state is remembered every 10,000 bytes."""
    monkeypatch.setattr(archive, "KEPT", 0)
    monkeypatch.setattr(archive, "SPACING", 10_000)
    monkeypatch.setattr(archive, "PIECE", 3000)


def contents() -> dict[str, bytes]:
    rng = random.Random(1)
    return {f"m{number}": rng.randbytes(rng.randrange(30_000)) for number in range(20)}


def test_members_of_an_archive_that_is_not_kept(small_buffers: None, tmp_path: Path) -> None:
    """In any order, in pieces, from memory and from a file, also when gzip streams follow one another."""
    wanted = contents()
    tar = build_neff(wanted, compress=False)[HEADER_SIZE:]
    half = len(tar) // 2
    path = tmp_path / "a.gz"
    for stored in (gzip.compress(tar), gzip.compress(tar[:half]) + gzip.compress(tar[half:]) + bytes(700)):
        path.write_bytes(stored)
        for source in (source_of(stored), open_source(path, "a.gz", 1 << 30)):
            found = read_archive(source, "f")
            assert isinstance(found.data, GzipSource) and len(found.data.states) > 10
            assert dict(found) == wanted
            for name in random.Random(2).sample(sorted(wanted), len(wanted)):
                pair = found.chunks(name), found.chunks(name)  # two readers at once
                assert [b"".join(x) for x in zip(*(list(one) for one in pair), strict=True)]
                assert b"".join(found.chunks(name)) == wanted[name]


def test_limits_and_damage_are_told_before_anything_is_read(small_buffers: None) -> None:
    tar = build_neff(contents(), compress=False)[HEADER_SIZE:]
    stored = gzip.compress(tar)
    for payload, rule in (
        (stored[:-30], "neff.truncated"),
        (stored[:-8] + bytes(8), "neff.gzip"),
        (stored + b"x", "neff.gzip"),
    ):
        with pytest.raises(InputError) as caught:
            read_archive(payload, "f")
        assert caught.value.rule == rule
    with pytest.raises(InputError) as caught:
        read_archive(stored, "f", Limits(unpacked=100_000))
    assert caught.value.rule == "neff.limit"


def test_to_look_for_a_member_reads_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_archive(build_neff({"a": bytes(100)})[HEADER_SIZE:], "f")
    monkeypatch.setattr(type(found), "__getitem__", lambda *_: pytest.fail("a member was read"))
    assert "a" in found and "b" not in found


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    path = tmp_path / "f.neff"
    path.write_bytes(neff([entry(copy(), id=number) for number in range(200)]))
    told: list[tuple[str, int, int]] = []
    opened = open_neff(path, progress=lambda *what: told.append(what))
    assert sum(1 for _ in opened.subgraphs[0].engines["pool"].tables()) == 200
    assert {name: done == total for name, done, total in told}["sg00/pool.json"]
    assert any(name == "unpacking" for name, _, _ in told)


@pytest.mark.parametrize("new_names", [False, True])
@pytest.mark.parametrize("compress", [False, True])
def test_both_namings_both_forms_two_cores(new_names: bool, compress: bool, tmp_path: Path) -> None:
    data = pack(members([entry(copy())], cores=2, new_names=new_names, stream=bytes(64)), compress=compress)
    path = tmp_path / "f.neff"
    path.write_bytes(data)
    for source in (data, path):
        opened = open_neff(source)
        assert opened.members.compressed == compress and opened.hash == "verified" and not opened.all_issues()
        assert [graph.name for graph in opened.subgraphs] == ["sg00", "sg01"]
        whole = read_neff(source)
        for graph, held in zip(opened.subgraphs, whole.subgraphs, strict=True):
            assert tuple(graph.engines["pool"].entries()) == held.engines["pool"].entries
            assert graph.engines["pool"].stream() == held.engines["pool"].stream == bytes(64)


def test_problems_are_collected_where_asked() -> None:
    found = members([entry(copy())])
    del found["kelf-a.json"]
    issues: list[Issue] = []
    assert open_neff(pack(found), found=issues).subgraphs == ()
    assert [issue.rule for issue in issues] == ["neff.reference", "neff.reference"]
    assert "kelf-a.json" in issues[0].message  # a published failure: a kelf file that is not in the archive
    with pytest.raises(InputError, match=r"kelf-a\.json"):
        open_neff(pack(found))


def test_wrong_queues_and_variables_are_left_out_where_asked() -> None:
    queues = {"q": {"type": "data", "num_queues": 17}, "r": {"type": "in"}}
    variables = {"x": {"type": "input", "var_id": 0, "size": 8}, "z": {"type": "input"}}
    data = neff([], queues, variables)
    issues: list[Issue] = []
    (graph,) = open_neff(data, found=issues).subgraphs
    assert (set(graph.queues), set(graph.variables)) == ({"r"}, {"x"})
    assert [(issue.rule, issue.where.partition(": ")[2]) for issue in issues] == [
        ("neff.value", "sg00/def.json: dma_queue.q.num_queues"),
        ("neff.missing", "sg00/def.json: var.z"),
    ]
    with pytest.raises(InputError):
        open_neff(data)


def test_a_large_list_is_counted_but_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dgekit.frontends.neff.read.MAX_JSON", 1000)
    data = neff([entry(copy(), id=number) for number in range(50)])
    with pytest.raises(InputError) as caught:
        read_neff(data)
    assert caught.value.rule == "neff.limit" and "rings" in caught.value.fix
    assert len(list(open_neff(data).subgraphs[0].engines["pool"].tables())) == 50


def test_a_pipe_is_held(tmp_path: Path) -> None:
    pipe, data = tmp_path / "pipe", neff([entry(copy())])
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    assert open_neff(pipe).hash == "verified"
    writer.join()


def test_a_source_in_memory_and_one_in_a_file_are_alike(tmp_path: Path) -> None:
    data = random.Random(3).randbytes(3 << 20)
    path = tmp_path / "f"
    path.write_bytes(b"head" + data)
    for source in (source_of(data), open_source(path, "f", 1 << 30).after(4), BytesSource.of(b"head" + data).after(4)):
        assert (
            len(source) == len(data) and source.read(5, 7) == data[5:12] and source.read(len(data) - 2, 9) == data[-2:]
        )
        assert hashlib.md5(b"".join(source.chunks(0, len(data)))).digest() == hashlib.md5(data).digest()
        assert list(source.chunks(len(data), 5)) == []
