"""Registers of the compute path, where a generation has them: seeds, FP8 policy, notification mask (cce 4.8, 4.9).

Where a generation has none, the runtime's getters return 0, and so do these functions.
"""

from __future__ import annotations

from typing import Final

from dgekit.cce.faults import finding
from dgekit.core.errors import ComputeError, Issue
from dgekit.core.generations import Generation
from dgekit.layout.fields import data, reserved, u8, u32
from dgekit.layout.struct import Struct

CCE_USER: Final = 0x2000  # from the base of the engine's CSR space
SEED_QUEUES: Final = 16
DATA_CONVERTERS: Final = 16
_FP8_OCP: Final = (0xC00, 0xC10)
_FP8_NON_OCP: Final = (0xC04, 0xC14)
_SELECTORS: Final = 2


class Fp8Config(Struct, name="kbin_fp8_conv_cfg_t", size=16, source="cce 4.8"):
    """The FP8 policy of a program; the engine gets range extension, saturation, sis and sns, never emax."""

    fp8_range_extension = u8(0, "bool: E4M3 in its FN form on v4 (CHOICE-39)")
    pad_1 = data(3, 1, "padding", role="reserved")
    emax_fp8_e4m3 = u32(4, "stored, of no effect on the engine")
    emax_fp8_e5m2 = u32(8, "stored, of no effect on the engine")
    ocp_sat = u8(12, "bool: overflow saturates (CHOICE-39)")
    sis = u8(13, "meaning unknown, stored", "L/-")
    sns = u8(14, "meaning unknown, stored", "L/-")
    pad_15 = reserved(8, 15, "padding")


def seed_register(generation: Generation, csr_base: int, queue: int, converter: int) -> int:
    """Address of the seed of one data converter of a queue, or 0 where there is none.

    >>> from dgekit.core.generations import MARIANA
    >>> hex(seed_register(MARIANA, 0, 0, 0)), hex(seed_register(MARIANA, 0, 15, 15))
    ('0x2400', '0x2bf8')
    """
    _check_index("queue", queue, SEED_QUEUES)
    _check_index("data_converter", converter, DATA_CONVERTERS)
    if not generation.has_cce_registers:
        return 0
    return csr_base + CCE_USER + 8 * (converter + 16 * (queue + 8))


def fp8_registers(generation: Generation, csr_base: int, selector: int) -> tuple[int, int]:
    """Addresses of the OCP and the non-OCP control of a selector, or zeros where there are none."""
    _check_index("selector", selector, _SELECTORS)
    if not generation.has_cce_registers:
        return 0, 0
    return csr_base + CCE_USER + _FP8_OCP[selector], csr_base + CCE_USER + _FP8_NON_OCP[selector]


def check_notification_mask(generation: Generation) -> list[Issue]:
    """Whether tx descriptors can mask their notification: v4 only (cce 5.4)."""
    if generation.has_notification_mask:
        return []
    return [finding("notif_arch", generation.nc, rule="cce.5.4", generation=generation.name)]


def _check_index(name: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise ComputeError(
            f"{name} {index}, there are {count}",
            rule="cce.4.9",
            where=name,
            values={"text": f"{name} < {count}", name: index, "limit": count},
            source="cce 4.9",
        )
