"""A reduction as the stages and the walk show it, against its declaration."""

from schema_checker import problems

from dgekit.api import lower, run
from dgekit.export.publish import stored_schema
from dgekit.export.walk import walk_lines
from dgekit.frontends.toml_file import loads

TEXT = """
[tensors.x]
space = "sbuf"
shape = [20, 3000]
dtype = "bfloat16"
init = "ones"
[tensors.y]
space = "hbm"
shape = [20, 3000]
dtype = "float32"
[[transfers]]
name = "twice"
op = "reduce"
srcs = ["x", "x"]
dsts = ["y"]
compute = "fma"
scales = [1, 1]
"""


def test_the_plan_counts_what_each_channel_takes() -> None:
    found = lower(loads(TEXT), "plan")
    assert problems(found, stored_schema("lower")) == []
    (plan,) = found["transfers"][0]["plan"]
    shares = plan.pop("shares")
    assert plan == {
        "kind": "REDUCE",
        "op": "fma",
        "dtypes": {"in": "BFLOAT16", "accum": "FP32", "out": "FP32"},
        "sources": 2,
        "dests": 1,
        "packets": 40,
        "num_dma": 3,
    }
    # 20 partitions over ceil(20 / 8) channels; a row of 3000 elements is two packets of four tx BDs
    assert [(one["dma"], one["elements"], one["packets"], one["tx"], one["rx"]) for one in shares] == [
        (0, 21000, 14, 56, 14),
        (1, 21000, 14, 56, 14),
        (2, 18000, 12, 48, 12),
    ]
    assert [one["sources"] for one in shares] == [[hex(0x2000000000 + 7 * k * 0x40000)] * 2 for k in range(3)]
    assert [one["dests"] for one in shares] == [[hex(0x10000000 + 84000 * k)] for k in range(3)]


def test_descriptors_name_the_parameters() -> None:
    found = lower(loads(TEXT), "descriptors")
    assert problems(found, stored_schema("lower")) == []
    rows = found["transfers"][0]["descriptors"]
    first = [row for row in rows if row["engine"] == 0 and row["leg"] == "m2s"][:4]
    assert [(row["kind"], row["bytes"], row["address"]) for row in first] == [
        ("fma_parameter", 0, None), ("fma", 4096, "0x2000000000"),
        ("fma_parameter", 0, None), ("fma", 4096, "0x2000000000"),
    ]  # fmt: skip


def test_the_walk_tells_operation_and_losses() -> None:
    finished = run(loads(TEXT))
    assert "  compute: fma of 2 sources, BFLOAT16 in, FP32 accumulated, FP32 out: 40 packets on 3 DMA" in list(
        walk_lines(finished.result)
    )
    (transfer,) = finished.to_json()["transfers"]
    assert (transfer["lossy"], transfer["descriptors"]["bytes"]) == (0, 240000)
    copies = TEXT.replace('dtype = "float32"', 'dtype = "float8_e4m3"').replace('["y"]', '["y", "z"]').replace(
        "scales = [1, 1]", "scales = [1, 0.03]"
    ) + '[tensors.z]\nspace = "hbm"\nshape = [20, 3000]\ndtype = "float8_e4m3"\n'  # fmt: skip
    lines = list(walk_lines(run(loads(copies)).result))
    assert any(line.endswith("FP8_EXP4 out, 2 destinations: 40 packets on 3 DMA") for line in lines)
    assert "  lossy: 60000 elements lost bits" in lines


def test_a_refused_reduction_has_no_plan() -> None:
    found = lower(loads(TEXT.replace("[1, 1]", "[1]")), "plan")
    assert found["transfers"][0]["plan"] == [] and found["transfers"][0]["status"] == "refused"
