"""The published instruction anchors: address, bytes in memory order, what they are (pipeline 8.6, 8.7, 4.4).

Bytes are the short groups that the public pages quote. An anchor whose bytes no source quotes has none here; then the
published instruction is what its place must decode to.
"""

from __future__ import annotations

from dataclasses import dataclass

CALL_LOGGER = "the logger"


@dataclass(frozen=True, slots=True)
class Anchor:
    """One instruction at an address of an image: its bytes in hex (empty: not quoted) and its published text.

    `offset` is the DRAM offset of the string whose low half a const16 loads (its high half is 8), else None.
    """

    image: str
    group: str
    address: int
    hex: str
    text: str
    meaning: str
    offset: int | None = None


def _group(image: str, group: str, *rows: tuple[int, str, str, str]) -> tuple[Anchor, ...]:
    """Rows are address, bytes, text, meaning; a meaning that starts with `string` is of a const16 of an offset."""
    return tuple(
        Anchor(image, group, address, code, text, meaning, _offset(text, meaning))
        for address, code, text, meaning in rows
    )


def _offset(text: str, meaning: str) -> int | None:
    return int(text.rpartition("0x")[2], 16) if meaning.startswith("string") else None


_CAYMAN_NX = "img_CAYMAN_NX_POOL_DEBUG_IRAM"
_CAYMAN_Q7 = "img_CAYMAN_Q7_POOL_DEBUG_IRAM"
_MARIANA_NX = "img_MARIANA_NX_POOL_DEBUG_IRAM"
_PLUS_NX = "img_MARIANA_PLUS_NX_POOL_DEBUG_IRAM"
_MAVERICK_Q7 = "img_MAVERICK_Q7_POOL_DEBUG_SRAM"

# fmt: off
ANCHORS: tuple[Anchor, ...] = (
    *_group(_CAYMAN_NX, "reset",
        (0x0, "067600", "j 0x1dc", "primary reset vector"),
        (0x6, "867700", "j 0x1e8", "secondary reset vector")),
    *_group(_CAYMAN_Q7, "reset",
        (0x0, "067f00", "j 0x200", "primary reset vector"),
        (0x6, "868000", "j 0x20c", "secondary reset vector")),
    *_group(_MARIANA_NX, "reset",
        (0x0, "067d00", "j 0x1f8", "primary reset vector"),
        (0x6, "867e00", "j 0x204", "secondary reset vector")),
    *_group(_PLUS_NX, "reset",
        (0x0, "067d00", "j 0x1f8", "primary reset vector"),
        (0x6, "867e00", "j 0x204", "secondary reset vector")),
    *_group(_MAVERICK_Q7, "reset",
        (0x0, "067800", "j 0x1e4", "primary reset vector"),
        (0x6, "", "j 0x1f0", "secondary reset vector")),
    *_group(_CAYMAN_Q7, "decode",
        (0x3394, "366100", "entry a1, 48", "decode starts"),
        (0x3397, "240900", "const16 a2, 0x9", "decode"),
        (0x340A, "447c08", "const16 a4, 0x87c", "seed of the jump table"),
        (0x340D, "4033a0", "addx4 a3, a3, a4", "four bytes a kind"),
        (0x3410, "3803", "l32i.n a3, a3, 0", "the arm's address"),
        (0x3412, "a00300", "jx a3", "to the arm")),
    *_group(_CAYMAN_Q7, "decode arm DIRECT2D",
        (0x3538, "a40800", "const16 a10, 0x8", "high half of the string"),
        (0x353B, "b0eb03", "rsr.prid a11", "processor number"),
        (0x353E, "a40c0e", "const16 a10, 0xe0c", "string of the kind"),
        (0x3541, "a54e15", "call8 0x18a2c", CALL_LOGGER),
        (0x3544, "e50810", "call8 0x135d4", "the builder"),
        (0x3547, "067200", "j 0x3713", "common exit")),
    *_group(_CAYMAN_Q7, "decode arm GATHER TRANSPOSE",
        (0x3566, "a40800", "const16 a10, 0x8", "high half of the string"),
        (0x3569, "b0eb03", "rsr.prid a11", "processor number"),
        (0x356C, "a4320e", "const16 a10, 0xe32", "string of the kind"),
        (0x356F, "e54b15", "call8 0x18a2c", CALL_LOGGER),
        (0x3572, "a56e10", "call8 0x13c5c", "the builder"),
        (0x3575, "866600", "j 0x3713", "common exit")),
    *_group(_CAYMAN_Q7, "decode arm INDIRECT",
        (0x36A3, "a40800", "const16 a10, 0x8", "high half of the string"),
        (0x36A6, "b0eb03", "rsr.prid a11", "processor number"),
        (0x36A9, "a41f0e", "const16 a10, 0xe1f", "string of the kind"),
        (0x36AC, "e53715", "call8 0x18a2c", CALL_LOGGER),
        (0x36AF, "e55910", "call8 0x13c4c", "the builder"),
        (0x36B2, "461700", "j 0x3713", "common exit")),
    *_group(_CAYMAN_Q7, "rdma_desc_gen",
        (0x3742, "25ab12", "call8 0x161f4", "SB2SB calls rdma_desc_gen"),
        (0x161F4, "36814a", "entry a1, 9536", "rdma_desc_gen starts"),
        (0x16210, "a40800", "const16 a10, 0x8", "high half of the string"),
        (0x16216, "a45148", "const16 a10, 0x4851", "string Start")),
    *_group(_CAYMAN_Q7, "assert site",
        (0x1565A, "a4003e", "const16 a10, 0x3e00", "string of the function's name"),
        (0x1565D, "b4193e", "const16 a11, 0x3e19", "string of the file's name"),
        (0x15660, "24e860", "const16 a2, 0x60e8", "the assert function"),
        (0x15663, "e00200", "callx8 a2", "assert")),
    *_group(_CAYMAN_Q7, "rdma_desc_start",
        (0x1723C, "360102", "entry a1, 256", "rdma_desc_start starts"),
        (0x1736B, "7807", "l32i.n a7, a7, 0", "expected role"),
        (0x1736D, "b0eb03", "rsr.prid a11", "processor number"),
        (0x17370, "707004", "extui a7, a7, 0, 1", "bit 0"),
        (0x17373, "679775", "bne a7, a6, 0x173ec", "wrong role"),
        (0x17376, "ac66", "beqz.n a6, 0x173a0", "role RX")),
    *_group(_CAYMAN_Q7, "doorbell",
        (0x17388, "41a408", "l32r a4, literal 0x08a4", "doorbell address, literal not readable"),
        (0x1738F, "a4654e", "const16 a10, 0x4e65", "string TX writing"),
        (0x17398, "a4a34e", "const16 a10, 0x4ea3", "string TX written, set up before the store"),
        (0x1739B, "3904", "s32i.n a3, a4, 0", "TX doorbell"),
        (0x1739D, "060a00", "j 0x173c9", "end"),
        (0x173A3, "a4e14e", "const16 a10, 0x4ee1", "string RX writing"),
        (0x173A9, "3904", "s32i.n a3, a4, 0", "RX doorbell"),
        (0x173B1, "a41f4f", "const16 a10, 0x4f1f", "string RX signaling")),
    *_group(_CAYMAN_NX, "dge_shape",
        (0xAC81, "240800", "const16 a2, 0x8", "high half of the string"),
        (0xAC84, "24c223", "const16 a2, 0x23c2", "string dge_shape"),
        (0xAC87, "29a1", "s32i.n a2, a1, 40", "kept on the stack"),
        (0xAC89, "2871", "l32i.n a2, a1, 28", "the context"),
        (0xAC8B, "22020d", "l8ui a2, a2, 13", "number of shapes, context + 13"),
        (0xAC8E, "8ce2", "beqz.n a2, 0xaca0", "no shape"),
        (0xAC99, "a65203", "blti a2, 5, 0xaca0", "below 5")),
    *_group(_CAYMAN_NX, "select arm Pool",
        (0xF544, "44a05d", "const16 a4, 0x5da0", "availability table"),
        (0xF547, "a45731", "const16 a10, 0x3157", "string Select backend Pool"),
        (0xF54A, "0c06", "movi.n a6, 0", "result 0"),
        (0xF54C, "3804", "l32i.n a3, a4, 0", "word 0 of the table"),
        (0xF54E, "16d304", "beqz a3, 0xf59f", "not available"),
        (0xF551, "a56a09", "call8 0x18bfc", CALL_LOGGER)),
    *_group(_CAYMAN_NX, "select arm NO BACKEND",
        (0xF5A2, "a42f31", "const16 a10, 0x312f", "string NO BACKEND FOUND"),
        (0xF5A5, "656509", "call8 0x18bfc", CALL_LOGGER),
        (0xF5A8, "62622f", "s32i a6, a2, 188", "result 0 stored")),
    *_group(_CAYMAN_NX, "availability table",
        (0xFA72, "", "const16 a4, 0x5da0", "second Pool arm"),
        (0x108FF, "", "const16 a2, 0x5da0", "backend body")),
    *_group(_CAYMAN_NX, "SB2SB handler",
        (0xD1F3, "", "call8 0x18b84", "the line of opcode 0xBF")),
    *_group(_CAYMAN_NX, "notify",
        (0xF1E0, "", "call8 0xa2f8", "notify primitive"),
        (0xF685, "", "call8 0xa2f8", "notify primitive"),
        (0xFBA0, "", "call8 0xa2f8", "notify primitive"),
        (0x10040, "", "call8 0xa2f8", "notify primitive"),
        (0x103A3, "", "call8 0x13f80", "illegal instruction")),
    *_group(_CAYMAN_NX, "raise",
        (0x13E18, "", "entry a1, 48", "raise starts"),
        (0x13E23, "2015f3", "wur a2, 21", "error latch UR 21"),
        (0x13E29, "", "call8 0xa450", "report sink")),
    *_group(_PLUS_NX, "select arm Pool",
        (0xF9B0, "44e05f", "const16 a4, 0x5fe0", "availability table"),
        (0xF9B3, "a49731", "const16 a10, 0x3197", "string Select backend Pool"),
        (0xF9B6, "0c05", "movi.n a5, 0", "result 0"),
        (0xF9B8, "3804", "l32i.n a3, a4, 0", "word 0 of the table"),
        (0xF9BA, "16f307", "beqz a3, 0xfa3d", "not available"),
        (0xF9BD, "25d309", "call8 0x196f0", "the logger, by analogy")),
    *_group(_PLUS_NX, "availability table",
        (0xFEE6, "", "const16 a4, 0x5fe0", "second Pool arm"),
        (0x10DE4, "", "const16 a2, 0x5fe0", "backend body")),
)
# fmt: on
SOURCE = "pipeline 8.7"
