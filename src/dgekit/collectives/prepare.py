"""From a request to a `Setup`: the checks, the defaults of D71 and D72, the chunk size of CHOICE-54 and D73."""

from __future__ import annotations

from dataclasses import replace

from dgekit.cce.dtypes import accum_size, check_reducible, default_accum, element_size
from dgekit.cce.faults import raise_first
from dgekit.cce.limits import CHUNK_GRANULE, max_elements
from dgekit.collectives.cost import Costs
from dgekit.collectives.geometry import Geometry, rounded_chunk
from dgekit.collectives.programs import program
from dgekit.collectives.request import (
    ALGOS,
    ALLREDUCE,
    KANGARING,
    KINDS,
    LEGS,
    MESH,
    MESHES,
    RDMA,
    REDUCESCATTER,
    RING,
    T0,
    T1,
    T2,
    Request,
    Setup,
)  # fmt: skip
from dgekit.core.choices import Choices
from dgekit.core.errors import Issue, UsageError
from dgekit.core.generations import Generation
from dgekit.descriptors.bd import MAX_BD_BYTES
from dgekit.firmware.remote import check_generation

MAX_RANKS = 256  # entries of a logical path (cce 7.5)
MAX_CHANNELS = 32  # cce 7.3
MAX_GROUP = 4  # a primary and up to three peers (cce 7.5)
MAX_CREDITS = 0xFFFF  # send_credit is 16 bits (cce 7.3)
MAX_ELEMENTS = 1 << 48
MAX_PASS_BDS = 60_000  # a side of a channel (D73)
MAX_T0_BYTES = 0x1000_0000  # cce 7.6


def prepare(request: Request, generation: Generation, choices: Choices) -> Setup:
    """Check a request and fill in its defaults; raises UsageError or ComputeError for the first thing wrong."""
    _check_numbers(request)
    if request.leg == RDMA:
        check_generation(generation)
    size = element_size(request.dtype.code, where="dtype")
    max_elements(generation)
    accum = default_accum(request.op, request.dtype.code, request.dtype.code)
    if request.kind in (ALLREDUCE, REDUCESCATTER):
        raise_first(check_reducible(request.dtype.code, choices))
        accum = accum if request.accum is None else request.accum  # type: ignore[assignment]
        accum_size(accum)
    issues: list[Issue] = []
    mesh = _mesh(request)
    group = _group(request, mesh, issues)
    algo = _algo(request, group)
    setup = Setup(
        request=request,
        generation=generation,
        choices=choices,
        algo=algo,
        accum=int(accum),
        group=group,
        mesh=mesh,
        credits=choices.number("ring_credits") if request.credits is None else request.credits,
        fused=algo == RING and request.kind == ALLREDUCE and choices.text("ring_path") == "host",
        geometry=Geometry(request.elements, 1, request.channels, 0, CHUNK_GRANULE),
        issues=tuple(issues),
    )
    if mesh == T0 and request.elements * size > MAX_T0_BYTES:
        raise UsageError(
            f"mesh t0 takes at most {MAX_T0_BYTES} bytes, not {request.elements * size}",
            rule="cce.7.6",
            where="mesh",
            values={"bytes": request.elements * size, "limit": MAX_T0_BYTES},
            source="cce 7.6",
            fix="--mesh t1",
        )
    setup = replace(setup, geometry=_geometry(setup))
    _check_drop(setup)
    return setup


def _check_numbers(request: Request) -> None:
    for what, given, known in (
        ("collective", request.kind, KINDS), ("algorithm", request.algo, ALGOS), ("leg", request.leg, LEGS),
    ):  # fmt: skip
        if given not in known:
            raise UsageError(
                f"no {what} is named {given!r}", rule="collective.name", where=what, fix="one of " + ", ".join(known)
            )
    for what, number, most in (
        ("ranks", request.ranks, MAX_RANKS),
        ("elements", request.elements, MAX_ELEMENTS),
        ("channels", request.channels, MAX_CHANNELS),
        ("credits", 1 if request.credits is None else request.credits, MAX_CREDITS),
    ):
        if not 1 <= number <= most:
            raise UsageError(
                f"{number} {what}, a collective takes 1 to {most}",
                rule="collective.range",
                where=what,
                values={what: number, "limit": most},
                source="cce 7.3",
            )


def _mesh(request: Request) -> str:
    """The subtype (D72): t0 for two ranks, else t1; t2 on request, with a group, and for a reduce-scatter."""
    if request.algo != MESH:
        if request.mesh is not None:
            raise UsageError(f"a {request.algo} has no mesh subtype", rule="collective.mesh", where="mesh")
        return ""
    if request.mesh is not None and request.mesh not in MESHES:
        known = ", ".join(MESHES)
        raise UsageError(
            f"no mesh subtype {request.mesh!r}", rule="collective.mesh", where="mesh", fix=f"one of {known}"
        )
    default = T0 if request.ranks == 2 and request.kind == ALLREDUCE else T1
    if request.kind == REDUCESCATTER or (request.kind == ALLREDUCE and request.group is not None):
        default = T2
    chosen = request.mesh or default
    wrong = {
        "t0 is for two ranks": chosen == T0 and request.ranks != 2,
        f"a {request.kind} is no {chosen} mesh": request.kind != ALLREDUCE and chosen != default,
        f"{chosen} has no groups": request.group is not None and chosen != T2,
    }
    for message, applies in wrong.items():
        if applies:
            raise UsageError(message, rule="collective.mesh", where="mesh", source="cce 7.6", fix=f"--mesh {default}")
    return chosen


def _group(request: Request, mesh: str, issues: list[Issue]) -> int:
    """Ranks that stand together: at a kangaring position (D71), or in a group of mesh t2; 1 in a ring."""
    group = request.group
    if request.algo == RING and group is not None:
        raise UsageError("a ring has no groups", rule="collective.group", where="group", fix="--algo kangaring")
    most = MAX_GROUP if request.algo == KANGARING else request.ranks
    if group is not None and (not 1 <= group <= most or request.ranks % group):
        raise UsageError(
            f"groups of {group} for {request.ranks} ranks",
            rule="collective.group",
            where="group",
            values={"group": group, "ranks": request.ranks, "limit": most},
            source="cce 7.5",
            fix=f"a divisor of {request.ranks}, at most {most}",
        )
    if group is not None or request.algo == RING:
        return group or 1
    if mesh in (T0, T1):
        return request.ranks
    found = default_group(request.ranks)
    if found == 1 and request.ranks > 1:
        issues.append(
            Issue(
                "dec.D71",
                "advice",
                f"{request.ranks} ranks do not divide into groups of 2 to 4: "
                + ("they run as a plain ring" if request.algo == KANGARING else "every rank is its own group"),
                "group",
                {"ranks": request.ranks},
                "dec.D71",
            )
        )
    return found


def default_group(ranks: int) -> int:
    """The largest of 4, 3, 2 that leaves at least two groups, else all of at most four ranks, else 1 (D71).

    >>> [default_group(ranks) for ranks in (2, 3, 4, 5, 6, 8, 16)]
    [2, 3, 2, 1, 3, 4, 4]
    """
    for group in (4, 3, 2):
        if ranks % group == 0 and ranks // group >= 2:
            return group
    return ranks if ranks <= MAX_GROUP else 1


def _algo(request: Request, group: int) -> str:
    """What runs: a solo rank copies, a kangaring of single ranks is a ring."""
    if request.ranks == 1:
        return "copy"
    return RING if request.algo == KANGARING and group == 1 else request.algo


def _geometry(setup: Setup) -> Geometry:
    """The cut of the vector, with the largest chunk that keeps a pass within the descriptors it may emit (D73)."""
    elements, channels = setup.request.elements, setup.request.channels
    parts, region = _shape(setup)
    shares = channels if region else channels * parts
    # more than this is over the limit in any case
    most = rounded_chunk(2 * MAX_PASS_BDS * MAX_BD_BYTES // setup.size, 1)
    wanted = Geometry(elements, parts, channels, region, min(most, rounded_chunk(region or elements, shares)))
    if _pass_bds(setup, wanted) <= MAX_PASS_BDS:
        return wanted
    low, high = 1, wanted.chunk // CHUNK_GRANULE
    while high - low > 1:
        middle = (low + high) // 2
        fits = _pass_bds(setup, replace(wanted, chunk=middle * CHUNK_GRANULE)) <= MAX_PASS_BDS
        low, high = (middle, high) if fits else (low, middle)
    return replace(wanted, chunk=low * CHUNK_GRANULE)


def _shape(setup: Setup) -> tuple[int, int]:
    """Chunks side by side, and the region each keeps to (0: interleaved)."""
    if setup.algo == "copy" or (setup.mesh in (T0, T1) and setup.kind == ALLREDUCE):
        return 1, 0
    if setup.algo == MESH:
        return setup.ranks, setup.shard
    interleaved = setup.kind == ALLREDUCE
    return setup.positions, 0 if interleaved else setup.shard * (setup.ranks // setup.positions)


def _pass_bds(setup: Setup, geometry: Geometry) -> int:
    """Descriptors on the fuller side that rank 0, a primary on channel 0, emits there in a whole pass."""
    whole = replace(setup, geometry=geometry)
    costs = Costs(whole)
    m2s = s2m = 0
    for step in program(whole, 0, 0):
        if step.number:
            break
        for dma in step.dmas:
            cost = costs.of(dma)
            m2s, s2m = m2s + cost.m2s, s2m + cost.s2m
    return max(m2s, s2m)


def _check_drop(setup: Setup) -> None:
    drop = setup.request.drop
    if drop is None:
        return
    sent = 0
    if 0 <= drop.rank < setup.ranks:
        sent = sum(len(step.signals) for step in program(setup, drop.rank, 0))
    if not 0 <= drop.number < sent:
        raise UsageError(
            f"rank {drop.rank} sends {sent} signals on channel 0, there is no number {drop.number} to lose",
            rule="collective.drop",
            where="drop_signal",
            values={"rank": drop.rank, "number": drop.number, "signals": sent},
        )
