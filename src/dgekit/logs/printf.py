"""The C printf of the firmware, for the conversions its format strings use.

`int` and `size_t` have 32 bits on the device (Xtensa), `long long` has 64: a number outside is printed as C would,
by its low bits; a negative one under `%x` or `%u` as two's complement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from dgekit.core.errors import InternalError

_CONVERSION = re.compile(r"%(?P<zero>0?)(?P<width>[0-9]*)(?P<length>ll|z|)(?P<kind>[diuxXsp%])")
_BITS = {"": 32, "z": 32, "ll": 64}

Printer = Callable[[object], str]


@dataclass(frozen=True, slots=True)
class Conversion:
    """One conversion of a format: its letter `kind`, the `bits` of its number, zero padding to `width` digits."""

    kind: str
    bits: int
    zero: str = ""
    width: str = ""


@cache
def split_format(text: str) -> tuple[tuple[str, ...], tuple[Conversion, ...]]:
    """The literal pieces of a format and the conversion between each two; raises InternalError for another one.

    >>> split_format("[%s] at 0x%04x.")[0]
    ('[', '] at 0x', '.')
    """
    literals = [""]
    conversions: list[Conversion] = []
    place = 0
    while (start := text.find("%", place)) >= 0:
        match = _CONVERSION.match(text, start)
        if match is None:
            raise InternalError(f"no printf conversion at character {start} of {text!r}", rule="logs.printf")
        literals[-1] += text[place:start]
        place = match.end()
        if match["kind"] == "%":
            literals[-1] += "%"
            continue
        conversions.append(Conversion(match["kind"], _BITS[match["length"]], match["zero"], match["width"]))
        literals.append("")
    literals[-1] += text[place:]
    return tuple(literals), tuple(conversions)


@cache
def compile_format(text: str) -> tuple[tuple[str, ...], tuple[Printer, ...]]:
    """The literal pieces of a format and one printer between each two; raises InternalError for another conversion."""
    literals, conversions = split_format(text)
    return literals, tuple(_printer(conversion) for conversion in conversions)


def printf(text: str, args: Sequence[object]) -> str:
    """The text with its arguments; raises InternalError when their number or types do not fit.

    >>> printf("P%i: addr=0x%08x step=0x%x [%d] %s", (3, 0x1000, -4, -4, "RD"))
    'P3: addr=0x00001000 step=0xfffffffc [-4] RD'
    """
    literals, printers = compile_format(text)
    if len(args) != len(printers):
        raise InternalError(
            f"{len(args)} arguments for the {len(printers)} conversions of {text!r}",
            rule="logs.printf",
            values={"given": len(args), "wanted": len(printers)},
        )
    pieces = [literals[0]]
    for printer, arg, literal in zip(printers, args, literals[1:], strict=True):
        pieces += (printer(arg), literal)
    return "".join(pieces)


def _printer(conversion: Conversion) -> Printer:
    kind, padding = conversion.kind, conversion.zero + conversion.width
    if kind == "s":
        return _text
    mask = (1 << conversion.bits) - 1
    if kind == "p":
        return lambda arg: f"{_number(arg) & mask:#x}" if _number(arg) & mask else "(nil)"
    if kind in "di":
        half = 1 << (conversion.bits - 1)
        return lambda arg: format((_number(arg) + half & mask) - half, padding + "d")
    spec = padding + ("d" if kind == "u" else kind)
    return lambda arg: format(_number(arg) & mask, spec)


def _number(arg: object) -> int:
    if not isinstance(arg, int):
        raise InternalError(f"{arg!r} is not the number its conversion prints", rule="logs.printf")
    return arg


def _text(arg: object) -> str:
    if not isinstance(arg, str):
        raise InternalError(f"{arg!r} is not the text that %s prints", rule="logs.printf")
    return arg
