"""The printf of the log against a table of what C prints with 32-bit int and size_t."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgekit.core.errors import InternalError
from dgekit.logs.formats import FORMATS
from dgekit.logs.printf import compile_format, printf


@pytest.mark.parametrize(
    ("text", "args", "want"),
    [
        ("%d", (-1,), "-1"),
        ("%d", (0xFFFFFFFF,), "-1"),
        ("%i", (2147483648,), "-2147483648"),
        ("%u", (-1,), "4294967295"),
        ("%u", (65536,), "65536"),
        ("%x", (-1,), "ffffffff"),
        ("%x", (0x1_0000_0001,), "1"),
        ("%X", (0xABC,), "ABC"),
        ("%04x", (0x2A,), "002a"),
        ("%04x", (0x12345,), "12345"),
        ("%08x", (0xBEEF,), "0000beef"),
        ("%llx", (-1,), "ffffffffffffffff"),
        ("%llx", (0x2000000000,), "2000000000"),
        ("%llu", (1 << 40,), "1099511627776"),
        ("%zu", (7,), "7"),
        ("%1d", (1,), "1"),
        ("%1d", (12,), "12"),
        ("%0d", (5,), "5"),
        ("%p", (0x1234,), "0x1234"),
        ("%p", (0,), "(nil)"),
        ("%s", ("RD",), "RD"),
        ("%d", (True,), "1"),
        ("100%%", (), "100%"),
        ("a%db%uc", (1, 2), "a1b2c"),
    ],
)
def test_conversions(text, args, want):
    assert printf(text, args) == want


@given(st.integers(-(1 << 70), 1 << 70))
def test_signed_and_unsigned_agree_modulo_two_to_the_32(number):
    signed, unsigned, hexa = printf("%d %u %x", (number, number, number)).split()
    assert int(signed) % (1 << 32) == int(unsigned) == int(hexa, 16) == number % (1 << 32)
    assert -(1 << 31) <= int(signed) < 1 << 31


def test_every_format_of_the_table_compiles():
    for row in FORMATS.values():
        literals, printers = compile_format(row.text)
        assert len(literals) == len(printers) + 1


@pytest.mark.parametrize(
    ("text", "args"),
    [("%d", ()), ("%d", (1, 2)), ("%d", ("1",)), ("%s", (1,)), ("%d", (1.5,)), ("%q", (1,)), ("50%", ())],
)
def test_what_does_not_fit(text, args):
    with pytest.raises(InternalError) as caught:
        printf(text, args)
    assert caught.value.rule == "logs.printf"
