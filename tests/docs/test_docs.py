"""The README, the guides and the changelog are true: commands print what they show, code runs, links lead somewhere.

A page is one sitting: its blocks run in order, in one folder that holds `examples/`, with one Python namespace.

* ```console: each `$ dge ...` (pipes allowed) runs and its output is compared; `...` alone on a line stands for any
  number of lines, ` ...` at the end of a line for the rest of it. `$ echo $?` shows the last exit code; `$ cat FILE`
  prints a file. `$ make TARGET` is only looked up in the Makefile.
* ```toml that starts with `# NAME.toml` becomes that file, a program or (with `[[packets]]`) a packet file; other TOML
  is a piece that completes the page's first file, and what it then does must be done without an error.
* ```python runs; with `>>>` in it, it is a doctest.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dgekit.cli.main import run_cli
from dgekit.core.generations import GENERATIONS
from dgekit.export.reference import PAGES
from dgekit.export.reference.markdown import anchor
from dgekit.frontends import packet_file, toml_file
from dgekit.frontends.program.keys import TRANSFER
from dgekit.machine.session import run_workload

ROOT = Path(__file__).parents[2]
GENERATED = {ROOT / "docs" / name for name in PAGES}
ALL = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BY_HAND = [path for path in ALL if path not in GENERATED]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def each(paths: list[Path]) -> Any:
    return pytest.mark.parametrize("path", paths, ids=name_of)


# blocks


@dataclass
class Sitting:
    """What the blocks of one page share."""

    folder: Path
    page: str
    code: int = 0
    program: str = ""
    names: dict[str, Any] = field(default_factory=dict)
    seen: int = 0

    def block(self, kind: str, text: str) -> None:
        self.seen += 1
        match kind:
            case "console":
                self._console(text)
            case "toml":
                self._toml(text)
            case "python":
                self._python(text)
            case "text" | "sh" | "json":
                pass
            case _:
                pytest.fail(f"{self.page}: a block of kind {kind!r}")

    def _console(self, text: str) -> None:
        for command, expected in commands(text):
            printed = self._run(command)
            if printed is not None:
                problem = difference(expected, printed.splitlines())
                assert problem is None, f"{self.page}: $ {command}\n{problem}\n--- printed:\n{printed}"

    def _run(self, command: str) -> str | None:
        if command == "echo $?":
            return str(self.code)
        words = shlex.split(command)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), command
            return None
        if words[0] == "cat":
            return (self.folder / words[1]).read_text()
        given = b""
        for part in split_pipe(words):
            assert part[0] == "dge", f"{self.page}: {command} is not run by this test"
            self.code, given = run_dge(part[1:], given)
        return given.decode()

    def _toml(self, text: str) -> None:
        named = re.match(r"# (\S+\.toml)\b", text)
        if named:
            (self.folder / named[1]).write_text(text)
        if named and "[[packets]]" in text:
            packet_file.loads_packets(text, self.page).build()
            return
        if named:
            self.program = self.program or text
        keys, tables = ("", text) if text.startswith(("[", "#")) else text.split("\n[", 1)
        whole = text if named else f"{keys}\n{self.program}\n{tables if not keys else '[' + tables}"
        result, _ = run_workload(toml_file.loads(whole, self.folder, name=self.page))
        assert named or result.ok, f"{self.page}: {result.issues} {[each.issues for each in result.transfers]}\n{text}"

    def _python(self, text: str) -> None:
        if ">>>" not in text:
            exec(compile(text, self.page, "exec"), self.names)
            return
        test = doctest.DocTestParser().get_doctest(text, self.names, self.page, self.page, 0)
        told = io.StringIO()
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        runner.run(test, out=told.write, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, told.getvalue()


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines shown under it; a `\\` continues a command."""
    joined = text.replace("\\\n", "")
    command: str | None = None
    shown: list[str] = []
    for line in joined.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command, shown
            command, shown = line[2:].split("  #")[0].strip(), []
        else:
            assert command is not None, f"output without a command: {line}"
            shown.append(line)
    if command is not None:
        yield command, shown


def split_pipe(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word == "|":
            yield part
            part = []
        else:
            part.append(word)
    yield part


def run_dge(argv: list[str], given: bytes) -> tuple[int, bytes]:
    """Exit code and what a terminal shows: both streams, in order."""
    out = io.BytesIO()
    screen = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            code = run_cli(argv)
    finally:
        sys.stdin = stdin
    return code, out.getvalue()


def difference(expected: list[str], printed: list[str]) -> str | None:
    """None when the lines agree, else the first that does not."""
    at = 0
    skip = False
    for line in expected:
        if line.strip() == "...":
            skip = True
            continue
        while skip and at < len(printed) and not same(line, printed[at]):
            at += 1
        if at >= len(printed):
            return f"not printed: {line}"
        if not same(line, printed[at]):
            return f"shown:   {line}\nprinted: {printed[at]}"
        at, skip = at + 1, False
    return None if skip or at == len(printed) else f"printed but not shown: {printed[at]}"


def same(shown: str, printed: str) -> bool:
    if shown.endswith(" ..."):
        return printed.startswith(shown[:-4])
    return shown.rstrip() == printed.rstrip()


def test_the_comparison_sees_what_differs():
    assert difference(["a", "...", "d"], ["a", "b", "c", "d"]) is None
    assert difference(["a", "..."], ["a"]) is None
    assert difference(["ab ..."], ["ab cd"]) is None
    assert difference(["a"], ["a", "b"]) == "printed but not shown: b"
    assert difference(["a", "c"], ["a", "b"]) == "shown:   c\nprinted: b"
    assert difference(["...", "z"], ["a"]) == "not printed: z"
    assert difference(["a", "b"], ["a"]) == "not printed: b"


@each(BY_HAND)
def test_every_block_is_true(path, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    sitting = Sitting(tmp_path, name_of(path))
    text = path.read_text(encoding="utf-8")
    for kind, block in FENCE.findall(text):
        sitting.block(kind, block)
    assert text.count("```") == 2 * sitting.seen, "a fence that this test does not see"


# links and words


def targets(path: Path) -> Iterator[tuple[Path, str]]:
    """Every relative link of a page: the file and the anchor."""
    text = re.sub(r"`[^`\n]*`(?!\])", "", FENCE.sub("", path.read_text(encoding="utf-8")))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, name = target.partition("#")
        yield (path.parent / file).resolve() if file else path, name


def anchors(path: Path) -> set[str]:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)}


@each(ALL)
def test_links_lead_somewhere(path):
    for file, name in targets(path):
        assert file.exists(), f"{name_of(path)}: {file}"
        assert file.is_relative_to(ROOT), f"{name_of(path)}: {file} is outside"
        assert not name or name in anchors(file), f"{name_of(path)}: no heading #{name} in {name_of(file)}"


def test_every_guide_can_be_reached_from_the_readme():
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [file for file, _ in targets(page)]
    assert set(ALL) <= reached


FORBIDDEN = {
    "how it was made": r"\b(sessions?|helpers?|agents?|sub-?agents?|language models?|LLMs?|Claude|prompts?)\b",
    "numbers of issues": r"\bissues? #?\d|(?<![\w&(/])#\d+\b",
    "this machine": r"/work\b|/tmp\b|/home/|\.\./shared",
    "registry hosts": r"pypi\.org|pythonhosted|proxy\.golang|npmjs|artifactory|localhost",
    "unfinished text": r"\b(TODO|FIXME|TBD|XXX)\b",
}


@each(ALL)
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_page_mentions(path, what):
    text = path.read_text(encoding="utf-8")
    if what == "how it was made":
        text = re.sub(r"`[^`\n]+`", "", FENCE.sub("", text))  # names of modules are no gossip
    found = re.search(FORBIDDEN[what], text, re.IGNORECASE)
    assert found is None, f"{name_of(path)} mentions {found[0] if found else ''}"


# what guides must cover


def test_the_guide_to_transfer_files_uses_every_key():
    text = (ROOT / "docs" / "transfer-files.md").read_text(encoding="utf-8")
    toml = "\n".join(block for kind, block in FENCE.findall(text) if kind == "toml")
    missing = [key.name for key in TRANSFER.keys if not re.search(rf"\b{key.name}\b *=", toml)]
    assert missing == []


def test_the_rules_that_guides_name_are_in_the_source():
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for path in BY_HAND:
        text = FENCE.sub("", path.read_text(encoding="utf-8"))
        for rule in re.findall(r"`((?:isa|pipeline|rings|dec|neff|transfers|patterns|memory)\.[\w.]+)`", text):
            module = ROOT / "src" / "dgekit" / (rule.replace(".", "/") + ".py")
            if not rule.endswith(".py") and not module.exists():
                assert f'"{rule}' in source, f"{name_of(path)}: {rule}"


def test_every_generation_and_example_is_named_somewhere():
    text = "\n".join(path.read_text(encoding="utf-8") for path in BY_HAND)
    for generation in GENERATIONS:
        assert generation.name in text
    for example in sorted((ROOT / "examples").iterdir()):
        if example.suffix in (".toml", ".neff"):
            assert f"examples/{example.name}" in text, example.name


def test_the_licence_is_the_one_the_package_names():
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text()
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License, Version 2.0" in text and "http://www.apache.org/licenses/LICENSE-2.0" in text
