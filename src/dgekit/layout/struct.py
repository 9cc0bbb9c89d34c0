"""`Struct`: an immutable value declared field by field, with encode, decode, text and JSON derived from the fields.

Values sit in the instance's `__dict__` in field order. Every instance is valid: a value that does not fit raises when
the instance is made, so encoding needs no check and never truncates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dgekit.core.errors import DecodeError, EncodeError, InternalError, Issue
from dgekit.layout.fields import Field
from dgekit.layout.kinds import Kind, Namespace
from dgekit.layout.say import brief, suggestion

INT_SIZES = (1, 2, 4, 8)
_PATH_MARKS = str.maketrans("", "", "_.[]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The declaration as data: `name` (the specification's), `size` in bytes, `fields` in order, where it is from."""

    name: str
    size: int
    fields: tuple[Field[Any], ...]
    source: str
    doc: str
    tag: str

    @property
    def is_int(self) -> bool:
        """True when the whole structure fits one machine integer: it is then cut with shifts and masks."""
        return self.size in INT_SIZES

    def field(self, name: str) -> Field[Any]:
        """The field of that name; raises EncodeError with the nearest right one."""
        for field in self.fields:
            if field.name == name:
                return field
        raise unknown_field(self, name)


def unknown_field(layout: Layout, name: str) -> EncodeError:
    """The error for a field that does not exist, naming the nearest one that does."""
    fix = suggestion(name, [field.name for field in layout.fields])
    return EncodeError(f"{layout.name} has no field {brief(name)}", rule="layout.field", fix=fix)


def check_layout(layout: Layout) -> None:
    """Raise InternalError unless the fields cover every bit once, in order, and nothing else."""
    position = 0
    for field in layout.fields:
        if field.start != position:
            raise InternalError(
                f"{layout.name}.{field.name} starts at bit {field.start}, the fields before it end at {position}",
                rule="layout.overlap" if field.start < position else "layout.gap",
            )
        if not layout.is_int and (field.bit or field.kind.bits % 8):
            raise InternalError(f"{layout.name}.{field.name}: a bit field needs a small structure", rule="layout.place")
        if layout.is_int and field.count is not None:
            raise InternalError(f"{layout.name}.{field.name}: an array needs a large structure", rule="layout.place")
        if field.select and layout.field(field.select.partition(".")[0]).start >= field.start:
            raise InternalError(f"{layout.name}.{field.name}: its selector comes after it", rule="layout.select")
        position += field.bits
    if position != 8 * layout.size:
        raise InternalError(f"{layout.name}: fields cover {position} of {8 * layout.size} bits", rule="layout.size")


class Struct:
    """Base of all declared structures; see the module text. Subclasses pass `name`, `size` and `source`."""

    layout: ClassVar[Layout]

    def __init_subclass__(
        cls, *, name: str = "", size: int = 0, source: str = "", tag: str = "H/O", **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        if not name:
            return
        fields = tuple(field for field in vars(cls).values() if isinstance(field, Field))
        for key, field in vars(cls).items():
            if isinstance(field, Field):
                field.name, field.struct_name, field.source, field.tag = key, name, source, field.tag or tag
        cls.layout = Layout(name, size, fields, source, (cls.__doc__ or "").strip(), tag)
        check_layout(cls.layout)

    def __init__(self, *positional: Any, **values: Any) -> None:
        layout = self.layout
        if len(positional) > len(layout.fields):
            raise EncodeError(f"{layout.name} has {len(layout.fields)} fields, not {len(positional)}")
        for field, value in zip(layout.fields, positional, strict=False):
            if field.name in values:
                raise EncodeError(f"{layout.name}.{field.name} is given twice", rule="layout.field")
            values[field.name] = value
        own = self.__dict__
        for field in layout.fields:
            own[field.name] = self._value(field, values)
        for name in values:
            if name not in own:
                raise unknown_field(layout, name)

    def _value(self, field: Field[Any], values: Mapping[str, Any]) -> Any:
        if not field.select:
            return field.normalise(values[field.name]) if field.name in values else field.default
        return field.kind.normalise_selected(  # type: ignore[attr-defined]
            values.get(field.name), field.name, self.at(field.select)
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use .replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        parts = (f"{name}={text}" for name, text in self._non_default())
        return f"{type(self).__name__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.encode())

    def _non_default(self) -> Iterator[tuple[str, str]]:
        plain = default_of(type(self))
        for field in self.layout.fields:
            value = self.__dict__[field.name]
            if field.select or value != plain.__dict__[field.name]:
                yield field.name, field.render(value)

    def at(self, path: str) -> Any:
        """The value at a dotted path (`events.wait_mode`, `src_step_elem.1`); raises EncodeError for a wrong one."""
        value: Any = self
        for step in path.split("."):
            if isinstance(value, Struct):
                value.layout.field(step)
                value = value.__dict__[step]
            elif isinstance(value, tuple) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                raise EncodeError(f"{self.layout.name} has no field {brief(path)}", rule="layout.field")
        return value

    def encode(self) -> bytes:
        """The bytes of the structure, `layout.size` of them."""
        from dgekit.layout.codec import codec_of

        return codec_of(type(self)).to_bytes(self)

    @classmethod
    def decode(cls, data: bytes | bytearray | memoryview) -> Self:
        """The value of exactly `layout.size` bytes; raises DecodeError for another length."""
        from dgekit.layout.codec import codec_of

        if len(data) != cls.layout.size:
            raise DecodeError(
                f"{cls.layout.name} takes {cls.layout.size} bytes, not {len(data)}",
                values={"bytes": len(data), "size": cls.layout.size},
            )
        decoded: Self = codec_of(cls).from_bytes(data)
        return decoded

    def replace(self, **values: Any) -> Self:
        """A copy with some fields changed; raises EncodeError like the constructor."""
        return type(self)(**{**self.__dict__, **values})

    def to_json(self) -> dict[str, Any]:
        """Nested dict: enum names where known, arrays as lists, unions with their arm."""
        return {field.name: field.to_json(self.__dict__[field.name]) for field in self.layout.fields}

    @classmethod
    def from_json(cls, obj: Any, base: Self | None = None) -> Self:
        """The inverse of `to_json`; absent fields come from `base`, else the default. Raises EncodeError."""
        if not isinstance(obj, Mapping):
            raise EncodeError(f"{cls.layout.name} is an object of fields, not {brief(obj)}", rule="layout.type")
        values = {} if base is None else dict(base.__dict__)
        for name, value in obj.items():
            values[name] = cls.layout.field(name).from_json(value)
        return cls(**values)

    def leaves(self) -> Iterator[tuple[str, Field[Any], Any]]:
        """Every leaf as (dotted path, field, value); arrays of numbers are one leaf."""
        for path, field, value, _ in self.placed_leaves():
            yield path, field, value

    def placed_leaves(self, prefix: str = "", start: int = 0) -> Iterator[tuple[str, Field[Any], Any, int]]:
        """Every leaf as (dotted path, field, value, first bit counted from the outermost structure)."""
        for field in self.layout.fields:
            value, path, place = self.__dict__[field.name], prefix + field.name, start + field.start
            if isinstance(value, Struct):
                yield from value.placed_leaves(path + ".", place)
            elif isinstance(value, tuple) and value and isinstance(value[0], Struct):
                for index, item in enumerate(value):
                    yield from item.placed_leaves(f"{path}.{index}.", place + index * field.kind.bits)
            else:
                yield path, field, value, place

    def reserved_issues(self) -> list[Issue]:
        """One issue for each reserved field that is not zero (rule `layout.reserved`), with its path and value."""
        return [
            _reserved_issue(self.layout.name, path, field, value)
            for path, field, value in self.leaves()
            if field.role == "reserved" and value != field.default
        ]


def _reserved_issue(owner: str, path: str, field: Field[Any], value: Any) -> Issue:
    shown = field.to_json(value)
    return Issue(
        "layout.reserved",
        "error" if field.evidence.level == "H" else "warning",
        f"{path} is reserved and must be zero, but holds {shown}",
        where=f"{owner}.{path}",
        values={"path": path, "value": shown},
        source=field.source,
        fix=f"write 0 to {path}",
    )


def _rebuild(cls: type[Struct], data: bytes) -> Struct:
    return cls.decode(data)


_DEFAULTS: dict[type[Struct], Struct] = {}


def default_of(cls: type[Struct]) -> Struct:
    """The instance with every default, shared."""
    if cls not in _DEFAULTS:
        _DEFAULTS[cls] = cls()
    return _DEFAULTS[cls]


class StructKind(Kind):
    """A nested structure as a field type."""

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct
        self.bits = 8 * struct.layout.size
        self.type_name = struct.layout.name
        self.raw_is_bytes = not struct.layout.is_int
        self.zero = default_of(struct)

    def normalise(self, value: Any, name: str) -> Struct:
        """An instance of the structure."""
        if type(value) is not self.struct:
            raise EncodeError(f"{name}: {brief(value)} is no {self.struct.__name__}", rule="layout.type")
        return value

    def decode_expr(self, raw: str, ns: Namespace) -> str:
        """A call of the nested decoder, or a lookup for one-byte structures."""
        from dgekit.layout.codec import codec_of

        codec = codec_of(self.struct)
        if self.struct.layout.size == 1:
            ns[f"all_{self.struct.__name__}"] = codec.table()
            return f"all_{self.struct.__name__}[{raw}]"
        ns[f"dec_{self.struct.__name__}"] = codec.decode
        return f"dec_{self.struct.__name__}({raw})"

    def encode_expr(self, value: str, ns: Namespace) -> str:
        """A call of the nested encoder."""
        from dgekit.layout.codec import codec_of

        ns[f"enc_{self.struct.__name__}"] = codec_of(self.struct).encode
        return f"enc_{self.struct.__name__}({value})"

    def to_json(self, value: Struct) -> Any:
        """The nested object."""
        return value.to_json()

    def from_json(self, value: Any, name: str, default: Any = None) -> Struct:
        """The nested object, on top of the field's default; faults are named with the path."""
        if isinstance(value, self.struct):
            return value
        try:
            return self.struct.from_json(value, default)
        except EncodeError as fault:
            raise nested(fault, name) from None

    def source(self, value: Struct) -> str:
        """The constructor call."""
        return repr(value)


def nested(fault: EncodeError, name: str) -> EncodeError:
    """The same fault with the outer field's name before its message."""
    head, colon, _ = fault.message.partition(": ")
    joint = "." if colon and head.translate(_PATH_MARKS).isalnum() else ": "
    return EncodeError(
        f"{name}{joint}{fault.message}", rule=fault.rule, values=fault.values, source=fault.source, fix=fault.fix
    )
