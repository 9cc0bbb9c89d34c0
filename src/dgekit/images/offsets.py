"""Where the published strings stand: file offset of the first byte in the DEBUG DRAM image (pipeline 7.3).

VA = offset + 0x80000. A format without a published offset is in no table of offsets; `expected_formats` says for
which images it is published all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dgekit.logs.formats import FORMATS

# image -> offset -> key of the format
# fmt: off
OFFSETS: Mapping[str, Mapping[int, str]] = {
    "img_CAYMAN_NX_POOL_DEBUG_DRAM": {
        0x0e38: "seq.dispatch", 0x0f47: "seq.setup_halt", 0x1e79: "seq.entering_halt", 0x2210: "seq.assertion",
        0x224e: "seq.halt", 0x2257: "seq.interrupt", 0x226d: "seq.notification", 0x2286: "seq.notify",
        0x23c2: "symbol.dge_shape", 0x2455: "shape.step", 0x2491: "shape.num", 0x25f6: "seq.shape_to_reg",
        0x260f: "seq.reg_to_shape", 0x2d50: "sb2sb.handler", 0x304c: "dump.pool", 0x3105: "bounds.failed",
        0x312f: "select.none", 0x3157: "select.pool", 0x3173: "select.rtl", 0x318e: "bounds.dispatched",
        0x31b4: "symbol.analyze", 0x31cb: "symbol.reshape_file", 0x31db: "reshape.analyzed", 0x329c: "reshape.pair",
        0x332f: "reshape.simple", 0x34b0: "setup.contexts", 0x34fa: "setup.bases", 0x351d: "symbol.ctx_num",
        0x3529: "symbol.backend_rtl_file", 0x353d: "symbol.backend_rtl", 0x354d: "dump.rtl",
        0x3612: "symbol.reshape_transpose", 0x362b: "symbol.reshape_apply_file", 0x3646: "reshape.transpose",
        0x3694: "symbol.reshape_indirect_transpose", 0x36b6: "reshape.indirect_transpose", 0x370d: "reshape.before",
        0x3781: "reshape.after", 0x37ea: "push.dimpush", 0x3821: "push.generate", 0x386a: "token.rd",
        0x386d: "token.wr", 0x3870: "push.regwrite", 0x388e: "setup.start", 0x3940: "dump.software",
        0x3a55: "symbol.error_notifications_file", 0x3ab9: "symbol.error_handler_file", 0x3acb: "seq.fp_error",
        0x3aeb: "seq.int_div_zero", 0x3b11: "seq.bad_opcode", 0x3b35: "seq.illegal",
        0x3bb0: "symbol.signal_handler_file",
    },
    "img_CAYMAN_Q7_POOL_DEBUG_DRAM": {
        0x0a20: "sb2sb.totals", 0x0a93: "legacy.idma_init", 0x0abf: "sb2sb.decode_sbuf",
        0x0ad8: "symbol.decode_extended_sb2sb", 0x0afe: "sb2sb.decode", 0x0b1e: "symbol.decode_sb2sb_collective",
        0x0bc4: "symbol.soc2xt_addr", 0x0bd0: "symbol.xt_window_file", 0x0bde: "sb2sb.presync",
        0x0c3e: "sb2sb.presync_addresses", 0x0e0c: "decode.direct2d", 0x0e1f: "decode.indirect",
        0x0e32: "decode.gather_transpose", 0x0e71: "sb2sb.channels", 0x0f81: "symbol.window_manager_file",
        0x0f98: "sb2sb.bases", 0x0ffd: "sb2sb.program_window", 0x105e: "sb2sb.remapped_window", 0x3c5e: "spray.info",
        0x3cc2: "spray.indirection", 0x3cf5: "spray.indirection_result", 0x3d39: "spray.tensor",
        0x3d76: "spray.tensor_result", 0x3db5: "spray.skip", 0x3e00: "symbol.reshape_transpose",
        0x3e19: "symbol.reshape_apply_file", 0x3e34: "spray.transpose", 0x3e84: "symbol.reshape_indirect_transpose",
        0x3ea6: "spray.indirect_transpose", 0x3eff: "spray.before", 0x3f75: "spray.after",
        0x3fe0: "spray.pattern_start", 0x403c: "spray.pattern_end", 0x4140: "swdge.generating",
        0x47f4: "doorbell.trigger", 0x4851: "rdma_gen.start", 0x487f: "token.tx", 0x4882: "token.rx",
        0x4885: "rdma_gen.args", 0x48fe: "rdma_gen.active", 0x493d: "rdma_gen.addresses", 0x497b: "rdma_gen.routed",
        0x49d7: "rdma_gen.loop", 0x4a2f: "rdma_gen.iteration", 0x4a91: "rdma_gen.swizzle", 0x4afa: "rdma_gen.windows",
        0x4bd6: "rdma_gen.local_semaphore", 0x4c2a: "rdma_gen.remote_semaphore", 0x4c91: "rdma_gen.end",
        0x4cb2: "rdma_start.start", 0x4ce2: "rdma_start.args", 0x4d39: "doorbell.rdma_trigger", 0x4d8c: "token.m2s",
        0x4d90: "token.s2m", 0x4d94: "rdma_start.draining", 0x4dce: "rdma_start.drained",
        0x4e07: "symbol.rdma_desc_start", 0x4e17: "symbol.remote_copy_file", 0x4e27: "rdma_start.waiting",
        0x4e65: "doorbell.tx_tail", 0x4ea3: "doorbell.tx_tail_written", 0x4ee1: "doorbell.rx_tail",
        0x4f1f: "rdma_start.signaling", 0x4f63: "rdma_start.signaled", 0x4f8e: "rdma_start.end",
        0x5040: "bounds.count",
    },
    "img_MARIANA_PLUS_NX_POOL_DEBUG_DRAM": {
        0x316f: "select.none", 0x3197: "select.pool", 0x31b3: "select.rtl", 0x31f4: "symbol.analyze",
        0x320b: "symbol.reshape_file", 0x321b: "reshape.analyzed", 0x32dc: "reshape.pair", 0x336f: "reshape.simple",
        0x34b0: "symbol.memcopy_transpose_fast", 0x34d3: "symbol.decode_fast_file",
        0x36a2: "symbol.reshape_transpose", 0x36bb: "symbol.reshape_apply_file", 0x36d6: "reshape.transpose",
        0x3724: "symbol.reshape_indirect_transpose", 0x3746: "reshape.indirect_transpose", 0x379d: "reshape.before",
        0x3811: "reshape.after", 0x3914: "symbol.wait_for_credit",
    },
}
# fmt: on

# strings without an offset and without a dialect: the cores whose image holds them (pipeline 7.3)
_UNPLACED = {"symbol.reshape_sb2sb": ("NX", "Q7"), "boot.mariana": ("NX",), "boot.mariana_plus": ("NX",)}
_DIALECT_CORES = {"S:": ("NX",), "P%i:": ("Q7",), "R:": ("Q7",)}


def debug_image(generation: str, core: str, engine: str = "POOL", segment: str = "DRAM") -> str:
    """The name of a DEBUG image: only these hold the log strings (pipeline 8.1)."""
    return f"img_{generation}_{core}_{engine}_DEBUG_{segment}"


def cores_of(key: str) -> tuple[str, ...]:
    """The cores whose image holds a format: its dialect's, or those of its published offsets."""
    if key in _UNPLACED:
        return _UNPLACED[key]
    prefix = FORMATS[key].prefix
    if prefix:
        return _DIALECT_CORES[prefix]
    holders = [image for image, placed in OFFSETS.items() if key in placed.values()]
    return tuple(core for core in ("NX", "Q7") if any(f"_{core}_" in image for image in holders))


@cache
def expected_formats(image: str) -> frozenset[str]:
    """The keys of all formats that are published for an image; empty for an image of which nothing is published."""
    return frozenset(
        key
        for key, row in FORMATS.items()
        if any(image == debug_image(generation, core) for generation in row.generations for core in cores_of(key))
    )
