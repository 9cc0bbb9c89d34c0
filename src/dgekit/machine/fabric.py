"""Several devices that reach each other: each has a routing id, and its memory appears to the others under it."""

from __future__ import annotations

from dgekit.core.errors import LoweringError
from dgekit.core.routing import chip_view
from dgekit.machine.machine import Machine


class Fabric:
    """Devices by routing id. A core of another device becomes addressable when a leg first names it.

    >>> from dgekit.core.generations import CAYMAN
    >>> fabric = Fabric()
    >>> for chip in (0, 5):
    ...     fabric.add(chip, Machine(CAYMAN))
    >>> peer = fabric.reach(fabric[0], 5, core=1)
    >>> fabric[0].memory.write(0x0045_0030_0000_0100, b"hello")
    >>> peer.memory.read(0x30_0000_0100, 5)
    b'hello'
    """

    __slots__ = ("_machines",)

    def __init__(self) -> None:
        self._machines: dict[int, Machine] = {}

    def add(self, chip_id: int, machine: Machine) -> None:
        """Give a device its routing id; raises LoweringError for an id above 63 or one that is taken."""
        chip_view(0, chip_id)
        if chip_id in self._machines:
            raise LoweringError(
                f"routing id {chip_id} belongs to a device already",
                rule="fabric.taken",
                values={"routing_id": chip_id},
                fix="give each device an id of its own",
            )
        self._machines[chip_id] = machine

    def __getitem__(self, chip_id: int) -> Machine:
        """The device of a routing id; raises LoweringError where there is none."""
        found = self._machines.get(chip_id)
        if found is None:
            known = sorted(self._machines)
            raise LoweringError(
                f"no device has routing id {chip_id}",
                rule="fabric.unknown",
                values={"routing_id": chip_id, "devices": known},
                source="decision D77",
                fix=f"one of {', '.join(map(str, known))}" if known else "add the device to the fabric",
            )
        return found

    def reach(self, machine: Machine, chip_id: int, core: int) -> Machine:
        """The device of a routing id, with SBUF and semaphores of one of its cores addressable from `machine`."""
        peer = self[chip_id]
        machine.memory.alias(peer.memory, core, chip_id)
        return peer
