import pytest

from dgekit.core.errors import IllegalWord, LoweringError, Unspecified
from dgekit.core.generations import CAYMAN
from dgekit.core.state import StateView
from dgekit.firmware.addresses import (
    bound_check,
    index_address,
    is_wide,
    leg_address,
    read_indices,
    takes_shape_register,
)
from dgekit.firmware.values import BoundCheck
from dgekit.words.structs import (
    Addr4Immediate,
    Addr4Raw,
    Addr4Reg,
    Addr8Immediate,
    Addr8Reg,
    Addr8TblImm,
    Addr8TblReg,
    AddrRaw,
    BoundCheckReg,
)

STATE = StateView(registers={5: 0x4000, 6: 0x12, 7: 0x9000_0000, 8: 0x20, 20: 0x300}, address_table={7: 0x5_0000_0000})


@pytest.mark.parametrize(
    ("address", "want"),
    [
        (Addr8Immediate(address=0x20_0000_1000), 0x20_0000_1000),
        (Addr8Immediate(address=0x1000, marker_bits=0x10), 0x1000),
        (Addr8Reg(reg_lo=7, reg_hi=8), 0x20_9000_0000),
        (Addr8Reg(reg_lo=7, reg_hi=8, marker=0xC0), 0x20_9000_0000),
        (Addr8TblImm(offset=0x80, table_entry_id=7), 0x5_0000_0080),
        (Addr8TblReg(offset_reg=5, table_entry_id=7), 0x5_0000_4000),
        (Addr8TblReg(offset_reg=5, table_entry_id=7, marker=0x2C), 0x5_0000_0000 + 0x12_0000_4000),
        (Addr8TblReg(offset_reg=5, table_entry_id=7, marker=0x6C), 0x5_0000_0000 + 0x12_0000_4000),
    ],
)
def test_every_arm_of_addr8(address, want):
    assert leg_address(address, "src", STATE) == want


def test_registers_nobody_set_hold_zero():
    assert leg_address(Addr8Reg(reg_lo=40, reg_hi=41), "src", STATE) == 0


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        (AddrRaw(raw=bytes(7) + b"\x10"), "isa.1.3.marker"),
        (Addr8Reg(reg_lo=64, reg_hi=0), "isa.C8"),
        (Addr8TblReg(offset_reg=63, table_entry_id=7, marker=0x2C), "isa.C8"),
        (Addr8TblReg(offset_reg=1000, table_entry_id=7), "isa.C8"),
    ],
)
def test_addresses_that_do_not_exist(address, rule):
    with pytest.raises(IllegalWord) as caught:
        leg_address(address, "dst", STATE)
    assert caught.value.rule == rule


def test_a_table_entry_that_is_not_set_is_named():
    with pytest.raises(LoweringError) as caught:
        leg_address(Addr8TblImm(offset=0, table_entry_id=9), "src", STATE)
    assert caught.value.values == {"table_entry_id": 9, "set": [7]}


def test_bits_of_the_marker():
    assert takes_shape_register(Addr8TblReg(offset_reg=0, marker=0x6C))
    assert not takes_shape_register(Addr8Reg(reg_lo=0, reg_hi=1))
    assert is_wide(Addr8TblReg(offset_reg=0, marker=0x2C))
    assert not is_wide(Addr8TblReg(offset_reg=0, marker=0x28))


def test_bound_registers():
    narrow = bound_check(BoundCheckReg(bc_reg=5, bc_enabled=1), "src_bound_reg", STATE, wide=False)
    assert narrow == BoundCheck(True, 5, 0x4000, True, 0x85)
    wide = bound_check(
        BoundCheckReg(bc_reg=5, bc_disable_oob_error_notif=1, bc_enabled=1), "src_bound_reg", STATE, wide=True
    )
    assert wide == BoundCheck(True, 5, 0x12_0000_4000, False, 0xC5)
    assert bound_check(BoundCheckReg(), "src_bound_reg", STATE, wide=True) == BoundCheck()


@pytest.mark.parametrize(
    ("bound", "wide", "rule"),
    [
        (BoundCheckReg(bc_reg=5), False, "isa.C7"),
        (BoundCheckReg(bc_disable_oob_error_notif=1), False, "isa.C7"),
        (BoundCheckReg(bc_reg=63, bc_enabled=1), True, "isa.C8"),
    ],
)
def test_bad_bound_registers(bound, wide, rule):
    with pytest.raises(IllegalWord) as caught:
        bound_check(bound, "dst_bound_reg", STATE, wide=wide)
    assert caught.value.rule == rule


@pytest.mark.parametrize("core", [0, 1, 5])
def test_index_vectors_lie_in_partition_0_of_the_executing_core(core):
    state = StateView(registers={20: 0x300}, core=core)
    base = CAYMAN.sbuf_base(core)
    assert index_address(Addr4Immediate(addr_immediate=0x3FFFC), "i", state, CAYMAN) == base + 0x3FFFC
    assert index_address(Addr4Reg(regnum=20), "i", state, CAYMAN) == base + 0x300


@pytest.mark.parametrize("offset", [0x4_0000, 0x80_0000, 0x200_0000, 0x1000_0000])
def test_index_vectors_elsewhere_are_illegal(offset):
    with pytest.raises(IllegalWord) as caught:
        index_address(Addr4Immediate(addr_immediate=offset), "src_idx_start_addr", STATE, CAYMAN)
    assert caught.value.rule == "isa.4.3.partition0"
    with pytest.raises(IllegalWord):
        index_address(Addr4Reg(regnum=3), "i", StateView(registers={3: offset}), CAYMAN)


@pytest.mark.parametrize(
    "address",
    [Addr4Immediate(addr_immediate=0x4000_0000), Addr4Raw(raw=b"\0\0\0\x20"), Addr4Reg(regnum=1, marker=0xC0)],
)
def test_index_markers_nobody_explains(address):
    with pytest.raises(Unspecified) as caught:
        index_address(address, "i", STATE, CAYMAN)
    assert caught.value.rule == "isa.1.5"


def test_reading_indices(words):
    state = StateView(memory=words.indices(3, 0xFFFF_FFFF, 0))
    assert read_indices(words.SBUF + 0x100, 3, "i", state) == (3, 0xFFFF_FFFF, 0)
    assert read_indices(words.SBUF, 0, "i", StateView()) == ()
    with pytest.raises(LoweringError) as caught:
        read_indices(words.SBUF, 1, "i", StateView())
    assert caught.value.rule == "pipeline.2.3"
    with pytest.raises(IllegalWord) as refused:
        read_indices(words.SBUF, 4097, "i", state)
    assert refused.value.values == {"indices": 4097, "maximum": 4096}
