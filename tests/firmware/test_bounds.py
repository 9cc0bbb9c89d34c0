import pytest

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import IllegalWord
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.core.state import StateView
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.firmware import bounds
from dgekit.firmware.decode import decode
from dgekit.firmware.values import Backend
from dgekit.words.structs import Addr8TblReg, BoundCheckReg

LIMIT = 5


def effective(word, state=None, **switches):
    choices = Choices(switches)
    pair, _ = decode(word, state or StateView(), CAYMAN, choices, EventLog(), 1)
    return bounds.effective_addresses(pair, CAYMAN, choices)


def bounded(words, build, **fields):
    return build(src_bound_reg=words.bound(LIMIT), dst_bound_reg=words.bound(LIMIT), **fields)


def test_a_disabled_bound_gives_the_start(words):
    assert effective(words.load(), bound_address="last_byte") == (words.HBM, words.SBUF)


@pytest.mark.parametrize(
    ("rule", "src", "dst"),
    [("start", 0, 0), ("last_element", 3 * 16, 3 * 32), ("last_byte", 3 * 16 + 15, 3 * 32 + 15)],
)
def test_effective_address_of_a_copy(words, rule, src, dst):
    word = bounded(words, words.direct)
    assert effective(word, bound_address=rule) == (words.HBM + src, words.HBM + 0x10_0000 + dst)


def test_negative_steps_do_not_lower_it(words):
    word = bounded(words, words.direct, src_step_elem=(-16, 64), src_num_elem=(2, 2), dst_num_elem=(4, 1))
    assert effective(word)[0] == words.HBM + 64
    empty = bounded(words, words.direct, src_step_elem=(-16, 64), src_num_elem=(0, 3), dst_num_elem=(4, 0))
    assert effective(empty)[0] == words.HBM + 128


def test_effective_address_of_tiles(words):
    """D24: 0xbd adds (rows-1) row steps and (cols-1) elements, and (cols-1) partitions and (rows-1) elements."""
    word = bounded(words, words.transpose)
    src = words.HBM + 3 * 4096 + 15 * 256 + 127 * 2
    dst = words.SBUF + 3 * 32 + 127 * words.ROW + 15 * 2
    assert effective(word) == (src, dst)
    assert effective(word, bound_address="last_byte") == (src + 1, dst + 1)


def test_effective_address_of_the_element_form(words):
    word = bounded(
        words, words.transpose, src_num_elem=(128, 64), src_step_elem=(1, 128), dst_num_elem=(64, 128),
        dst_step_elem=(1, 64),
    )  # fmt: skip
    both = effective(word, step_unit="elements", xpose_walk="elements")
    assert both == (words.HBM + 2 * (127 + 63 * 128), words.SBUF + 2 * (63 + 127 * 64))


@pytest.mark.parametrize(("limit", "passes"), [(0x1000_0030, True), (0x1000_002F, False)])
def test_less_or_equal_passes(words, send, limit, passes):
    run = send(words.direct(src_bound_reg=words.bound(LIMIT)), state=StateView(registers={LIMIT: limit}))
    assert run.outcome.status == ("done" if passes else "skipped")
    if passes:
        assert run.args("dump")[0][16:22] == (1, words.HBM + 48, limit, 0, words.HBM + 0x10_0000, 0)


def test_a_failed_bound_skips_the_word_whole(words, send):
    run = send(
        words.load(dst_bound_reg=words.bound(LIMIT)), state=StateView(registers={LIMIT: 0x7F}), log_stages="select"
    )
    outcome = run.outcome
    assert (outcome.status, outcome.work, outcome.program.ops, outcome.notifications) == ("skipped", (), (), ())
    assert run.log == ["S: DGE: Select backend Pool", "S: DGE: Failed bounds check. $S[10]+=1."]
    (issue,) = outcome.issues
    assert (issue.rule, issue.severity, issue.where) == ("pipeline.6.1", "error", "dst_bound_reg")
    assert issue.values == {"effective": hex(words.SBUF + 127 * words.ROW), "limit": "0x7f", "register": LIMIT}


def test_the_source_is_checked_first_and_reported_alone(words, send):
    word = bounded(words, words.direct)
    run = send(word, state=StateView(registers={LIMIT: 1}))
    assert [event.data["side"] for event in run.events if event.name == "failed"] == ["src"]


def test_a_wide_offset_has_a_64_bit_limit(words, send):
    base = Addr8TblReg(offset_reg=20, table_entry_id=0, marker=0x2C)
    word = words.load(dst_start_addr=base, dst_bound_reg=words.bound(LIMIT))
    registers = {20: 0, 21: 0, LIMIT: 127 * words.ROW, LIMIT + 1: 0x20}
    state = StateView(registers=registers, address_table={0: words.SBUF})
    assert send(word, state=state).outcome.status == "done"
    short = StateView(registers={**registers, LIMIT: 127 * words.ROW - 1}, address_table={0: words.SBUF})
    assert send(word, state=short).outcome.status == "skipped"


def test_shape_register_reading_prints_the_overrun(words, send):
    run = send(
        words.direct(src_bound_reg=words.bound(LIMIT)), state=StateView(registers={LIMIT: words.HBM + 40}),
        dump_index="shape_register",
    )  # fmt: skip
    assert run.args("failed") == [(0, 8)]


def test_checks_after_the_pushes(words, send):
    run = send(
        words.direct(src_bound_reg=words.bound(LIMIT)), state=StateView(registers={LIMIT: 1}), log_stages="select",
        check_position="after_push",
    )  # fmt: skip
    assert run.outcome.status == "skipped"
    assert run.outcome.work == ()
    assert len(run.outcome.program.ops) == 4
    assert run.log[-1] == "S: DGE: Failed bounds check. $S[10]+=1."
    assert len(run.log) == 6


def test_totals_of_a_copy(words, send):
    run = send(words.direct(src_num_elem=(5, 1)))
    assert (run.outcome.status, run.outcome.fatal) == ("refused", True)
    assert run.log == ["S: ErrorHandler : Illegal Instruction(0xb8)"]


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        ({"src_num_elem": (5, 1)}, {"src": 80, "dst": 64, "unit": "bytes"}),
        ({"out_dtype": Dtype.BFLOAT16}, {"src": 16, "dst": 32, "unit": "elements"}),
        (
            {"out_dtype": Dtype.BFLOAT16, "src_elem_size": 6, "dst_elem_size": 6},
            {"elem_size": 6, "dtype_size": 4},
        ),
    ],
)
def test_totals_that_differ(words, fields, values):
    pair, _ = decode(words.direct(**fields), StateView(), CAYMAN, Choices(), EventLog())
    with pytest.raises(IllegalWord) as caught:
        bounds.check_totals(pair, Choices())
    assert (caught.value.rule, caught.value.values) == ("pipeline.6.1", values)


def test_totals_of_tiles(words):
    pair, _ = decode(words.transpose(dst_num_elem=(3, 1)), StateView(), CAYMAN, Choices(), EventLog(), 1)
    for walk, unit in (("tiles", "tiles"), ("elements", "elements")):
        with pytest.raises(IllegalWord) as caught:
            bounds.check_totals(pair, Choices({"xpose_walk": walk}))
        assert caught.value.values == {"src": 4, "dst": 3, "unit": unit}


@pytest.mark.parametrize(
    ("carveout", "status", "rule"),
    [
        (0, "done", None),
        (8 << 16 | 4, "done", None),  # 4 BDs on each leg
        (7 << 16 | 4, "refused", "pipeline.6.1"),
        (100 << 16 | 6, "refused", "pipeline.1.6"),
    ],
)
def test_carveout(words, send, carveout, status, rule):
    word = words.direct(src_step_elem=(64, 1))
    run = send(word, state=StateView(carveout=carveout), log_stages="select")
    assert run.outcome.status == status
    assert [issue.rule for issue in run.outcome.issues] == ([rule] if rule else [])
    assert len(run.log) == (5 if status == "done" else 1)


def test_reserved_descriptors_shrink_the_carveout(words, send):
    word = words.direct(src_step_elem=(64, 1))
    run = send(word, state=StateView(carveout=8 << 16), carveout_reserved=1)
    assert run.outcome.issues[0].values == {"descriptors": 8, "allowed": 7}


def test_the_carveout_is_for_pool_only(words, send):
    word = words.direct(src_step_elem=(64, 1))
    assert send(word, mode="hwdge", state=StateView(carveout=1 << 16)).outcome.status == "done"
    none = bounds.check_count(DescriptorBatch(), Backend.RTL, StateView(carveout=1), Choices(), EventLog())
    assert none is None


@pytest.mark.parametrize("mode", ["unknown", "hwdge", "swdge"])
def test_every_backend_skips_on_an_address(words, send, mode):
    run = send(words.direct(dst_bound_reg=words.bound(LIMIT)), mode=mode, state=StateView(registers={LIMIT: 1}))
    assert (run.outcome.status, run.outcome.work, run.outcome.program.ops) == ("skipped", (), ())
    assert run.log[-1] == "S: DGE: Failed bounds check. $S[10]+=1."


def test_the_address_bound_of_a_gather_transpose(words, send):
    memory = words.indices(*range(32))
    for limit, status in ((0x1000, "skipped"), (0, "done")):
        bound = words.bound(LIMIT) if limit else BoundCheckReg()
        word = words.gather_transpose(dst_bound_reg=bound)
        run = send(word, state=StateView(registers={LIMIT: limit}, memory=memory), sem_increment=1)
        assert run.outcome.status == status
