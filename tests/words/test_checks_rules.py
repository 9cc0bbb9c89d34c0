"""Every rule fires: one case mutates a word that is clean of the rule, and expects id, severity and numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dgekit.core.choices import Choices
from dgekit.words.checks import RULES, check_word
from dgekit.words.codec import decode_word
from dgekit.words.structs import (
    Addr4Immediate,
    Addr4Raw,
    Addr4Reg,
    Addr8Immediate,
    Addr8Reg,
    Addr8TblReg,
    AddrRaw,
    BoundCheckReg,
    CtrlMs,
    DmaConfigs,
    DtypePair,
    Extended,
    ExtendedRdmaDescStart,
    OpaqueWord,
    PseudoDmaExt,
    PseudoDmaMemcpyFullInd,
    PseudoDmaRearm,
    PseudoDmaSwapQueueSet,
    PseudoDmaTrigger,
    S3D3Collective,
)

HBM = Addr8Immediate(address=0x100000000)


def word(text: str) -> Any:
    return decode_word(bytes.fromhex(text))


EXAMPLES = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())["examples"]


def example(letter: str) -> Any:
    """The word of isa-words 6 that goes by this letter."""
    return next(word(text) for name, text in EXAMPLES.items() if name.split()[0] == letter)


COPY, XPOSE, SCATTER, GATHER = example("B"), example("E"), example("F"), example("G")
PSEUDO, PSEUDO_T, EXT = example("A"), example("D1"), example("D2")
INLINE, COPY5, RDMA = example("H"), example("I"), example("J")


def put(base: Any, **changes: Any) -> Any:
    """The word with fields changed; `a__b` reaches into a nested structure."""
    for path, value in changes.items():
        base = _put(base, path.split("__"), value)
    return base


def _put(base: Any, path: list[str], value: Any) -> Any:
    head, *rest = path
    return base.replace(**{head: _put(getattr(base, head), rest, value) if rest else value})


@dataclass(frozen=True)
class Case:
    rule: str
    word: Any
    severity: str = "error"
    values: dict[str, Any] = field(default_factory=dict)
    gen: str = "CAYMAN"
    choices: dict[str, object] = field(default_factory=dict)
    ext: Any = None
    missing: bool = False
    clean: Any = None  # a word on which the rule is silent, if it can be

    def issues(self, subject: Any) -> list[Any]:
        found = check_word(subject, self.gen, Choices(self.choices), self.ext, self.missing)
        return [issue for issue in found if issue.rule == self.rule]


ADD = {"compute_op": 1}
TABLE = Addr8TblReg(offset_reg=3, table_entry_id=1, marker=0x6C)
SHAPE2 = Addr8Immediate(address=0x100000000, marker_bits=0x10)

CASES = [
    # header, events, presence
    Case("isa.C1", put(COPY, header__inst_word_len=0x40), values={"inst_word_len": 0x40, "required": 0x10}, clean=COPY),
    Case("isa.C1", OpaqueWord(raw=b"\xc0\x10" + bytes(62)), values={"opcode": 0xC0}),
    Case("isa.C1", OpaqueWord(raw=b"\xff\x10" + bytes(62)), values={"opcode": 0xFF}),
    Case("isa.C1", OpaqueWord(raw=b"\xc3\x20" + bytes(62)), values={"inst_word_len": 0x20}),
    Case("isa.C1", OpaqueWord(raw=b"\x11\x10" + bytes(62)), "unspecified", {"opcode": 0x11}),
    Case("isa.7.word", XPOSE, values={"opcode": 0xBD, "generation": "SUNDA"}, gen="SUNDA", clean=COPY),
    Case("isa.7.word", GATHER, gen="SUNDA"),
    Case("isa.7.word", COPY5, values={"opcode": 0xB9}, gen="MARIANA_PLUS"),
    Case("isa.7.word", INLINE, values={"opcode": 0xBA}, gen="CAYMAN"),
    Case("isa.7.word", S3D3Collective(num_active_channels=1), gen="SUNDA"),
    Case("isa.2.10.debug_cmd", put(COPY, header__debug_cmd=2), "warning", {"debug_cmd": 2}, clean=COPY),
    Case("isa.C2", put(COPY, events__wait_mode=0x08), values={"wait_mode": 8}, clean=COPY),
    Case("isa.C2", put(COPY, events__update_mode=0x06), values={"update_mode": 6}, clean=COPY),
    Case("isa.C2", put(COPY, events__wait_mode=0xFF), values={"wait_mode": 0xFF}),
    Case("isa.C2", put(COPY, events__update_mode=0xFF), values={"update_mode": 0xFF}),
    Case("isa.C2", put(COPY, events__wait_mode=0x0E), gen="MAVERICK", values={"generation": "MAVERICK"}),
    Case("isa.C2", put(COPY, events__update_mode=0x11), gen="MAVERICK"),
    Case("isa.C2", put(COPY, events__wait_mode=0x95), gen="MARIANA_PLUS"),
    Case("isa.C2", put(COPY, events__wait_mode=0xFE), gen="CAYMAN"),
    Case("isa.8.23.events_consistency", COPY, "unspecified", clean=INLINE),
    Case("isa.C15", COPY, "unspecified", gen="MAVERICK"),
    Case("isa.C3", put(COPY, dma_configs=DmaConfigs(priority_class=5)), values={"priority_class": 5, "maximum": 4}, clean=COPY),
    Case("isa.C3", put(GATHER, dma_configs__reserved_bitfield=1), values={"reserved_bitfield": 1}, clean=GATHER),
    Case("isa.C3", put(XPOSE, dma_configs__priority_class=7), "warning", clean=XPOSE),
    Case("isa.0.reserved", put(GATHER, reserved=(0, 1, 0)), values={"value": [0, 1, 0]}, clean=GATHER),
    Case("isa.0.reserved", put(SCATTER, reserved=(1, 0)), clean=SCATTER),
    Case("isa.0.reserved", put(COPY5, reserved=1), gen="MAVERICK", clean=COPY5),
    Case("isa.0.reserved", put(COPY, src_start_addr=Addr8Reg(reg_lo=1, reg_hi=2, reserved=5)), values={"value": 5}),
    Case("isa.0.reserved", put(GATHER, flags__reserved=1)),
    Case("isa.0.reserved", PseudoDmaExt(reserved1=(1,) + (0,) * 29), clean=EXT),
    Case("isa.0.unknown", PseudoDmaTrigger(queue_name="q", unknown0=(1, 0, 0, 0)), "advice", clean=PseudoDmaTrigger()),
    # addresses and shapes
    Case("isa.C4", put(COPY, src_start_addr=AddrRaw(raw=bytes(7) + b"\x08")), "warning", {"marker": 8}, clean=COPY),
    Case("isa.1.3.var_id", put(COPY, src_start_addr=AddrRaw(raw=bytes(7) + b"\x10")), values={"marker": 0x10}, clean=COPY),
    Case("isa.1.4.marker", put(PSEUDO, src_start_addr=AddrRaw(raw=bytes(7) + b"\x90")), "warning", {"marker": 0x90}, clean=PSEUDO),
    Case("isa.1.5.reg_num", put(COPY, src_start_addr=Addr8Reg(reg_lo=64, reg_hi=1)), values={"register": 64, "maximum": 63}, clean=COPY),
    Case("isa.1.5.reg_num", put(COPY, src_start_addr=Addr8TblReg(offset_reg=63, marker=0x2C)), values={"register": 64}),
    Case("isa.1.5.reg_num", put(SCATTER, src_idx_start_addr=Addr4Reg(regnum=200)), values={"register": 200}, clean=SCATTER),
    Case("isa.1.5.reg_num", put(COPY5, remote_core_id=64), values={"register": 64}, gen="MAVERICK", clean=COPY5),
    Case("isa.1.11.descriptor_reg", put(INLINE, descriptor_flags__desc0_src=1, descriptor_reg=(61, 0, 0)), "warning", {"register": 64},
         gen="MAVERICK", clean=put(INLINE, descriptor_flags__desc0_src=1, descriptor_reg=(60, 99, 0))),
    Case("isa.C5", put(COPY, src_start_addr=TABLE, src_num_elem=(0, 0), src_step_elem=(1, 0)), "unspecified", {"marker": 0x6C}, clean=COPY),
    Case("isa.C6", put(COPY, src_start_addr=SHAPE2, src_step_elem=(4, 0), src_num_elem=(0, 0)), values={"shape_register": 4, "count": 4},
         clean=put(COPY, src_start_addr=SHAPE2, src_step_elem=(3, 0), src_num_elem=(0, 0))),
    Case("isa.C6", put(SCATTER, dst_start_addr=SHAPE2, dst_step_elem=-1, dst_num_elem=0), values={"shape_register": -1}, clean=SCATTER),
    Case("isa.8.26", put(XPOSE, src_start_addr=SHAPE2), "unspecified", {"marker": 0x40}, clean=XPOSE),
    Case("isa.8.23.is_valid_addr8", GATHER, "unspecified", clean=PSEUDO),
    # bound registers
    Case("isa.C7", put(COPY, src_bound_reg=BoundCheckReg(bc_reg=3)), values={"bc_reg": 3, "bc_enabled": 0}, clean=COPY),
    Case("isa.C7", put(COPY, dst_bound_reg=BoundCheckReg(bc_disable_oob_error_notif=1)),
         clean=put(COPY, dst_bound_reg=BoundCheckReg(bc_enabled=1))),
    Case("isa.C7", put(XPOSE, dst_bound_reg=BoundCheckReg(bc_reg=1)), "warning", clean=XPOSE),
    Case("isa.C7", put(GATHER, dst_bound_reg=BoundCheckReg(bc_reg=1)), clean=GATHER),
    Case("isa.C8", put(COPY, src_start_addr=Addr8TblReg(offset_reg=1, marker=0x2C), src_bound_reg=BoundCheckReg(bc_reg=63, bc_enabled=1)),
         "warning", {"bc_reg": 63, "maximum": 62},
         clean=put(COPY, src_start_addr=Addr8TblReg(offset_reg=1, marker=0x2C), src_bound_reg=BoundCheckReg(bc_reg=62, bc_enabled=1))),
    Case("isa.8.23.is_valid_register_read_with_marker", SCATTER, "unspecified", clean=COPY),
    Case("isa.C9", put(SCATTER, src_idx_bound_reg=BoundCheckReg(bc_reg=2)), values={"bc_reg": 2}, clean=SCATTER),
    Case("isa.C9", put(GATHER, src_idx_bound_reg=BoundCheckReg(bc_disable_oob_error_notif=1)), clean=GATHER),
    Case("isa.C10", put(SCATTER, flags__idx_bound_is_err=0), values={"idx_bound_is_err": 0, "bc_disable_oob_error_notif": 1}, clean=SCATTER),
    Case("isa.C11", put(SCATTER, idx_num_active_channels=64), values={"idx_num_active_channels": 64, "required": 128}, clean=SCATTER),
    Case("isa.C11", put(GATHER, idx_num_active_channels=0), clean=GATHER),
    Case("isa.C11", put(EXT, idx_num_active_channels=127), clean=EXT),
    # ADDR4
    Case("isa.2.12.marker", put(SCATTER, src_idx_start_addr=Addr4Raw(raw=b"\0\0\0\x60")), "warning", {"marker": 0x60}, clean=SCATTER),
    Case("isa.1.5.offset", put(RDMA, src_addr=Addr4Immediate(addr_immediate=0x40000)), "warning", {"offset": 0x40000}, clean=RDMA),
    # dtypes and compute ops
    Case("isa.2.5.dtype", put(XPOSE, in_dtype=0x17, out_dtype=0x17), values={"dtype": 0x17}, gen="MAVERICK", clean=XPOSE),
    Case("isa.2.5.dtype", put(COPY, in_dtype=0x10, out_dtype=0x10), gen="CAYMAN", clean=COPY),
    Case("isa.2.5.dtype", put(COPY, in_dtype=0x12, out_dtype=0x12), gen="MARIANA", clean=COPY),
    Case("isa.2.5.invalid", put(COPY, in_dtype=0, out_dtype=0), "warning", {"dtype": 0}, clean=COPY),
    Case("isa.2.4.compute_op", put(COPY, compute_op=5), values={"compute_op": 5}, clean=put(COPY, **ADD)),
    Case("isa.2.4.compiler", put(COPY, compute_op=3), "advice", {"compute_op": 3}, clean=put(COPY, **ADD)),
    Case("isa.2.4.compiler", put(COPY, **ADD), "advice", gen="MAVERICK", clean=COPY),
    Case("isa.4.2.dtype", put(COPY, in_dtype=0x0B), values={"dtype": 0x0B}, clean=put(COPY, out_dtype=0x0B)),
    Case("isa.4.2.dtype", put(COPY, in_dtype=1, out_dtype=1), values={"dtype": 1}, clean=COPY),
    Case("isa.4.2.dtype", put(PSEUDO, out_dtype=0x0C), values={"dtype": 0x0C}, clean=PSEUDO),
    Case("isa.4.2.dtype", put(SCATTER, in_dtype=0x10, out_dtype=0x10), gen="MARIANA", values={"dtype": 0x10, "maximum": 0xF}, clean=SCATTER),
    Case("isa.4.2.host_pair", put(COPY, compute_op=1, out_dtype=6), "warning", {"in_dtype": 10, "out_dtype": 6}, clean=put(COPY, out_dtype=6)),
    # DMA_DIRECT2D
    Case("isa.4.2.shape_reg_zero", put(COPY, src_start_addr=SHAPE2, src_step_elem=(1, 0)), values={"num_elem": [128, 1]}, clean=COPY),
    Case("isa.4.2.shape_reg_zero", put(COPY, src_start_addr=SHAPE2, src_step_elem=(1, 7), src_num_elem=(0, 0)), values={"step_elem_1": 7}),
    Case("isa.4.2.total_bytes", put(COPY, dst_num_elem=(64, 1)), values={"src_bytes": 512, "dst_bytes": 256}, clean=COPY),
    Case("isa.4.2.total_bytes", put(COPY, src_num_elem=(1, 1), src_elem_size=0), values={"src_bytes": 65536, "dst_bytes": 512},
         clean=put(COPY, src_num_elem=(1, 1), src_elem_size=0, dst_num_elem=(2, 1), dst_elem_size=32768)),
    Case("isa.C13", put(COPY, compute_op=1, src_start_addr=Addr8Immediate(address=0x100000002)), values={"alignment": 4}, clean=put(COPY, **ADD)),
    Case("isa.C14", put(COPY, compute_op=1, dst_step_elem=(6, 128)), "warning", {"step_bytes": 6, "alignment": 4},
         clean=put(COPY, compute_op=1, src_step_elem=(4, 3), dst_step_elem=(8, 3))),
    Case("isa.8.23.is_valid_dge_compute_op", COPY, "unspecified", clean=XPOSE),
    Case("isa.8.23.are_valid_memcpy_dtypes", put(COPY, out_dtype=6), "unspecified", clean=COPY),
    Case("isa.8.23.is_aligned_step", put(COPY, out_dtype=6), "unspecified", clean=COPY),
    Case("isa.8.23.cce_element_size", put(COPY, **ADD), "unspecified", clean=COPY),
    # DMA_INDIRECT1D
    Case("isa.4.3.shape_reg_zero", put(SCATTER, src_start_addr=SHAPE2), values={"num_elem": 4}, clean=SCATTER),
    Case("isa.4.3.total_bytes", put(SCATTER, compute_op=0, dst_num_elem=3), "warning", {"src_bytes": 16, "dst_bytes": 12}, clean=SCATTER),
    Case("isa.2.7.mode", put(SCATTER, flags__indirect_mode=3), values={"indirect_mode": 3}, clean=SCATTER),
    Case("isa.4.3.dims", put(SCATTER, flags__gather_dim=1), values={"gather_dim": 1, "required": 0}, clean=SCATTER),
    Case("isa.4.3.dims", put(SCATTER, flags__scatter_dim=2), values={"scatter_dim": 2},
         clean=put(SCATTER, flags__scatter_dim=2, dst_start_addr=SHAPE2, dst_num_elem=0)),
    Case("isa.4.3.index_count", put(SCATTER, dst_num_elem=4097), values={"indices": 4097, "maximum": 4096}, clean=put(SCATTER, src_num_elem=4097)),
    Case("isa.4.3.index_place", put(SCATTER, dst_idx_start_addr=Addr4Immediate(addr_immediate=0x2000000)), values={"offset": 0x2000000},
         clean=put(SCATTER, src_idx_start_addr=Addr4Immediate(addr_immediate=0x2000000))),
    Case("isa.4.3.index_place", put(SCATTER, dst_idx_start_addr=Addr4Immediate(addr_immediate=0x800000)),
         clean=put(SCATTER, dst_idx_start_addr=Addr4Reg(regnum=7))),
    Case("isa.4.3.index_place", put(SCATTER, dst_idx_start_addr=Addr4Immediate(addr_immediate=0x40000)),
         values={"offset": 0x40000, "bits_28_18": 1}, clean=put(SCATTER, dst_idx_start_addr=Addr4Immediate(addr_immediate=0x3FFFC))),
    Case("isa.4.3.scatter_add", put(SCATTER, flags__non_unique_dst_idx=0), "warning", {"non_unique_dst_idx": 0}, clean=SCATTER),
    Case("isa.4.3.scatter_add", put(SCATTER, flags__indirect_mode=0), "warning", clean=SCATTER),
    Case("isa.8.23.has_dma_indirect_valid_idx_start_addr", SCATTER, "unspecified", clean=GATHER),
    # DMA_DIRECT2D_XPOSE
    Case("isa.4.4.tile_rows", put(XPOSE, tile_src_rows=15), values={"rows": 15, "required": 16}, clean=XPOSE),
    Case("isa.C12", put(XPOSE, in_dtype=3, out_dtype=3), values={"bits": 8, "legal_bytes": [2, 4]}, clean=XPOSE),
    Case("isa.C12", put(XPOSE, in_dtype=10, out_dtype=10, tile_src_cols=64), choices={"xpose_dtype": "two"}, values={"legal_bytes": [2]}, clean=XPOSE),
    Case("isa.C12", put(GATHER, dtype=DtypePair(dtype_lo=10, dtype_hi=10)), values={"bits": 32, "legal_bytes": [2]}, clean=GATHER),
    Case("isa.4.4.tile_cols", put(XPOSE, tile_src_cols=129), values={"columns": 129, "maximum": 128}, clean=XPOSE),
    Case("isa.4.4.tile_cols", put(XPOSE, tile_src_cols=0), values={"columns": 0, "minimum": 1}),
    Case("isa.4.4.tile_cols", put(XPOSE, in_dtype=10, out_dtype=10, tile_src_cols=65), values={"maximum": 64},
         clean=put(XPOSE, in_dtype=10, out_dtype=10, tile_src_cols=64)),
    Case("isa.4.4.no_cast", put(XPOSE, in_dtype=7), values={"in_dtype": 7, "out_dtype": 6}, clean=XPOSE),
    Case("isa.4.4.sbuf", put(XPOSE, dst_start_addr=HBM), values={"address": 0x100000000}, clean=XPOSE),
    Case("isa.4.4.sbuf", put(XPOSE, dst_start_addr=HBM), "warning", choices={"xpose_walk": "elements"}, clean=XPOSE),
    Case("isa.4.4.dst_align", put(XPOSE, dst_start_addr=Addr8Immediate(address=0x2000008010)), values={"alignment": 32}, clean=XPOSE),
    Case("isa.4.4.step32", put(XPOSE, dst_num_elem=(2, 1), dst_step_elem=(16, 0)), values={"step_bytes": 16, "count": 2},
         clean=put(XPOSE, dst_num_elem=(2, 1), dst_step_elem=(32, 5))),
    Case("isa.4.4.step32", put(XPOSE, dst_num_elem=(2, 1), dst_step_elem=(8, 0)), choices={"step_unit": "elements"}, values={"step_bytes": 16},
         clean=put(XPOSE, dst_num_elem=(2, 1), dst_step_elem=(16, 0))),
    Case("isa.4.4.step32", put(XPOSE, dst_num_elem=(1, 9), dst_step_elem=(0, 2)), "warning", choices={"xpose_walk": "elements"}, clean=XPOSE),
    # DMA_GATHER_XPOSE
    Case("isa.4.5.no_cast", put(GATHER, dtype=DtypePair(dtype_lo=6, dtype_hi=7)), values={"in_dtype": 6, "out_dtype": 7}, clean=GATHER),
    Case("isa.4.5.elem_size", put(GATHER, elem_size=258), values={"elem_size": 258, "maximum": 256}, clean=GATHER),
    Case("isa.4.5.elem_size", put(GATHER, elem_size=3), values={"elem_size": 3}),
    Case("isa.4.5.elem_size", put(GATHER, elem_size=0), values={"elem_size": 0}, clean=put(GATHER, elem_size=2)),
    Case("isa.4.5.src_align", put(GATHER, src_start_addr=Addr8Immediate(address=1)), values={"alignment": 2}, clean=GATHER),
    Case("isa.4.5.dst_align", put(GATHER, dst_start_addr=Addr8Immediate(address=0x2000000010)), values={"alignment": 32}, clean=GATHER),
    Case("isa.4.5.idx_align", put(GATHER, src_idx_start_addr=Addr4Immediate(addr_immediate=0x102)), values={"alignment": 4}, clean=GATHER),
    Case("isa.4.5.sbuf", put(GATHER, dst_start_addr=HBM), "warning", {"address": 0x100000000}, clean=GATHER),
    Case("isa.4.5.gather_dim", put(GATHER, flags__gather_dim=0), values={"gather_dim": 0, "required": 1}, clean=GATHER),
    Case("isa.4.5.index_multiple", put(GATHER, src_num_elem=(128, 60), dst_num_elem=(60, 128)), values={"indices": 60, "multiple": 16}, clean=GATHER),
    Case("isa.4.5.index_count", put(GATHER, dst_num_elem=(48, 128)), values={"src_indices": 64, "dst_indices": 48}, clean=GATHER),
    Case("isa.4.5.step32", put(GATHER, dst_step_elem_1=48), values={"step_bytes": 48}, clean=put(GATHER, dst_step_elem_1=48, dst_num_elem=(64, 1))),
    # pseudo words and extensions
    Case("isa.4.6.dge_op", put(PSEUDO, dge_op=4), values={"dge_op": 4, "maximum": 3}, clean=PSEUDO),
    Case("isa.4.6.dge_op", PSEUDO_T, values={"dge_op": 2, "maximum": 1}, gen="SUNDA", ext=EXT),
    Case("isa.4.6.extension", PSEUDO_T, values={"dge_op": 2}, missing=True, clean=PSEUDO),
    Case("isa.4.6.unneeded", PSEUDO, "advice", ext=EXT, clean=PSEUDO_T),
    Case("isa.4.6.same_elements", put(PSEUDO, dst_num_elem=(127, 1)), "warning", {"src_elements": 128, "dst_elements": 127},
         clean=put(PSEUDO, out_dtype=6, dst_elem_size=2)),
    Case("isa.4.6.same_dims", put(PSEUDO, dst_num_elem=(64, 2)), "advice", {"src": [128, 1], "dst": [64, 2]}, clean=PSEUDO),
    Case("isa.4.6.offset_kinds", put(PSEUDO, dge_op=1, src_start_addr=Addr8TblReg(offset_reg=3, marker=0x28)), "warning", {"marker": 0x28},
         ext=put(EXT, idx_num_active_channels=128), clean=put(PSEUDO, dge_op=1)),
    Case("isa.4.6.offset_kinds", put(PSEUDO, dge_op=1, dst_start_addr=Addr8TblReg(offset_reg=3, marker=0x28)), "warning", {"marker": 0x28},
         ext=put(EXT, idx_num_active_channels=128, flags__indirect_mode=1)),
    Case("isa.4.6.offset_kinds", put(PSEUDO, dge_op=3, src_start_addr=Addr8TblReg(offset_reg=3, marker=0x6C)), "warning", {"marker": 0x6C},
         ext=put(EXT, idx_num_active_channels=128)),
    Case("isa.4.6.tile_rows", put(EXT, tile_src_rows=8), values={"rows": 8}, clean=put(EXT, tile_src_rows=0)),
    Case("isa.4.6.tile_cols", put(EXT, tile_src_cols=64), "warning", {"columns": 64}, clean=put(EXT, tile_src_cols=0)),
    Case("isa.4.6.tile_cols", put(EXT, tile_src_cols=129), values={"columns": 129}, clean=EXT),
    Case("isa.3.7.mode", PseudoDmaMemcpyFullInd(indirection_mode=2), values={"indirection_mode": 2}, clean=PseudoDmaMemcpyFullInd(indirection_mode=1)),
    Case("isa.3.8.queue_name", PseudoDmaTrigger(queue_name="q" * 32), values={"characters": 32, "maximum": 31}, clean=PseudoDmaTrigger(queue_name="q" * 31)),
    Case("isa.3.8.queue_name", PseudoDmaRearm(queue_name="a\0b"), "warning", clean=PseudoDmaRearm(queue_name="a")),
    Case("isa.3.8.queue_name", PseudoDmaSwapQueueSet(queue_name="\xe9"), "warning"),
    # v5, RDMA, shapes, collectives
    Case("isa.4.7.engine_count", put(INLINE, dma_engines__engine_count=1), gen="MAVERICK", values={"engine_count": 1}, clean=INLINE),
    Case("isa.4.7.num_descriptors", put(INLINE, descriptor_flags__num_descriptors=0), gen="MAVERICK", values={"minimum": 1, "maximum": 3}, clean=INLINE),
    Case("isa.4.7.tdg", put(INLINE, dma_flags__tdg=1), gen="MAVERICK", clean=INLINE),
    Case("isa.4.7.wr_done_sync", put(INLINE, dma_flags__wr_done_sync=1), "warning", gen="MAVERICK", clean=INLINE),
    Case("isa.4.7.wait_mode", put(COPY5, wait_sema_mode=6), "warning", {"wait_mode": 6}, gen="MAVERICK", clean=put(COPY5, wait_sema_mode=0x95)),
    Case("isa.4.7.addr_mode", word(COPY5.encode()[:12].hex() + "c0" + COPY5.encode()[13:].hex()), "warning", {"mode": 12, "maximum": 11}, gen="MAVERICK", clean=COPY5),
    Case("isa.4.7.update_mode", put(COPY5, sema_update_mode__rd_done=2), "warning", {"mode": 2}, gen="MAVERICK", clean=COPY5),
    Case("isa.2.2.extended_opcode", Extended(extended_opcode=5), values={"extended_opcode": 5}, clean=Extended(extended_opcode=6)),
    Case("isa.4.8.completion_info", put(RDMA, completion_info__has_read=1), "warning", {"completion_info": 1}, clean=RDMA),
    Case("isa.4.8.completion_info", put(ExtendedRdmaDescStart(), completion_info__num_active_ports=1), "warning", {"completion_info": 8}),
    Case("isa.4.8.engine_mask", put(RDMA, dma_engine_mask=7), "warning", {"mask": 7, "engines": 3}, clean=RDMA),
    Case("isa.4.8.engine_mask", put(RDMA, dma_engine_mask=0x10000), "warning", {"mask": 0x10000}),
    Case("isa.4.8.bidirectional", put(RDMA, is_bidirectional=1), "warning", {"is_bidirectional": 1}, clean=RDMA),
    Case("isa.7.rdma", RDMA, "unspecified", {"generation": "SUNDA"}, gen="SUNDA"),
    Case("isa.3.16.move_type", CtrlMs(move_type=3), values={"move_type": 3, "maximum": 2}, clean=CtrlMs(move_type=2)),
    Case("isa.3.16.shape_register", CtrlMs(num_move=2, shape_registers=(0, 4, 9, 9)), "warning", {"shape_register": 4}, clean=CtrlMs(num_move=1, shape_registers=(0, 4, 9, 9))),
    Case("isa.3.16.shape_register", CtrlMs(num_move=5), "warning", {"num_move": 5, "maximum": 4}),
    Case("isa.3.17.no_cast", S3D3Collective(in_dtype=6, out_dtype=7, num_active_channels=1), "warning", {"in_dtype": 6}, clean=S3D3Collective(in_dtype=6, out_dtype=6)),
    Case("isa.3.17.channels", S3D3Collective(num_active_channels=129), "warning", {"channels": 129, "maximum": 128}, clean=S3D3Collective(num_active_channels=128)),
    Case("isa.3.17.channels", S3D3Collective(num_active_channels=0), "warning", {"channels": 0}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.gen}-{case.severity}")
def test_rule_fires(case: Case) -> None:
    issues = case.issues(case.word)
    assert issues, f"{case.rule} is silent"
    assert case.severity in {issue.severity for issue in issues}
    matching = [issue for issue in issues if case.values.items() <= dict(issue.values).items()]
    assert matching, [issue.values for issue in issues]
    for issue in issues:
        assert issue.source.startswith("isa-words ") and issue.message


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.clean is not None], ids=lambda case: f"{case.rule}-{case.gen}"
)
def test_rule_is_silent_on_the_neighbour(case: Case) -> None:
    assert case.issues(case.clean) == []


def test_index_fields_of_an_extension_without_index_channels_are_not_checked() -> None:
    """isa-words 3.6 and 4.6: they count only when idx_num_active_channels is not 0."""
    wrong = Addr4Immediate(addr_immediate=1 << 18), Addr4Reg(regnum=64, reserved0=1)
    word = put(EXT, src_idx_start_addr=wrong[0], dst_idx_start_addr=wrong[1])
    found = {"isa.1.5.offset", "isa.1.5.reg_num", "isa.0.reserved"}
    assert not found & {issue.rule for issue in check_word(word, "trn2", Choices())}
    assert found <= {issue.rule for issue in check_word(put(word, idx_num_active_channels=128), "trn2", Choices())}


def test_every_rule_has_a_case() -> None:
    assert set(RULES) == {case.rule for case in CASES}


def test_every_common_predicate_is_a_rule() -> None:
    assert {f"isa.C{n}" for n in range(1, 16)} <= set(RULES)
