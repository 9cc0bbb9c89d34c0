"""Random compute packets that v3 and v4 take."""

from hypothesis import strategies as st

from dgekit.cce.dtypes import CONSTANT_DTYPES, element_size, is_float
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.host import fp32_of
from dgekit.cce.packet import CcePacket, Constant, Gce

SIZED = [Dtype(code) for code in range(1, 16) if code != Dtype.FP32R]
FLOATS = [dtype for dtype in SIZED if is_float(dtype)]
U32 = st.integers(0, (1 << 32) - 1)
SCALES = U32.map(fp32_of).filter(lambda scale: scale == scale)
SELECTORS = st.tuples(*[st.integers(0, 2)] * 3)


def addresses(dtype: int, least: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
    """SoC addresses of elements of a type."""
    return st.lists(
        st.integers(0, (1 << 60) - 1).map(lambda n: n * element_size(dtype)), min_size=least, max_size=most
    ).map(tuple)


@st.composite
def packets(draw: st.DrawFn) -> CcePacket:
    """A packet of any operation whose words say everything about it (output type = input type)."""
    op = draw(st.sampled_from([CceType.ADD, CceType.FMA, CceType.MAX, CceType.MIN, CceType.GCE]))
    dtype = draw(st.sampled_from(SIZED))
    accum = draw(st.sampled_from(FLOATS if op == CceType.FMA and is_float(dtype) else SIZED))
    if op == CceType.FMA and not is_float(dtype):
        accum = Dtype.FP32
    sources = draw(addresses(dtype, 1, 6))
    dests = draw(addresses(dtype, 1, 4))
    min_max = op in (CceType.MIN, CceType.MAX)
    constant = (
        draw(st.none() | st.builds(Constant, U32, st.sampled_from(CONSTANT_DTYPES).map(int))) if min_max else None
    )
    header = st.integers(1, (1 << 58) - 1).map(lambda n: n * 32)
    if op == CceType.GCE:
        gce = Gce(draw(header), draw(st.booleans()), int(dtype))
    else:
        gce = draw(st.none() | header.map(lambda address: Gce(address, True, int(dtype))))
    combined = len(dests) > 1 or (gce is not None and op != CceType.GCE)
    may_seed = not min_max or (combined and constant is None)
    fma = op == CceType.FMA
    return CcePacket(
        op=op,
        sources=sources,
        dests=dests,
        elements=draw(st.integers(1, 8192 // max(4, element_size(accum)))),
        in_dtype=int(dtype),
        accum_dtype=int(accum),
        out_dtype=int(dtype),
        scales=tuple(draw(st.lists(SCALES, min_size=len(sources), max_size=len(sources)))) if fma else (),
        selectors=tuple(draw(st.lists(SELECTORS, min_size=len(sources), max_size=len(sources)))) if fma else (),
        constant=constant,
        seed=draw(st.none() | U32) if may_seed else None,
        gce=gce,
        strong_order=combined or draw(st.booleans()),
        write_barrier=draw(st.booleans()),
    )
