"""Whatever is asked, memory holds afterwards what numpy computes from the pattern, or nothing has changed."""

from __future__ import annotations

from typing import Any

from cases import Leg, counts, dtypes, leg, pairs, regrouped, seeds, spaces, switches
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import copied, positions
from world import INCREMENT, SEMAPHORE, World

SIGNAL: dict[str, Any] = {"semaphore": SEMAPHORE, "increment": INCREMENT}
EXAMPLES = settings(max_examples=60, deadline=None)


def placed(world: World, name: str, side: Leg, dtype: str, values: Any = None) -> Any:
    """A tensor of the leg's shape; its access."""
    ref = world.tensor(name, side.space, side.shape, dtype, values)
    return ref.at(side.pattern, side.offset)


@EXAMPLES
@given(st.data(), pairs, spaces, counts(), dtypes, seeds, switches())
def test_copy(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], base: list[int], dtype: str, seed: int, how: Any
) -> None:
    src = data.draw(leg(ends[0], data.draw(regrouped(base)), distinct=False))
    dst = data.draw(leg(ends[1], data.draw(regrouped(base)), distinct=True))
    world = World(pair[0], how, seed, partitions=8)
    done = world.device.copy(placed(world, "dst", dst, dtype), placed(world, "src", src, dtype), mode=pair[1], **SIGNAL)
    assert done.ok, done.issues
    values = world.before["src"][positions(src.pattern, src.offset)]
    wanted = copied(world.before["dst"], positions(dst.pattern, dst.offset), values)
    assert world.flat("dst").tobytes() == wanted.tobytes()
    assert set(world.changed()) <= {"dst"}
    world.expect_signal(done)
