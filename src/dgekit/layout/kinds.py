"""What the bits of a field mean: integers, enums, bytes, text. One object per type, without a place.

A kind knows four things: which values it takes (`normalise`), its zero, its JSON form and its Python form. The code
generator (`dgekit.layout.codec`) asks it for the expressions that turn raw bits into a value and back.
"""

from __future__ import annotations

import abc
import enum
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from dgekit.core.errors import EncodeError
from dgekit.layout.say import brief, suggestion

Namespace = dict[str, Any]
M = TypeVar("M", bound=type[enum.Enum])
MAX_TABLE_BITS = 16


def spelled(name: str) -> Callable[[M], M]:
    """Class decorator: the name that the specification gives to an enum whose Python name differs."""

    def mark(cls: M) -> M:
        setattr(cls, "__spelling__", name)  # noqa: B010 - an enum class has no such declared attribute
        return cls

    return mark


def spelling(cls: type[enum.IntEnum]) -> str:
    """The specification's name of an enum class."""
    return str(getattr(cls, "__spelling__", cls.__name__.upper()))


class Kind(abc.ABC):
    """The base of all kinds: a value of `bits` bits. `type_name` is the specification's word for it."""

    type_name: str
    bits: int
    zero: Any
    raw_is_bytes = False

    @abc.abstractmethod
    def normalise(self, value: Any, name: str) -> Any:
        """The value as the field keeps it; raises EncodeError naming field, width and value."""

    def decode_expr(self, raw: str, ns: Namespace) -> str:
        """Python source for the value, given source for the raw unsigned integer (or bytes, if `raw_is_bytes`)."""
        return raw

    def encode_expr(self, value: str, ns: Namespace) -> str:
        """Python source for the raw form, given source for the value."""
        return value

    def to_json(self, value: Any) -> Any:
        """The value as JSON holds it."""
        return value

    def from_json(self, value: Any, name: str, default: Any = None) -> Any:
        """The value from its JSON form or from what a person writes, parts left out from `default`."""
        return self.normalise(value, name)

    def source(self, value: Any) -> str:
        """Python source that evaluates to the value."""
        return repr(value)

    def show(self, value: Any) -> str:
        """The value for people."""
        return self.source(value)


def parse_int(value: Any, name: str) -> int:
    """An integer from an int or from text in any base (`16`, `0x10`, `0b1`); raises EncodeError.

    >>> parse_int("0x10", "count")
    16
    """
    if isinstance(value, str):
        try:
            return int(value, 0)
        except ValueError:
            raise EncodeError(f"{name}: {brief(value)} is no integer", rule="layout.type") from None
    try:
        return operator.index(value)
    except TypeError:
        raise EncodeError(f"{name}: {brief(value)} is no integer", rule="layout.type") from None


class IntKind(Kind):
    """An integer, signed or not; `hexadecimal` is how people want to see it."""

    zero = 0

    def __init__(self, bits: int, *, signed: bool = False, type_name: str = "", hexadecimal: bool = False) -> None:
        self.bits = bits
        self.signed = signed
        self.number_name = f"{'i' if signed else 'u'}{bits}"
        self.type_name = type_name or self.number_name
        self.hexadecimal = hexadecimal
        self.low = -(1 << (bits - 1)) if signed else 0
        self.high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1

    def normalise(self, value: Any, name: str) -> int:
        """An int inside the range of the width."""
        if isinstance(value, str):
            raise EncodeError(f"{name}: {brief(value)} is no integer", rule="layout.type")
        number = parse_int(value, name)
        if not self.low <= number <= self.high:
            # A number of thousands of digits cannot be printed in decimal; its length says enough.
            shown = number if number.bit_length() <= 128 else f"a number of {number.bit_length()} bits"
            raise EncodeError(
                f"{name}: {shown} does not fit {self.number_name} ({self.low}..{self.high})",
                values={"value": shown, "low": self.low, "high": self.high},
            )
        return number

    def from_json(self, value: Any, name: str, default: Any = None) -> int:
        """An int, or text in any base."""
        return self.normalise(parse_int(value, name), name)

    def to_json(self, value: int) -> Any:
        """An integer; an address is a hex string (decision D44)."""
        return f"{value:#x}" if self.hexadecimal else value

    def source(self, value: int) -> str:
        """Decimal, or hex for addresses."""
        return f"{value:#x}" if self.hexadecimal else repr(int(value))


class EnumKind(Kind):
    """A member of an enum, or a plain int where the enum has no such value."""

    def __init__(self, members: type[enum.IntEnum], bits: int, *, type_name: str = "") -> None:
        self.members = members
        self.bits = bits
        self.type_name = type_name or spelling(members)
        self.number = IntKind(bits)
        self.zero = self.member(0)

    def member(self, number: int) -> int:
        """The member with that value, or the number itself."""
        return self.members._value2member_map_.get(number, number)  # type: ignore[return-value]

    def normalise(self, value: Any, name: str) -> int:
        """A member, or an int that fits the bits."""
        if isinstance(value, enum.Enum) and not isinstance(value, self.members):
            told = f"{type(value).__name__}.{value.name}"
            raise EncodeError(f"{name}: {told} is no {self.type_name}", rule="layout.type")
        return self.member(self.number.normalise(value, name))

    def table(self) -> tuple[int, ...]:
        """The value of every bit pattern, for lookup."""
        return _enum_table(self.members, self.bits)

    def decode_expr(self, raw: str, ns: Namespace) -> str:
        """A lookup in a table of all values, or by the known ones where the bits are many."""
        key = f"enum_{self.members.__name__}_{self.bits}"
        if self.bits > MAX_TABLE_BITS:
            ns[key] = self.member
            return f"{key}({raw})"
        ns[key] = self.table()
        return f"{key}[{raw}]"

    def to_json(self, value: int) -> Any:
        """The name of a member, else the integer."""
        return value.name if isinstance(value, enum.Enum) else value

    def from_json(self, value: Any, name: str, default: Any = None) -> int:
        """A name (any case), `Class.NAME`, or an integer in any base."""
        if not isinstance(value, str):
            return self.normalise(value, name)
        wanted = value.rpartition(".")[2].upper()
        named = self.members.__members__.get(wanted)
        if named is not None:
            return named
        try:
            number = int(value, 0)
        except ValueError:
            raise self._unknown(value, wanted, name) from None
        return self.normalise(number, name)

    def _unknown(self, value: str, wanted: str, name: str) -> EncodeError:
        fix = suggestion(wanted, self.members.__members__)
        return EncodeError(f"{name}: {self.type_name} has no value {brief(value)}", rule="layout.enum", fix=fix)

    def source(self, value: int) -> str:
        """`Class.NAME`, or the integer."""
        return f"{type(value).__name__}.{value.name}" if isinstance(value, enum.Enum) else repr(value)

    def show(self, value: int) -> str:
        """Name and number, or the number alone with a remark."""
        if isinstance(value, enum.Enum):
            return f"{value.name} ({int(value):#x})"
        return f"{value:#x} (no {self.type_name})"


@cache
def _enum_table(members: type[enum.IntEnum], bits: int) -> tuple[int, ...]:
    known: dict[Any, Any] = members._value2member_map_
    return tuple(known.get(number, number) for number in range(1 << bits))


class BytesKind(Kind):
    """A run of bytes that nothing here interprets."""

    raw_is_bytes = True

    def __init__(self, size: int, *, type_name: str = "") -> None:
        self.size = size
        self.bits = 8 * size
        self.type_name = type_name or f"u8[{size}]"
        self.zero = bytes(size)

    def normalise(self, value: Any, name: str) -> bytes:
        """Exactly `size` bytes, from bytes or a sequence of ints."""
        try:
            data = bytes(value) if not isinstance(value, (int, str)) else None
        except (TypeError, ValueError):
            data = None
        if data is None:
            raise EncodeError(f"{name}: {brief(value)} is not {self.size} bytes", rule="layout.type")
        if len(data) != self.size:
            raise EncodeError(
                f"{name}: {len(data)} bytes do not fit {self.size} bytes",
                values={"value": len(data), "size": self.size},
            )
        return data

    def to_json(self, value: bytes) -> str:
        """Hex text."""
        return value.hex()

    def from_json(self, value: Any, name: str, default: Any = None) -> bytes:
        """Hex text (spaces allowed), or a list of ints."""
        if isinstance(value, str):
            try:
                value = bytes.fromhex(value)
            except ValueError:
                raise EncodeError(f"{name}: {brief(value)} is no hex text", rule="layout.type") from None
        return self.normalise(value, name)

    def source(self, value: bytes) -> str:
        """A call that rebuilds the bytes."""
        return f"bytes.fromhex({value.hex()!r})"

    def show(self, value: bytes) -> str:
        """Hex pairs."""
        return value.hex(" ")


class TextKind(Kind):
    """A fixed-size char array, kept as latin-1 text without the padding NULs, so that any bytes survive."""

    raw_is_bytes = True
    zero = ""

    def __init__(self, size: int) -> None:
        self.size = size
        self.bits = 8 * size
        self.type_name = "char"

    def normalise(self, value: Any, name: str) -> str:
        """Text of at most `size` latin-1 characters, or bytes."""
        if isinstance(value, (bytes, bytearray)):
            value = bytes(value).decode("latin-1")
        if not isinstance(value, str):
            raise EncodeError(f"{name}: {brief(value)} is no text", rule="layout.type")
        text = value.rstrip("\0")
        if len(text) > self.size:
            raise EncodeError(
                f"{name}: {len(text)} characters do not fit char[{self.size}]",
                values={"value": len(text), "size": self.size},
            )
        if not all(ord(letter) < 256 for letter in text):
            raise EncodeError(f"{name}: {brief(value)} holds characters outside latin-1", rule="layout.type")
        return text

    def decode_expr(self, raw: str, ns: Namespace) -> str:
        """Latin-1, padding removed."""
        return f'{raw}.rstrip(b"\\0").decode("latin-1")'

    def encode_expr(self, value: str, ns: Namespace) -> str:
        """Latin-1; `struct` pads with zeros."""
        return f'{value}.encode("latin-1")'
