"""`dge cce run`: files in, file out, the report; nothing written when something is wrong."""

import hashlib

import numpy as np
import pytest


@pytest.fixture
def arrays(tmp_path):
    """Files of one shape: bfloat16 bits of 1 and 2^-8, fp32, int8, every FP8 code."""
    files = {
        "one": np.full((3, 1000), 0x3F80, "<u2"),
        "small": np.full((3, 1000), 0x3B80, "<u2"),
        "fp32": np.arange(3000, dtype="<f4").reshape(3, 1000),
        "int8": np.arange(-128, 128).astype(np.int8),
        "fp8": np.arange(256, dtype=np.uint8),
        "fp8_odd": np.arange(0x79, 0x80, dtype=np.uint8),
        "short": np.full(5, 0x3F80, "<u2"),
        "none": np.zeros((0, 4), "<u2"),
    }
    for name, array in files.items():
        np.save(tmp_path / name, array)
    return lambda *names: [tmp_path / f"{name}.npy" for name in names]


def run(dge, out, *arguments):
    return dge("cce", "run", *arguments, "-o", out)


def test_the_report(dge, arrays, tmp_path):
    out = tmp_path / "out.npy"
    files = arrays("one", "small", "small")
    report = run(dge, out, "--op", "add", "--dtype", "bfloat16", *files, "--json").json("cce_run")
    sums = np.load(out)
    assert (sums.dtype, sums.shape, set(sums.ravel().tolist())) == (np.uint16, (3, 1000), {0x3F81})
    assert report["elements"] == 3000
    assert report["packets"] == 2  # 2048 and 952
    assert report["descriptors"] == {"m2s": 6, "s2m": 2, "bytes": 18000}
    assert (report["lossy"], report["promoted"], report["issues"]) == (0, False, [])
    assert report["dtypes"] == {"in": "BFLOAT16", "accum": "FP32", "out": "BFLOAT16"}
    assert report["sha256"] == hashlib.sha256(sums.tobytes()).hexdigest()


def test_for_people(dge, arrays, tmp_path):
    answer = run(dge, tmp_path / "o.npy", "--op", "add", "--dtype", "bfloat16", *arrays("one", "small"))
    assert answer.lines == [
        "add of 2 arrays of 3000 elements on CAYMAN: BFLOAT16 in, FP32 accumulated, BFLOAT16 out",
        "2 packets, 4 tx and 2 rx BDs",
        "3000 elements lost bits in the output conversion",
    ]


def test_chained_calls_round_at_every_link(dge, arrays, tmp_path):
    (one, small), half, out = arrays("one", "small"), tmp_path / "half.npy", tmp_path / "out.npy"
    for first, to in ((one, half), (half, out)):
        assert run(dge, to, "--op", "add", "--dtype", "bfloat16", first, small).code == 0
    assert set(np.load(out).ravel().tolist()) == {0x3F80}


def test_weights_types_and_generations(dge, arrays, tmp_path):
    out = tmp_path / "out.npy"
    arguments = ("--op", "fma", "--dtype", "float32", "--scales", "0.5,0.25", "--out-dtype", "float16")
    report = run(dge, out, *arguments, *arrays("fp32", "fp32"), "--gen", "trn1", "--json").json("cce_run")
    assert np.array_equal(np.load(out), (np.arange(3000, dtype="f4") * 0.75).astype("f2").reshape(3, 1000))
    assert (report["generation"], report["packets"], report["descriptors"]["m2s"]) == ("SUNDA", 3, 12)


def test_constants_and_integers(dge, arrays, tmp_path):
    out = tmp_path / "out.npy"
    assert run(dge, out, "--op", "max", "--constant", "-3", "--dtype", "int8", *arrays("int8")).code == 0
    assert np.array_equal(np.load(out), np.maximum(np.arange(-128, 128), -3))
    report = run(dge, out, "--op", "add", "--dtype", "int8", *arrays("int8", "int8"), "--json").json("cce_run")
    doubled = 2 * np.arange(-128, 128)
    assert np.array_equal(np.load(out), doubled.clip(-128, 127))
    assert report["lossy"] == int(((doubled < -128) | (doubled > 127)).sum())
    clamp = ("--op", "min", "--constant", "6", "--dtype", "float32", *arrays("fp32"))
    assert run(dge, out, *clamp).code == 0
    assert np.array_equal(np.load(out).ravel(), np.minimum(np.arange(3000), 6))


def test_one_byte_arrays_are_moved(dge, arrays, tmp_path):
    out = tmp_path / "out.npy"
    answer = run(dge, out, "--op", "add", "--dtype", "float8_e4m3", *arrays("fp8"))
    assert answer.lines[-1] == "bytes are moved, no element is converted"
    assert np.array_equal(np.load(out), np.arange(256))
    answer = run(dge, out, "--op", "add", "--dtype", "float8_e4m3", *arrays("fp8_odd"))
    assert answer.lines[-1].startswith("warning: an odd number of bytes is not promoted")
    assert np.load(out).tolist() == [0x7C] * 7


def test_the_fn_form(dge, arrays, tmp_path):
    out = tmp_path / "out.npy"
    arguments = ("--op", "add", "--dtype", "float8_e4m3fn", *arrays("fp8", "fp8"))
    report = run(dge, out, *arguments, "--json").json("cce_run")
    assert [issue["rule"] for issue in report["issues"]] == ["dec.D54"] * 2
    assert np.load(out)[[0x7E, 0x7F, 0x77, 0x08]].tolist() == [0x7F, 0x7F, 0x7F, 0x10]
    report = run(dge, out, *arguments, "--gen", "trn3", "--set", "ocp_sat=true", "--json").json("cce_run")
    assert report["issues"] == []
    assert report["choices"]["ocp_sat"] is True
    assert np.load(out)[[0x7E, 0x7F, 0x77]].tolist() == [0x7E, 0x7F, 0x7E]


def test_a_seed_rounds_stochastically(dge, arrays, tmp_path):
    out = tmp_path / "out.npy"
    arguments = ("--op", "add", "--dtype", "bfloat16", *arrays("one", "small"))
    report = run(dge, out, *arguments, "--seed", "0x12345678", "--json").json("cce_run")
    codes = np.load(out).ravel()
    # 1 + 2^-8 lies half way: the chapter's first sixteen
    golden = "3F81 3F81 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F80 3F81"
    assert [f"{code:04X}" for code in codes[:16]] == golden.split()
    assert report["lossy"] == 3000
    assert report["descriptors"]["m2s"] == 5  # the first packet alone carries the seed


def test_standard_output(process, arrays):
    done = process("cce", "run", "--op", "add", "--dtype", "bfloat16", *arrays("one"), "-o", "-")
    assert done.returncode == 0
    assert done.stdout.startswith(b"\x93NUMPY")


ONE = ("--op", "add", "--dtype", "bfloat16")


@pytest.mark.parametrize(
    ("arguments", "files", "code", "rule"),
    [
        (ONE, ["one"] * 33, 1, "cce.CHOICE-04"),
        (("--op", "fma", "--dtype", "bfloat16", "--scales", "0.5"), ["one", "one"], 1, "cce.CHOICE-04"),
        (("--op", "fma", "--dtype", "bfloat16"), ["one"], 1, "cce.2.3"),
        (("--op", "fma", "--dtype", "bfloat16", "--scales", "1e39"), ["one"], 1, "cce.3.5"),
        (("--op", "fma", "--dtype", "bfloat16", "--scales", "a,b"), ["one", "one"], 2, "cli.number"),
        ((*ONE, "--scales", "1,1"), ["one", "one"], 1, "cce.2.3"),
        ((*ONE, "--constant", "1"), ["one"], 1, "cce.3.6"),
        ((*ONE, "--seed", "-1"), ["one"], 2, "cli.number"),
        (("--op", "max", "--dtype", "bfloat16", "--seed", "1"), ["one"], 1, "cce.CHOICE-11"),
        (("--op", "max", "--dtype", "int8", "--constant", "0.5"), ["int8"], 1, "cce.CHOICE-14"),
        (("--op", "add", "--dtype", "float32r"), ["fp32"], 1, "cce.5.2"),
        (("--op", "add", "--dtype", "nothing"), ["one"], 2, "dec.D54"),
        (ONE, ["fp32"], 3, "dec.D54"),
        (ONE, ["one", "short"], 3, "tensor.shape"),
        (ONE, ["none"], 3, "tensor.shape"),
        (ONE, ["absent"], 3, "input.file"),
        ((*ONE, "--gen", "trn4"), ["one"], 1, "cce.5.1"),
        ((*ONE, "--accum", "nothing"), ["one"], 2, "dec.D54"),
        (("--op", "fma", "--dtype", "int8", "--scales", "1", "--accum", "int32"), ["int8"], 1, "dec.D62"),
        ((*ONE, "--packet-bytes", "1"), ["one"], 1, "cce.CHOICE-43"),
    ],
)
def test_refusals_write_nothing(dge, arrays, tmp_path, arguments, files, code, rule):
    out = tmp_path / "out.npy"
    answer = run(dge, out, *arguments, *arrays(*files))
    assert (answer.code, answer.out) == (code, b"")
    assert f"[{rule}]" in answer.err
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_found_first(dge, arrays, tmp_path):
    answer = run(dge, tmp_path / "nowhere" / "out.npy", *ONE, *arrays("one"))
    assert (answer.code, "[output.file]" in answer.err) == (3, True)
