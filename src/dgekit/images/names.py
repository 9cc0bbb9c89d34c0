"""What the name of an image says: generation, core, engine, mode and segment (pipeline 8.1).

`img_<GEN>_<CLASS>_<ENGINE>_<MODE>_<SEG>` with `_contents.c.o` behind it as a member of the archive and `_get.data` as a
symbol of the shared object. MARIANA is a prefix of MARIANA_PLUS: the longer name is tried first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dgekit.core.generations import GENERATIONS

CORES = ("NX", "Q7")
SEGMENTS = ("IRAM", "DRAM", "SRAM", "EXTRAM")
_GENERATION_NAMES = sorted((generation.name for generation in GENERATIONS), key=len, reverse=True)
_SUFFIX = re.compile(r"(?:_contents(?:\.c)?(?:\.o)?|_get\.data|_get|\.bin|\.o)$")
_NAME = re.compile(rf"(?:(img|hwdecode)_)?({'|'.join(_GENERATION_NAMES)})_(\w+)")
_REST = re.compile(rf"({'|'.join(CORES)})_([A-Z0-9]+)_(?:(\w+)_)?([A-Z]+)")
NO_GENERATION = "shared"


@dataclass(frozen=True, slots=True)
class Label:
    """The parts of an image's name; a part that the name does not tell is empty."""

    generation: str = ""
    core: str = ""
    engine: str = ""
    mode: str = ""
    segment: str = ""

    @property
    def group(self) -> str:
        """The generation, or `shared` for a member that belongs to none."""
        return self.generation or NO_GENERATION


def image_name(member: str) -> str:
    """The image's name without what the container adds.

    >>> image_name("img_CAYMAN_NX_POOL_DEBUG_IRAM_contents.c.o"), image_name("CAYMAN_NX_POOL_DEBUG_IRAM_get.data")
    ('img_CAYMAN_NX_POOL_DEBUG_IRAM', 'img_CAYMAN_NX_POOL_DEBUG_IRAM')
    """
    bare = _SUFFIX.sub("", member)
    found = _NAME.fullmatch(bare)
    return f"img_{bare}" if found is not None and found[1] is None else bare


def read_label(name: str) -> Label:
    """The parts of an image's name; empty parts for a name of another form.

    >>> read_label("img_MARIANA_PLUS_Q7_POOL_DKL_DEBUG_DRAM")
    Label(generation='MARIANA_PLUS', core='Q7', engine='POOL', mode='DKL_DEBUG', segment='DRAM')
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return Label()
    rest = _REST.fullmatch(found[3])
    if rest is None:
        return Label(found[2])
    core, engine, mode, segment = rest.groups()
    return Label(found[2], core, engine, mode or "", segment)
