"""The stand-in for gradient compression: a 32-byte header and a payload that is not compressed (cce 4.6, CHOICE-31).

The real codec and header are in silicon and unknown. This one exists so that packets with a compression stage can be
followed end to end; it runs only where the choice `allow_model_codec` is on.
"""

from __future__ import annotations

import struct
from typing import Final

from dgekit.cce.faults import REFUSALS, refusal_error
from dgekit.cce.packet import Gce
from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import ComputeError, Unspecified

HEADER_BYTES: Final = 32
MAGIC: Final = b"GCE0"
_LAYOUT = struct.Struct("<4sBBHIf16x")  # magic, payload dtype, source dtype, zero, elements, scale


def check_codec(gce: Gce, choices: Choices) -> None:
    """Raise Unspecified, with the runtime's text, unless the stand-in is allowed."""
    if choices.flag("allow_model_codec"):
        return
    refusal = REFUSALS["gce_buffer" if gce.compress else "gce_decomp"]
    raise Unspecified(
        f"the codec of a compression stage is not known ({refusal.text})",
        rule="cce.CHOICE-31",
        where="gce",
        values={"header": gce.header, "compress": gce.compress, "text": refusal.text},
        source=refusal.source,
        fix="allow_model_codec = true runs a stand-in that stores elements as they are",
    )


def make_header(payload_dtype: int, source_dtype: int, elements: int) -> bytes:
    """The header of a payload of `elements`.

    >>> make_header(6, 10, 2048)[:12].hex()
    '47434530060a000000080000'
    """
    return _LAYOUT.pack(MAGIC, payload_dtype, source_dtype, 0, elements, 1.0)


def check_header(header: bytes, gce: Gce, elements: int) -> None:
    """Raise ComputeError where a header does not describe the payload: its mark, element count or payload type."""
    if len(header) != HEADER_BYTES:
        raise refusal_error(
            "gce_decomp", rule="cce.4.6", message=f"a header of {len(header)} bytes", where="gce.header",
            bytes=len(header), expected=HEADER_BYTES,
        )  # fmt: skip
    magic, payload, _, _, count, _ = _LAYOUT.unpack(header)
    if magic != MAGIC:
        raise refusal_error(
            "gce_decomp", rule="cce.4.6", message=f"no header at {gce.header:#x}, it begins {magic.hex()}",
            where="gce.header", found=magic.hex(), expected=MAGIC.hex(),
        )  # fmt: skip
    if count != elements or payload != gce.payload_dtype:
        found, wanted = (f"{n} x {_name(dtype)}" for n, dtype in ((count, payload), (elements, gce.payload_dtype)))
        raise ComputeError(
            f"the header at {gce.header:#x} describes {found}, the packet reads {wanted}",
            rule="cce.4.6",
            where="gce.header",
            values={"elements": count, "dtype": payload, "packet_elements": elements},
            source="cce 4.6",
        )


def _name(dtype: int) -> str:
    return dtype_info(dtype).name if 0 < dtype <= 0xF else f"dtype {dtype:#x}"
