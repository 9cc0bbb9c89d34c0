"""What a collective is asked to do, and the checked form that programs are made from (decisions D60, D71 to D73)."""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.cce.enums import CceType
from dgekit.collectives.geometry import Geometry
from dgekit.core.choices import Choices
from dgekit.core.dtypes import DtypeInfo
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation

ALLREDUCE, REDUCESCATTER, ALLGATHER = KINDS = ("allreduce", "reducescatter", "allgather")
RING, KANGARING, MESH = ALGOS = ("ring", "kangaring", "mesh")
COPY, RDMA = LEGS = ("copy", "rdma")
T0, T1, T2 = MESHES = ("t0", "t1", "t2")


@dataclass(frozen=True, slots=True)
class Drop:
    """A lost signal: the one that `rank` sends as number `number` (from 0) on channel 0."""

    rank: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One collective. `elements` is the full vector (D73); None leaves a value to its documented default.

    `leg` says how bytes reach another rank: plain copies, or RDMA words (D77).
    `accum` is an SDMA code; `group` the ranks of a kangaring position or of a mesh group; `mesh` a subtype.
    """

    kind: str
    algo: str
    ranks: int
    dtype: DtypeInfo
    elements: int
    op: CceType = CceType.ADD
    accum: int | None = None
    channels: int = 1
    group: int | None = None
    mesh: str | None = None
    credits: int | None = None
    drop: Drop | None = None
    leg: str = COPY


@dataclass(frozen=True, slots=True)
class Setup:
    """A request with every default filled in and every check passed; programs, costs and results derive from it.

    `algo` "copy" is the solo rank's. `fused`: the last reduce of a ring all-reduce also writes to the next rank.
    """

    request: Request
    generation: Generation
    choices: Choices
    algo: str
    accum: int
    group: int
    mesh: str
    credits: int
    fused: bool
    geometry: Geometry
    issues: tuple[Issue, ...] = ()

    @property
    def kind(self) -> str:
        """The collective."""
        return self.request.kind

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.request.ranks

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return self.request.dtype.size

    @property
    def reduces(self) -> bool:
        """False for an all-gather."""
        return self.kind != ALLGATHER

    @property
    def shard(self) -> int:
        """Elements of a whole shard; the last ones may be shorter or empty (D73)."""
        return -(-self.request.elements // self.ranks)

    @property
    def positions(self) -> int:
        """Ring positions."""
        return self.ranks // self.group if self.algo == KANGARING else self.ranks

    def shard_span(self, rank: int) -> tuple[int, int]:
        """First element of a rank's shard, and the element after its last."""
        elements = self.request.elements
        return min(rank * self.shard, elements), min((rank + 1) * self.shard, elements)

    def held(self, rank: int, *, output: bool) -> tuple[int, int]:
        """What of the full vector a rank's input or output buffer holds: first element, and the one after the last."""
        if self.kind == (REDUCESCATTER if output else ALLGATHER):
            return self.shard_span(rank)
        return 0, self.request.elements
