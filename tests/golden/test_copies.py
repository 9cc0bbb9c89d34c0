"""The specification's data that the tests carry is the specification's."""

from pathlib import Path

import pytest

COPIES = sorted((Path(__file__).parent / "spec").glob("*.json"))
SHARED = Path(__file__).parents[3] / "shared" / "spec"


def test_every_data_file_is_here():
    assert {path.name for path in COPIES} >= {"cce.json", "isa-words.json", "log-strings.json", "rings.json"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the specification is not beside the repository")
@pytest.mark.parametrize("path", COPIES, ids=lambda path: path.name)
def test_the_copy_is_current(path):
    assert path.read_bytes() == (SHARED / path.name).read_bytes()
