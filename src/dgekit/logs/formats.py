"""The log grammar: every format string of the firmware that the specification knows, one row each.

Texts are exact (pipeline 7.3, data file `log-strings.json`), without the line feed; the two dialects are
`S: ` (NX sequencer) and `P%i: ` (Q7, `%i` = processor id), `R: ` is the Q7 remapper. Stages `token` and `symbol`
are no lines: values of `%s` and names that an assertion prints.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from dgekit.core.errors import InternalError

# How the text of a row is known (pipeline 7.2).
EVIDENCE = {
    "A": "adjacency",  # length proved by the offset of the next string
    "A+1": "adjacency+1",  # text right, but exactly one byte of it is unexplained
    "S": "start-adjacency",  # start proved
    "C": "chain",  # derived from a run of strings that fits exactly
    "Q": "quoted",  # as a source quotes it; the end cannot be checked
    "P": "partial",  # the source elides a part, or the prefix is not published
}
_GENERATION_LETTERS = {"S": "SUNDA", "C": "CAYMAN", "M": "MARIANA", "P": "MARIANA_PLUS", "V": "MAVERICK"}
_PREFIXES = ("S:", "P%i:", "R:")
NO_LINE_STAGES = ("token", "symbol")


@dataclass(frozen=True, slots=True)
class LogFormat:
    """One format string: its `key` (`<stage>.<slug>`), exact `text`, the `generations` whose images hold it.

    `trailing_lf` is None where unknown; `evidence` is a value of EVIDENCE; `note` says what is open about the text.
    """

    key: str
    generations: tuple[str, ...]
    trailing_lf: bool | None
    evidence: str
    text: str
    note: str = ""

    @property
    def stage(self) -> str:
        """The stage of the firmware that prints it (pipeline 7.3)."""
        return self.key.partition(".")[0]

    @property
    def prefix(self) -> str:
        """The dialect token that starts the text: `S:`, `P%i:`, `R:` or nothing."""
        return next((prefix for prefix in _PREFIXES if self.text.startswith(prefix)), "")

    @property
    def is_line(self) -> bool:
        """False for the tokens and symbols, which are never printed as a line of their own."""
        return self.stage not in NO_LINE_STAGES

    @property
    def is_elided(self) -> bool:
        """True where the source leaves out a part of the text, so that no exact line can be printed."""
        return self.evidence == "partial"

    @property
    def is_uncertain(self) -> bool:
        """True where one byte of the text is not explained: what is printed lacks it."""
        return self.evidence == "adjacency+1"


def _row(key: str, generations: str, trailing_lf: bool | None, evidence: str, text: str, note: str = "") -> LogFormat:
    names = tuple(_GENERATION_LETTERS[letter] for letter in generations)
    return LogFormat(key, names, trailing_lf, EVIDENCE[evidence], text, note)


# key, generations (letters above), line feed, evidence, text, what is open
# fmt: off
_ROWS = (
    _row("setup.start", "CMP", True, "Q", "S: Setting up DGE"),
    _row("setup.contexts", "CMP", True, "A",
         "S: DGE contexts 0x%x/0x%x init sw=%d engine=%u queue_idx=%u queue_num=%u"),
    _row("setup.bases", "CMP", True, "A", "S: rx.base=0x%llx, tx.base=0x%llx"),
    _row("decode.direct2d", "CMPV", True, "A", "P%i: DGE DIRECT2D"),
    _row("decode.indirect", "CMPV", True, "A", "P%i: DGE INDIRECT"),
    _row("decode.gather_transpose", "CMPV", True, "Q", "P%i: DGE GATHER TRANSPOSE"),
    _row("shape.step", "SCMP", True, "A", "S: dge_shape[%i].step = [ 0x%04x, 0x%04x, 0x%04x, 0x%04x ]"),
    _row("shape.num", "SCMP", True, "Q", "S: dge_shape[%i].num  = [ 0x%04x, 0x%04x, 0x%04x, 0x%04x ]"),
    _row("reshape.analyzed", "CMP", True, "A",
         "S: DGE Reshape: Analyzed tensor (nelem_target = %u, step_target = 0x%X (%dP), base = 0x%X (%dP)): "
         "Reshape Strategy = %d, Requested Reshape Kind = %d, Partition Range = %d, Num Partitions = %d"),
    _row("reshape.pair", "CMP", True, "A",
         "S: DGE Reshape: Assessed tensor pair params (Requested Reshape Kind = %d, Min Num Partitions = %u, "
         "#DMA Avail = %u): Reshape Kind = %d, #DMA = %u"),
    _row("reshape.simple", "CMP", True, "S",
         "S: DGE Reshape: Assessed simple tensor pair params (Num Partitions A = %u, Num Partitions B = %u, "
         "#DMA Avail = %u, HBM Only = %d): Reshape Kind = %d, #DMA = %u"),
    _row("reshape.transpose", "CMP", True, "A",
         "S: tensor_reshape_transpose: tile_src_rows=%d tile_src_cols=%d dtype_size=%d"),
    _row("reshape.indirect_transpose", "CMP", True, "A",
         "S: tensor_reshape_indirect_transpose: tile_src_rows=%d tile_src_cols=%d dtype_size=%d"),
    _row("reshape.before", "CMP", True, "A",
         "S: tensor_reshape_indirect_transpose BEFORE: elem_size=%u num_elem=[%u,%u,%u,%u] "
         "step_elem=[%d,%d,%d,%d] is_src=%d"),
    _row("reshape.after", "CMP", True, "A",
         "S: tensor_reshape_indirect_transpose AFTER: elem_size=%u num_elem=[%u,%u,%u,%u] "
         "step_elem=[%d,%d,%d,%d]"),
    _row("select.pool", "CMP", False, "A", "S: DGE: Select backend Pool"),
    _row("select.rtl", "CMP", False, "A", "S: DGE: Select backend RTL"),
    _row("select.none", "CMP", False, "A", "S: DGE: NO BACKEND FOUND, doing nothing"),
    _row("dump.pool", "CMP", True, "A+1",
         "S: DGE $S[%i]+=%i@dmacomplete src=[0x%x]@0x%llx[0x%x,0x%x][%u,%u] "
         "dst=[0x%x]@0x%llx[0x%x,0x%x][%u,%u] cast:0x%x->0x%x bounds:(%1d 0x%llx<=0x%llx, %1d 0x%llx<=0x%llx) "
         "compute_op: 0x%x", "one more byte after 'bounds:(', most likely a space before the LF"),
    _row("dump.rtl", "CMP", True, "A+1",
         "S: DGE RTL backend: $S[%i]+=%i@dmacomplete "
         "src=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x,0x%x|0x%x,0x%x][%u,%u,%u,%u,%u|%u,%u] "
         "dst=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x,0x%x|0x%x,0x%x][%u,%u,%u,%u,%u|%u,%u]",
         "one more byte before the next string"),
    _row("dump.software", "CMP", True, "Q",
         "S: DGE software backend: $S[%i]+=%i@dmacomplete src=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x][%u,%u,%u,%u] "
         "dst=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x][%u,%u,%u,%u] cast:0x%x->0x%x, indirection_dim=0x%x, "
         "reshape_kind=0x%x", "end not checkable; one more byte is possible"),
    _row("push.dimpush", "CMP", True, "Q",
         "S: push DIMPUSH to DMA[%d]: [%u,%u][%d,%d]", "a literal of at most 10 characters may follow before GENERATE"),
    _row("push.generate", "CMP", True, "A",
         "S: push GENERATE to DMA[%d]: %s : addr=0x%llx, elem_size=%d, sem_num=%i"),
    _row("push.regwrite", "CM", True, "A+1",
         "S: push REGWRITE to DMA[%d]", "one more byte, likely a space before the LF"),
    _row("token.rd", "CMP", False, "A", "RD"),
    _row("token.wr", "CMP", False, "A", "WR"),
    _row("bounds.failed", "CMP", True, "A", "S: DGE: Failed bounds check. $S[%i]+=%i."),
    _row("bounds.dispatched", "CMP", False, "A", "S: DGE: Dispatched error notification"),
    _row("swdge.generating", "CMP", True, "Q", "P%i: Generating %i descriptors; ring_ndesc = %i"),
    _row("bounds.count", "CMP", True, "Q", "P%i: ERROR: DescriptorStream wrote %d descriptors, expected %d"),
    _row("spray.info", "CMP", True, "A",
         "P%i: gen_spray_info: reshape_kind=%d, do_indirection=%d, is_our_tensor=%d, hbm_to_hbm=%d, ndma=%zu"),
    _row("spray.indirection", "CMP", True, "A", "P%i: gen_spray_info: applying indirection reshape"),
    _row("spray.indirection_result", "CMP", True, "A",
         "P%i: gen_spray_info: indirection result step_port=%d, step_half=%d"),
    _row("spray.tensor", "CMP", True, "A", "P%i: gen_spray_info: applying tensor reshape for our tensor"),
    _row("spray.tensor_result", "CMP", True, "A", "P%i: gen_spray_info: tensor result step_port=%d, step_half=%d"),
    _row("spray.skip", "CMP", True, "A",
         "P%i: gen_spray_info: skipping reshape (not our tensor and no indirection)"),
    _row("spray.transpose", "CMP", True, "C",
         "P%i: tensor_reshape_transpose: tile_src_rows=%d tile_src_cols=%d dtype_size=%d"),
    _row("spray.indirect_transpose", "CMP", True, "C",
         "P%i: tensor_reshape_indirect_transpose: tile_src_rows=%d tile_src_cols=%d dtype_size=%d"),
    _row("spray.before", "CMP", True, "C",
         "P%i: tensor_reshape_indirect_transpose BEFORE: elem_size=%u num_elem=[%u,%u,%u,%u] "
         "step_elem=[%d,%d,%d,%d] is_src=%d"),
    _row("spray.after", "CMP", True, "C",
         "P%i: tensor_reshape_indirect_transpose AFTER: elem_size=%u num_elem=[%u,%u,%u,%u] "
         "step_elem=[%d,%d,%d,%d]"),
    _row("spray.pattern_start", "CMP", True, "A",
         "P%i: make_gather_pattern START: reshape_kind=%d, step_port=%d, step_half=%d, eng_mask=0x%x"),
    _row("spray.pattern_end", "CMP", True, "S", "P%i: make_gather_pattern END: pattern=0x%x, mask=0x%x"),
    _row("indirection.constructor", "CMP", True, "Q",
         "P%i: IndirectionInfo constructor: indices=%p", "the prefix 'P%i: ' is assumed"),
    _row("indirection.start", "CMP", True, "Q",
         "P%i: do_indirection START: dim=%d, last_indices=0x%x, indirection_step=0x%x",
         "the prefix 'P%i: ' is assumed"),
    _row("indirection.gather", "CMP", True, "Q",
         "P%i: gather_indices START: indices=%p, pattern=0x%x, mask=0x%x", "the prefix 'P%i: ' is assumed"),
    _row("indirection.masks", "CMP", True, "Q",
         "P%i: Indirection masks: our_indices_valid = 0x%x, other_indices_valid = 0x%x, srx_idx_max = %u, "
         "dst_idx_max = %u", "the prefix 'P%i: ' is assumed"),
    _row("indirection.before", "CMP", True, "Q",
         "P%i: Before IVP_MULUSAN_2X32: address=0x%x_%x, last_indices=0x%x, indirection_step=0x%x"),
    _row("indirection.after", "CMP", True, "Q",
         "P%i: After IVP_MULUSAN_2X32: address=0x%x_%x", "sources show one and two spaces after 'After'"),
    _row("indirection.steps", "CMP", True, "Q",
         "P%i: indirection_steps created: indirection_dimension=%zu, num_dims=%zu", "the prefix 'P%i: ' is assumed"),
    _row("indirection.increment", "CMP", True, "P",
         "P%i: increment_dimension indirection_steps: ... our_forward_step=%d, other_forward_step=%d",
         "the source elides part of the text"),
    _row("indirection.rewind", "CMP", True, "P",
         "P%i: rewind_dimension indirection_steps: ... our_rewind_step=%d, other_rewind_step=%d",
         "the source elides part of the text"),
    _row("indirection.shared", "CMP", True, "Q",
         "P%i: shared_indirection_dim=%d, replacing step with sizeof(uint32_t)=%d", "the prefix 'P%i: ' is assumed"),
    _row("indirection.batman_dim", "CMP", True, "Q",
         "P%i: shared_indirection_dim in Batman: %d", "the prefix 'P%i: ' is assumed"),
    _row("indirection.batman_shape", "CMP", True, "Q",
         "P%i: Tensor shape before Batman: num_elem=[%u,%u,%u,%u,%u] step_elem=[%d,%d,%d,%d,%d]",
         "the prefix 'P%i: ' is assumed"),
    _row("swdge.loop", "CMPV", True, "Q",
         "P%i: Descriptor generation loop index: [%d, %d, %d, %d, %d]", "the prefix 'P%i: ' is assumed"),
    _row("doorbell.trigger", "CMP", True, "A+1",
         "P%i: Trigger DMA; sdma_bcast_base = 0x%08x, trigger addr = 0x%08x, mask = 0x%08x n_desc=%d",
         "one more byte: a comma after the mask field, or a trailing space"),
    _row("rdma_gen.start", "CMP", True, "A", "P%i: Q7: rdma_desc_gen [%s] Start, cpu_id=%d"),
    _row("rdma_gen.args", "CMP", True, "A",
         "P%i: Q7: rdma_desc_gen [%s] ring_num=%d, tpb_idx=%d, free_dim_bytes=%d, remote_tpb_idx=%d, "
         "routing_id=%d, dma_mask=0x%x"),
    _row("rdma_gen.active", "CMP", True, "A", "P%i: Q7: rdma_desc_gen [%s] dma_mask=0x%04x, n_active_dmas=%d"),
    _row("rdma_gen.addresses", "CMP", True, "A", "P%i: Q7: rdma_desc_gen [%s] src_addr=0x%llx, dst_addr=0x%llx"),
    _row("rdma_gen.routed", "CMP", True, "A",
         "P%i: Q7: rdma_desc_gen [%s] after remote_routing_id=$%d, dst_addr=0x%llx, n_active_dmas=%d"),
    _row("rdma_gen.loop", "CMP", True, "A",
         "P%i: Q7: rdma_desc_gen [%s] Starting descriptor loop, num_indices=%d, num_dma_descs=%d"),
    _row("rdma_gen.iteration", "CMP", True, "A",
         "P%i: Q7: rdma_desc_gen [%s] Loop iter %zu/%d: base_addr=0x%llx, n_active_dmas=%d, bytes_per_P=%d"),
    _row("rdma_gen.swizzle", "CMP", True, "A",
         "P%i: Q7:   shuffled_sbuf_swizzle[16] = [%u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, %u, "
         "%u]"),
    _row("rdma_gen.windows", "CMP", True, "A",
         "P%i: Q7:   xt_addrs[16] = [0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, "
         "0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, 0x%08x%08x, "
         "0x%08x%08x, 0x%08x%08x]"),
    _row("rdma_gen.local_semaphore", "CMP", True, "A",
         "P%i: Q7: rdma_desc_gen [%s] Pushing local semaphore descriptor, tpb_idx=%d, sem=%d"),
    _row("rdma_gen.remote_semaphore", "CMP", True, "A",
         "P%i: Q7: rdma_desc_gen [%s] Pushing remote semaphore descriptor, remote_tpb=%d, routing_id=%d, "
         "sem=%d"),
    _row("rdma_gen.end", "CMP", True, "A", "P%i: Q7: rdma_desc_gen [%s] End"),
    _row("rdma_start.start", "CMP", True, "A", "P%i: Q7: rdma_desc_start [%s] Start, cpu_id=%d"),
    _row("rdma_start.args", "CMP", True, "A",
         "P%i: Q7: rdma_desc_start [%s] ring_num=%d, num_descriptors=%d, sdma_bcast_base=0x%08x"),
    _row("doorbell.rdma_trigger", "CMP", True, "A",
         "P%i: Q7: rdma_desc_start [%s] Trigger %s DMA; addr=0x%08x, mask=0x%04x, n_desc=%d"),
    _row("rdma_start.draining", "CMP", True, "A", "P%i: Q7: rdma_desc_start [%s] Draining descriptor writes"),
    _row("rdma_start.drained", "CMP", True, "A", "P%i: Q7: rdma_desc_start [%s] Descriptor writes drained"),
    _row("rdma_start.waiting", "CMP", True, "A", "P%i: Q7: rdma_desc_start [TX] Waiting for RX sync (left_pop)"),
    _row("doorbell.tx_tail", "CMP", True, "A", "P%i: Q7: rdma_desc_start [TX] Writing tail pointer increment"),
    _row("doorbell.tx_tail_written", "CMP", True, "A",
         "P%i: Q7: rdma_desc_start [TX] Tail pointer increment written"),
    _row("doorbell.rx_tail", "CMP", True, "A", "P%i: Q7: rdma_desc_start [RX] Writing tail pointer increment"),
    _row("rdma_start.signaling", "CMP", True, "A",
         "P%i: Q7: rdma_desc_start [RX] Signaling TX to proceed (right_push)"),
    _row("rdma_start.signaled", "CMP", True, "A", "P%i: Q7: rdma_desc_start [RX] TX signaled"),
    _row("rdma_start.end", "CMP", True, "Q", "P%i: Q7: rdma_desc_start [%s] End"),
    _row("token.tx", "CMP", False, "A", "TX"),
    _row("token.rx", "CMP", False, "A", "RX"),
    _row("token.m2s", "CMP", False, "A", "M2S"),
    _row("token.s2m", "CMP", False, "A", "S2M"),
    _row("sb2sb.handler", "CMP", None, "Q", "S: SB2SB_Collective"),
    _row("sb2sb.totals", "C", True, "A",
         "P%i: SB2SB_Collective : total_src_nelem = %zu, total_dst_nelem = %zu, dtype=%d, dst_nc=%zu, "
         "src_nc=%zu, mask=0x%x"),
    _row("sb2sb.decode_sbuf", "C", True, "A", "P%i: Decode : Sbuf2Sbuf"),
    _row("sb2sb.decode", "C", True, "A", "P%i: Decode : SB2SB_Collective"),
    _row("sb2sb.presync", "C", True, "A",
         "P%i: SB2SB Pre-sync: This TPB (NC %u) is letting NC %u know that we are ready to receive data."),
    _row("sb2sb.presync_addresses", "C", True, "Q",
         "P%i: SB2SB Pre-sync: remote_pool_xt_addr=0x%x, remote_q7_xt_addr=0x%x, "
         "sb2sb_ready_to_receive_remote=0x%x"),
    _row("sb2sb.channels", "C", True, "Q", "P%i: SB2SB_Collective: num_chans=%0d, tpb_idx=%u"),
    _row("sb2sb.bases", "C", True, "Q",
         "P%i: engine_base_addr=%llx tpb_base_addr=%llx -> is_tpb=%u is_die_0=%u engine_idx=%u"),
    _row("sb2sb.program_window", "C", False, "A",
         "R: program_window: num=%d, vld=%d, xt_addr=0x%llx, soc_addr=0x%llx, u_mask=0x%llx, l_mask=0x%llx"),
    _row("sb2sb.remapped_window", "C", False, "Q",
         "R: program_window: num=%d, mask=0x%llx, match=0x%llx, replace=0x%llx"),
    _row("seq.interrupt", "C", True, "A", "S: sending interrupt"),
    _row("seq.notification", "C", True, "A", "S: sending notification"),
    _row("seq.notify", "C", True, "A", "S: NOTIFY"),
    _row("seq.halt", "C", True, "A", "S: Halt"),
    _row("seq.setup_halt", "C", True, "Q", "S: Setup Halt"),
    _row("seq.entering_halt", "C", True, "Q", "S: Entering HALT"),
    _row("seq.assertion", "C", True, "A", "S: Assertion failure! %s(%s:%u)"),
    _row("seq.fp_error", "C", True, "A", "S: ErrorHandler : FP Error(%d)"),
    _row("seq.int_div_zero", "C", True, "A", "S: ErrorHandler : Int Div Zero Error"),
    _row("seq.bad_opcode", "C", True, "A", "S: ErrorHandler : Bad Opcode(0x%x)"),
    _row("seq.illegal", "C", True, "Q", "S: ErrorHandler : Illegal Instruction(0x%x)"),
    _row("seq.dispatch", "C", True, "Q", "S: Dispatch opcode=0x%x"),
    _row("seq.reg_to_shape", "C", None, "Q", "S: MoveShape(RegToShape)"),
    _row("seq.shape_to_reg", "C", False, "A", "S: MoveShape(ShapeToReg)"),
    _row("seq.shape_immediate", "", None, "Q", "S: MoveShape(Immediate)"),
    _row("decode.dispatch", "C", True, "Q", "P%i: In dispatch, CPU ID: %0d, got opcode 0x%x."),
    _row("error.unknown_opcode", "C", True, "Q", "P%i: UNKNOWN OPCODE=0x%x"),
    _row("legacy.idma_init", "C", True, "A", "P%i: iDMA channel %d failed to initialize!"),
    _row("legacy.idma_buffer", "C", True, "P",
         "P%i: iDMA buffer error: ... descriptor: %d, src addr ... dst addr ...", "the source elides part of the text"),
    _row("legacy.dram_ring", "C", True, "Q",
         "S: DramRingDMA::allocate(%zu) submit=%llu comp=%llu first_slot=%zu min_comp=%llu"),
    _row("symbol.ctx_num", "CMP", False, "A", "dge_ctx_num"),
    _row("symbol.backend_rtl_file", "CMP", False, "A", "dge_backend_rtl.cpp"),
    _row("symbol.backend_rtl", "CMP", False, "A", "dge_backend_rtl"),
    _row("symbol.analyze", "SCMP", False, "A", "analyze_tensor_reshape"),
    _row("symbol.reshape_file", "SCMP", False, "A", "dge_reshape.cpp"),
    _row("symbol.memcopy_transpose_fast", "P", False, "A", "dge_reshape_memcopy_transpose_fast"),
    _row("symbol.decode_fast_file", "P", False, "A", "dge_decode_fast.cpp"),
    _row("symbol.reshape_transpose", "CMP", False, "A", "tensor_reshape_transpose"),
    _row("symbol.reshape_apply_file", "CMP", False, "A", "dge_reshape_apply_impl.hpp"),
    _row("symbol.reshape_indirect_transpose", "CMP", False, "A", "tensor_reshape_indirect_transpose"),
    _row("symbol.wait_for_credit", "P", False, "Q", "wait_for_credit"),
    _row("symbol.reshape_sb2sb", "P", False, "Q", "tensor_reshape_transpose_sb2sb"),
    _row("symbol.dge_shape", "C", False, "Q", "dge_shape"),
    _row("symbol.error_notifications_file", "C", False, "Q", "error_notifications.cpp"),
    _row("symbol.error_handler_file", "C", False, "Q", "error_handler.cpp"),
    _row("symbol.signal_handler_file", "C", False, "Q", "signal_handler.cpp"),
    _row("symbol.rdma_desc_start", "C", False, "Q", "rdma_desc_start"),
    _row("symbol.remote_copy_file", "C", False, "Q", "remote_copy.cpp"),
    _row("symbol.decode_extended_sb2sb", "C", False, "Q", "decode_extended_inst_sb2sb"),
    _row("symbol.decode_sb2sb_collective", "C", False, "Q", "decode_sb2sb_collective"),
    _row("symbol.soc2xt_addr", "C", False, "Q", "soc2xt_addr"),
    _row("symbol.xt_window_file", "C", False, "Q", "xt_window.hpp"),
    _row("symbol.window_manager_file", "C", False, "Q", "soc_window_manager.hpp"),
    _row("boot.mariana", "M", None, "P", "BEGIN on mariana", "any prefix is not published"),
    _row("boot.mariana_plus", "P", None, "P", "BEGIN on mariana_plus", "any prefix is not published"),
)
# fmt: on

FORMATS: Mapping[str, LogFormat] = {row.key: row for row in _ROWS}


def format_named(key: str) -> LogFormat:
    """The row of a key; a key that no row has is a fault of the stage that emits it.

    >>> format_named("select.pool").text
    'S: DGE: Select backend Pool'
    """
    found = FORMATS.get(key)
    if found is None:
        near = difflib.get_close_matches(key, FORMATS, 1)
        raise InternalError(
            f"no log format has the key {key!r}", rule="logs.key", fix=f"write {near[0]}" if near else ""
        )
    return found
