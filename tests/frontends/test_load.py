"""One door for every program: options that a kind of input does not take are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgekit.core.errors import UsageError
from dgekit.frontends.load import load_program

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["seed_copy.toml", "gradient.neff"])
def test_only_a_script_takes_arguments(name):
    with pytest.raises(UsageError) as caught:
        load_program((EXAMPLES / name).read_bytes(), name, arguments={"a": 1})
    assert caught.value.rule == "input.arguments"


def test_only_a_neff_has_subgraphs():
    with pytest.raises(UsageError) as caught:
        load_program((EXAMPLES / "seed_copy.toml").read_bytes(), "seed_copy.toml", subgraph="sg00")
    assert caught.value.rule == "input.subgraph"
