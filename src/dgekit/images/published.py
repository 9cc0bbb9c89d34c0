"""Published facts of the images: container, members, sizes, hashes, places in the shared object (pipeline 8.1, 8.3).

Facts only: no byte of an image is here. A hash is the published prefix of a sha256; it is a second check, since one
source saw a hash differ between passes although all offsets agreed (pipeline 8.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# members per generation, `shared` for those of none (pipeline 8.1)
MEMBERS: Mapping[str, int] = {
    "SUNDA": 48, "CAYMAN": 124, "MARIANA": 124, "MARIANA_PLUS": 124, "MAVERICK": 0, "shared": 15,
}  # fmt: skip
DRAM_BASE = 0x80000
DRAM_MAGIC = 0x6099CB34


# all published facts were read in the files of this package
PACKAGE = "aws-neuronx-gpsimd-customop-lib 0.21.2.0"


@dataclass(frozen=True, slots=True)
class Container:
    """A published file of images: its name, its size in bytes, how its sha256 starts and ends."""

    name: str
    size: int
    sha_start: str
    sha_end: str

    def is_file(self, size: int, sha256: str) -> bool:
        """True when a file of that size and hash is this one."""
        return size == self.size and sha256.startswith(self.sha_start) and sha256.endswith(self.sha_end)


ARCHIVE = Container("libnrtucode.a", 10_235_636, "158dadc5", "d7bd6130")
SHARED_OBJECT = Container("libnrtucode_internal.so", 10_276_288, "b7c67e898a116454", "632fc329b")


@dataclass(frozen=True, slots=True)
class Published:
    """What is published of one image: size in bytes, start of its sha256, offset in the shared object (None: not)."""

    name: str
    size: int
    sha256: str = ""
    so_offset: int | None = None


# fmt: off
_ROWS = (
    Published("img_SUNDA_NX_POOL_DEBUG_IRAM", 0xE8D0, "d97d1a8e6fca"),
    Published("img_SUNDA_NX_POOL_DEBUG_DRAM", 0x3860, "298ae996c1a3"),
    Published("img_CAYMAN_NX_POOL_PERF_IRAM", 0x17280, "9049bf8c", 0xA0600),
    Published("img_CAYMAN_NX_POOL_PERF_DRAM", 0x3020, "", 0xB7880),
    Published("img_CAYMAN_NX_POOL_TEST_IRAM", 0x16A00, "", 0x11C920),
    Published("img_CAYMAN_NX_POOL_TEST_DRAM", 0x3320, "", 0x133320),
    Published("img_CAYMAN_NX_POOL_DEBUG_IRAM", 0x1C820, "8e4412b99201f62d", 0x1B1420),
    Published("img_CAYMAN_NX_POOL_DEBUG_DRAM", 0x6F20, "7bdf6ed7ccd27b37", 0x1CDC40),
    Published("img_CAYMAN_Q7_POOL_PERF_IRAM", 0x16360, "", 0x1F4860),
    Published("img_CAYMAN_Q7_POOL_PERF_DRAM", 0x13200, "", 0x20ABC0),
    Published("img_CAYMAN_Q7_POOL_TEST_IRAM", 0x17D60, "", 0x21DDC0),
    Published("img_CAYMAN_Q7_POOL_TEST_DRAM", 0x13500, "", 0x235B20),
    Published("img_CAYMAN_Q7_POOL_DEBUG_IRAM", 0x1EA40, "513a8a22d94b08c2", 0x249020),
    Published("img_CAYMAN_Q7_POOL_DEBUG_DRAM", 0x15D00, "226f4254d4751903", 0x267A60),
    Published("img_CAYMAN_Q7_POOL_DKL_PERF_IRAM", 0x10120, "c05e05eb", 0x27D760),
    Published("img_CAYMAN_Q7_POOL_DKL_PERF_DRAM", 0x13C00, "e98902ac", 0x28D880),
    Published("img_CAYMAN_Q7_POOL_DKL_DEBUG_IRAM", 0x13FC0, "7e5e39ac", 0x2A1480),
    Published("img_CAYMAN_Q7_POOL_DKL_DEBUG_DRAM", 0x16680, "6c716c5b", 0x2B5440),
    Published("img_CAYMAN_Q7_POOL_DKL_TEST_IRAM", 0x10120, "c05e05eb"),
    Published("img_CAYMAN_Q7_POOL_DKL_TEST_DRAM", 0x13C00, "e98902ac"),
    Published("img_CAYMAN_Q7_POOL_PERF_EXTISA_0_SO", 0xA260, "910d41c3"),
    Published("img_CAYMAN_Q7_POOL_PERF_EXTISA_1_SO", 0xF5C, "469c2413"),
    Published("img_CAYMAN_Q7_POOL_PERF_EXTISA_2_SO", 0x1500, "efd06876"),
    Published("img_CAYMAN_Q7_POOL_PERF_EXTISA_3_SO", 0x6974, "052ac31c"),
    Published("img_MARIANA_NX_POOL_DEBUG_IRAM", 0x1C080, "41b6c798bff3", 0x44B540),
    Published("img_MARIANA_NX_POOL_DEBUG_DRAM", 0x7000, "ec067304e6cf", 0x4675C0),
    Published("img_MARIANA_Q7_POOL_DEBUG_IRAM", 0x1ED40, "47f76629", 0x4E2440),
    Published("img_MARIANA_Q7_POOL_DEBUG_DRAM", 0x15D80, "02cacff0", 0x501180),
    Published("img_MARIANA_PLUS_NX_POOL_PERF_IRAM", 0x17BC0, "582c246b"),
    Published("img_MARIANA_PLUS_NX_POOL_PERF_DRAM", 0x32A0, "fbe207ed"),
    Published("img_MARIANA_PLUS_NX_POOL_TEST_IRAM", 0x176A0, "bf84aacb"),
    Published("img_MARIANA_PLUS_NX_POOL_TEST_DRAM", 0x3620, "9c605daf"),
    Published("img_MARIANA_PLUS_NX_POOL_DEBUG_IRAM", 0x1D340, "9b514bb6d45a7363", 0x714700),
    Published("img_MARIANA_PLUS_NX_POOL_DEBUG_DRAM", 0x7160, "d2e1552a13f1efe3"),
    Published("img_MARIANA_PLUS_Q7_POOL_PERF_IRAM", 0x164E0, "0c761dba"),
    Published("img_MARIANA_PLUS_Q7_POOL_PERF_DRAM", 0x13180, "c448c5ff"),
    Published("img_MARIANA_PLUS_Q7_POOL_DEBUG_IRAM", 0x1EF00, "1c9c15bcc91b", 0x7ADF40),
    Published("img_MARIANA_PLUS_Q7_POOL_DEBUG_DRAM", 0x15D80, "295fae9c1cdb"),
    Published("img_MARIANA_PLUS_NX_SP_DEBUG_DRAM", 0x6660, "2958154e", 0x752F80),
    Published("img_MAVERICK_NX_POOL_PERF_IRAM", 0xCF40, "150437ba"),
    Published("img_MAVERICK_NX_POOL_PERF_DRAM", 0x25C0, "1efa8f0a"),
    Published("img_MAVERICK_NX_POOL_TEST_IRAM", 0xD560, "768239aa"),
    Published("img_MAVERICK_NX_POOL_TEST_DRAM", 0x27C0, "a3ce05f8"),
    Published("img_MAVERICK_Q7_POOL_DEBUG_SRAM", 0x1D100, "6bcbbdd3"),
    Published("img_MAVERICK_Q7_POOL_DEBUG_DRAM", 0x15480, "a34dc924"),
)
# fmt: on

IMAGES: Mapping[str, Published] = {row.name: row for row in _ROWS}
EVIDENCE = "pipeline 8.3, read in the published files by the sources"


def hash_check(name: str, size: int, sha256: str) -> str:
    """`same` or `differs` by the published size and hash of that image; empty where nothing is published.

    >>> hash_check("img_CAYMAN_NX_POOL_TEST_DRAM", 0x3321, "00")
    'differs'
    """
    row = IMAGES.get(name)
    if row is None:
        return ""
    return "same" if size == row.size and sha256.startswith(row.sha256) else "differs"
