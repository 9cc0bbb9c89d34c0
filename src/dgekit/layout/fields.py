"""A field: one line of a declaration, with place, type, meaning and evidence.

The functions below are what a declaration is written with:

    semaphore = u8(13, "completion semaphore index 0..255", "H/O")

On a class the name gives the `Field`, on an instance its value.
"""

from __future__ import annotations

import enum as enum_module
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from dgekit.core.errors import EncodeError
from dgekit.core.evidence import Evidence
from dgekit.layout.kinds import BytesKind, EnumKind, IntKind, Kind, TextKind
from dgekit.layout.say import brief

if TYPE_CHECKING:
    from dgekit.layout.struct import Struct
    from dgekit.layout.union import Union

T = TypeVar("T")
S = TypeVar("S", bound="Struct")
E = TypeVar("E", bound=enum_module.IntEnum)

LONG_RUN = 8

Role = Literal["", "reserved", "unknown"]


class Field(Generic[T]):
    """Where a value lies (`offset` bytes, `bit`, `count` times `kind.bits`), what it means, how sure that is.

    `select` names the sibling that chooses the arm of a selected union; `unit` is for people.
    """

    def __init__(
        self,
        kind: Kind,
        offset: int,
        doc: str,
        tag: str = "",
        *,
        bit: int = 0,
        count: int | None = None,
        role: Role = "",
        unit: str = "",
        default: T | None = None,
        select: str = "",
    ) -> None:
        self.kind = kind
        self.offset = offset
        self.bit = bit
        self.count = count
        self.doc = doc
        self.tag = tag
        self.role = role
        self.unit = unit
        self.select = select
        self.name = ""
        self.struct_name = ""
        self.source = ""
        self._default = default

    @overload
    def __get__(self, instance: None, owner: type) -> Field[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Field[T] | T:
        # An instance keeps its values in __dict__, which hides this descriptor.
        if instance is None:
            return self
        raise AttributeError(self.name)

    @property
    def evidence(self) -> Evidence:
        """How sure the field's place and meaning are, and which section says so."""
        return Evidence.parse(self.tag, self.source)

    @property
    def bits(self) -> int:
        """Width of the whole field, all elements together."""
        return self.kind.bits * (1 if self.count is None else self.count)

    @property
    def start(self) -> int:
        """First bit, counted from bit 0 of byte 0."""
        return 8 * self.offset + self.bit

    @property
    def size(self) -> int:
        """Width in bytes, rounded up."""
        return -(-self.bits // 8)

    @property
    def default(self) -> Any:
        """The value when nobody gives one: zero unless declared otherwise."""
        if self._default is not None:
            return self._default
        return self.kind.zero if self.count is None else (self.kind.zero,) * self.count

    def normalise(self, value: Any) -> Any:
        """The value as an instance keeps it; raises EncodeError naming the field."""
        if self.count is None:
            return self.kind.normalise(value, self.name)
        return tuple(
            self.kind.normalise(item, f"{self.name}[{index}]") for index, item in enumerate(self._items(value))
        )

    def to_json(self, value: Any) -> Any:
        """The value as JSON holds it; arrays are lists."""
        return self.kind.to_json(value) if self.count is None else [self.kind.to_json(item) for item in value]

    def from_json(self, value: Any) -> Any:
        """The value from its JSON form, or from text (`1,128`) or single elements (`{"1": 128}`) as people write.

        Raises EncodeError naming the field.
        """
        if self.count is None:
            return self.kind.from_json(value, self.name, self.default)
        if isinstance(value, str):
            value = value.split(",")
        items = self._elements(value) if isinstance(value, Mapping) else self._items(value)
        return tuple(self.kind.from_json(item, f"{self.name}[{index}]") for index, item in enumerate(items))

    def render(self, value: Any) -> str:
        """Python source that evaluates to the value."""
        if self.count is None:
            return self.kind.source(value)
        inner = ", ".join(self.kind.source(item) for item in value)
        return f"({inner},)" if self.count == 1 else f"({inner})"

    def show(self, value: Any) -> str:
        """The value for people; a long run of bytes as hex pairs."""
        if self.count is None:
            return self.kind.show(value)
        if self.count > LONG_RUN and self.kind.bits == 8:
            return bytes(value).hex(" ")
        return ", ".join(self.kind.show(item) for item in value)

    def _elements(self, chosen: Mapping[str, Any]) -> list[Any]:
        items = list(self.default)
        for key, value in chosen.items():
            if not key.isdecimal() or int(key) >= len(items):
                raise EncodeError(f"{self.name}[{key}]: there are elements 0..{len(items) - 1}", rule="layout.field")
            items[int(key)] = value
        return items

    def _items(self, value: Any) -> list[Any]:
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            raise EncodeError(f"{self.name}: {brief(value)} is no list of {self.count} values", rule="layout.type")
        items = list(value)
        if len(items) != self.count:
            raise EncodeError(
                f"{self.name}: {len(items)} values where {self.count} belong",
                values={"value": len(items), "count": self.count},
            )
        return items

    def __repr__(self) -> str:
        return f"<{self.struct_name}.{self.name}: byte {self.offset} bit {self.bit}, {self.bits} bits>"


def like(
    other: Field[Any],
    doc: str,
    tag: str = "",
    *,
    kind: Kind | None = None,
    role: Role = "",
    default: Any = None,
) -> Field[Any]:
    """The bits of a field of another view of the same word, under another name; `kind` reads them differently."""
    chosen = other.kind if kind is None else kind
    return Field(chosen, other.offset, doc, tag, bit=other.bit, count=other.count, role=role, default=default)


def uint(bits: int, offset: int, doc: str, tag: str = "", *, bit: int = 0, **more: Any) -> Field[int]:
    """An unsigned bit field of any width up to 64; `spelled` gives it another type name, `base=16` prints it in hex."""
    kind = IntKind(bits, type_name=more.pop("spelled", ""), hexadecimal=more.pop("base", 10) == 16)
    return Field(kind, offset, doc, tag, bit=bit, **more)


def u8(offset: int, doc: str, tag: str = "", **more: Any) -> Field[int]:
    """An unsigned byte."""
    return uint(8, offset, doc, tag, **more)


def u16(offset: int, doc: str, tag: str = "", **more: Any) -> Field[int]:
    """An unsigned 16-bit integer."""
    return uint(16, offset, doc, tag, **more)


def u32(offset: int, doc: str, tag: str = "", **more: Any) -> Field[int]:
    """An unsigned 32-bit integer."""
    return uint(32, offset, doc, tag, **more)


def u64(offset: int, doc: str, tag: str = "", **more: Any) -> Field[int]:
    """An unsigned 64-bit integer."""
    return uint(64, offset, doc, tag, **more)


def i32(offset: int, doc: str, tag: str = "", **more: Any) -> Field[int]:
    """A signed 32-bit integer."""
    return Field(IntKind(32, signed=True), offset, doc, tag, **more)


def u8s(count: int, offset: int, doc: str, tag: str = "", **more: Any) -> Field[tuple[int, ...]]:
    """An array of unsigned bytes."""
    return Field(IntKind(8), offset, doc, tag, count=count, **more)


def u16s(count: int, offset: int, doc: str, tag: str = "", **more: Any) -> Field[tuple[int, ...]]:
    """An array of unsigned 16-bit integers."""
    return Field(IntKind(16), offset, doc, tag, count=count, **more)


def u32s(count: int, offset: int, doc: str, tag: str = "", **more: Any) -> Field[tuple[int, ...]]:
    """An array of unsigned 32-bit integers; `base=16` prints them in hex."""
    kind = IntKind(32, hexadecimal=more.pop("base", 10) == 16)
    return Field(kind, offset, doc, tag, count=count, **more)


def i16s(count: int, offset: int, doc: str, tag: str = "", **more: Any) -> Field[tuple[int, ...]]:
    """An array of signed 16-bit integers."""
    return Field(IntKind(16, signed=True), offset, doc, tag, count=count, **more)


def i32s(count: int, offset: int, doc: str, tag: str = "", **more: Any) -> Field[tuple[int, ...]]:
    """An array of signed 32-bit integers."""
    return Field(IntKind(32, signed=True), offset, doc, tag, count=count, **more)


def enum(
    offset: int, members: type[E], doc: str, tag: str = "", *, bit: int = 0, bits: int = 8, **more: Any
) -> Field[E | int]:
    """A member of an enum; values outside it stay plain ints."""
    return Field(EnumKind(members, bits, type_name=more.pop("spelled", "")), offset, doc, tag, bit=bit, **more)


def reserved(bits: int, offset: int, doc: str = "RESERVED, must be zero", tag: str = "", **more: Any) -> Field[int]:
    """Bits that must be zero; set ones are kept and reported. `spelled` is the type's name, else `zero`."""
    more.setdefault("spelled", "zero")
    return uint(bits, offset, doc, tag, role="reserved", **more)


def data(size: int, offset: int, doc: str, tag: str = "", **more: Any) -> Field[bytes]:
    """A run of bytes kept as it is."""
    return Field(BytesKind(size, type_name=more.pop("spelled", "")), offset, doc, tag, **more)


def text(size: int, offset: int, doc: str, tag: str = "") -> Field[str]:
    """A char array, NUL padded."""
    return Field(TextKind(size), offset, doc, tag)


def sub(offset: int, struct: type[S], doc: str, tag: str = "", **more: Any) -> Field[S]:
    """A nested structure."""
    from dgekit.layout.struct import StructKind

    return Field(StructKind(struct), offset, doc, tag, **more)


def subs(count: int, offset: int, struct: type[S], doc: str, tag: str = "", **more: Any) -> Field[tuple[S, ...]]:
    """An array of nested structures."""
    from dgekit.layout.struct import StructKind

    return Field(StructKind(struct), offset, doc, tag, count=count, **more)


def union(offset: int, arms: Union[T], doc: str, tag: str = "", *, select: str = "", **more: Any) -> Field[T]:
    """A union; `select` is the dotted path of the sibling that chooses the arm, where no marker in the bytes does."""
    from dgekit.layout.union import UnionKind

    if not select:
        arms.selector_expr("raw")  # raises at declaration when nothing tells the arms apart
    return Field(UnionKind(arms), offset, doc, tag, select=select, **more)
