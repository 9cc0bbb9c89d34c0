"""Words as text: the JSON object of `dge decode`, the table for people, assignments, the difference of two words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dgekit.core.errors import InputError, Issue, UsageError
from dgekit.layout import Struct
from dgekit.layout.diagram import columns, place
from dgekit.layout.fields import LONG_RUN, Field
from dgekit.layout.say import brief, suggestion
from dgekit.words.enums import Opcode
from dgekit.words.names import word_named
from dgekit.words.structs import Word

JSON_KEYS = ("offset", "kind", "opcode", "fields", "hex", "issues")


def word_to_json(word: Word, offset: int = 0, issues: Iterable[Issue] = ()) -> dict[str, Any]:
    """One line of `dge decode --json`: offset in bytes, kind, opcode (name, or number if no header has it), fields.

    `fields` is what `word_from_json` reads; `hex` are the 64 bytes for people.
    """
    encoded = word.encode()
    return {
        "offset": offset,
        "kind": word.kind,
        "opcode": Opcode(encoded[0]).name if encoded[0] in Opcode._value2member_map_ else encoded[0],
        "fields": word.to_json(),
        "hex": encoded.hex(),
        "issues": [issue.to_json() for issue in issues],
    }


def word_from_json(obj: Any) -> Word:
    """The word of such an object: `kind` and `fields` decide, the rest is ignored; absent fields take their default.

    Raises InputError for an object of another form and EncodeError for a value that does not fit.
    """
    if not isinstance(obj, Mapping):
        raise InputError(f"a word is an object with kind and fields, not {type(obj).__name__}", rule="words.json")
    for key in obj:
        if key not in JSON_KEYS:
            fix = suggestion(str(key), JSON_KEYS)
            raise InputError(f"a word object has no key {brief(key)}", rule="words.json", fix=fix)
    for key, wanted in (("kind", str), ("fields", Mapping)):
        if not isinstance(obj.get(key), wanted):
            raise InputError(f"a word object needs {key!r}", rule="words.json", fix='{"kind": ..., "fields": {...}}')
    return word_named(obj["kind"]).from_json(obj["fields"])


def word_from_assignments(kind: str, assignments: Sequence[str]) -> Word:
    """A word from `path=value` texts; what is not named keeps its default.

    Paths are dotted (`events.wait_mode`, `src_step_elem.1` or `src_step_elem[1]`); values are integers in any base,
    enum names, lists (`1,128` or `[1,128]`), hex for raw bytes, and the address forms of `dgekit.words.shorthand`.
    Raises UsageError for a text of another form, EncodeError for a wrong field or value.

    >>> word_from_assignments("DMA_DIRECT2D", ["semaphore=10", "src_step_elem=1,128", "in_dtype=FP32"])
    DmaDirect2D(semaphore=10, src_step_elem=(1, 128), in_dtype=Dtype.FP32)
    """
    tree: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        if not equals or not path.strip():
            raise UsageError(
                f"{brief(assignment)} is no assignment",
                rule="words.assignment",
                fix="write FIELD=VALUE, as in semaphore=10",
            )
        steps = path.strip().replace("[", ".").replace("]", "").split(".")
        _plant(tree, steps, _without_brackets(value.strip()), path.strip())
    return word_named(kind).from_json(tree)


def _without_brackets(value: str) -> str:
    return value[1:-1] if value.startswith("[") and value.endswith("]") else value


def _plant(tree: dict[str, Any], steps: Sequence[str], value: str, path: str) -> None:
    *outer, last = steps
    for step in outer:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise UsageError(f"{path} is inside a field that is already given", rule="words.assignment")
    if last in tree:
        raise UsageError(f"{path} is given twice", rule="words.assignment")
    tree[last] = value


def diff_words(left: Word, right: Word) -> list[tuple[str, Any, Any]]:
    """The leaf fields that differ, as (path, left, right) in JSON form; words of two kinds differ in kind and bytes.

    An address whose arms differ is one row under the address's own name.
    """
    if type(left) is not type(right):
        rows: list[tuple[str, Any, Any]] = [("kind", left.kind, right.kind)]
        return [*rows, ("bytes", left.encode().hex(), right.encode().hex())]
    return list(_differences(left, right, ""))


def _differences(left: Struct, right: Struct, prefix: str) -> Iterable[tuple[str, Any, Any]]:
    for field in left.layout.fields:
        values = getattr(left, field.name), getattr(right, field.name)
        if field.count is None:
            yield from _difference(field, *values, prefix + field.name)
        else:
            for index, pair in enumerate(zip(*values, strict=True)):
                yield from _difference(field, *pair, f"{prefix}{field.name}[{index}]")


def _difference(field: Field[Any], left: Any, right: Any, path: str) -> Iterable[tuple[str, Any, Any]]:
    if left == right:
        return
    if isinstance(left, Struct) and type(left) is type(right):
        yield from _differences(left, right, path + ".")
    else:
        yield path, field.kind.to_json(left), field.kind.to_json(right)


def format_word(word: Word, offset: int | None = None) -> str:
    """A table for people: byte offset, field, value with enum names, unit and meaning."""
    code = word.encode()[0]
    at = "" if offset is None else f"{offset:#x}: "
    wire = f" {Opcode(code).name}" if code in Opcode._value2member_map_ else ""
    rows = [("off", "field", "value", "meaning")]
    for path, field, value, start in word.placed_leaves():
        rows.append((place(start, field.bits), path, _shown(field, value), field.doc))
    return "\n".join([f"{at}{word.kind} ({code:#04x}{wire})", *columns(rows)])


def _shown(field: Field[Any], value: Any) -> str:
    if isinstance(value, (tuple, bytes)) and len(value) > LONG_RUN and not any(value):
        return "0"
    shown = field.show(value)
    return f"{shown} {field.unit}" if field.unit and not field.unit.startswith("byte ") else shown


__all__ = [
    "diff_words",
    "format_word",
    "word_from_assignments",
    "word_from_json",
    "word_to_json",
]
