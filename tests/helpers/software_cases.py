"""Words for the software backend, and memory that carries out what it hands back."""

import numpy as np

from dgekit.cce.enums import CceType
from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype, dtype_info
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.core.state import StateView
from dgekit.descriptors.batch import PacketKind
from dgekit.firmware import software
from dgekit.firmware.reshape import reshape
from dgekit.firmware.values import (
    BoundCheck,
    DgeShape,
    Kind,
    ShapePair,
)
from dgekit.numerics.elements import element
from dgekit.numerics.reduce import Reduction, reduce_bytes

TYPES = {Dtype.FP32: "<f4", Dtype.INT32: "<i4"}
UPDATES = {CceType.ADD: np.add, CceType.MAX: np.maximum, CceType.MIN: np.minimum, CceType.FMA: np.multiply}
SBUF = CAYMAN.sbuf_base(0)
STRIDE = CAYMAN.partition_stride
FLAGS_ON = StateView(feature_flags=2)
IDX = SBUF + 0x100


def leg(start, num, step, elem, dtype, is_src, bound=None):
    on_chip = SBUF <= start < SBUF + 128 * STRIDE
    return DgeShape(start, num, step, elem, dtype, is_src, on_chip, bound or BoundCheck())


def limit(value, notify=True):
    return BoundCheck(True, 5, value, notify, 0x85 if notify else 0xC5)


def indirect(src, dst, indices, compute=0, kind=Kind.INDIRECT, tile=None):
    return ShapePair(kind, src, dst, 12, 1, 0, compute, tile, indices, 0xBB)


def go(pair, *, state=None, generation=CAYMAN, dmas=range(16), **choices):
    events, switches = EventLog(), Choices(choices)
    state = state or StateView()
    plan = reshape(pair, tuple(dmas), generation, switches, EventLog())
    result = software.run(pair, plan, state, generation, switches, events)
    return result, events


def update(part, memory):
    """`B = B op A`, run by run, on numpy's own arithmetic."""
    (old, new), (dst,) = part.sources, part.dests
    assert old is dst
    kind, combine = TYPES[part.packet.in_dtype], UPDATES[part.packet.op]
    for s, d, n, m in zip(new.starts, dst.starts, new.lengths, dst.lengths, strict=True):
        assert n == m
        target = memory[d : d + n].view(kind)
        target[:] = combine(target, memory[s : s + n].view(kind))


def move(result, memory):
    """Do the work on one flat byte array (a plain oracle of what engines do)."""
    for part in result.work:
        if part.kind is PacketKind.COMPUTE:
            update(part, memory)
            continue
        src = [(int(a), int(n)) for a, n in zip(part.src.starts, part.src.lengths, strict=True)]
        dst = [(int(a), int(n)) for a, n in zip(part.dst.starts, part.dst.lengths, strict=True)]
        if part.kind is PacketKind.TRANSPOSE:
            size = dtype_info(part.in_dtype).size
            rows, cols = part.tile_rows, part.tile_cols
            for t in range(len(src) // rows):
                tile = np.stack([memory[s : s + n].reshape(cols, size) for s, n in src[t * rows : (t + 1) * rows]])
                for c, (d, m) in enumerate(dst[t * cols : (t + 1) * cols]):
                    assert m == rows * size
                    memory[d : d + m] = tile[:, c].ravel()
        else:
            data = np.concatenate([memory[s : s + n] for s, n in src])
            if part.kind is PacketKind.CAST:
                types = (element(code) for code in (part.in_dtype, part.accum_dtype, part.out_dtype))
                data, _ = reduce_bytes(Reduction("add", *types), [data])
            place = 0
            for d, m in dst:
                memory[d : d + m] = data[place : place + m]
                place += m
            assert place == len(data)
    return memory
