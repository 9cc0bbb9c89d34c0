"""Guards must fire: every rule id that the sources can raise or report is asserted by some test.

The ids are read from the sources' syntax trees: the `rule` argument of every call (by keyword, or by place where the
function called names a parameter `rule`), its default values, the first argument of `Issue`, and the `default_rule` of
every error class. A test counts when it holds the id as a literal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dgekit.core.choices import CHOICES, Choice

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "dgekit"
TESTS = ROOT / "tests"
RULE_PARAMETERS = ("rule", "rule_id")

# ids that no test can produce, each with its reason
EXCEPTIONS: dict[str, str] = {}


@cache
def trees(folder: Path) -> tuple[tuple[str, ast.Module], ...]:
    paths = sorted(folder.rglob("*.py"))
    return tuple((p.relative_to(ROOT).as_posix(), ast.parse(p.read_text(encoding="utf-8"))) for p in paths)


def texts(node: ast.AST | None) -> Iterator[str]:
    """The string literals a value can be: itself, or the branches of a conditional or of an `or`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from texts(value)


def rule_place(function: ast.FunctionDef) -> int | None:
    """At which positional argument a function takes its rule id."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "cls")]
    return next((names.index(p) for p in RULE_PARAMETERS if p in names), None)


@cache
def functions() -> dict[str, dict[str, int | None]]:
    """By source file: its functions and methods, with the place of their rule id."""
    return {
        name: {node.name: rule_place(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for name, tree in trees(SRC)
    }


def places_in(name: str, tree: ast.Module) -> dict[str, int | None]:
    """What a call in this file means: its own functions, then those it imports, then methods of any class."""
    known: dict[str, int | None] = {"Issue": 0}
    for own in functions().values():
        known.update((f, place) for f, place in own.items() if place is not None and not f.startswith("_"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dgekit."):
            home = functions().get("src/" + str(node.module).replace(".", "/") + ".py", {})
            known.update((alias.asname or alias.name, home[alias.name]) for alias in node.names if alias.name in home)
    return known | functions()[name]


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


@cache
def declared() -> dict[str, set[str]]:
    """Every rule id of the sources, with the places that use it."""
    found: dict[str, set[str]] = {}
    for name, tree in trees(SRC):
        places = places_in(name, tree)
        for node in ast.walk(tree):
            values: list[ast.AST | None] = []
            if isinstance(node, ast.Call):
                values = [k.value for k in node.keywords if k.arg in RULE_PARAMETERS]
                place = places.get(called(node))
                if place is not None and place < len(node.args):
                    values.append(node.args[place])
            elif isinstance(node, ast.FunctionDef):
                arguments = (*node.args.posonlyargs, *node.args.args)
                defaults = dict(zip(reversed([a.arg for a in arguments]), reversed(node.args.defaults), strict=False))
                defaults |= {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d}
                values = [defaults.get(p) for p in RULE_PARAMETERS]
            elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "default_rule":
                values = [node.value]
            for value in values:
                for text in texts(value):
                    found.setdefault(text, set()).add(f"{name}:{node.lineno}")
    return found


@cache
def asserted() -> set[str]:
    """Every string literal of the tests, and its last part, since a place supplies the namespace of a bare id."""
    literals = {
        node.value
        for name, tree in trees(TESTS)
        if not name.endswith("test_guards.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return literals | {text.partition(".")[2] for text in literals if text.startswith(("toml.", "neff.", "prog."))}


def package_of(place: str) -> str:
    return place.removeprefix("src/dgekit/").partition("/")[0].partition(".")[0]


@pytest.mark.parametrize(
    "package", sorted(p.stem for p in SRC.iterdir() if p.name != "__pycache__" and p.suffix in ("", ".py"))
)
def test_every_rule_id_is_asserted_by_a_test(package: str) -> None:
    lines = [
        f"{rule}: {', '.join(own)}"
        for rule, places in sorted(declared().items())
        if rule not in asserted() | set(EXCEPTIONS)
        if (own := sorted(place for place in places if package_of(place) == package))
    ]
    assert not lines, "\n".join(lines)


def test_exceptions_are_few_and_not_stale() -> None:
    assert len(EXCEPTIONS) <= 3
    assert set(EXCEPTIONS) <= set(declared())


def test_no_rule_id_is_put_together() -> None:
    """An id is a literal, so that it can be searched for."""
    for name, tree in trees(SRC):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                made = [
                    k.value for k in node.keywords if k.arg in RULE_PARAMETERS and isinstance(k.value, ast.JoinedStr)
                ]
                assert not made, f"{name}:{node.lineno}"


@cache
def words_of(tree: ast.Module) -> set[str]:
    """Every name and literal of a test file, also the words inside its strings, in lower case."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.Constant):
            found.update(re.findall(r"\w+", str(node.value).lower()))
    return found


@pytest.mark.parametrize("choice", CHOICES.values(), ids=lambda choice: choice.name)
def test_every_value_of_a_switch_is_tried(choice: Choice) -> None:
    """Some test beside that of the switches themselves sets the switch to each value that is not the default."""
    files = [words_of(tree) for name, tree in trees(TESTS) if name.count("/") > 1 and "/core/" not in name]
    own = [words for words in files if choice.name in words]
    assert own, f"no test sets {choice.name}"
    for value in choice.values[1:]:
        assert any(str(value).lower() in words for words in own), f"no test sets {choice.name} to {value}"
