"""Random and mutated files never raise anything but a DgeError."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_images import maker

from dgekit.core.errors import DgeError
from dgekit.images.anchors import check_anchors
from dgekit.images.census import compare_rows, count_formats
from dgekit.images.difference import diff_images
from dgekit.images.identify import by_published_name, identify
from dgekit.images.source import Image, load_images

WRITE = maker()
SMALL = {
    "img_CAYMAN_NX_POOL_DEBUG_DRAM_contents.c.o": WRITE.relocatable(
        bytes.fromhex("34cb9960") + b"\0S: NOTIFY\n\0" + bytes(40)
    ),
    "img_CAYMAN_NX_POOL_DEBUG_IRAM_contents.c.o": WRITE.relocatable(bytes.fromhex("067600000000867700") + bytes(40)),
    "other.o": WRITE.relocatable(b""),
}
SEEDS = [
    WRITE.archive(SMALL),
    WRITE.relocatable(b"\0dge_shape\0"),
    WRITE.elf(3, [(".rodata", 0, bytes(64) + b"\0\x06\x76")], [("CAYMAN_NX_POOL_DEBUG_IRAM_get.data", 0, 8, 32)]),
    bytes.fromhex("34cb9960") + b"\0S: NOTIFY\n\0",
]


def everything(data: bytes) -> None:
    """All that the commands do with a file."""
    try:
        images = load_images(data, "fuzz")
        assert sum(len(image.data) for image in images) <= 4 * len(data) + 64
        for image in images:
            identify(image)
            count_formats(image.data, image.name)
            diff_images(images[0], image)
        named = {name: image.data for name, image in by_published_name(images).items()}
        compare_rows(named)
        check_anchors(named, {})
    except DgeError as error:
        assert error.rule.startswith("images.")


def mutate(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(out)) if out else 0
        match rng.randrange(5):
            case 0:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del out[at : at + rng.randrange(1, 40)]
            case 2:
                out[at:at] = rng.randbytes(rng.randrange(1, 20))
            case 3:
                out[at : at + 8] = rng.choice([b"\xff" * 8, bytes(8), b"\0\0\0\x80" * 2, b"9" * 8])
            case _:
                del out[at:]
    return bytes(out)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files(seed):
    rng = random.Random(seed)
    for _ in range(600):
        everything(mutate(SEEDS[seed], rng))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([b"", b"!<arch>\n", b"\x7fELF\2\1\1", bytes.fromhex("34cb9960")]), st.binary(max_size=400))
def test_random_files(head, data):
    everything(head + data)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_random_images(left, right):
    found = diff_images(Image("a", "a", left), Image("b", "b", right))
    assert bool(found) == bool(found.lost or found.gained or found.moved)
