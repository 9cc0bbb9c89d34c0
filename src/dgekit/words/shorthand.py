"""The short text forms of addresses that people write on a command line.

0x100000000      an immediate address
var:3+0x10       compiler variable 3 plus 16 bytes (pseudo words)
reg:4,5          register 4 low, register 5 high; one register for an on-chip address
table:7+0x100    address table entry 7 plus 256 bytes
table:7+reg:5    ... plus the content of register 5; `wide:5` for the pair 5, 6
"""

from __future__ import annotations

from dgekit.core.errors import EncodeError
from dgekit.layout import Struct
from dgekit.layout.say import brief
from dgekit.words.enums import Addr8Marker


def parts_of(text: str) -> tuple[str, str, str] | None:
    """A shorthand cut into (form, body, offset), or None for text that is none."""
    form, colon, rest = text.strip().partition(":")
    if not colon:
        return None
    body, _, offset = rest.partition("+")
    return form.strip().lower(), body.strip(), offset.strip()


def number(text: str, what: str) -> int:
    """An integer in any base, or EncodeError naming what it should have been."""
    try:
        return int(text, 0)
    except ValueError:
        raise EncodeError(f"{brief(text)} is no {what}", rule="words.shorthand", fix=_FORMS) from None


def registers(body: str, wanted: int) -> list[int]:
    """The register numbers of `reg:4,5`."""
    numbers = [number(part, "register number") for part in body.split(",")]
    if len(numbers) != wanted:
        raise EncodeError(
            f"reg:{body} names {len(numbers)} registers where {wanted} belong",
            rule="words.shorthand",
            values={"value": len(numbers), "count": wanted},
            fix=_FORMS,
        )
    return numbers


def refuse(text: str) -> EncodeError:
    """The error for a form that does not exist here."""
    return EncodeError(f"{brief(text)} is no address form of this word", rule="words.shorthand", fix=_FORMS)


_FORMS = (
    "write an integer, reg:LO,HI (reg:N on chip), table:ENTRY+OFFSET, table:ENTRY+reg:N or, in pseudo words, var:ID"
)


def addr8(text: str) -> Struct | None:
    """The arm of a resolved word's 8-byte address, or None for plain text."""
    parts = parts_of(text)
    if parts is None:
        return None
    from dgekit.words.substructs import Addr8Reg

    form, body, offset = parts
    if form == "reg" and not offset:
        low, high = registers(body, 2)
        return Addr8Reg(reg_lo=low, reg_hi=high)
    if form == "table":
        return _table(number(body, "table entry"), offset)
    raise refuse(text)


def pseudo_addr8(text: str) -> Struct | None:
    """The arm of a pseudo word's address, or None for plain text."""
    parts = parts_of(text)
    if parts is None or parts[0] != "var":
        return addr8(text)
    from dgekit.words.substructs import PseudoAddr8Var

    _, body, offset = parts
    return PseudoAddr8Var(offset=number(offset, "offset") if offset else 0, var_id=number(body, "variable id"))


def addr4(text: str) -> Struct | None:
    """The arm of a 4-byte on-chip address, or None for plain text."""
    parts = parts_of(text)
    if parts is None:
        return None
    from dgekit.words.substructs import Addr4Reg

    form, body, offset = parts
    if form == "reg" and not offset:
        return Addr4Reg(regnum=registers(body, 1)[0])
    raise refuse(text)


def _table(entry: int, offset: str) -> Struct:
    from dgekit.words.substructs import Addr8TblImm, Addr8TblReg

    form, colon, body = offset.partition(":")
    if not colon:
        return Addr8TblImm(offset=number(offset, "offset") if offset else 0, table_entry_id=entry)
    markers = {
        "reg": Addr8Marker.ADDR_TBL_SHAPE_IMM_OFFSET_REG,
        "wide": Addr8Marker.ADDR_TBL_SHAPE_IMM_OFFSET_REG_WIDE,
    }
    if form not in markers:
        raise refuse(f"table:{entry}+{offset}")
    return Addr8TblReg(offset_reg=registers(body, 1)[0], table_entry_id=entry, marker=markers[form])
