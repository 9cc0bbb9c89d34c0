"""Hand-made NKI calls for the tests of rules and verdicts."""

from __future__ import annotations

from typing import Any

from dgekit.core.dtypes import dtype_named
from dgekit.transfers.call import Call, View


def view(space: str, shape: tuple[int, ...], dtype: str = "bfloat16", **more: Any) -> View:
    """An operand of this shape; SBUF and PSUM touch as many partitions as the first extent."""
    options: dict[str, Any] = {"base_shape": shape, "partitions": 0 if space == "hbm" else shape[0]}
    return View(more.pop("tensor", space[0]), space, shape, dtype_named(dtype), **{**options, **more})  # type: ignore[arg-type]


def hbm(*shape: int, **more: Any) -> View:
    return view("hbm", shape, **more)


def sbuf(*shape: int, **more: Any) -> View:
    return view("sbuf", shape, **more)


def psum(*shape: int, **more: Any) -> View:
    return view("psum", shape, **more)


def index(*shape: int, dtype: str = "uint32", **more: Any) -> View:
    return view("sbuf", shape, dtype, tensor="idx", **more)


def copy(dst: View, src: View, **more: Any) -> Call:
    return Call("dma_copy", dst, (src,), **more)


def gather(lanes: int = 64, width: int = 512, rows: int = 128, **more: Any) -> Call:
    """(lanes, width) of a (rows, width) table in HBM, float32."""
    table = hbm(lanes, width, dtype="float32", base_shape=(rows, width), dynamic="vector")
    options: dict[str, Any] = {"indices": index(lanes, 1), **more}
    return copy(sbuf(lanes, width, dtype="float32"), options.pop("src", table), **options)


def scalar(dst: View | None = None, src: View | None = None, **more: Any) -> Call:
    """A load of (partitions, 1536) float32 whose HBM offset is known at run time."""
    rows = hbm(32, 1536, dtype="float32", base_shape=(1024, 1536), dynamic="scalar")
    return copy(dst or sbuf(32, 1536, dtype="float32"), src or rows, **more)


def transpose(src: View, dst: View | None = None, **more: Any) -> Call:
    axes = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(len(src.shape), (0,) * len(src.shape))
    shape = tuple(src.shape[axis] for axis in axes)
    made = view("sbuf", shape, src.dtype.name, tensor="t")
    return Call("dma_transpose", dst or made, (src,), **{"axes": axes, **more})


def gather_transpose(*shape: int, indices: View | None = None, **more: Any) -> Call:
    dtype = more.pop("dtype", "bfloat16")
    space = more.pop("space", "hbm")
    src = view(space, shape or (128, 128), dtype, dynamic="vector")
    return transpose(src, indices=indices or index(src.shape[0], 1), **more)


def compute(dst: View, *srcs: View, **more: Any) -> Call:
    return Call("dma_compute", dst, srcs, **{"rmw_op": "add", **more})


def scatter_add(lanes: int = 64, **more: Any) -> Call:
    """HBM[rows] += SBUF."""
    rows = hbm(lanes, 512, dtype="float32", base_shape=(128, 512), dynamic="vector", tensor="acc")
    data = sbuf(lanes, 512, dtype="float32", tensor="data")
    srcs = more.pop("srcs", (rows, data))
    return compute(more.pop("dst", rows), *srcs, **{"indices": index(lanes, 1), **more})
