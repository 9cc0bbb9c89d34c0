"""Events to lines: the worked lines of the specification, generations, stages and doubtful texts."""

import pytest

from dgekit.core.choices import Choices
from dgekit.core.errors import InternalError
from dgekit.core.events import Event, EventLog
from dgekit.core.generations import CAYMAN, GENERATIONS, MARIANA_PLUS, MAVERICK, SUNDA
from dgekit.logs.formats import FORMATS
from dgekit.logs.printf import compile_format
from dgekit.logs.render import render, render_lines, render_log


def copy_events():
    """The events of the specification's worked copy: 128 x FP32, semaphore 10."""
    log = EventLog()
    log.emit("setup", "start", "setup.start")
    log.emit("reshape", "pair", "reshape.simple", (1, 1, 16, 0, 0, 1))
    log.emit("select", "select", "select.pool")
    dump = (10, 1, 0, 0x100000000, 1, 0x80, 128, 1, 0, 0x2000000000, 1, 0x80, 128, 1, 0xA, 0xA)
    log.emit("dump", "dump", "dump.pool", (*dump, 0, 0x100000000, 0, 0, 0x2000000000, 0, 0))
    log.emit("push", "generate", "push.generate", (0, "RD", 0x100000000, 4, 10))
    log.emit("push", "dimpush", "push.dimpush", (0, 128, 128, 1, 1))
    log.emit("push", "dimpush", "push.dimpush", (0, 1, 1, 128, 128))
    log.emit("engine", "drained")
    return log


WORKED = [  # spec/README, "The seeds' two programs, worked"
    "S: DGE: Select backend Pool",
    "S: DGE $S[10]+=1@dmacomplete src=[0x0]@0x100000000[0x1,0x80][128,1] dst=[0x0]@0x2000000000[0x1,0x80][128,1] "
    "cast:0xa->0xa bounds:(0 0x100000000<=0x0, 0 0x2000000000<=0x0) compute_op: 0x0",
    "S: push GENERATE to DMA[0]: RD : addr=0x100000000, elem_size=4, sem_num=10",
    "S: push DIMPUSH to DMA[0]: [128,128][1,1]",
    "S: push DIMPUSH to DMA[0]: [1,1][128,128]",
]


def test_select_stages_give_exactly_the_worked_lines():
    assert render_log(copy_events(), CAYMAN, Choices({"log_stages": "select"})) == WORKED


def test_all_stages():
    lines = render_log(copy_events(), CAYMAN, Choices())
    assert lines[0] == "S: Setting up DGE"
    assert lines[1].startswith("S: DGE Reshape: Assessed simple tensor pair params (Num Partitions A = 1,")
    assert lines[2:] == WORKED


def test_a_line_appears_only_on_the_generations_that_hold_it():
    regwrite = Event("push", "regwrite", "push.regwrite", (0,))
    assert render(regwrite, CAYMAN, Choices()).text == "S: push REGWRITE to DMA[0]"
    assert render(regwrite, MARIANA_PLUS, Choices()) is None
    kind = Event("decode", "kind", "decode.indirect")
    assert render(kind, MAVERICK, Choices()).text == "P0: DGE INDIRECT"
    assert render(kind, SUNDA, Choices()) is None


def example_args(row):
    """Plausible arguments for any format: 'RD' for texts, 7 for numbers."""
    printers = compile_format(row.text)[1]
    args = []
    for printer in printers:
        try:
            printer(7)
            args.append(7)
        except InternalError:
            args.append("RD")
    return tuple(args[1:] if row.prefix == "P%i:" else args)


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda g: g.name)
def test_every_line_of_the_table_renders_where_it_exists(generation):
    for row in FORMATS.values():
        line = render(Event("setup", "x", row.key, example_args(row)), generation, Choices())
        wanted = (
            generation.name in row.generations and row.stage not in ("token", "symbol") and row.evidence != "partial"
        )
        assert (line is not None) == wanted, row.key
        if line is not None:
            assert line.uncertain == (row.evidence == "adjacency+1")
            assert "%" not in line.text


def test_elided_lines_are_not_rendered():
    elided = {row.key for row in FORMATS.values() if row.is_elided}
    assert elided == {
        "indirection.increment", "indirection.rewind", "legacy.idma_buffer", "boot.mariana", "boot.mariana_plus",
    }  # fmt: skip
    assert render(Event("indirection", "x", "indirection.increment", (1, 2)), CAYMAN, Choices()) is None


def test_doubtful_lines_are_marked():
    lines = {line.key: line.uncertain for line in render_lines(copy_events(), CAYMAN, Choices())}
    assert lines["dump.pool"] and not lines["push.generate"]
    assert str(next(iter(render_lines(copy_events(), CAYMAN, Choices())))) == "S: Setting up DGE"


def test_processor_id_is_the_first_argument():
    event = Event("swdge", "generating", "swdge.generating", (43, 4096), processor=3)
    assert render(event, CAYMAN, Choices()).text == "P3: Generating 43 descriptors; ring_ndesc = 4096"


def test_wrong_arguments_and_unknown_keys_are_faults_of_the_emitter():
    with pytest.raises(InternalError, match="0 arguments for the 1 conversions"):
        render(Event("push", "x", "push.regwrite"), CAYMAN, Choices())
    with pytest.raises(InternalError, match="no log format"):
        render(Event("push", "x", "push.nothing"), CAYMAN, Choices())
