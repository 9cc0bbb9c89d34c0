"""Seeds, FP8 policy and the notification mask, by generation."""

import pytest
from cce_spec import SPEC

from dgekit.cce import registers
from dgekit.core.errors import ComputeError
from dgekit.core.generations import CAYMAN, MARIANA, MARIANA_PLUS, SUNDA

POLICY = SPEC["fp8_conv_cfg"]


def test_fp8_policy_layout():
    assert registers.Fp8Config.layout.size == POLICY["size"]
    named = [field for field in registers.Fp8Config.layout.fields if field.role != "reserved"]
    assert [(f.name, f.offset, {1: "bool", 4: "u32"}[f.size]) for f in named] == [
        (row["name"], row["offset"], row["type"]) for row in POLICY["fields"]
    ]


def test_seed_registers_follow_the_formula_and_do_not_overlap():
    base = 0x100000
    found = [registers.seed_register(MARIANA, base, queue, dc) for queue in range(16) for dc in range(16)]
    assert found == [base + 0x2000 + 8 * (dc + 16 * (queue + 8)) for queue in range(16) for dc in range(16)]
    assert int(POLICY["v4_csr"]["cce_user"], 16) == registers.CCE_USER


def test_fp8_registers():
    offsets = [[int(one, 16) for one in POLICY["v4_csr"][name]] for name in ("fp8_ocp", "non_ocp")]
    for selector in (0, 1):
        assert registers.fp8_registers(MARIANA_PLUS, 0, selector) == tuple(0x2000 + row[selector] for row in offsets)


@pytest.mark.parametrize("generation", [SUNDA, CAYMAN], ids=lambda g: g.name)
def test_earlier_generations_have_none(generation):
    assert registers.seed_register(generation, 0x100000, 0, 0) == 0
    assert registers.fp8_registers(generation, 0x100000, 1) == (0, 0)
    (issue,) = registers.check_notification_mask(generation)
    assert (issue.rule, issue.values["result"]) == ("cce.5.4", -22)
    assert issue.message == SPEC["messages"]["notif_arch"] % generation.nc
    assert registers.check_notification_mask(MARIANA) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: registers.seed_register(MARIANA, 0, 16, 0),
        lambda: registers.seed_register(MARIANA, 0, 0, -1),
        lambda: registers.fp8_registers(MARIANA, 0, 2),
    ],
)
def test_an_index_beyond_the_registers(call):
    with pytest.raises(ComputeError) as caught:
        call()
    assert caught.value.rule == "cce.4.9"
