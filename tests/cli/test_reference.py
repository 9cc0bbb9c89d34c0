"""spec, choices, schema, neff info, help and version: what explains the tool."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dgekit
from dgekit.cli.main import VERBS
from dgekit.core.choices import CHOICES
from dgekit.export.publish import SCHEMAS, stored_schema
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff.write import build_neff

Dge = Callable[..., Any]
EXAMPLES = Path(__file__).parents[2] / "examples"
GRADIENT = EXAMPLES / "gradient.neff"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("DMA_DIRECT2D", ["src_elem_size", "DMA_DIRECT2D"]),
        ("0xb8", ["DMA_DIRECT2D"]),
        ("src_elem_size", ["DMA_DIRECT2D", "src_elem_size"]),
        ("DTYPE", ["FP32", "0x0a"]),
        ("isa.4.4.step32", ["32"]),
        ("CAYMAN", ["trn2"]),
    ],
)
def test_spec_explains(name: str, parts: list[str], dge: Dge) -> None:
    answer = dge("spec", name)
    assert (answer.code, answer.err) == (0, "")
    assert all(part in answer.text for part in parts)
    assert isinstance(json.loads(dge("spec", name, "--json").text), dict)


def test_spec_lists_and_suggests(dge: Dge) -> None:
    assert [line.split(":")[0] for line in dge("spec").lines] == list(json.loads(dge("spec", "--json").text))
    answer = dge("spec", "src_elem_siz")
    assert (answer.code, answer.out) == (2, b"")
    assert "did you mean src_elem_size" in answer.err


def test_choices(dge: Dge) -> None:
    listed = dge("choices", "--json").json("choices")
    assert [one["name"] for one in listed] == list(CHOICES)
    assert all(one["value"] == one["default"] for one in listed)
    (one,) = dge("choices", "step_unit", "--set", "step_unit=elements", "--json").json("choices")
    assert (one["default"], one["value"], one["values"]) == ("bytes", "elements", ["bytes", "elements"])
    assert dge("choices", "step_unit").lines[0] == "step_unit = bytes"
    unknown = dge("choices", "step_units")
    assert unknown.code == 2
    assert "choices.name" in unknown.err


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema(name: str, dge: Dge) -> None:
    assert json.loads(dge("schema", name).text) == stored_schema(name)


def test_schema_names(dge: Dge) -> None:
    assert dge("schema").lines == sorted(SCHEMAS)
    unknown = dge("schema", "ruin")
    assert (unknown.code, unknown.out) == (2, b"")
    assert "cli.schema" in unknown.err


def test_neff_info(dge: Dge) -> None:
    answer = dge("neff", "info", "examples/gradient.neff", "--json")
    info = answer.json("neff")
    assert answer.code == 0
    assert (info["header"]["pkg_version"], info["header"]["name"], info["features"]["bits"]) == (2, "gradient", "0x0")
    assert info["header"]["data_size"] == GRADIENT.stat().st_size - 1024
    assert [verdict["loads"] for verdict in info["features"]["verdicts"]] == [True, True]
    (graph,) = info["subgraphs"]
    assert {queue["name"]: (queue["semaphore"], queue["entries"]) for queue in graph["queues"]} == {
        "q_gradient_in": (10, 1),
        "q_gradient_out": (11, 1),
    }
    pool = next(engine for engine in graph["engines"] if engine["name"] == "pool")
    assert (pool["entries"], pool["movements"], pool["slots"]) == (2, {"copy": 2}, 3)
    assert {one["name"]: one["bytes"] for one in graph["variables"]}["gradient_in"] == 128
    text = dge("neff", "info", "-", stdin=GRADIENT.read_bytes())
    assert text.code == 0
    for line in ("features 0x0 by mask 0x80000000000000ff", "subgraph sg00", "queue q_gradient_in: in, 1 hardware"):
        assert line in text.text


def test_feature_bits_decide_the_exit(tmp_path: Path, dge: Dge) -> None:
    """neff.md 1: 0x100 was refused by one runtime; the newer one refuses bits 27 to 62 only (D88)."""
    path = tmp_path / "f.neff"
    for bits, loads in ((0x100, [False, True]), (1 << 27, [False, False]), (1 << 63, [True, True])):
        path.write_bytes(build_neff(dict(read_neff(GRADIENT).members), {"feature_bits": bits}))
        answer = dge("neff", "info", path, "--json")
        info = answer.json("neff")
        assert [verdict["loads"] for verdict in info["features"]["verdicts"]] == loads
        assert answer.code == int(not loads[0])
        assert ("neff.features" in {issue["rule"] for issue in info["issues"]}) is not loads[0]
        assert dge("neff", "info", path, "--supported", hex(bits)).code == 0
    for mask in ("x", "-1", str(1 << 64), "9" * 5000):
        wrong = dge("neff", "info", path, f"--supported={mask}")
        assert wrong.code == 2
        assert "cli.number" in wrong.err


def two_subgraphs() -> bytes:
    """The sample with its subgraph twice, the second moving half as much."""
    members = dict(read_neff(GRADIENT).members)
    kelf = json.loads(members["kelf-a.json"])
    kelf["graphs"].append({"name": "sg01", "definition": "sg01/def.json"})
    members["kelf-a.json"] = json.dumps(kelf).encode()
    for name in [name for name in members if name.startswith("sg00/")]:
        members["sg01/" + name.removeprefix("sg00/")] = (
            members[name].replace(b"128", b"64").replace(b'"elements": 32', b'"elements": 16')
        )
    return build_neff(members)


def test_a_neff_of_two_subgraphs(tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "two.neff"
    path.write_bytes(two_subgraphs())
    assert [graph["name"] for graph in dge("neff", "info", path, "--json").json("neff")["subgraphs"]] == [
        "sg00",
        "sg01",
    ]
    for verb in ("run", "lower", "check"):
        unnamed = dge(verb, path)
        assert unnamed.code == 4
        assert "neff.subgraph" in unnamed.err and "--subgraph sg00" in unnamed.err
        assert dge(verb, path, "--subgraph", "sg01").code in (0, 1)
        unknown = dge(verb, path, "--subgraph", "sg02")
        assert unknown.code == 3
        assert "sg00, sg01" in unknown.err
    sizes = {name: dge("run", path, "--json", "--subgraph", name).json("run") for name in ("sg00", "sg01")}
    assert [run["transfers"][0]["descriptors"]["bytes"] for run in sizes.values()] == [128, 64]
    assert dgekit.run(path, subgraph="sg01").to_json() == sizes["sg01"]
    assert dgekit.lower(path, "word", subgraph="sg01")["transfers"][0]["status"] == "done"
    refused = dge("check", "--subgraph", "sg00", stdin=bytes.fromhex("b810") + bytes(62))
    assert refused.code == 2


def test_help_lists_every_verb(dge: Dge) -> None:
    answer = dge("--help")
    assert answer.code == 0
    assert all(re.search(rf"^  {verb} ", answer.text, re.MULTILINE) for verb in VERBS)
    for word in ("--gen", "--set", "Exit codes", "standard input"):
        assert word in answer.text


def subcommands(help_text: str) -> list[str]:
    """What a group's help lists."""
    _, _, listed = help_text.partition("\nCommands:\n")
    return re.findall(r"^  (\w+)  ", listed, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_teaches_with_an_example(verb: str, dge: Dge) -> None:
    top = dge(verb, "--help")
    assert top.code == 0
    for command in [[verb, name] for name in subcommands(top.text)] or [[verb]]:
        text = dge(*command, "--help").text
        assert re.search(rf"^    (.*\| )?dge {' '.join(command)}\b", text, re.MULTILINE), text


def examples_in(help_text: str) -> list[list[str]]:
    """The commands that a help text shows, without the remark behind them."""
    shown = [line.strip() for line in help_text.splitlines() if line.startswith("    dge ")]
    return [re.split(r"\s{2,}", line)[0].split()[1:] for line in shown]


def test_examples_in_help_run(dge: Dge) -> None:
    """Those that only name what the repository has work as they stand."""
    tried = []
    for verb in VERBS:
        for words in examples_in(dge(verb, "--help").text):
            files = [word for word in words if re.search(r"\.\w+$", word) and not word.startswith("isa.")]
            ours = all(word.startswith("examples/") for word in files) and '"' not in " ".join(words)
            if ours and not set(words) & {"|", ">", "-o"}:
                assert dge(*words).code in (0, 1), words
                tried.append(words[0])
    assert set(tried) >= {"run", "lower", "check", "spec", "choices", "encode", "neff"}


def test_version_names_the_kernels(dge: Dge) -> None:
    assert dge("--version").text == f"dge {dgekit.__version__} (numpy kernels)\n"


def test_no_command_and_unknown_commands(dge: Dge) -> None:
    assert dge().code == 2
    assert dge("neff").code == 2
    unknown = dge("decod")
    assert unknown.code == 2
    assert "Did you mean `dge decode`?" in unknown.err
    assert dge("decode", "--jsn").code == 2
    assert dge("neff", "inf").code == 2
