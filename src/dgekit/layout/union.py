"""Unions: one place, several structures, told apart by a marker in the bytes or by a field beside them.

A union always has a raw arm for selectors that the declaration does not know, so that any bytes decode and re-encode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from dgekit.core.errors import EncodeError, InternalError
from dgekit.layout.kinds import Kind, Namespace
from dgekit.layout.say import brief
from dgekit.layout.struct import Struct, default_of, nested

A = TypeVar("A")


class Union(Generic[A]):
    """The arms by selector value.

    `raw` takes what no arm covers; `plain` is the arm that a bare integer means; `shorthand` reads the short text forms
    that people write, and gives None for text that is none of them.
    """

    def __init__(
        self,
        name: str,
        *,
        arms: Mapping[int, type[Struct]],
        raw: type[Struct],
        plain: type[Struct],
        source: str,
        shorthand: Callable[[str], Struct | None] | None = None,
    ) -> None:
        self.name = name
        self.shorthand = shorthand
        self.arms = dict(arms)
        self.raw = raw
        self.plain = plain
        self.source = source
        self.size = raw.layout.size
        for arm in self.structs:
            if arm.layout.size != self.size or not arm.layout.is_int:
                raise InternalError(f"{name}: arm {arm.layout.name} is not {self.size} bytes", rule="layout.size")

    @property
    def structs(self) -> tuple[type[Struct], ...]:
        """Every arm once, the raw one last."""
        return (*dict.fromkeys(self.arms.values()), self.raw)

    def arm(self, selector: int) -> type[Struct]:
        """The structure for a selector value."""
        return self.arms.get(selector, self.raw)

    def check(self, value: Struct, name: str) -> None:
        """Raise EncodeError when the value's own bytes would decode as another arm."""

    def selector_expr(self, raw: str) -> str:
        """Python source for the selector inside the raw integer; raises InternalError where a sibling must select."""
        raise InternalError(f"{self.name} needs a sibling field that selects its arm", rule="layout.select")


class TaggedUnion(Union[A]):
    """Told apart by `byte[tag_offset] & mask`."""

    def __init__(
        self,
        name: str,
        *,
        tag_offset: int,
        mask: int,
        arms: Mapping[int, type[Struct]],
        raw: type[Struct],
        plain: type[Struct],
        source: str,
        shorthand: Callable[[str], Struct | None] | None = None,
    ) -> None:
        super().__init__(name, arms=arms, raw=raw, plain=plain, source=source, shorthand=shorthand)
        self.tag_offset = tag_offset
        self.mask = mask

    def check(self, value: Struct, name: str) -> None:
        """The marker inside the value must select the value's own arm."""
        marker = value.encode()[self.tag_offset] & self.mask
        if self.arm(marker) is not type(value):
            raise EncodeError(
                f"{name}: marker {marker:#04x} belongs to {self.arm(marker).layout.name}, not {value.layout.name}",
                rule="layout.arm",
                values={"marker": marker},
                source=self.source,
            )

    def selector_expr(self, raw: str) -> str:
        """The masked marker byte."""
        return f"{raw} >> {8 * self.tag_offset} & {self.mask}"


class UnionKind(Kind):
    """A union as a field type."""

    def __init__(self, union: Union[Any]) -> None:
        self.union = union
        self.type_name = union.name
        self.bits = 8 * union.size
        self.zero = default_of(union.plain)
        self._by_name = {arm.layout.name: arm for arm in union.structs}

    def normalise(self, value: Any, name: str) -> Struct:
        """An instance of an arm whose marker agrees with it."""
        if type(value) not in self.union.structs:
            names = ", ".join(arm.__name__ for arm in self.union.structs)
            raise EncodeError(
                f"{name}: {brief(value)} is no {self.type_name}", rule="layout.type", fix=f"one of {names}"
            )
        self.union.check(value, name)
        known: Struct = value
        return known

    def normalise_selected(self, value: Any, name: str, selector: int) -> Struct:
        """An instance of the arm that the sibling's value selects; that arm's default for None."""
        arm = self.union.arm(selector)
        if value is None:
            return default_of(arm)
        known = self.normalise(value, name)
        if type(known) is not arm:
            raise EncodeError(
                f"{name}: the selector is {int(selector):#x}, which means {arm.__name__}, not {type(known).__name__}",
                rule="layout.arm",
                values={"selector": int(selector)},
                source=self.union.source,
            )
        return known

    def decode_expr(self, raw: str, ns: Namespace) -> str:
        """A lookup of the arm's decoder by the selector."""
        return self.selected_expr(raw, f"({self.union.selector_expr(raw)})", ns)

    def selected_expr(self, raw: str, selector: str, ns: Namespace) -> str:
        """A lookup of the arm's decoder by a selector given as source."""
        from dgekit.layout.codec import codec_of

        arms: Mapping[int, Callable[[int], Struct]] = {
            key: codec_of(arm).decode for key, arm in self.union.arms.items()
        }
        name = self.union.name
        ns[f"arms_{name}"] = arms.get
        ns[f"raw_{name}"] = codec_of(self.union.raw).decode
        return f"arms_{name}({selector}, raw_{name})({raw})"

    def encode_expr(self, value: str, ns: Namespace) -> str:
        """A lookup of the encoder by the value's class."""
        from dgekit.layout.codec import codec_of

        ns["type"] = type
        ns[f"encs_{self.union.name}"] = {arm: codec_of(arm).encode for arm in self.union.structs}
        return f"encs_{self.union.name}[type({value})]({value})"

    def to_json(self, value: Struct) -> Any:
        """The arm's fields and its name under `arm`."""
        return {"arm": value.layout.name, **value.to_json()}

    def from_json(self, value: Any, name: str, default: Any = None) -> Struct:
        """The inverse of `to_json`; a bare integer means the plain arm, and text may be a shorthand."""
        try:
            if isinstance(value, str) and self.union.shorthand is not None:
                value = self.union.shorthand(value) or value
            if isinstance(value, (int, str)):
                value = {self.union.plain.layout.fields[0].name: value}
            if isinstance(value, Mapping):
                fields = {key: item for key, item in value.items() if key != "arm"}
                value = self._arm_of(value).from_json(fields)
        except EncodeError as fault:
            raise nested(fault, name) from None
        return self.normalise(value, name)

    def _arm_of(self, obj: Mapping[str, Any]) -> type[Struct]:
        """The arm that `arm` names; without it, the first that has all the fields given."""
        if "arm" not in obj:
            fits = (arm for arm in self.union.structs if set(obj) <= {field.name for field in arm.layout.fields})
            return next(fits, self.union.plain)
        arm = self._by_name.get(str(obj["arm"]))
        if arm is None:
            raise EncodeError(
                f"{self.type_name} has no arm {brief(obj['arm'])}",
                rule="layout.arm",
                fix="one of " + ", ".join(self._by_name),
            )
        return arm

    def source(self, value: Struct) -> str:
        """The constructor call."""
        return repr(value)
