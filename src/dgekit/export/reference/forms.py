"""Pages of texts and forms: the firmware's log lines, the keys of a transfer file, the JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from dgekit.core.generations import GENERATIONS
from dgekit.export.publish import SCHEMAS, Schema
from dgekit.export.reference.markdown import anchor, cell, code, link, page, table
from dgekit.frontends.kinds import Array, Either, Key, Kind, Mapping, Section
from dgekit.frontends.program.keys import PROGRAM
from dgekit.logs.formats import FORMATS, LogFormat

LOG_INTRO = (
    "Every format string of the firmware that the specification knows. `S:` is the sequencer, `P%i:` a Q7 core (`%i` "
    "is its number), `R:` the remapper. The walk and `dge run --log` print them from events, with the arguments of "
    "the run. Certain: `yes` the text is exact; `to one byte` the real line holds one byte more that nobody explains, "
    "and what is printed lacks it; `no` the source leaves a part out, so that the line is never printed; `end open` "
    "the text is as a source quotes it and its end cannot be checked."
)
KEYS_INTRO = (
    "Every key of a transfer file, from the table that checks it. An unknown key is an error that names the nearest "
    "right one; the same table is published as JSON Schema (`dge schema program`). The guide is "
    "[transfer-files.md](../transfer-files.md)."
)
SCHEMAS_INTRO = (
    "The published JSON Schemas (draft 2020-12), flattened: `[]` is an entry of a list, `*` any name. "
    "`dge schema NAME` prints one in full."
)
_CERTAIN = {"adjacency+1": "to one byte", "partial": "no", "quoted": "end open"}


def log_page() -> str:
    """The formats by stage, in table order; then tokens and symbols, which are no lines."""
    parts = []
    by_stage: dict[str, list[LogFormat]] = {}
    for row in FORMATS.values():
        by_stage.setdefault(row.stage, []).append(row)
    for stage, rows in by_stage.items():
        parts.append(f"## {stage}")
        if not rows[0].is_line:
            parts.append("No lines: values of `%s`, and names that an assertion prints.")
        parts.append(
            table(("key", "text", "line feed", "generations", "evidence", "certain", "open"), map(_log_row, rows))
        )
    return page("Log lines", LOG_INTRO, parts)


def _log_row(row: LogFormat) -> tuple[str, ...]:
    feed = {True: "yes", False: "no", None: "unknown"}[row.trailing_lf]
    there = "all" if len(row.generations) == len(GENERATIONS) else ", ".join(row.generations) or "not known"
    return (
        code(row.key),
        code(row.text),
        feed,
        cell(there),
        row.evidence,
        _CERTAIN.get(row.evidence, "yes"),
        cell(row.note),
    )


def keys_page() -> str:
    """The sections of a transfer file, each once, from the outermost in."""
    parts = []
    for path, section in _sections("", PROGRAM):
        parts += [f"## {section.name}", f"{cell(section.doc)} Written as {_places(path)}."]
        parts.append(table(("key", "value", "default", "meaning"), (_key_row(key) for key in section.keys)))
    return page("Keys of a transfer file", KEYS_INTRO, parts)


def _places(path: str) -> str:
    return code(path) if path else "the file itself"


def _sections(path: str, section: Section) -> Iterator[tuple[str, Section]]:
    """The section and those below it, each with the place where it is first written."""
    seen: dict[str, tuple[str, Section]] = {}
    waiting = [(path, section)]
    while waiting:
        here, found = waiting.pop(0)
        if found.name in seen:
            continue
        seen[found.name] = (here, found)
        waiting += [(f"{here}.{name}".lstrip("."), inner) for name, inner in _inner(found)]
    return iter(seen.values())


def _inner(section: Section) -> Iterator[tuple[str, Section]]:
    for key in section.keys:
        for suffix, kind in _sections_of(key.kind):
            yield key.name + suffix, kind


def _sections_of(kind: Kind) -> Iterator[tuple[str, Section]]:
    match kind:
        case Section():
            yield "", kind
        case Array():
            yield from (("[]" + suffix, found) for suffix, found in _sections_of(kind.of))
        case Mapping():
            yield from ((".NAME" + suffix, found) for suffix, found in _sections_of(kind.of))
        case Either():
            for each in kind.kinds:
                yield from _sections_of(each)


def _key_row(key: Key) -> tuple[str, ...]:
    if key.required:
        default = "required"
    elif key.default is None:
        default = ""
    else:
        default = code(str(key.default).lower() if isinstance(key.default, bool) else str(key.default))
    return code(key.name), _value(key.kind), default, cell(key.doc)


def _value(kind: Kind) -> str:
    """What a key takes; sections are links."""
    match kind:
        case Section():
            return link(kind.name, "#" + anchor(kind.name))
        case Array():
            return f"{cell(kind.noun)}, each {_value(kind.of)}"
        case Mapping():
            return f"{cell(kind.noun)}, each {_value(kind.of)}"
        case Either():
            return " or ".join(_value(each) for each in kind.kinds)
    return cell(kind.noun)


def schemas_page() -> str:
    """Each schema as a table of paths."""
    parts = []
    for name, derive in SCHEMAS.items():
        schema = derive()
        parts += [f"## {name}", f"`{schema['$id']}`: {cell(schema['title'])}."]
        rows = [row for _, group in groupby(_paths("", schema), key=lambda row: row[0]) for row in [next(group)]]
        parts.append(table(("path", "type", "always there", "meaning"), rows))
    return page("Schemas", SCHEMAS_INTRO, parts)


def _paths(path: str, schema: Schema) -> Iterator[tuple[str, ...]]:
    """One row for every property below `path`."""
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        always = "yes" if name in required else "no"
        yield code(here), cell(_type(inner)), always, cell(inner.get("description", ""))
        yield from _below(here, inner)


def _below(path: str, schema: Schema) -> Iterator[tuple[str, ...]]:
    yield from _paths(path, schema)
    for each in schema.get("anyOf", ()):
        yield from _below(path, each)
    if isinstance(schema.get("items"), dict):
        yield from _below(path + "[]", schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _below(path + ".*", schema["additionalProperties"])


def _type(schema: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "const" in schema:
        return f"{schema['const']!r}"
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind: Any = schema.get("type", "any")
    text = kind if isinstance(kind, str) else " or ".join(kind)
    if text == "array" and isinstance(schema.get("items"), dict):
        return f"array of {_type(schema['items'])}"
    if "minimum" in schema or "maximum" in schema:
        return f"{text} {_range(schema)}"
    return text


def _range(schema: Schema) -> str:
    if "maximum" not in schema:
        return f"from {schema['minimum']} up"
    return f"{schema['minimum']} to {schema['maximum']}"
