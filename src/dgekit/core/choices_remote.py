"""The switches of the leg between cores: RDMA descriptor generation and start, and SB2SB (pipeline 3.7, rings 7)."""

from __future__ import annotations

from dgekit.core.choice import Choice

REMOTE = (
    Choice(
        "imm_val_field",
        ("immediate", "register"),
        "what the 4-byte operands of EXTENDED_RDMA_DESC_GEN hold",
        "immediate or register number, the selection is not described; register: the low byte names one",
        "isa-words 8.35",
    ),
    Choice(
        "rdma_local_sem",
        ("mask", "all16"),
        "which engines increment the local semaphore of an RDMA leg",
        "the engines that take part; a header text says all 16",
        "rings C22, dec.D77",
    ),
    Choice(
        "rdma_ring",
        (15,),
        "queue of each engine that holds the rings of an RDMA leg, and the ring_num of its log lines",
        "queue 15 of every engine is that of the collectives",
        "rings 5.7, dec.D77",
    ),
    Choice(
        "rdma_leg_engines",
        (4,),
        "engines of each RDMA leg of a collective: the lowest 1, 2, 4, 8 or 16",
        "no source names a mask for them; four have a published word",
        "isa-words 6.6, dec.D77",
        1,
    ),
    Choice(
        "rdma_prid",
        (0,),
        "id of the processor that builds the receive rings of an RDMA leg; the next one builds the send rings",
        "even is RX and odd is TX, so an odd number is the firmware's role mismatch",
        "pipeline 3.7, dec.D77",
    ),
    Choice(
        "rdma_log_args",
        ("model", "zero"),
        "what the RDMA and SB2SB lines print where no source explains an argument",
        "model: addresses and counts as this model has them (docs/rdma.md lists them); zero: 0",
        "dec.D77",
    ),
    Choice(
        "lnc_size_fmt",
        ("size", "index"),
        "what lnc_size_fmt of an SB2SB word counts",
        "size: 1 is LNC1 and 2 is LNC2; index: 0 and 1; the values are not published",
        "isa-words 8.35",
    ),
    Choice(
        "sb2sb_peer",
        ("pair", "xor2"),
        "the peer of a core in an LNC2 SB2SB word",
        "the other core of its pair (index xor 1); xor 2 is what one page has for engines",
        "rings 7, dec.D77",
    ),
    Choice(
        "sb2sb_sems",
        (254,),
        "local semaphore of the leg of an SB2SB word; the remote one is the next",
        "the word names none; the two highest are free in every published program",
        "dec.D77",
    ),
    Choice(
        "sb2sb_engines",
        (16,),
        "most engines that the leg of an SB2SB word takes",
        "the word has no mask: the largest of 1, 2, 4, 8, 16 that divides its channels is taken",
        "dec.D77",
        1,
    ),
)
