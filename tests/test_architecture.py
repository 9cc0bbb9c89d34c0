"""The house rules that a reader of docs/architecture.md may rely on: layers, light imports, small modules, no leftovers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dgekit.core.choices import CHOICES

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "dgekit"
TESTS = ROOT / "tests"
MODULES = sorted(SRC.rglob("*.py"))
LINES_PREFERRED, LINES_MOST = 400, 500


def layers() -> list[str]:
    """The packages in the order of the table of docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path) -> str:
    parts = ("dgekit", *path.relative_to(SRC).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str | None:
    """The layer of a dotted name; None for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of a module, wherever it stands: (line, dotted name)."""
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], base]).rstrip(".")
            if base == "dgekit":
                yield from ((node.lineno, f"dgekit.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, base


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_package_is_a_layer_of_the_document() -> None:
    found = {p.name for p in SRC.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    found |= {p.stem for p in SRC.glob("*.py") if p.stem != "__init__"}
    assert found == set(layers())


def test_imports_point_only_to_layers_above() -> None:
    """Also inside functions and under TYPE_CHECKING; `dgekit/__init__.py` is the facade's lazy face."""
    order = layers()
    wrong = [
        f"{relative(path)}:{line} imports {module}, which is below it"
        for path in MODULES
        if (own := layer_of(name_of(path))) in order
        for line, module in imports(path)
        # a name of the package itself, as in `from dgekit import __version__`, is no layer
        if module.startswith("dgekit.") and (target := layer_of(module)) in order
        if order.index(target) > order.index(own)
    ]
    assert not wrong, "\n".join(wrong)


LIGHT = [
    *(name_of(p) for p in MODULES if layer_of(name_of(p)) in {"core", "layout", "logs"} and p.stem != "columns"),
    "dgekit", "dgekit.words.codec", "dgekit.words.stream", "dgekit.words.text", "dgekit.words.checks",
    "dgekit.words.resolve", "dgekit.words.describe", "dgekit.transfers.transfer", "dgekit.cli.main",
]  # fmt: skip


def test_light_modules_import_no_numpy() -> None:
    code = f"import importlib, sys\nfor m in {LIGHT!r}:\n    importlib.import_module(m)\n    assert 'numpy' not in sys.modules, m"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_help_and_version_import_no_numpy() -> None:
    code = (
        "import sys\nfrom dgekit.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\nassert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_modules_are_small() -> None:
    """A table of facts may grow a little past the size that a module of code keeps to."""
    lines = {relative(p): len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES}
    assert {name for name, n in lines.items() if n > LINES_PREFERRED} <= {"src/dgekit/core/choices.py"}
    assert max(lines.values()) <= LINES_MOST


def test_nothing_is_left_over() -> None:
    mark = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    code = re.compile(r"^\s*# *(?:def |class |import |from \w+ import |return |if .*:$|for .* in .*:$).*", re.MULTILINE)
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert not mark.findall(text), relative(path)
        assert not code.findall(text), f"{relative(path)} holds code as a comment"


def test_only_the_command_line_prints() -> None:
    for path in MODULES:
        if layer_of(name_of(path)) == "cli":
            continue
        calls = [n for n in ast.walk(tree(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        assert not [n.lineno for n in calls if n.func.id in {"print", "breakpoint", "input"}], relative(path)


def test_the_sources_name_no_machine_and_no_session() -> None:
    word = re.compile(r"/work/|/tmp/|/root/|/home/\w|\b(?:issue|PR) #?\d+\b|\bsubagent|\bhelper session", re.IGNORECASE)
    for path in [*MODULES, *TESTS.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]:
        if path == Path(__file__).resolve():
            continue
        found = word.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{relative(path)}: {found.group(0) if found else ''}"


def test_every_package_has_a_mirrored_test_folder() -> None:
    packages = {p.relative_to(SRC).parts[0] for p in MODULES if p.parent != SRC and p.name != "__init__.py"}
    for package in sorted(packages):
        assert list((TESTS / package).rglob("test_*.py")), f"tests/{package} holds no test"


def test_tests_lie_where_their_module_lies() -> None:
    """tests/a/test_b.py stands for src/dgekit/a: its folder is a package of the sources (or a folder named here)."""
    other = {"", "benchmarks", "docs", "fuzz", "golden", "properties", "tools"}
    for path in TESTS.rglob("test_*.py"):
        folder = path.parent.relative_to(TESTS).as_posix()
        folder = "" if folder == "." else folder
        assert folder in other or (SRC / folder).is_dir(), f"{relative(path)} mirrors no package"


# switches


@cache
def asked_choices() -> dict[str, set[str]]:
    """Where each switch is asked: `choices["x"]`, `.text("x")`, `.flag("x")`, `.number("x")`."""
    asked: dict[str, set[str]] = {}
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                names = node.args[:1] if node.func.attr in {"text", "flag", "number"} else []
            elif isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
                names = [node.slice]
            else:
                continue
            for name in names:
                if isinstance(name, ast.Constant) and name.value in CHOICES:
                    asked.setdefault(name.value, set()).add(relative(path))
    return asked


def test_every_switch_is_asked() -> None:
    assert set(CHOICES) == set(asked_choices())
