import itertools

import pytest

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.events import EventLog
from dgekit.core.state import Availability
from dgekit.firmware.select import select
from dgekit.firmware.values import Backend, DgeShape, Kind, ShapePair


def a_pair(kind, *, cast=False, compute=0):
    src = DgeShape(0, (1,), (1,), 4, Dtype.FP32, True, False)
    dst = DgeShape(0, (1,), (1,), 4, Dtype.INT32 if cast else Dtype.FP32, False, False)
    return ShapePair(kind, src, dst, 1, 1, 0, compute)


DIRECT = {Kind.DIRECT2D, Kind.TRANSPOSE}


def oracle(order, pool, rtl, sw, kind, plain):
    """D14 and D16, written out."""
    takes = {
        Backend.POOL: pool and kind in DIRECT,
        Backend.RTL: rtl and kind in DIRECT and plain,
        Backend.SOFTWARE: sw,
    }
    tries = {
        "two_tier": [Backend.SOFTWARE] if sw else [Backend.POOL, Backend.RTL],
        "chained": [Backend.POOL, Backend.RTL, Backend.SOFTWARE],
        "visible_only": [Backend.POOL],
    }[order]
    return next((backend for backend in tries if takes[backend]), Backend.NONE)


@pytest.mark.parametrize("order", ["two_tier", "chained", "visible_only"])
def test_every_table_and_kind(order):
    flags = itertools.product([False, True], repeat=3)
    kinds = [kind for kind in Kind if kind is not Kind.SB2SB]
    forms = [(False, 0), (True, 0), (False, 1)]
    for (pool, rtl, sw), kind, (cast, compute) in itertools.product(flags, kinds, forms):
        events = EventLog()
        pair = a_pair(kind, cast=cast, compute=compute)
        got = select(pair, Availability(pool, rtl, sw), Choices({"select": order}), events)
        assert got is oracle(order, pool, rtl, sw, kind, not cast and not compute)
        assert [event.line for event in events] == [
            {Backend.POOL: "select.pool", Backend.RTL: "select.rtl", Backend.NONE: "select.none"}.get(got, "")
        ]


def test_without_the_guard_the_first_available_is_taken():
    pair = a_pair(Kind.INDIRECT)
    choices = Choices({"capability_guard": False})
    assert select(pair, Availability(True, True, False), choices, EventLog()) is Backend.POOL
    assert select(pair, Availability(False, True, False), choices, EventLog()) is Backend.RTL
