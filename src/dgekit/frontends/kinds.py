"""What a value in an input file may be: one declaration checks it, words its errors and yields its JSON Schema.

A `Section` is a table of `Key`s; a `Key` has a `Kind`. `Kind.check` returns the plain Python value or raises an
InputError that names the place, the rule (`toml.key`, `toml.type`, `toml.value`, `toml.missing`) and the fix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from dgekit.core.errors import DgeError, InputError
from dgekit.frontends.place import Place, nearest, shown

Schema = dict[str, Any]


class Kind(Protocol):
    """A type of value: its noun for messages, whether a value is of its type at all, its check, its JSON Schema."""

    @property
    def noun(self) -> str:
        """How a message calls it."""
        ...

    def takes(self, value: object) -> bool:
        """True when the value has the right basic type (its range may still be wrong)."""
        ...

    def check(self, value: Any, place: Place) -> Any:
        """The value as Python sees it; raises InputError."""
        ...

    def schema(self) -> Schema:
        """The JSON Schema of the value."""
        ...


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from `low` to `high`, both included; booleans are not numbers here."""

    low: int
    high: int

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return f"a whole number from {self.low} to {self.high}"

    def takes(self, value: object) -> bool:
        """True for integers."""
        return isinstance(value, int) and not isinstance(value, bool)

    def check(self, value: Any, place: Place) -> int:
        """The number; raises InputError with both limits."""
        _same_type(self, value, place)
        if not self.low <= value <= self.high:
            raise place.error(
                "value",
                f"{shown(value)} is not {self.noun}",
                values={"value": value, "minimum": self.low, "maximum": self.high},
            )
        return int(value)

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Number:
    """A number with a fraction; whole numbers count too."""

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return "a number"

    def takes(self, value: object) -> bool:
        """True for integers and floats."""
        return isinstance(value, int | float) and not isinstance(value, bool)

    def check(self, value: Any, place: Place) -> float:
        """The number as a float; raises InputError."""
        _same_type(self, value, place)
        try:
            return float(value)
        except OverflowError:
            raise place.error("value", f"{shown(value)} is beyond any float") from None

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"type": "number"}


@dataclass(frozen=True, slots=True)
class Boolean:
    """true or false."""

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return "true or false"

    def takes(self, value: object) -> bool:
        """True for booleans."""
        return isinstance(value, bool)

    def check(self, value: Any, place: Place) -> bool:
        """The value; raises InputError."""
        _same_type(self, value, place)
        return bool(value)

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Text:
    """A string: one of `words`, or any (not empty) when there are none."""

    words: tuple[str, ...] = ()
    what: str = "a string"

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return "one of " + ", ".join(self.words) if self.words else self.what

    def takes(self, value: object) -> bool:
        """True for strings."""
        return isinstance(value, str)

    def check(self, value: Any, place: Place) -> str:
        """The string; raises InputError with the nearest legal word."""
        _same_type(self, value, place)
        if self.words and value not in self.words:
            near = nearest(value, self.words)
            raise place.error(
                "value", f"{shown(value)} is not {self.noun}", fix=f"write {near}" if near else f"write {self.noun}"
            )
        if not value:
            raise place.error("value", f"an empty string is not {self.noun}")
        return str(value)

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"type": "string", "enum": list(self.words)} if self.words else {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class Array:
    """A list of `low` to `high` entries of one kind (`high` None: any number)."""

    of: Kind
    low: int = 0
    high: int | None = None

    @property
    def noun(self) -> str:
        """How a message calls it."""
        if self.high is None:
            return f"a list of at least {self.low} entries" if self.low else "a list"
        return f"a list of {self.low} entries" if self.low == self.high else f"a list of {self.low} to {self.high}"

    def takes(self, value: object) -> bool:
        """True for lists."""
        return isinstance(value, list)

    def check(self, value: Any, place: Place) -> tuple[Any, ...]:
        """The checked entries; raises InputError for the first that is wrong."""
        _same_type(self, value, place)
        if len(value) < self.low or (self.high is not None and len(value) > self.high):
            raise place.error(
                "value",
                f"{len(value)} entries, not {self.noun}",
                values={"entries": len(value), "minimum": self.low, "maximum": self.high},
            )
        return tuple(self.of.check(entry, place.item(index)) for index, entry in enumerate(value))

    def schema(self) -> Schema:
        """JSON Schema."""
        found: Schema = {"type": "array", "items": self.of.schema()}
        if self.low:
            found["minItems"] = self.low
        if self.high is not None:
            found["maxItems"] = self.high
        return found


@dataclass(frozen=True, slots=True)
class Mapping:
    """A table whose keys the user chooses: names, or numbers from `low` to `high` when these are given."""

    of: Kind
    low: int | None = None
    high: int = 0
    what: str = "name"

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return f"a table by {self.what}"

    def takes(self, value: object) -> bool:
        """True for tables."""
        return isinstance(value, dict)

    def check(self, value: Any, place: Place) -> dict[Any, Any]:
        """The checked table, its keys turned into numbers where they are numbers; raises InputError."""
        _same_type(self, value, place)
        found: dict[Any, Any] = {}
        for name, entry in value.items():
            key = name if self.low is None else self._number(name, place)
            if key in found:
                raise place.error("duplicate", f"{self.what} {key} is given twice", values={"key": name})
            found[key] = self.of.check(entry, place.key(name))
        return found

    def _number(self, name: str, place: Place) -> int:
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 12 else -1
        if self.low is None or not self.low <= number <= self.high:
            raise place.error(
                "key",
                f"{shown(name)} is no {self.what}",
                values={"key": name, "minimum": self.low, "maximum": self.high},
                fix=f"a number from {self.low} to {self.high}",
            )
        return number

    def schema(self) -> Schema:
        """JSON Schema."""
        found: Schema = {"type": "object", "additionalProperties": self.of.schema()}
        if self.low is not None:
            found["propertyNames"] = {"pattern": "^[0-9]+$"}
        return found


@dataclass(frozen=True, slots=True)
class Either:
    """One of several kinds of different basic type; the first that takes the value checks it."""

    kinds: tuple[Kind, ...]

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return " or ".join(kind.noun for kind in self.kinds)

    def takes(self, value: object) -> bool:
        """True when one of the kinds takes it."""
        return any(kind.takes(value) for kind in self.kinds)

    def check(self, value: Any, place: Place) -> Any:
        """What the kind that takes the value makes of it; raises InputError."""
        for kind in self.kinds:
            if kind.takes(value):
                return kind.check(value, place)
        _same_type(self, value, place)
        return value

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"anyOf": [kind.schema() for kind in self.kinds]}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A kind whose value is then read by `parse`; what that raises is reported at the place as `rule`."""

    kind: Kind
    parse: Callable[[Any], Any]
    rule: str = "value"

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return self.kind.noun

    def takes(self, value: object) -> bool:
        """What the inner kind takes."""
        return self.kind.takes(value)

    def check(self, value: Any, place: Place) -> Any:
        """The parsed value; raises InputError."""
        inner = self.kind.check(value, place)
        try:
            return self.parse(inner)
        except InputError:
            raise
        except DgeError as problem:
            raise place.error(
                self.rule, problem.message, values=problem.values, source=problem.rule, fix=problem.fix
            ) from None

    def schema(self) -> Schema:
        """JSON Schema of the inner kind."""
        return self.kind.schema()


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section: its kind, what it means, and the default as a file would write it (None: absent)."""

    name: str
    kind: Kind
    doc: str
    default: Any = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A table with known keys; `open` lets unknown keys pass, as formats of others need."""

    name: str
    keys: tuple[Key, ...]
    doc: str = ""
    open: bool = False

    @property
    def noun(self) -> str:
        """How a message calls it."""
        return f"a table ({self.name})"

    def takes(self, value: object) -> bool:
        """True for tables."""
        return isinstance(value, dict)

    def check(self, value: Any, place: Place) -> dict[str, Any]:
        """The values of all keys, defaults filled in; raises InputError for unknown, missing and wrong ones."""
        _same_type(self, value, place)
        known = {key.name for key in self.keys}
        if not self.open:
            for name in value:
                if name not in known:
                    raise _unknown_key(name, known, place)
        return {key.name: self._value(key, value, place) for key in self.keys}

    def _value(self, key: Key, table: dict[str, Any], place: Place) -> Any:
        if key.name in table:
            return key.kind.check(table[key.name], place.key(key.name))
        if key.required:
            raise place.error("missing", f"key `{key.name}` is missing", fix=f"add {key.name} = {key.kind.noun}")
        return None if key.default is None else key.kind.check(key.default, place.key(key.name))

    def schema(self) -> Schema:
        """JSON Schema."""
        properties: Schema = {}
        for key in self.keys:
            entry = {**key.kind.schema(), "description": key.doc}
            if key.default is not None:
                entry["default"] = key.default
            properties[key.name] = entry
        found: Schema = {"type": "object", "properties": properties, "additionalProperties": self.open}
        if self.doc:
            found["description"] = self.doc
        required = [key.name for key in self.keys if key.required]
        if required:
            found["required"] = required
        return found


def _unknown_key(name: str, known: set[str], place: Place) -> InputError:
    near = nearest(name, known)
    where = f" in {place.path}" if place.path else ""
    hint = f"; nearest `{near}`" if near else ""
    return place.error(
        "key",
        f"unknown key `{name[:60]}`{where}{hint}",
        values={"key": name[:60]},
        fix=f"write {near}" if near else "one of " + ", ".join(sorted(known)),
    )


def _same_type(kind: Kind, value: object, place: Place) -> None:
    if not kind.takes(value):
        raise place.error("type", f"{_type_noun(value)} where {kind.noun} is wanted", values={"given": shown(value)})


def _type_noun(value: object) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "a list"}
    names |= {dict: "a table", type(None): "null"}
    return names.get(type(value), "a date or time")
