import pytest

from dgekit.core.errors import EncodeError, InputError, RingError
from dgekit.core.generations import CAYMAN
from dgekit.descriptors.doorbell import doorbell_address
from dgekit.machine.rdm import CAUSES, CONTROL, QUEUES, Rdm

BLOCK = bytes(range(64))


@pytest.fixture
def sent():
    return []


@pytest.fixture
def rdm(sent):
    made = Rdm(lambda address, block: sent.append((address, block)), lambda address, word: sent.append((address, word)))
    made.put("queue_enable", 1 << 5)
    return made


def ring_ids(block):
    return [block[start + 3] & 3 for start in range(0, 64, 16)]


def test_registers_are_the_specs(rings):
    fresh = Rdm(lambda *_: None, lambda *_: None)
    for queue in rings["rdm"]["queues"]:
        for register in queue["regs"]:
            offset, (_, high, _) = int(register["offset"], 16), register["field"]
            assert fresh.read(offset) == register["reset"], register
            fresh.write(offset, (2 << high) - 1)
            with pytest.raises(EncodeError):
                fresh.write(offset, 2 << high)
    assert len(CONTROL) == len(rings["rdm"]["control"])
    for mine, register in zip(CONTROL, rings["rdm"]["control"], strict=True):
        bits = sum((2 << high) - (1 << low) for _, high, low in register["fields"])
        assert (mine.offset, mine.name, mine.access) == (
            int(register["offset"], 16), register["name"], register["access"],
        )  # fmt: skip
        assert (mine.reset, mine.bits) == (int(register["reset"], 16), bits)
    assert list(CAUSES) == [row["name"] for row in rings["rdm"]["interrupts"]]
    assert rings["rdm"]["queue_count"] == QUEUES


def test_example_e12(rdm, rings):
    tails = {leg: doorbell_address(CAYMAN, 0, 5, leg) for leg in ("M2S", "S2M")}
    rdm.set_queue(5, {"M2S": 0x2040010000, "S2M": 0x2040020000}, tails, 64)
    for row in rings["examples_extra"]["rdm_queue5"]:
        assert rdm.read(int(row["offset"], 16)) == int(row["value"], 16)
    assert (rdm.base(5, "S2M"), rdm.tail_target(5, "M2S")) == (0x2040020000, 0x1002006038)


def test_what_cannot_be_programmed(rdm):
    for bases, bds in (({"M2S": 0x800, "S2M": 0}, 64), ({"M2S": 0, "S2M": 0}, 62)):
        with pytest.raises(RingError, match="RDM queue 0"):
            rdm.set_queue(0, bases, {"M2S": 0, "S2M": 0}, bds)
    with pytest.raises(RingError, match="24 queues, no 24"):
        rdm.push(24, "M2S", BLOCK)
    with pytest.raises(RingError, match="read-only"):
        rdm.put("sta_debug", 1)
    for offset in (0x361, 0x3B0, -4):
        with pytest.raises(RingError, match="no register"):
            rdm.read(offset)
    with pytest.raises(InputError, match="64 bytes, not 63"):
        rdm.push(5, "M2S", BLOCK[:63])


def test_a_push_writes_the_block_then_the_tail(rdm, sent):
    rdm.set_queue(5, {"M2S": 0x1000, "S2M": 0x2000}, {"M2S": 0x38, "S2M": 0x138}, 8)
    first, second = rdm.push(5, "S2M", BLOCK), rdm.push(5, "S2M", BLOCK)
    assert [address for address, _ in sent] == [0x2000, 0x2040]
    rdm.respond(second)
    rdm.respond(first)
    assert sent[2:] == [(0x138, 4), (0x138, 4)]
    assert rdm.in_flight == 0


def test_ring_ids_are_overwritten_and_wrap(rdm, sent):
    rdm.put("ringid_enable", 1 << 5)
    rdm.set_queue(5, {"M2S": 0, "S2M": 0x1000}, {"M2S": 0, "S2M": 0}, 8)
    for _ in range(9):
        rdm.respond(rdm.push(5, "M2S", b"\xff" * 64))
    blocks = [word for _, word in sent if isinstance(word, bytes)]
    assert [ring_ids(block) for block in blocks] == [[i] * 4 for i in (1, 1, 2, 2, 3, 3, 0, 0, 1)]
    assert all(block[0] == 0xFF and block[3] >> 2 == 0x3F for block in blocks)
    assert rdm.ring_id(5, "S2M") == 1
    rdm.put("ringid_initial", 0xFFFFFFFF)
    rdm.put("ringid_reset", 1 << 5)
    assert (rdm.ring_id(5, "M2S"), rdm.get("ringid_reset")) == (3, 0)


@pytest.mark.parametrize(("queue", "register", "bits"), [(0, "", 0), (15, "", 30), (16, "_1", 0), (23, "_1", 14)])
def test_two_registers_hold_the_first_ring_ids(rdm, queue, register, bits):
    """rings 2.12: two bits a queue, 16 queues in the first register."""
    rdm.put("ringid_initial", 0)
    rdm.put("ringid_initial_1", 0)
    rdm.put(f"ringid_initial{register}", 2 << bits)
    rdm.put("ringid_reset", 0xFFFFFF)
    assert [other for other in range(24) if rdm.ring_id(other, "S2M") == 2] == [queue]


def test_ring_ids_stay_without_the_enable_bit(rdm, sent):
    rdm.push(5, "M2S", b"\xff" * 64)
    assert sent[0][1] == b"\xff" * 64


def test_absolute_tail_words(sent):
    rdm = Rdm(lambda *_: None, lambda address, word: sent.append(word), absolute_tail=True)
    rdm.put("queue_enable", 1)
    rdm.set_queue(0, {"M2S": 0, "S2M": 0}, {"M2S": 0, "S2M": 0}, 8)
    for _ in range(3):
        rdm.respond(rdm.push(0, "M2S", BLOCK))
    assert sent == [4, 0, 4]


def test_a_disabled_queue_counts_drops(rdm, sent):
    assert rdm.push(6, "M2S", BLOCK) is None
    assert (rdm.get("queue_disabled_drop_count"), rdm.bresp(6), sent) == (1, 3, [])
    rdm.put("bresp_value_1", 0b0110)
    assert (rdm.bresp(16), rdm.bresp(17)) == (2, 1)


def test_interrupt_causes(rdm, sent):
    assert rdm.push(5, "M2S", BLOCK, strobes=False) is None
    rdm.respond(0)
    ids = [rdm.push(5, "M2S", BLOCK) for _ in range(32)]
    assert rdm.push(5, "M2S", BLOCK) is None
    rdm.respond(ids[0])
    rdm.respond(ids[0])
    rdm.respond(99)
    rdm.respond(ids[1], error=True)
    assert [CAUSES[cause] for cause in rdm.causes] == [
        "write strobes not all set", "bvalid while list empty", "linked list overflow", "bvalid id already free",
        "bvalid id not expected", "write returned an error",
    ]  # fmt: skip


def test_gates_of_the_tail_pointer(rdm, sent):
    def tails():
        rdm.respond(rdm.push(5, "M2S", BLOCK))
        return sum(1 for _, word in sent if word == 4)

    rdm.put("control", 1)  # force
    assert tails() == 0
    rdm.put("control", 2)  # freeze on error
    assert tails() == 1
    rdm.respond(rdm.push(5, "M2S", BLOCK), error=True)
    assert (rdm.frozen, tails()) == (True, 1)
    rdm.put("control", 2 | 4)  # clear
    assert (rdm.frozen, tails(), rdm.get("control")) == (False, 2, 2)


def test_popping_the_list(rdm):
    for _ in range(3):
        rdm.push(5, "M2S", BLOCK)
    rdm.put("control", 8)
    assert rdm.in_flight == 2
    rdm.put("control", 16)
    assert rdm.in_flight == 0
