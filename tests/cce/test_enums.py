"""Every enum and remap against the published tables, entry by entry."""

import json
from pathlib import Path

import pytest
from cce_spec import SPEC

from dgekit.cce import enums, remap, runtime_enums
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import ComputeError
from dgekit.descriptors.bd import CmeOptype, SdmaOp
from dgekit.words.enums import ComputeOp

SHARED = Path(__file__).parents[3] / "shared" / "spec" / "cce.json"
ISA_NAMES = {"FP8_E3": "FP8_EXP3", "FP8_E4": "FP8_EXP4", "FP8_E5": "FP8_EXP5"}
TABLES = {
    "kbin_dma_desc_op": enums.KbinOp,
    "sdma_ccetype": enums.CceType,
    "dge_compute_op": ComputeOp,
    "isa_cce_op": enums.IsaCceOp,
    "nrt_op_type": enums.NrtOp,
    "alu_op_collective": enums.AluOp,
    "reduce_op_not_cce": enums.PoolReduceOp,
    "fma_operand": enums.FmaOperand,
    "kbin_dtype": enums.KbinDtype,
    "reduction_type": runtime_enums.ReductionType,
    "half_chunk": runtime_enums.HalfChunk,
    "enc_op_type": runtime_enums.EncOp,
    "nrt_cc_op_type": runtime_enums.NrtCollective,
    "collective_ctype_seen": runtime_enums.CollectiveCtype,
    "enc_alg_type": runtime_enums.EncAlgorithm,
    "metaring_type_internal": runtime_enums.MetaringType,
    "enc_alg_mesh_type": runtime_enums.MeshType,
    "encd_neigh": runtime_enums.Neighbour,
    "enc_comm_type": runtime_enums.CommType,
    "mesh_group_types": runtime_enums.MeshGroup,
    "mesh_event_types_seen": runtime_enums.MeshEvent,
    "arch": runtime_enums.Arch,
    "ncfw_image_id": runtime_enums.NcfwImage,
}


@pytest.mark.skipif(not SHARED.exists(), reason="the specification folder is not here")
def test_the_kept_table_is_the_specification():
    assert json.loads(SHARED.read_text(encoding="utf-8")) == SPEC


@pytest.mark.parametrize("name", TABLES)
def test_an_enum_has_the_published_members_and_no_other(name):
    members = {member.name.upper(): int(member) for member in TABLES[name]}
    assert members == {key.upper(): value for key, value in SPEC["enums"][name].items()}


def test_no_enum_of_the_chapter_is_left_out():
    elsewhere = {"sdmaop", "sdma_cmetype", "sdma_dtype", "isa_dtype_extension_v4_not_cce"}
    assert set(SPEC["enums"]) == set(TABLES) | elsewhere


def test_enums_that_are_declared_elsewhere():
    assert {name: int(SdmaOp[name]) for name in SPEC["enums"]["sdmaop"]} == SPEC["enums"]["sdmaop"]
    assert SPEC["enums"]["sdma_cmetype"]["COPY"] == CmeOptype.COPY
    for table in ("sdma_dtype", "isa_dtype_extension_v4_not_cce"):
        for name, value in SPEC["enums"][table].items():
            assert Dtype[ISA_NAMES.get(name, name)] == value
    assert len(SPEC["enums"]["sdma_dtype"]) == remap.MAX_DTYPE + 1


def test_the_four_entry_operation_table():
    assert list(remap.KBIN_OP_TO_CCETYPE) == SPEC["remap"]["kbin_op_minus1_to_ccetype"]
    assert [remap.ccetype_from_kbin(op) for op in range(1, 5)] == SPEC["remap"]["kbin_op_minus1_to_ccetype"]


def test_the_fifteen_entry_dtype_table():
    assert list(remap.KBIN_DTYPE_TO_SDMA) == SPEC["remap"]["kbin_dtype_minus1_to_sdma"]
    assert [remap.sdma_from_kbin(code) for code in range(1, 16)] == SPEC["remap"]["kbin_dtype_minus1_to_sdma"]


def test_both_size_tables():
    assert list(remap.SDMA_DATA_TYPE_SIZE) == SPEC["sizes"]["sdma_data_type_size"]
    assert list(remap.DATA_TYPE_SIZES) == SPEC["sizes"]["data_type_sizes"]
    assert (remap.SDMA_DATA_TYPE_SIZE[Dtype.FP32R], remap.DATA_TYPE_SIZES[Dtype.FP32R]) == (0, 4)


@pytest.mark.parametrize(
    ("table", "function"),
    [
        ("nrt_op_to_ccetype", remap.ccetype_from_nrt),
        ("alu_op_to_ccetype", remap.ccetype_from_alu),
        ("dge_compute_op_to_ccetype", remap.ccetype_from_compute_op),
    ],
)
def test_remaps_of_the_other_numberings(table, function):
    published = {int(key): value for key, value in SPEC["remap"][table].items()}
    assert {key: int(function(key)) for key in published} == published
    for op in set(range(17)) - set(published):
        with pytest.raises(ComputeError, match="has no compute type") as caught:
            function(op)
        assert caught.value.rule == "cce.1.1"
        assert caught.value.values["legal"] == sorted(published)


def test_isa_reductions_are_the_engines_own():
    for name, value in SPEC["enums"]["isa_cce_op"].items():
        assert remap.ccetype_from_isa(value) == value == enums.CceType[name]
    with pytest.raises(ComputeError):
        remap.ccetype_from_isa(1)


def test_text_keys():
    assert {k: int(v) for k, v in remap.TEXT_TO_KBIN_OP.items()} == SPEC["remap"]["json_op_to_kbin_op"]
    assert {k: int(v) for k, v in remap.TEXT_TO_KBIN_DTYPE.items()} == SPEC["remap"]["json_dtype_to_kbin"]
    assert remap.kbin_op_named("fma") == 1
    assert remap.kbin_dtype_named("float4_e2m1fn_x4") == enums.KbinDtype.UINT16
    with pytest.raises(ComputeError) as caught:
        remap.kbin_op_named("mul")
    assert caught.value.rule == "cce.1.1"
    with pytest.raises(ComputeError) as caught:
        remap.kbin_dtype_named("bfloat17")
    assert (caught.value.rule, caught.value.fix) == ("cce.1.2", "write bfloat16")


@pytest.mark.parametrize("op", [0, 5, 6, (1 << 64) - 1])
def test_a_host_operation_out_of_range_is_the_runtimes_assertion(op):
    with pytest.raises(ComputeError) as caught:
        remap.ccetype_from_kbin(op)
    assert caught.value.rule == "cce.1.1"
    assert caught.value.values["text"] == SPEC["messages"]["bad_op"] % op
    assert SPEC["assert_sites"][caught.value.values["site"]] == "kbin op"


@pytest.mark.parametrize("dtype", [0, 16])
def test_a_host_type_out_of_range(dtype):
    with pytest.raises(ComputeError) as caught:
        remap.sdma_from_kbin(dtype)
    assert caught.value.rule == "cce.1.2"
    assert caught.value.values["text"] == SPEC["messages"]["bad_dtype"] % dtype
    assert SPEC["assert_sites"][caught.value.values["site"]] == "kbin dtype"
    size, (issue,) = remap.kbin_dtype_size(dtype)
    assert (size, issue.message) == (0, SPEC["messages"]["dtype_size"] % dtype)


def test_host_type_sizes_come_from_the_second_table():
    for code, sdma in enumerate(SPEC["remap"]["kbin_dtype_minus1_to_sdma"], 1):
        assert remap.kbin_dtype_size(code) == (SPEC["sizes"]["data_type_sizes"][sdma], ())
