"""One rank a process on MPI: the same steps, with messages for what a DMA engine does to another rank's memory.

A write or a signal is a message; two messages between the same ranks keep their order, so bytes are there before the
signal is seen. A read asks and waits for the answer, serving others meanwhile. No clock decides anything: rank 0 ends
the run by waves. A rank answers a wave only when it is passive (done, or all channels waiting with no message left)
and tells how many messages it has sent and received. All done and as many received as sent: finished. All passive and
the same equal counts in two waves, one after the other: nothing is under way that could wake anybody, a deadlock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgekit.collectives.actor import U8, Actor, Edge
from dgekit.collectives.programs import semaphores
from dgekit.collectives.request import Setup
from dgekit.collectives.steps import Region

# kinds of a message, its first number
_WRITE, _SIGNAL, _READ, _WAVE, _ANSWER, _END = range(6)
_HEADER, _PAYLOAD, _REPLY = 1, 2, 3  # tags
_RUNNING, _FINISHED, _STUCK = range(3)
_WORDS = 4  # numbers of a header
_IDLE_FIRST, _IDLE_MOST = 1e-5, 2e-3  # seconds between two looks for a message


@dataclass(frozen=True, slots=True)
class Wave:
    """What all ranks answered: whether all are done, messages sent and received."""

    done: bool
    sent: int
    received: int


class MpiRank:
    """One rank of a collective on an MPI communicator of as many processes."""

    def __init__(self, setup: Setup, comm: Any, row: U8) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = comm
        self._rank = comm.Get_rank()
        self.actor = Actor(setup, self._rank, row)
        self._size = setup.size
        self._buffers = sorted(self.actor.buffers)
        self._semaphores = list(semaphores(setup))
        self._pending: list[tuple[Any, Any]] = []  # requests with the bytes they send
        self._sent = self._received = 0
        self._asked = False  # rank 0 waits for an answer
        self._answers: list[tuple[int, int, int]] = []
        self._last: Wave | None = None
        self._state = _RUNNING

    def run(self) -> list[Edge]:
        """Run until all ranks are done or stuck; this rank's part of the wait graph."""
        pause = _IDLE_FIRST
        while self._state == _RUNNING:
            if self.actor.advance(self) | self._poll():
                pause = _IDLE_FIRST
                continue
            self._passive()
            if not self._poll() and self._state == _RUNNING:
                time.sleep(pause)
                pause = min(2 * pause, _IDLE_MOST)
        for request, _ in self._pending:
            request.Wait()
        return self.actor.edges()

    # what an actor asks of its transport

    def read(self, region: Region) -> U8:
        """The bytes of a region of another rank; its inputs and what it has finished are stable."""
        data = np.empty(region.count * self._size, np.uint8)
        answer = self._comm.Irecv(data, region.rank, _REPLY)
        self._send(region.rank, _READ, self._buffers.index(region.buffer), region.first, region.count)
        while not answer.Test():
            if not self._poll():
                time.sleep(_IDLE_FIRST)
        return data

    def write(self, region: Region, data: U8) -> None:
        """Send bytes; they are copied, because the buffer they lie in may be written before they have left."""
        self._send(region.rank, _WRITE, self._buffers.index(region.buffer), region.first, region.count)
        self._post(region.rank, _PAYLOAD, data.copy())

    def signal(self, rank: int, channel: int, semaphore: str) -> None:
        """Send a signal."""
        self._send(rank, _SIGNAL, channel, self._semaphores.index(semaphore))

    # messages

    def _send(self, rank: int, kind: int, *numbers: int) -> None:
        header = np.zeros(_WORDS, np.int64)
        header[0] = kind
        header[1 : 1 + len(numbers)] = numbers
        self._post(rank, _HEADER, header)
        self._sent += kind in (_WRITE, _SIGNAL)

    def _post(self, rank: int, tag: int, data: Any) -> None:
        self._pending = [entry for entry in self._pending if not entry[0].Test()]
        self._pending.append((self._comm.Isend(data, rank, tag), data))

    def _poll(self) -> bool:
        """Take every message that has arrived; True when something came that can wake a channel."""
        status = self._mpi.Status()
        woken = False
        while self._comm.Iprobe(self._mpi.ANY_SOURCE, _HEADER, status):
            header = np.empty(_WORDS, np.int64)
            source = status.Get_source()
            self._comm.Recv(header, source, _HEADER)
            kind, *numbers = header.tolist()
            self._take(source, kind, numbers)
            woken |= kind in (_WRITE, _SIGNAL)
        return woken

    def _take(self, source: int, kind: int, numbers: list[int]) -> None:
        if kind == _WRITE:
            data = self.actor.view(self._region(numbers))
            self._comm.Recv(data, source, _PAYLOAD)
        elif kind == _SIGNAL:
            self.actor.raise_semaphore(numbers[0], self._semaphores[numbers[1]])
        elif kind == _READ:
            self._post(source, _REPLY, self.actor.view(self._region(numbers)).copy())
        elif kind == _WAVE:
            self._asked = True
        elif kind == _ANSWER:
            self._answers.append((numbers[0], numbers[1], numbers[2]))
        else:
            self._state = numbers[0]
        self._received += kind in (_WRITE, _SIGNAL)

    def _region(self, numbers: list[int]) -> Region:
        return Region(self._rank, self._buffers[numbers[0]], numbers[1], numbers[2])

    # the end of the run

    def _passive(self) -> None:
        """Nothing to do here: answer a wave; rank 0 starts one, or judges the one that has come back."""
        if self._asked:
            self._asked = False
            self._send(0, _ANSWER, self.actor.done, self._sent, self._received)
        if self._rank:
            return
        others = self._comm.Get_size() - 1
        if len(self._answers) == others + 1:
            self._judge()
        elif not self._answers:
            # its own answer opens the wave
            self._answers.append((self.actor.done, self._sent, self._received))
            self._tell(_WAVE)

    def _judge(self) -> None:
        dones, sent, received = zip(*self._answers, strict=True)
        wave = Wave(all(dones), sum(sent), sum(received))
        self._answers = []
        if wave.done and wave.sent == wave.received:
            self._state = _FINISHED
        elif wave == self._last and wave.sent == wave.received:
            self._state = _STUCK
        self._last = wave
        if self._state != _RUNNING:
            self._tell(_END, self._state)

    def _tell(self, kind: int, *numbers: int) -> None:
        for rank in range(1, self._comm.Get_size()):
            self._send(rank, kind, *numbers)
