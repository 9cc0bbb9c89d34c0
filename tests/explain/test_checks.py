"""Each check fires on a log in which one value was changed, and says so with the numbers on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.core.generations import CAYMAN, MARIANA_PLUS, SUNDA
from dgekit.explain.explain import explain
from dgekit.logs.parse import parse_line


def explained(log, generation=CAYMAN, **choices):
    return explain((parse_line(text, n) for n, text in enumerate(log, 1)), generation, Choices(choices))


def findings(log, generation=CAYMAN, **choices):
    return [(i.rule, i.severity) for i in explained(log, generation, **choices).all_issues if i.severity != "advice"]


def copy_log(mode="unknown", dtypes=("float32", "float32"), semaphore=7, **choices):
    device = Device("CAYMAN", choices)
    src, dst = device.hbm(shape=(32, 16), dtype=dtypes[0]), device.sbuf((32, 16), dtypes[1])
    assert device.copy(dst, src, mode=mode, semaphore=semaphore, increment=2).status == "done"
    return list(device.log)


def gather_log(op="gather"):
    device = Device("CAYMAN")
    indices = np.array([[3, 1, 9, 0, 50, 7, 2, 2]], np.uint32)
    picks = device.sbuf(contents=indices, shape=(1, 8), dtype="uint32")
    src, dst = device.hbm(shape=(40, 16), dtype="float32"), device.sbuf((8, 16), "float32")
    assert device.gather(dst, src, picks, semaphore=7, oob="skip").status == "done"
    return list(device.log)


def transpose_log(**choices):
    device = Device("CAYMAN", choices)
    src, dst = device.sbuf((64, 32), "bfloat16"), device.sbuf((32, 64), "bfloat16")
    assert device.transpose(dst, src, semaphore=9).status == "done"
    return list(device.log)


def gather_transpose_log():
    device = Device("CAYMAN")
    picks = device.sbuf(contents=np.arange(32, dtype=np.uint32)[None], shape=(1, 32), dtype="uint32")
    table, dst = device.hbm(shape=(40, 24), dtype="bfloat16"), device.sbuf((24, 32), "bfloat16")
    assert device.gather_transpose(dst, table, picks, semaphore=9).status == "done"
    return list(device.log)


LOGS = {
    "copy": copy_log(),
    "pair": copy_log(generate_pairing="pair"),
    "rtl": copy_log("hwdge"),
    "cast": copy_log(dtypes=("float32", "bfloat16")),
    "cast pair": copy_log(dtypes=("float32", "bfloat16"), generate_pairing="pair"),
    "software": copy_log("swdge"),
    "gather": gather_log(),
    "transpose": transpose_log(),
    "gather transpose": gather_transpose_log(),
}


@pytest.mark.parametrize("name", LOGS)
def test_nothing_to_say_about_a_true_log(name):
    choices = {"generate_pairing": "pair"} if "pair" in name else {}
    assert findings(LOGS[name], **choices) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "rule", "severity"),
    [
        # bytes on both sides, elements of a cast, tiles of a transpose
        ("pair", "WR : addr=0x2000000000, elem_size=64", "WR : addr=0x2000000000, elem_size=32", "pipeline.6.1", "error"),
        ("cast pair", "RD : addr=0x10000000, elem_size=64", "RD : addr=0x10000000, elem_size=128", "pipeline.6.1", "error"),
        ("copy", "[0x40000,0x1][32,1]", "[0x40000,0x1][31,1]", "pipeline.6.1", "error"),
        ("transpose", "S: DGE $S[9]+=1@dmacomplete src=[0x0]@0x2000000000[", "S: DGE $S[9]+=1@dmacomplete src=[0x0]@0x2000000001[", "pipeline.3.3", "error"),
        # DIMPUSHes against the backend
        ("copy", "S: push DIMPUSH to DMA[0]: [1,1][1,1]\n", "", "pipeline.4.3", "error"),
        ("rtl", "S: push DIMPUSH to DMA[1]: [1,1][1,1]\n", "", "pipeline.4.3", "error"),
        ("copy", "S: push GENERATE to DMA[1]", "S: push REGWRITE to DMA[1]\nS: x", "pipeline.5.2", "error"),
        # the channels together, and where they start
        ("copy", "DIMPUSH to DMA[1]: [8,8]", "DIMPUSH to DMA[1]: [7,7]", "dec.D21", "error"),
        ("copy", "addr=0x10000200", "addr=0x10000240", "dec.D23", "warning"),
        # semaphores
        ("copy", "$S[7]+=2", "$S[8]+=2", "dec.D22", "error"),
        # analysis and assessment
        ("copy", "base = 0x10000000 (1024P)", "base = 0x10000000 (1023P)", "pipeline.3.3", "error"),
        ("copy", "step_target = 0x40000 (1P)", "step_target = 0x40000 (2P)", "pipeline.3.3", "error"),
        ("copy", "nelem_target = 32, step_target = 0x40 ", "nelem_target = 33, step_target = 0x40 ", "pipeline.3.3", "error"),
        ("copy", "#DMA Avail = 16, HBM Only", "#DMA Avail = 3, HBM Only", "pipeline.3.3", "error"),
        ("copy", "Num Partitions B = 32", "Num Partitions B = 31", "pipeline.3.3", "error"),
        ("transpose", "Min Num Partitions = 32", "Min Num Partitions = 64", "pipeline.3.3", "error"),
        ("copy", "#DMA = 4", "#DMA = 3", "dec.D21", "error"),
        ("copy", "#DMA = 4", "#DMA = 3", "pipeline.3.8", "warning"),  # the fourth channel is taken for another word
        ("copy", "#DMA = 4", "#DMA = 5", "pipeline.3.3", "warning"),  # the log ends here: it may be cut
        ("software", "reshape_kind=0x0", "reshape_kind=0x1", "pipeline.3.2", "error"),
        # bounds of a dump that was pushed
        ("copy", "(0 0x10000000<=0x0", "(1 0x10000000<=0xfffffff", "pipeline.6.1", "error"),
        ("copy", "(0 0x10000000<=0x0", "(1 0x10000000<=0x20000000", "dec.D24", "warning"),
        ("copy", "(0 0x10000000<=0x0", "(0 0x10000000<=0x1", "dec.D24", "warning"),
        # transposes
        ("gather transpose", "AFTER: elem_size=2 num_elem=[32,24", "AFTER: elem_size=2 num_elem=[32,25", "pipeline.3.4", "error"),
        ("gather transpose", "AFTER: elem_size=2", "AFTER: elem_size=4", "pipeline.3.4", "error"),
        # rows of an indexed word
        ("gather", "S: DGE: Failed bounds check. $S[7]+=1.\n", "S: DGE: Failed bounds check. $S[7]+=1.\n" * 3, "dec.D25", "warning"),
        ("gather", "DIMPUSH to DMA[0]: [7,7]", "DIMPUSH to DMA[0]: [8,8]", "dec.D25", "warning"),
        ("gather", "P0: Descriptor generation loop index: [7, 0, 0, 0, 0]\n", "", "pipeline.3.6", "error"),
        ("gather", "our_indices_valid = 0xef", "our_indices_valid = 0x6f", "pipeline.3.6", "warning"),
        # the Q7's ring, doorbells and spray
        ("gather", "ring_ndesc = 4096", "ring_ndesc = 3", "pipeline.6.1", "error"),
        ("gather", "n_desc=7", "n_desc=6", "pipeline.3.6", "warning"),
        ("gather", "ndma=1", "ndma=2", "pipeline.3.5", "error"),
    ],
)  # fmt: skip
def test_a_false_value_is_found(name, old, new, rule, severity):
    text = "\n".join(LOGS[name]) + "\n"
    assert old in text
    found = findings(text.replace(old, new).splitlines(), **({"generate_pairing": "pair"} if "pair" in name else {}))
    assert (rule, severity) in found


def test_dump_and_pushes_go_together():
    log = LOGS["copy"]
    body = log[3:]
    dump = next(line for line in log if "dmacomplete" in line)
    assert findings(log + body) == []
    assert ("pipeline.5.2", "warning") in findings([line for line in log if line != dump] + body)
    assert ("pipeline.5.2", "error") in findings([line for line in log if " push " not in line] + body)


def test_a_log_that_ends_within_a_word_is_no_contradiction():
    """Every line may be the last one; what is missing is at most a warning."""
    for log in LOGS.values():
        for end in range(len(log)):
            issues = explained(log[:end]).all_issues
            # a failed bound is one, whatever comes behind it
            errors = [str(i) for i in issues if i.severity == "error" and not i.message.startswith("skipped:")]
            assert errors == [], (end, log[end - 1])


def test_counts_of_a_transpose_that_fit_no_walk():
    log = "\n".join(LOGS["transpose"])
    dump = next(line for line in LOGS["transpose"] if "dmacomplete" in line)
    counts = dump.split("dst=")[1].split("][")[1].split("]")[0]
    assert ("dec.D10", "warning") in findings(log.replace(f"[{counts}] cast", "[1,8] cast").splitlines())
    assert ("pipeline.6.1", "error") in findings(log.replace(f"[{counts}] cast", "[9,9] cast").splitlines())


def test_lines_that_a_generation_does_not_have():
    (issue,) = [i for i in explained(LOGS["copy"], MARIANA_PLUS).all_issues if i.rule == "pipeline.5.4"]
    assert issue.severity == "error"
    assert issue.values == {"generation": "MARIANA_PLUS", "generations": ["CAYMAN", "MARIANA"]}
    assert issue.where == "line 9"
    assert "--gen" in issue.fix
    assert "pipeline.7.3" in [rule for rule, _ in findings(LOGS["copy"], SUNDA)]
    assert findings(LOGS["copy"], None) == []


def test_other_readings_of_the_open_values():
    """What is printed under another switch is no contradiction once the switch is given."""
    log = copy_log(dump_index="shape_register")
    assert ("dec.D22", "error") in findings(log)
    assert findings(log, dump_index="shape_register") == []
    log = copy_log(dimpush_order="outer_first")
    assert findings(log, dimpush_order="outer_first") == []
    log = copy_log(step_unit="elements", fold_element="false")
    assert findings(log, step_unit="elements") == []


@pytest.mark.parametrize("rule", ["last_element", "start", "last_byte"])
@pytest.mark.parametrize("unit", ["bytes", "elements"])
def test_an_effective_address_is_derived_again(rule, unit):
    """The bound of a raw word over its last element, last byte or start, in both units of steps."""
    device = Device("CAYMAN", {"bound_address": rule, "step_unit": unit})
    src, dst = device.hbm(shape=(8, 16), dtype="float32"), device.hbm(shape=(8, 16), dtype="float32")
    device.set_registers({6: 0xFFFFFFFF})
    step = 64 if unit == "bytes" else 1
    size = 64
    word = _word(src_step=step, count=8, size=size, address=0x10000000, bound=0x86, to=0x10001000)
    assert device.run_words(word).status == "done"
    del src, dst
    assert findings(device.log, bound_address=rule, step_unit=unit) == []
    others = {"last_element", "start", "last_byte"} - {rule}
    assert all(("dec.D24", "warning") in findings(device.log, bound_address=other, step_unit=unit) for other in others)


def _word(src_step, count, size, address, bound, to):
    from dgekit.words.structs import Addr8Immediate, BoundCheckReg, DmaDirect2D, Dtype

    return DmaDirect2D(
        semaphore=1, sem_increment=1, in_dtype=Dtype.FP32, out_dtype=Dtype.FP32,
        src_start_addr=Addr8Immediate(address=address), dst_start_addr=Addr8Immediate(address=to),
        src_step_elem=(src_step, 1), dst_step_elem=(src_step, 1), src_num_elem=(count, 1), dst_num_elem=(count, 1),
        src_elem_size=size, dst_elem_size=size, src_bound_reg=BoundCheckReg.decode(bytes([bound])),
    ).encode()  # fmt: skip


def test_a_word_whose_shape_comes_from_a_register():
    """Its two shape lines name the register, and the word is rebuilt with the marker and the index."""
    from dgekit.explain.words import rebuild_word
    from dgekit.words.structs import Addr8Immediate, DmaDirect2D, Dtype

    device = Device("CAYMAN")
    device.hbm(shape=(64, 16), dtype="float32")
    device.hbm(shape=(64, 16), dtype="float32")
    device.set_shape_register(2, (8, 1, 1, 1), (64, 1, 1, 1))
    word = DmaDirect2D(
        semaphore=1, sem_increment=1, in_dtype=Dtype.FP32, out_dtype=Dtype.FP32,
        src_start_addr=Addr8Immediate(address=0x10000000, marker_bits=0x10),
        dst_start_addr=Addr8Immediate(address=0x10001000), src_step_elem=(2, 0), src_num_elem=(0, 0),
        dst_step_elem=(32, 1), dst_num_elem=(16, 1), src_elem_size=64, dst_elem_size=32,
    )  # fmt: skip
    assert device.run_words(word.encode()).status == "done"
    found = explained(device.log)
    rebuilt = rebuild_word(found.cards[0], Choices())
    assert rebuilt is not None
    for path in ("src_start_addr.marker_bits", "src_step_elem", "src_num_elem", "dst_step_elem", "dst_num_elem"):
        assert path in rebuilt.carried or path.split(".")[0] in rebuilt.carried or path.startswith("src_start_addr")
    assert (rebuilt.word.src_start_addr, rebuilt.word.src_step_elem, rebuilt.word.src_num_elem) == (
        word.src_start_addr, word.src_step_elem, word.src_num_elem,
    )  # fmt: skip
    assert rebuilt.word.dst_step_elem == word.dst_step_elem
    assert "src_start_addr.marker_bits" not in rebuilt.not_carried()
