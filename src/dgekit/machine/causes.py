"""The error causes of an engine's two units (rings 2.4): the bit of `err_log_mask` is the number of the cause."""

from __future__ import annotations

from dgekit.descriptors.doorbell import Leg

M2S_CAUSES = (
    "comp_pkt_mismatch", "stream_axi_parity", "stream_axi_response", "stream_axi_tout",
    "comp_axi_parity", "comp_axi_response", "comp_axi_tout",
    "data_axi_parity", "data_axi_response", "data_axi_tout",
    "pref_axi_parity", "pref_axi_response", "pref_axi_tout",
    "pref_pkt_len_overflow", "pref_max_desc_cnt", "pref_first", "pref_last", "pref_ring_id", "data_buff_parity",
)  # fmt: skip
S2M_CAUSES = {11: "pref_ring_id"}  # the only one that is published

MISMATCH = M2S_CAUSES.index("comp_pkt_mismatch")
READ_RESPONSE = M2S_CAUSES.index("data_axi_response")
TOO_LONG = M2S_CAUSES.index("pref_pkt_len_overflow")
TOO_MANY = M2S_CAUSES.index("pref_max_desc_cnt")
NO_FIRST = M2S_CAUSES.index("pref_first")
NO_LAST = M2S_CAUSES.index("pref_last")
RING_ID: dict[Leg, int] = {"M2S": M2S_CAUSES.index("pref_ring_id"), "S2M": 11}
UNKNOWN = -1


def name(unit: Leg, cause: int) -> str:
    """The published name of a cause, "internal" for M2S bits 19 to 31, "unnamed" where none is known.

    >>> name("M2S", 17), name("S2M", 11), name("S2M", 3)
    ('pref_ring_id', 'pref_ring_id', 'unnamed')
    """
    if unit == "S2M":
        return S2M_CAUSES.get(cause, "unnamed")
    if 0 <= cause < len(M2S_CAUSES):
        return M2S_CAUSES[cause]
    return "internal" if len(M2S_CAUSES) <= cause < 32 else "unnamed"
