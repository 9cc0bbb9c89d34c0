"""A NEFF as a folder and back: each member a file under its own name, the header in `neff-header.json` (D89).

Writing never leaves the folder and never leaves half a file: every name is checked before anything is written, links
on the way are refused, and a file appears under its name only when it is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dgekit.core.errors import InputError, UsageError
from dgekit.frontends.kinds import Array, Boolean, Either, Integer, Key, Section, Text
from dgekit.frontends.neff.archive import DEFAULT_LIMITS, Archive, Limits
from dgekit.frontends.neff.header import FIELDS, HEADER_SIZE, Header, HeaderField, HeaderValue, encode_header
from dgekit.frontends.neff.json_member import read_json
from dgekit.frontends.neff.opened import OpenNeff
from dgekit.frontends.neff.tar import safe_name
from dgekit.frontends.neff.write import DEFAULT_VALUES, build_neff
from dgekit.frontends.place import Place, nearest

HEADER_FILE = "neff-header.json"
_COMPUTED = ("header_size", "data_size", "hash")  # what the writer works out
_NAME_MOST = 255  # bytes of one part of a file's name
_HEX = "hex:"  # a text field whose bytes are no plain text

_field_kinds: Mapping[str, Any] = {
    "int": Integer(0, (1 << 64) - 1),
    "text": Text(what="text"),
    "bytes": Text(what="hex"),
}
HEADER_SECTION = Section(
    "NEFF header",
    (
        Key("compress", Boolean(), "gzip, or a plain tar archive", True),
        Key(
            "header",
            Section(
                "header fields",
                tuple(
                    Key(field.name, Either((_field_kinds[field.kind], Text())) if field.kind == "int" else
                        _field_kinds[field.kind], field.meaning)
                    for field in FIELDS
                ),
                "Fields of the NEFF header: numbers, text, or bytes in hex; what is left out takes its default.",
            ),
            "header fields",
            {},
        ),
        Key("members", Array(Text(what="a name")), "members in their order, folders with a / at the end"),
    ),
    "What a folder cannot say of a NEFF.",
)  # fmt: skip


def header_json(neff: OpenNeff) -> dict[str, Any]:
    """The contents of `neff-header.json`: what the writer would not find out again by itself."""
    computed = _computed(neff)
    fields = {
        field.name: _shown(field, neff.header)
        for field in FIELDS
        if not _is_default(field, neff.header) and computed.get(field.name) != neff.header.values[field.name]
    }
    return {"compress": neff.members.compressed, "header": fields, "members": list(neff.members.order)}


def _computed(neff: OpenNeff) -> dict[str, HeaderValue]:
    """The computed fields as they are where they are right; one that is not must be kept."""
    header = neff.header
    found: dict[str, HeaderValue] = {"header_size": HEADER_SIZE}
    if not any(issue.rule == "neff.data_size" for issue in neff.issues):
        found["data_size"] = header.number("data_size")
    if neff.hash == "verified":
        found["hash"] = header.data("hash")
    return found


def _is_default(field: HeaderField, header: Header) -> bool:
    """True where the writer puts the same bytes there by itself."""
    if field.name in _COMPUTED:
        return False
    default = DEFAULT_VALUES.get(field.name)
    values = {} if default is None else {field.name: default}
    return _raw(field, encode_header(values)) == header.raw(field)


def _raw(field: HeaderField, data: bytes) -> bytes:
    return data[field.offset : field.offset + field.size]


def _shown(field: HeaderField, header: Header) -> int | str:
    value = header.values[field.name]
    if isinstance(value, int):
        return value
    if isinstance(value, bytes):
        return value.hex()
    plain = value and not value.startswith(_HEX) and value.encode().ljust(field.size, b"\0") == header.raw(field)
    return value if plain else _HEX + header.raw(field).hex()


def extract(neff: OpenNeff, folder: Path, names: Sequence[str] = ()) -> tuple[Path, ...]:
    """Write members (all, and the header file, when none is named) into a folder, made if missing; their paths.

    Raises UsageError for a name that is no member, InputError for what cannot be written: nothing is written then
    outside of the folder, nor is any file half there.
    """
    chosen = _chosen(neff.members, names)
    files: dict[str, bytes | None] = dict.fromkeys(chosen)
    if not names:
        if HEADER_FILE in neff.members:
            raise InputError(
                f"a member is called {HEADER_FILE}, which is where the header goes",
                rule="neff.extract",
                where=neff.source,
                fix="name the members to extract",
            )
        files[HEADER_FILE] = (json.dumps(header_json(neff), indent=1) + "\n").encode()
    _check_tree(files, neff.source)
    folders = [] if names else [name for name in neff.members.order if name.endswith("/")]
    try:
        return _write_all(neff, folder, files, folders)
    except OSError as problem:
        raise InputError(
            f"cannot write into {folder}: {problem.strerror or problem}", rule="neff.extract", where=neff.source
        ) from None


def _chosen(members: Archive, names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in members:
            near = nearest(name, members)
            raise UsageError(
                f"there is no member {name!r}",
                rule="neff.extract",
                fix=f"write {near}" if near else "dge neff info lists them",
            )
    return list(dict.fromkeys(names)) if names else list(members)


def _check_tree(files: Iterable[str], where: str) -> None:
    """No file may be the folder of another."""
    names = set(files)
    for name in names:
        parts = name.split("/")
        if max(len(part.encode()) for part in parts) > _NAME_MOST:
            raise InputError(f"a name of {len(name)} characters is no file name", rule="neff.extract", where=where)
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            if above in names:
                raise InputError(f"member {above} is a file and the folder of {name}", rule="neff.extract", where=where)


def _write_all(
    neff: OpenNeff, folder: Path, files: Mapping[str, bytes | None], folders: Iterable[str]
) -> tuple[Path, ...]:
    fresh = not folder.exists()
    folder.mkdir(exist_ok=True)
    for name in (*files, *folders):
        _check_way(folder, name, neff.source)
    stage = Path(tempfile.mkdtemp(prefix=".dge-", dir=folder))
    try:
        for number, (name, content) in enumerate(files.items()):
            with (stage / str(number)).open("wb") as file:
                file.writelines(neff.members.chunks(name) if content is None else (content,))
        for name in folders:
            (folder / name).mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(files):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / str(number), folder / name)
    except BaseException:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return tuple(folder / name for name in files)


def _check_way(folder: Path, name: str, where: str) -> None:
    """Every folder on the way to a file is a real one or is not there; the file itself is no folder."""
    parts = name.rstrip("/").split("/")
    path = folder
    for depth, part in enumerate(parts, 1):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        is_folder = depth < len(parts) or name.endswith("/")
        if stat.S_ISDIR(mode) != is_folder:
            kind = "a folder" if stat.S_ISDIR(mode) else "a link" if stat.S_ISLNK(mode) else "a file"
            raise InputError(
                f"{path} is {kind}, which stands in the way of member {name}",
                rule="neff.extract",
                where=where,
                fix="name an empty folder",
            )


def build_folder(
    folder: Path,
    *,
    header: Mapping[str, Any] | None = None,
    compress: bool | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> bytes:
    """The NEFF of a folder: every file a member, header and order as `neff-header.json` says.

    `header` (contents of such a file) and `compress` win over the folder's own. Without an order the names are sorted.
    Raises InputError for links, names and sizes that a NEFF does not take, and for a header file that is wrong.
    """  # fmt: skip
    where = folder.name or str(folder)
    found = _files(folder, where, limits)
    own = found.pop(HEADER_FILE, None)
    settings = HEADER_SECTION.check(
        header if header is not None else _own_header(own, where), Place(f"{where}/{HEADER_FILE}", rules="neff")
    )
    members = {name: b"" if path is None else path.read_bytes() for name, path in _ordered(found, settings, where)}
    values = {
        field.name: _value(field, settings["header"][field.name], where)
        for field in FIELDS
        if settings["header"][field.name] is not None
    }
    return build_neff(members, values, compress=settings["compress"] if compress is None else compress)


def _own_header(path: Path | None, where: str) -> Any:
    if path is None:
        return {}
    return read_json({HEADER_FILE: path.read_bytes()}, HEADER_FILE, where)


def _files(folder: Path, where: str, limits: Limits) -> dict[str, Path | None]:
    """Regular files by member name, and empty folders (None) with a `/` at the end."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder", rule="input.file", where=where)
    found: dict[str, Path | None] = {}
    total = 0
    for parent, folders, names in os.walk(folder, onerror=_cannot_read):
        folders.sort()
        for name in sorted((*names, *folders)):
            path = Path(parent, name)
            member = path.relative_to(folder).as_posix()
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                raise InputError(f"{member} is no regular file", rule="neff.member", where=where)
            found[safe_name(member, where)] = path
            total += path.stat().st_size
            if total > limits.unpacked or len(found) > limits.members:
                raise InputError(
                    f"more than {limits.unpacked} bytes or {limits.members} files",
                    rule="neff.limit",
                    where=where,
                    values={"bytes": total, "limit": limits.unpacked, "members": len(found)},
                )
    return found


def _cannot_read(problem: OSError) -> None:
    raise InputError(f"cannot read {problem.filename}: {problem.strerror}", rule="input.file")


def _ordered(
    found: Mapping[str, Path | None], settings: Mapping[str, Any], where: str
) -> list[tuple[str, Path | None]]:
    """The listed members first, in their order, then the others sorted."""
    listed: list[tuple[str, Path | None]] = []
    for name in settings["members"] or ():
        if name.endswith("/"):
            listed.append((safe_name(name, where) + "/", None))
        elif name in found:
            listed.append((name, found[name]))
        else:
            raise InputError(
                f"{HEADER_FILE} lists {name[:80]!r}, and the folder has no such file",
                rule="neff.reference",
                where=where,
                fix="take it out of the list",
            )
    names = [name for name, _ in listed]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{HEADER_FILE} lists {twice} twice", rule="neff.duplicate", where=where)
    return listed + sorted(item for item in found.items() if item[0] not in set(names))


def _value(field: HeaderField, given: int | str, where: str) -> HeaderValue:
    """A header value from JSON: a number in any base, text, bytes in hex."""
    try:
        if field.kind == "int":
            return int(given, 0) if isinstance(given, str) else given
        text = str(given)
        if field.kind == "bytes" or text.startswith(_HEX):
            return bytes.fromhex(text.removeprefix(_HEX))
    except ValueError:
        raise InputError(
            f"{field.name} = {str(given)[:60]!r} is no {'number' if field.kind == 'int' else 'hex'}",
            rule="neff.header",
            where=f"{where}/{HEADER_FILE}",
        ) from None
    return text
