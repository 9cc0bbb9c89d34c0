"""One engine of a subgraph, its JSON read as a stream: entries one after the other, then what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dgekit.core.errors import Issue
from dgekit.frontends.neff.archive import Archive
from dgekit.frontends.neff.definitions import ENGINE, ENTRY, Collective, Entry, collectives_of, entry_of
from dgekit.frontends.neff.json_member import member_place
from dgekit.frontends.neff.json_stream import ObjectStream
from dgekit.frontends.neff.source import Progress
from dgekit.frontends.place import Place

_DMA = "dma"


@dataclass(slots=True)
class EngineFile:
    """An engine's JSON member, its dma list and its instruction stream, all read when asked for.

    `named_stream` is what def.json says of the stream; the engine's own `instr` counts where that says nothing.
    """

    name: str
    member: str
    folder: str
    members: Archive
    where: str
    named_stream: str | tuple[str, ...] | None = None
    progress: Progress | None = None
    _rest: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def place(self) -> Place:
        """The place of the engine's JSON."""
        return member_place(self.member, self.where)

    @property
    def present(self) -> bool:
        """False when the archive has no such member."""
        return self.member in self.members

    def tables(self) -> Iterator[Any]:
        """The entries of the dma list as JSON has them, unchecked. Raises InputError for wrong JSON."""
        if not self.present:
            self._rest = ENGINE.check({}, self.place)
            return
        stream = ObjectStream(self._pieces(), self.place)
        yield from stream.elements(_DMA)
        self._rest = ENGINE.check(stream.values if stream.other is None else stream.other, self.place)

    def entries(self) -> Iterator[Entry]:
        """The checked entries of the dma list. Raises InputError naming the entry and the key."""
        for index, table in enumerate(self.tables()):
            place = self.place_of(index)
            yield entry_of(ENTRY.check(table, place), place)

    def place_of(self, index: int) -> Place:
        """The place of an entry."""
        return self.place.key(_DMA).item(index)

    @property
    def collectives(self) -> tuple[Collective, ...]:
        """The companions of collective triggers."""
        return collectives_of(self.rest)

    @property
    def stream_members(self) -> tuple[str, ...]:
        """The members of the instruction stream, present or not."""
        names = self.named_stream or self.rest["instr"]
        parts = (names,) if isinstance(names, str) else names or ()
        return tuple(join(self.folder, part) for part in parts)

    def stream(self) -> bytes:
        """The instruction stream; empty where its member is absent."""
        return b"".join(self.members[member] for member in self.stream_members if member in self.members)

    @property
    def stream_bytes(self) -> int:
        """Bytes of the instruction stream."""
        return sum(self.members.size(member) for member in self.stream_members if member in self.members)

    @property
    def rest(self) -> dict[str, Any]:
        """What the JSON holds beside the dma list; the list is passed over when it has not been read before."""
        if self._rest is None:
            for _ in self.tables():
                pass
        return self._rest or {}

    def absent(self) -> Iterator[Issue]:
        """The members that are named and not there: an issue each."""
        missing = [] if self.present else [(self.member, f"engine {self.name} has no dma list")]
        missing += [
            (member, "the engine has no instruction stream")
            for member in self.stream_members
            if member not in self.members
        ]
        for member, consequence in missing:
            message = f"member {member} is absent: {consequence}"
            yield Issue("neff.absent", "warning", message, self.where, {}, "neff 3")

    def _pieces(self) -> Iterator[bytes]:
        done, size = 0, self.members.size(self.member)
        for piece in self.members.chunks(self.member):
            yield piece
            done += len(piece)
            if self.progress is not None:
                self.progress(self.member, done, size)


def join(folder: str, name: str) -> str:
    """A member's name from its folder and its name there."""
    return f"{folder}/{name}" if folder else name
