"""What the runtime says when it refuses: each text, where it stands and how the call ends (cce 2.3, 5.4).

A finding made here carries the runtime's text with its numbers filled in, the file and line of the assertion where
known, and the return code, so that a log of the real runtime can be laid beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.core.errors import ComputeError, Issue

EINVAL = -22


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal: printf `text`, `site` of an assertion (`file:line`), the `result` a logging call returns."""

    text: str
    site: str = ""
    result: int | None = None
    source: str = "cce 2.3"


REFUSALS: Mapping[str, Refusal] = {
    "bad_op": Refusal("Unsupported CCE Op! %u", "helper.c:0x1C0"),
    "bad_dtype": Refusal("Unsupported data type!: %u", "helper.c:0x1AF"),
    "dtype_size": Refusal("Invalid dtype %u passed", source="cce 1.2"),
    "info_null": Refusal("cce_info != NULL", "vring.c:0x3B8"),
    "scale_assert": Refusal("sdma_scale_dtype == al_sdma_m2m_meta_ctrl_data_type_fp32", "vring.c:0x3BA"),
    "vring_op": Refusal("unsupported op! (%u)", result=-1, source="cce 2.2"),
    "vring_fail": Refusal("Failed to add CCE %u packet, ret=%u", source="cce 2.2"),
    "minmax_dtype": Refusal("Unsupported data type for min/max op %s"),
    "replication_arch": Refusal("CCE replication not supported for v1/v2 archs", result=-1),
    "concat": Refusal("CCE concatenation not supported"),
    "too_many_tx": Refusal("unsupported number of TX descs per packet: %u, max allowed: %u", result=EINVAL),
    "gce_header": Refusal("invalid %scompression header addr %lx", source="cce 4.6"),
    "gce_decomp": Refusal("Failed to build decompression header", source="cce 4.6"),
    "gce_buffer": Refusal("Failed to build buffer packet for gce op", source="cce 4.6"),
    "notif_arch": Refusal(
        "sdma notification mask is not supported on arch version: %u", result=EINVAL, source="cce 5.4"
    ),
    "sow_arch": Refusal("udma strong ordering not supported in TRN1!", result=-1, source="cce 5.4"),
    "encd_add": Refusal("failed to add CCE packet", "encd.c"),
    "ctx_null": Refusal("ctx != NULL", "encd.c:0x1200", source="cce 5.2"),
    "prio_class": Refusal("priority class <= 4", "encd.c:0x1202", source="cce 5.2"),
    "dtype_size_zero": Refusal("sdma_data_type_size[dtype] > 0", "encd.c:0x1204", source="cce 5.2"),
    "fold_n": Refusal("channel->fold_n > 0", "encd.c"),
    "m2s_counter": Refusal("UINT16_MAX - m2s_val > tx count", "encd.c"),
    "s2m_counter": Refusal("UINT16_MAX - s2m_val > rx count", "encd.c"),
    "max_elements_arch": Refusal("arch 2..4", "aws_hal_get_sdma_max_cce_elements:0x2C", source="cce 5.1"),
    "even_chunk": Refusal("!(sz & 1)", "enc_primitive.h:0x1FA", source="cce 5.5"),
    "ring_op": Refusal("not supported operation (op_type %d)", source="cce 7.1"),
    "a2a": Refusal("alltoall cannot be supported without Mesh algorithm", source="cce 7.1"),
}


def finding(
    key: str, *numbers: object, rule: str, message: str = "", where: str = "", fix: str = "", **values: Any
) -> Issue:
    """The refusal as an issue of severity error; `numbers` fill the runtime's text, `message` adds what is meant."""
    refusal = REFUSALS[key]
    text = refusal.text % numbers
    detail: dict[str, Any] = {"text": text, "site": refusal.site, "result": refusal.result}
    known = {name: value for name, value in detail.items() if value not in ("", None)}
    return Issue(
        rule,
        "error",
        f"{message} ({text})" if message else text,
        where,
        {**values, **known},
        refusal.source,
        fix,
    )


def refusal_error(key: str, *numbers: object, rule: str, **details: Any) -> ComputeError:
    """The refusal as an error to raise; arguments as for `finding`."""
    return as_error(finding(key, *numbers, rule=rule, **details))


def as_error(issue: Issue) -> ComputeError:
    """The error that says what an issue says."""
    return ComputeError(
        issue.message, rule=issue.rule, where=issue.where, values=issue.values, source=issue.source, fix=issue.fix
    )


def raise_first(issues: Iterable[Issue]) -> None:
    """Raise ComputeError for the first issue of severity error, if there is one."""
    for issue in issues:
        if issue.severity == "error":
            raise as_error(issue)
