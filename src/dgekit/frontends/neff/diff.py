"""Two NEFFs compared by what they mean: the order of keys, entries and members, and folders of files, do not count.

Compared: header (without sizes, hash and uuid), target, queues, variables (a file's contents, not its name), dma
entries as a set with counts, instruction words slot by slot, and what other members hold.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dgekit.core.errors import InputError
from dgekit.frontends.neff.engine_file import EngineFile, join
from dgekit.frontends.neff.header import FIELDS
from dgekit.frontends.neff.json_member import read_json
from dgekit.frontends.neff.opened import GRAPH, OpenNeff, OpenSubgraph, is_kelf_name
from dgekit.words.codec import decode_word
from dgekit.words.enums import WORD_SIZE
from dgekit.words.text import diff_words

IDENTITY_FIELDS = frozenset({"header_size", "data_size", "hash", "uuid", "padding"})
LISTED = 20  # entries or words of one engine that are shown
_TEXT_MOST = 8 << 20  # a larger member is compared byte by byte, paths and all
_PATH = re.compile(r"(?:[\w.+\-~]*/)+")
_DESC_DEFAULTS: Mapping[str, Any] = {
    "op": "copy",
    "from_off": 0,
    "to_off": 0,
    "from_dtype": "uint8",
    "to_dtype": "uint8",
}
_ENTRY_DEFAULTS: Mapping[str, Any] = {"section_start_desc": False}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: where, and what each side has (None: nothing)."""

    where: str
    left: Any
    right: Any

    def to_json(self) -> dict[str, Any]:
        """One entry of what `dge neff diff --json` prints."""
        return {"where": self.where, "left": self.left, "right": self.right}


def diff_neffs(left: OpenNeff, right: OpenNeff) -> Iterator[Difference]:
    """Every difference; empty when both mean the same. Raises InputError for wrong JSON."""
    for field in FIELDS:
        if field.name not in IDENTITY_FIELDS:
            a, b = (_plain(_header_value(neff, field.name)) for neff in (left, right))
            yield from _different(f"header.{field.name}", a, b)
    yield from _different("target", *(neff.target.name if neff.target else "*" for neff in (left, right)))
    graphs = [{graph.name: graph for graph in neff.subgraphs} for neff in (left, right)]
    for name in _names(*graphs):
        a, b = (by_name.get(name) for by_name in graphs)
        if a is None or b is None:
            yield Difference(f"subgraph {name}", a and a.definition, b and b.definition)
        else:
            yield from _subgraphs(left, right, a, b)
    yield from _other_members(left, right)


def _header_value(neff: OpenNeff, name: str) -> Any:
    value = neff.header.values[name]
    return value.hex() if isinstance(value, bytes) else value


def _subgraphs(left: OpenNeff, right: OpenNeff, a: OpenSubgraph, b: OpenSubgraph) -> Iterator[Difference]:
    yield from _records(f"{a.name}.queue", a.queues, b.queues, ({}, {}))
    contents = _file_digests(left, a), _file_digests(right, b)
    yield from _records(f"{a.name}.variable", a.variables, b.variables, contents)
    for name in _names(a.engines, b.engines):
        one, other = a.engines.get(name), b.engines.get(name)
        where = f"{a.name}.{name}"
        if one is None or other is None:
            yield Difference(where, one and one.member, other and other.member)
            continue
        yield from _entries(where, one, other)
        yield from _streams(where, one.stream(), other.stream())
        yield from _different(f"{where}.collectives", *(repr(engine.collectives) for engine in (one, other)))


def _records(
    kind: str, left: Mapping[str, Any], right: Mapping[str, Any], contents: tuple[Mapping[str, str], Mapping[str, str]]
) -> Iterator[Difference]:
    """Queues or variables by name, field by field; `file_name` stands for the contents."""
    for name in _names(left, right):
        one, other = left.get(name), right.get(name)
        where = f"{kind} {name}"
        if one is None or other is None:
            yield Difference(where, one and one.type, other and other.type)
            continue
        for field in fields(one):
            a, b = getattr(one, field.name), getattr(other, field.name)
            if field.name == "file_name":
                a, b = contents[0].get(name), contents[1].get(name)
            elif field.name in ("instances", "semaphore_set"):
                a, b = sorted(a), sorted(b)
            yield from _different(f"{where}.{field.name}", _plain(a), _plain(b))


def _file_digests(neff: OpenNeff, graph: OpenSubgraph) -> dict[str, str]:
    found = {}
    for variable in graph.variables.values():
        member = join(graph.folder, variable.file_name)
        if variable.type == "file":
            found[variable.name] = _digest(neff, member) if member in neff.members else "absent"
    return found


def _digest(neff: OpenNeff, member: str) -> str:
    digest = hashlib.sha256()
    for piece in neff.members.chunks(member):
        digest.update(piece)
    return f"sha256 {digest.hexdigest()}"


# dma lists


def _entries(where: str, left: EngineFile, right: EngineFile) -> Iterator[Difference]:
    """Entries that one side has more often than the other; the texts of the first few are read again."""
    counts = [Counter(_key(table) for table in engine.tables()) for engine in (left, right)]
    for is_left, engine, more in ((True, left, counts[0] - counts[1]), (False, right, counts[1] - counts[0])):
        for shown, text in enumerate(_texts(engine, more)):
            if shown == LISTED:
                text = f"and {more.total()} more"
            yield Difference(f"{where}.dma", *((text, None) if is_left else (None, text)))
            if shown == LISTED:
                break


def _texts(engine: EngineFile, wanted: Counter[bytes]) -> Iterator[str]:
    """The texts of the wanted entries, each taken off `wanted` after it was used."""
    if not wanted:
        return
    for table in engine.tables():
        key = _key(table)
        if wanted[key] > 0:
            yield json.dumps(canonical_entry(table), sort_keys=True)
            wanted[key] -= 1


def _key(table: Any) -> bytes:
    text = json.dumps(canonical_entry(table), sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def canonical_entry(table: Any) -> Any:
    """An entry of a dma list with its defaults filled in, `desc` as a list, an instance name as the queue.

    >>> canonical_entry({"id": 0, "queue": "q", "desc": {"from": "x", "op": "copy", "from_off": 0}})["desc"]
    [{'from_dtype': 'uint8', 'from_off': 0, 'op': 'copy', 'from': 'x'}]
    """
    if not isinstance(table, dict):
        return table
    found = {**_ENTRY_DEFAULTS, **{key: value for key, value in table.items() if key not in ("queue", "instance_name")}}
    found["queue"] = table.get("instance_name") or table.get("queue")
    descs = found.get("desc")
    if descs is not None:
        found["desc"] = [_canonical_desc(one) for one in (descs if isinstance(descs, list) else [descs])]
    return found


def _canonical_desc(desc: Any) -> Any:
    if not isinstance(desc, dict):
        return desc
    used = {key: value for key, value in _DESC_DEFAULTS.items() if key == "op" or key.partition("_")[0] in desc}
    found = {**dict(sorted(used.items())), **desc}
    if isinstance(found.get("from_arr"), list):
        found["from_arr"] = [_canonical_source(part) for part in found["from_arr"]]
    return found


def _canonical_source(part: Any) -> Any:
    return {"from_off": 0, "from_dtype": "uint8", **part} if isinstance(part, dict) else part


# streams


def _streams(where: str, left: bytes, right: bytes) -> Iterator[Difference]:
    if left == right:
        return
    if len(left) != len(right):
        yield Difference(f"{where}.stream", f"{len(left)} bytes", f"{len(right)} bytes")
    shown = 0
    for at in range(0, min(len(left), len(right)) // WORD_SIZE * WORD_SIZE, WORD_SIZE):
        one, other = left[at : at + WORD_SIZE], right[at : at + WORD_SIZE]
        if one == other:
            continue
        shown += 1
        if shown <= LISTED:
            for path, a, b in diff_words(decode_word(one), decode_word(other)):
                yield Difference(f"{where}.stream slot {at // WORD_SIZE}.{path}", a, b)
    if shown > LISTED or (not shown and len(left) == len(right)):
        yield Difference(f"{where}.stream", *(f"sha256 {hashlib.sha256(side).hexdigest()}" for side in (left, right)))


# what no reference explains


def _other_members(left: OpenNeff, right: OpenNeff) -> Iterator[Difference]:
    """Members beside the ones compared above, by their name without folder, by what they hold."""
    found = [_by_base_name(neff) for neff in (left, right)]
    for name in _names(*found):
        a, b = ([text for text, _ in sorted(by_name.get(name, []))] for by_name in found)
        if a != b:
            yield Difference(f"member {name}", ", ".join(a) or None, ", ".join(b) or None)


def _by_base_name(neff: OpenNeff) -> dict[str, list[tuple[str, str]]]:
    known = _compared(neff)
    found: dict[str, list[tuple[str, str]]] = {}
    for name in neff.members:
        if name not in known:
            found.setdefault(name.rpartition("/")[2], []).append((_content(neff, name), name))
    return found


def _compared(neff: OpenNeff) -> set[str]:
    """Members that the references explain: what they say has been compared already."""
    found = {name for name in neff.members if is_kelf_name(name)}
    for graph in neff.subgraphs:
        found.add(graph.definition)
        found |= {join(graph.folder, v.file_name) for v in graph.variables.values() if v.type == "file"}
        for engine in graph.engines.values():
            found |= {engine.member, *engine.stream_members}
    return found


def _content(neff: OpenNeff, name: str) -> str:
    """A member's contents in brief: equal for equal meaning. JSON without its order of keys, text without paths."""
    if neff.members.size(name) > _TEXT_MOST:
        return _digest(neff, name)
    data = neff.members[name]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"sha256 {hashlib.sha256(data).hexdigest()}"
    if name.endswith(".json"):
        try:
            text = json.dumps(_plain(read_json({name: data}, name, neff.source)), sort_keys=True)
        except (InputError, RecursionError):
            text = _PATH.sub("", text)
    else:
        text = _PATH.sub("", text)
    if name == GRAPH:
        text = re.sub(r"\bkelf-\w+(\.json)?", "kelf", text)
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def _plain(value: Any) -> Any:
    """A JSON value whose texts have lost their paths."""
    if isinstance(value, str):
        return _PATH.sub("", value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _names(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    return sorted({*left, *right})


def _different(where: str, left: Any, right: Any) -> Iterator[Difference]:
    if left != right:
        yield Difference(where, left, right)
