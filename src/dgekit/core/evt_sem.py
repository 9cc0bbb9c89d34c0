"""The EVT_SEM window of a core: four register files of semaphores and one of events (rings 4.2, driver)."""

from __future__ import annotations

from dgekit.core.generations import Generation

REGISTER_BYTES = 4

# A program names semaphores by number alone (D42), so all cores of a run count in the block of this one.
PROGRAM_CORE = 0

# offset of each register file inside the window
EVENT, SEM_READ, SEM_SET, SEM_INC, SEM_DEC = 0x0000, 0x1000, 0x1400, 0x1800, 0x1C00


def register_address(generation: Generation, core: int, file: int, index: int) -> int:
    """SoC address of entry `index` of a register file (EVENT, SEM_READ, SEM_SET, SEM_INC, SEM_DEC).

    >>> from dgekit.core.generations import CAYMAN
    >>> hex(register_address(CAYMAN, 0, SEM_INC, 10))
    '0x2802701828'
    """
    where = generation.address_map
    return where.tpb_bases[core] + where.evt_sem_offset + file + index * REGISTER_BYTES
