"""The command in this process and as a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from schema_checker import problems

from dgekit.cli.main import run_cli
from dgekit.export.publish import stored_schema

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def json(self, schema: str) -> Any:
        """The one JSON value printed, which must follow its published schema."""
        value = json.loads(self.text)
        assert problems(value, stored_schema(schema)) == []
        return value

    def json_lines(self, schema: str) -> list[Any]:
        values = [json.loads(line) for line in self.lines]
        assert [p for value in values for p in problems(value, stored_schema(schema))] == []
        return values


@pytest.fixture
def dge(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run the command here, from the repository's root; `stdin` is what it reads from `-`."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("DGE_DEBUG", raising=False)

    def call(*argv: object, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfdbinary.readouterr()
        code = run_cli([str(argument) for argument in argv])
        captured = capfdbinary.readouterr()
        answer = Answer(code, captured.out, captured.err.decode())
        assert "Traceback" not in answer.err
        assert b"\x1b[" not in captured.out + captured.err  # no colour away from a terminal
        return answer

    return call


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the installed command, or Python with arguments, as a process."""

    def call(
        *argv: object, stdin: bytes = b"", python: bool = False, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        start = [sys.executable] if python else [sys.executable, "-c", "from dgekit.cli.main import main; main()"]
        return subprocess.run(
            [*start, *(str(argument) for argument in argv)],
            input=stdin,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            timeout=120,
            **options,
        )

    return call
