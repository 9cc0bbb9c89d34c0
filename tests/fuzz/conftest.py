"""Mutations of valid inputs, and the promise every parser is held to."""

from __future__ import annotations

import random
import re
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dgekit.core.errors import DgeError

SECONDS = 5.0  # of processor time for one input: far above what any of them takes
GROWTH_KB = 600_000  # of peak memory during one test
NUMBERS = (
    0,
    1,
    -1,
    2,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    4095,
    65535,
    65536,
    1 << 31,
    1 << 32,
    -(1 << 31),
    1 << 63,
    1 << 70,
)
VALUES = (
    *(str(number) for number in NUMBERS),
    '""', '"x"', '"y"', '"a\\nb"', '"\\u0000"', "nan", "inf", "-inf", "1e300", "0.5", "true", "[]", "{}", "[[]]",
    "[[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1]]", "1979-05-27", '"hbm"', '"sbuf"', '"float8_e5m2"', '"int64"',
    '"none"', '"hwdge"', '"swdge"', '"transpose"', '"gather"', '"scatter"', '"gather_transpose"', '"reduce"', '"v5"',
    '"trn1"', '"random"', '"missing.npy"', "99999999999999999999", "0x7fffffffffffffff", "0b1",
)  # fmt: skip
_VALUE = re.compile(r'(?<=[=\[,{ ])(?:-?[0-9][0-9a-fA-FxX_.]*|"[^"\n]*"|true|false)')
_WORD = re.compile(r"[A-Za-z_]{2,}")


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """A few random edits: bits, bytes, runs cut out, doubled, moved or replaced, the end cut off."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(found) + 1)
        size = rng.choice((1, 1, 2, 4, 8, 64, 512))
        edit = rng.randrange(8)
        if edit == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif edit == 1:
            found[at : at + size] = rng.randbytes(size)
        elif edit == 2:
            del found[at : at + size]
        elif edit == 3:
            found[at:at] = found[at : at + size]
        elif edit == 4:
            found[at:at] = rng.randbytes(size)
        elif edit == 5:
            found[at : at + size] = rng.choice((b"\0", b"\xff", b"\x80", b"0", b"9", b"{", b"[")) * size
        elif edit == 6:
            number = rng.choice(NUMBERS) & 0xFFFFFFFFFFFFFFFF
            found[at : at + 8] = number.to_bytes(8, rng.choice(("little", "big")))
        else:
            del found[at:]
    return bytes(found)


def mutate_text(text: str, rng: random.Random) -> str:
    """Edits that keep a text parsable more often: values, words and lines replaced, doubled, dropped."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        edit = rng.randrange(8)
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        spots = list((_VALUE if edit < 5 else _WORD).finditer(text))
        if edit < 6 and spots:
            spot = rng.choice(spots)
            others = (
                spot.group() + "x",
                spot.group()[1:],
                *(one.group() for one in rng.sample(spots, min(3, len(spots)))),
            )
            text = text[: spot.start()] + rng.choice(VALUES if edit < 5 else others) + text[spot.end() :]
        elif edit == 6:
            text = "\n".join(lines[:at] + lines[at + 1 :])
        else:
            text = "\n".join(lines[: at + 1] + lines[at:])
    return text


def random_text(rng: random.Random) -> str:
    """Text of the letters that programs and word lines are made of."""
    alphabet = '[]{}=.,"#\n \t' + "0123456789abcdefx-+_TZ:\\'é\u2028"
    return "".join(rng.choices(alphabet, k=rng.randrange(120)))


@pytest.fixture
def holds() -> Iterator[Callable[..., Any]]:
    """Call a parser: it answers or raises a DgeError of one line, in bounded time; memory is judged at the end."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def call(parser: Callable[..., Any], *arguments: Any) -> Any:
        started = time.process_time()
        try:
            return parser(*arguments)
        except DgeError as error:
            assert str(error) and "\n" not in str(error) and len(str(error)) < 2000, error
            assert error.exit_code != 70, error
            return None
        finally:
            assert time.process_time() - started < SECONDS, arguments

    yield call
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH_KB


@pytest.fixture
def mutated() -> Callable[[bytes, random.Random], bytes]:
    return mutate_bytes


@pytest.fixture
def mutated_text() -> Callable[[str, random.Random], str]:
    return mutate_text


@pytest.fixture
def loose_text() -> Callable[[random.Random], str]:
    return random_text
