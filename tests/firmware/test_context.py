import pytest

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError, UsageError
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN, MAVERICK
from dgekit.core.state import Availability, Mailbox, ShapeRegister, StateView
from dgekit.firmware.context import availability_of, channels, effective_mask, init_context, packet_bytes, queue_of
from dgekit.firmware.values import Kind
from dgekit.logs.render import render_log


def test_setup_lines_and_the_context_object():
    events = EventLog()
    context = init_context(
        1, StateView(dma_config=0x000C_FFF0), CAYMAN, events, sw=True, rx_base=0x2040000000, tx_base=0x2040100000
    )
    assert (context.rx_ctx_id, context.tx_ctx_id, context.engine) == (2, 3, 4)
    assert (context.queue_idx, context.queue_num, context.n_dge_shape) == (3, 16, 4)
    assert render_log(events, CAYMAN, Choices()) == [
        "S: Setting up DGE",
        "S: DGE contexts 0x2/0x3 init sw=1 engine=4 queue_idx=3 queue_num=16",
        "S: rx.base=0x2040000000, tx.base=0x2040100000",
    ]


def test_more_shapes_than_the_file_holds():
    state = StateView(shape_registers=(ShapeRegister(),) * 5)
    with pytest.raises(LoweringError) as caught:
        init_context(0, state, CAYMAN, EventLog(), sw=False, rx_base=0, tx_base=0)
    assert caught.value.rule == "pipeline.2.4"


@pytest.mark.parametrize(
    ("mode", "kind", "want"),
    [
        ("unknown", Kind.DIRECT2D, Availability(True, True, False)),
        ("unknown", Kind.TRANSPOSE, Availability(True, True, False)),
        ("unknown", Kind.INDIRECT, Availability(True, True, True)),
        ("unknown", Kind.GATHER_TRANSPOSE, Availability(True, True, True)),
        ("hwdge", Kind.INDIRECT, Availability(False, True, False)),
        ("swdge", Kind.DIRECT2D, Availability(True, True, True)),
    ],
)
def test_what_a_mode_means(mode, kind, want):
    assert availability_of(mode, kind) == want


def test_mode_none_has_no_firmware():
    with pytest.raises(UsageError) as caught:
        availability_of("none", Kind.DIRECT2D)
    assert caught.value.rule == "dec.D15"


def test_mailboxes_mask_classes_above_their_priority():
    boxes = (Mailbox(priority=0, mask=0x0FFF), Mailbox(priority=2, mask=0xFF0F), Mailbox(), Mailbox())
    state = StateView(dma_config=0x0001_3FFF, mailboxes=boxes)
    assert effective_mask(state, 0) == 0x3FFF
    assert effective_mask(state, 1) == 0x0FFF
    assert effective_mask(state, 3) == 0x0F0F
    assert channels(state, CAYMAN, 3) == (0, 1, 2, 3, 8, 9, 10, 11)


def test_channels_stop_at_the_engines_that_exist():
    assert channels(StateView(), MAVERICK) == tuple(range(8))


def test_no_dma_and_no_queue():
    with pytest.raises(LoweringError) as caught:
        channels(StateView(dma_config=0x0001_0000), CAYMAN)
    assert (caught.value.rule, caught.value.values["register40"]) == ("pipeline.1.6", 0)
    with pytest.raises(LoweringError) as caught:
        queue_of(StateView(dma_config=0xFFFF))
    assert caught.value.rule == "pipeline.1.6"


def test_queues_go_round():
    state = StateView(dma_config=0x0024_FFFF)
    assert [queue_of(state, slot) for slot in range(4)] == [2, 5, 2, 5]
    assert queue_of(state) == 2


def test_packet_bytes_of_a_class():
    state = StateView(priority_bytes=(4096, 0, 512))
    choices = Choices({"packet_bytes": 8192})
    assert [packet_bytes(state, c, choices) for c in range(5)] == [8192, 4096, 8192, 512, 8192]
