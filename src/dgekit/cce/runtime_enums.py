"""The runtime's enums around compute packets: reductions, collectives, neighbours, architectures (cce 1.3)."""

from __future__ import annotations

import enum

from dgekit.layout import spelled


@spelled("reduction_type_t")
class ReductionType(enum.IntEnum):
    """How a reduce step reads and writes."""

    RING_2R1W = 0
    RING_2R2W = 1
    KANGARING_NR1W = 2


@spelled("enc_half_chunk_index")
class HalfChunk(enum.IntEnum):
    """Which half of a chunk a step moves."""

    CHUNK_H0 = 0
    CHUNK_H1 = 1
    SPLIT_N = 2


@spelled("enc_op_type")
class EncOp(enum.IntEnum):
    """What a collective does."""

    ALLGATHER = 0
    ALLREDUCE = 1
    BROADCAST = 2
    REDUCE = 3
    REDUCE_SCATTER = 4
    SEND = 5
    RECV = 6
    ALLTOALL = 7
    PERMUTE = 8
    PERMUTE_REDUCE = 9
    PERMUTE_IMPLICIT = 10
    PERMUTE_REDUCE_IMPLICIT = 11
    ALLTOALL_V = 12
    INVALID = 13


@spelled("nrt_cc_op_type")
class NrtCollective(enum.IntEnum):
    """Collectives of the runtime's public interface."""

    ALLGATHER = 0
    ALLREDUCE = 1
    REDUCESCATTER = 2


@spelled("collective_ctype")
class CollectiveCtype(enum.IntEnum):
    """The collective types seen in trigger words; others exist."""

    ALL_REDUCE = 1
    ALL_GATHER = 3


@spelled("enc_alg_type")
class EncAlgorithm(enum.IntEnum):
    """The algorithm of one leg."""

    RING = 0
    HIER = 1
    MESH = 2
    KANGARING = 3
    SINGLE_CYCLE_RING = 4
    INTRA_RDH = 5
    SINGLE_STEP_MESH = 6
    INTER_RDH = 7
    TWO_STEP_POD_MESH = 8
    LATENCY_OPT_MESH = 9
    BW_OPT_MESH = 10
    INVALID = 11


@spelled("metaring_type")
class MetaringType(enum.IntEnum):
    """Ring objects inside the runtime; numbered unlike `EncAlgorithm`."""

    RING = 0
    KANGARING = 1
    SINGLE_CYCLE_RING = 2
    RDH = 3
    INVALID = 4


@spelled("enc_alg_mesh_type")
class MeshType(enum.IntEnum):
    """Shapes of a mesh."""

    FULL_MESH = 0
    GROUPED_MESH = 1
    MESH_TRN2 = 2
    MESH_SWITCH = 3
    INVALID = 4


@spelled("encd_neigh")
class Neighbour(enum.IntEnum):
    """Whose memory an address of a step means."""

    LOCAL = 0
    NEXT = 1
    PREV = 2
    GATEWAY = 3
    PEER_RMTV = 4
    PEER_RMTV2 = 5
    PEER_LOCAL = 6
    NEXT_PEER_RMTV = 7
    INVALID = 8


@spelled("enc_comm_type")
class CommType(enum.IntEnum):
    """Inside one node, or between nodes."""

    INTRA = 0
    INTER = 1


@spelled("mesh_group_types")
class MeshGroup(enum.IntEnum):
    """Who takes part in a mesh event."""

    SELF = 0
    INTRA_GROUP_ROOTS = 1
    INTER_GROUP_ROOTS = 2
    ALL_INTER_ROOTS = 3
    INTRA_GROUP_NEIGHBORS = 4
    INTRA_GROUP_MEMBERS = 5


@spelled("mesh_event_type")
class MeshEvent(enum.IntEnum):
    """The mesh events seen; others exist."""

    SYNC = 0
    GLOBAL_HNDSHK = 1
    LOCAL_HNDSHK = 2
    INTER_GRP_BRDCST = 3
    REDUCE_LOCAL_HNDSHK = 6
    INTRA_GRP_BRDCST = 7
    REDUCE_COPY = 8
    REDUCE_WRITE = 10
    INTER_GRP_BRDCST_2 = 11
    COPY_FROM_HOST = 22


@spelled("al_hal_tpb_arch_type")
class Arch(enum.IntEnum):
    """Architectures as the hardware layer of the runtime numbers them."""

    INVALID = 0
    INVALID_1 = 1
    SUNDA = 2
    CAYMAN = 3
    MARIANA = 4
    NUM = 5


@spelled("ncfw_image_id")
class NcfwImage(enum.IntEnum):
    """The firmware image of the collective core, by generation."""

    V2 = 0x05
    V3 = 0x0C
    V4 = 0x14
    V4_PLUS = 0x1C
