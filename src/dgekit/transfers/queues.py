"""Names of the queues that a program's transfers go through, where the program gives none (D84)."""

from __future__ import annotations

from dgekit.transfers.transfer import Transfer

STATIC_QUEUE = "qStatic"
_ENGINE_NAMES = {"pe": "Tensor", "act": "Scalar", "pool": "Pool", "dve": "Vector", "sp": "Sync"}


def queue_name(transfer: Transfer) -> str:
    """The transfer's own queue, else `q<Engine>Dynamic`, with `HW` behind for hwdge, or `qStatic`.

    >>> from dgekit.transfers.transfer import Access
    >>> queue_name(Transfer("t", "copy", Access("a"), Access("b"), "hwdge", engine="sp"))
    'qSyncDynamicHW'
    """
    if transfer.queue:
        return transfer.queue
    if transfer.mode == "none" or transfer.op == "reduce":
        return STATIC_QUEUE
    return f"q{_ENGINE_NAMES[transfer.engine]}Dynamic" + ("HW" if transfer.mode == "hwdge" else "")
