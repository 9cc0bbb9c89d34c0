"""The tables of the compute chapter, and its worked packets as a caller states them."""

import json
from pathlib import Path

from dgekit.cce.enums import CceType
from dgekit.cce.packet import CcePacket, Constant, Gce

GOLDEN = Path(__file__).parent.parent / "golden" / "spec" / "cce.json"
SHARED = Path(__file__).parents[3] / "shared" / "spec" / "cce.json"
SPEC = json.loads(GOLDEN.read_text(encoding="utf-8"))
PACKETS = SPEC["golden"]["packets"]

S0, D0 = 0x200010000000, 0x200020000000
S1, S2, D1 = S0 + 0x1000, S0 + 0x2000, D0 + 0x1000
BF16, FP32 = 6, 10

EXAMPLES = {
    "add_3src_bf16": CcePacket(CceType.ADD, (S0, S1, S2), (D0,), 2048, BF16, FP32, BF16),
    "fma_2src_fp32": CcePacket(CceType.FMA, (S0, S1), (D0,), 1024, FP32, FP32, FP32, scales=(0.5, 0.5)),
    "min_const_2src_bf16": CcePacket(
        CceType.MIN, (S0, S1), (D0,), 2048, BF16, FP32, BF16, constant=Constant(0x40C00000, FP32)
    ),
    "max_noconst_2src_bf16": CcePacket(CceType.MAX, (S0, S1), (D0,), 2048, BF16, FP32, BF16),
    "ext_gce": CcePacket(
        CceType.ADD, (S0, S1, S2), (D0,), 2048, BF16, FP32, BF16, seed=0x12345678, gce=Gce(0x200030000000, True, BF16)
    ),
    "add_replicate": CcePacket(CceType.ADD, (S0, S1), (D0, D1), 2048, BF16, FP32, BF16),
}


def rows(name: str, leg: str) -> list[bytes]:
    """The bytes of one golden packet's tx or rx BDs; the rx BDs are called R0, R1."""
    return [bytes.fromhex(row["bytes"]) for row in PACKETS[name] if row["bd"].startswith("R") == (leg == "rx")]
