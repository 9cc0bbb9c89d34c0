"""Bits to values and back: fields, structures, unions, the scalar codec and the diagrams drawn from declarations.

This package knows nothing of DMA; see `dgekit.words.structs` for what is declared with it.
"""

from dgekit.layout.fields import Field
from dgekit.layout.kinds import spelled, spelling
from dgekit.layout.struct import Layout, Struct
from dgekit.layout.union import TaggedUnion, Union

__all__ = ["Field", "Layout", "Struct", "TaggedUnion", "Union", "spelled", "spelling"]
