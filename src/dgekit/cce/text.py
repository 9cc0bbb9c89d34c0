"""BDs as text: the JSON object of `dge cce decode`, and one line for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dgekit.cce.classify import BUFFER, DEFAULTS, KINDS, PARAMETERS, RAW, Leg, decode_bd
from dgekit.cce.lint import bd_issues
from dgekit.core.choices import Choices
from dgekit.core.errors import InputError, Issue
from dgekit.descriptors.bd import MAX_BD_BYTES
from dgekit.layout.fields import Field
from dgekit.layout.say import brief, suggestion
from dgekit.layout.struct import Struct

_JSON_KEYS = ("offset", "leg", "kind", "fields", "hex", "issues")
_ALWAYS = ("op_type", "ssmae_op", "param", "one", "md", "ring_id", "length")  # told by the kind, or in front


def bd_to_json(
    data: bytes,
    offset: int = 0,
    leg: Leg = "auto",
    choices: Choices | None = None,
    issues: Iterable[Issue] | None = None,
) -> dict[str, Any]:
    """One line of `dge cce decode --json`: `offset` in bytes, `leg`, `kind`, `fields`, `hex`, `issues` (D51).

    The issues are those of the BD unless given.
    """
    kind, bd = decode_bd(data, leg, choices)
    found = bd_issues(kind, bd) if issues is None else issues
    return {
        "offset": offset,
        "leg": "s2m" if kind == BUFFER else "m2s",
        "kind": kind,
        "fields": bd.to_json(),
        "hex": data.hex(),
        "issues": [issue.to_json() for issue in found],
    }


def bd_from_json(obj: Any) -> bytes:
    """The 16 bytes of such an object: `kind` and `fields` decide; what is not named is what the kind has by default.

    Raises InputError for an object of another form, EncodeError for a value that does not fit.
    """
    if not isinstance(obj, Mapping):
        raise InputError(f"a BD is an object with kind and fields, not {type(obj).__name__}", rule="cce.json")
    for key in obj:
        if key not in _JSON_KEYS:
            raise InputError(
                f"a BD object has no key {brief(key)}", rule="cce.json", fix=suggestion(str(key), _JSON_KEYS)
            )
    kind, fields = obj.get("kind"), obj.get("fields", {})
    if not isinstance(kind, str) or kind not in DEFAULTS:
        raise InputError(f"no BD is of kind {brief(kind)}", rule="cce.json", fix=suggestion(str(kind), KINDS))
    if not isinstance(fields, Mapping):
        raise InputError(f"fields is an object, not {type(fields).__name__}", rule="cce.json")
    default = DEFAULTS[kind]
    return type(default).from_json(_merged(default.to_json(), fields)).encode()


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`own` over `base`, inside nested objects too."""
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def bd_line(data: bytes, leg: Leg = "auto", choices: Choices | None = None) -> str:
    """One line for people: kind, bytes and ring id, packet bits in capitals, then every other field that is not 0.

    >>> bd_line(bytes.fromhex("0010800980600a020020001000200000"))
    'add                4096 B  ring 1  LAST last=1 out_dt=BFLOAT16 accum_dt=FP32 buf_ptr=0x200010002000'
    """
    kind, bd = decode_bd(data, leg, choices)
    if kind == RAW:
        return f"{kind:16} {data.hex(' ', 4)}"
    length = bd.at("len_ctrl.length")
    counted = "-" if kind in (*PARAMETERS, "ext") and not length else f"{length or MAX_BD_BYTES} B"
    return f"{kind:16} {counted:>8}  ring {bd.at('len_ctrl.ring_id')}  {' '.join(_shown(bd))}".rstrip()


def _shown(bd: Struct) -> Iterator[str]:
    for path, field, value in bd.leaves():
        name = path.rpartition(".")[2]
        if not value or name in _ALWAYS:
            continue
        yield name.upper() if path.startswith("len_ctrl.") else f"{name}={_value(field, value)}"


def _value(field: Field[Any], value: Any) -> str:
    return str(field.to_json(value))
