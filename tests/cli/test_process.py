"""The command as a process: pipes, closed pipes, colour, exit codes, what it imports and what its start costs."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., subprocess.CompletedProcess[bytes]]
ROOT = Path(__file__).parents[2]
WORD = "b810" + "00" * 62
MAIN = [sys.executable, "-c", "from dgekit.cli.main import main; main()"]


def test_the_installed_script() -> None:
    """The entry point of the package, beside the interpreter that runs the tests."""
    script = Path(sys.executable).with_name("dge")
    done = subprocess.run([script, "--version"], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith(b"dge ") and b"kernels" in done.stdout


def test_decode_pipes_into_encode(process: Process) -> None:
    decoded = process("decode", "--json", stdin=bytes.fromhex(WORD) * 3)
    assert (decoded.returncode, decoded.stderr) == (0, b"")
    assert process("encode", "--format", "bin", stdin=decoded.stdout).stdout == bytes.fromhex(WORD) * 3


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["run", "examples/seed_copy.toml", "-q"], 0),
        (["diff", WORD, WORD.replace("b810", "b910")], 1),
        (["run", "--no-such-option"], 2),
        (["run", "missing.toml"], 3),
        (["run", "examples/gradient.neff", "--set", "solo_collective=refuse"], 4),
    ],
)
def test_exit_codes(argv: list[str], code: int, process: Process) -> None:
    done = process(*argv)
    assert done.returncode == code, done
    assert b"Traceback" not in done.stderr
    assert bool(done.stderr) == (code >= 2)


def test_a_reader_that_leaves_is_no_fault() -> None:
    """`dge spec | head -1`: quiet, whatever is still to be printed."""
    for argv in (["choices"], ["run", "examples/load_e18.toml", "--json"], ["--help"]):
        writer = subprocess.Popen([*MAIN, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        assert writer.stdout is not None and writer.stderr is not None
        writer.stdout.close()
        assert writer.stderr.read() == b""
        writer.stderr.close()
        assert writer.wait(60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*MAIN, "choices"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 3
    assert done.stderr.startswith(b"dge: ") and b"[dge.io]" in done.stderr and done.stderr.count(b"\n") == 1


def test_closed_standard_input() -> None:
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *MAIN, "decode"], capture_output=True, timeout=60)
    assert done.returncode == 3
    assert b"input.file" in done.stderr and b"Traceback" not in done.stderr


def on_terminal(argv: list[str], env: dict[str, str]) -> bytes:
    """What a command writes to a terminal."""
    leader, follower = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen([*MAIN, *argv], stdout=follower, stderr=follower, cwd=ROOT, env={**clean, **env}) as child:
        os.close(follower)
        found = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            found += piece
    os.close(leader)
    assert child.returncode == 0
    return found


def test_colour_on_a_terminal_only_and_never_with_no_color(process: Process) -> None:
    argv = ["check", "examples/seed_transpose.toml"]  # has a warning
    assert b"\x1b[33mwarning" in on_terminal(argv, {"TERM": "xterm"})
    assert b"\x1b" not in on_terminal(argv, {"TERM": "xterm", "NO_COLOR": "1"})
    assert b"\x1b" not in process(*argv).stdout


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "\u03b1".encode()), ("latin-1", rb"\u03b1")])
def test_a_poor_locale_is_no_fault(encoding: str, shown: bytes, process: Process, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('[tensors."\N{GREEK SMALL LETTER ALPHA}"]\nspace = "hbm"\nshape = [4]\ndtype = "int8"\n', "utf-8")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    done = process("run", path, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown in done.stdout


IMPORTS = "import sys; {}; print(*sorted(m for m in sys.modules if m.split('.')[0] in ('numpy', 'ml_dtypes', 'rich')))"


@pytest.mark.parametrize(
    "code",
    [
        "import dgekit",
        "from dgekit.cli.main import run_cli; run_cli(['--help'])",
        "from dgekit.cli.main import run_cli; run_cli(['run', '--help'])",
        "from dgekit.cli.main import run_cli; run_cli(['--version'])",
        f"from dgekit.cli.main import run_cli; run_cli(['decode', '{WORD}', '--json'])",
        f"from dgekit.cli.main import run_cli; run_cli(['check', '{WORD}'])",
        f"from dgekit.cli.main import run_cli; run_cli(['diff', '{WORD}', '{WORD}'])",
        "from dgekit.cli.main import run_cli; run_cli(['encode', 'DMA_DIRECT2D', 'semaphore=1'])",
        "from dgekit.cli.main import run_cli; run_cli(['spec', '0xb8'])",
        "from dgekit.cli.main import run_cli; run_cli(['choices'])",
        "from dgekit.cli.main import run_cli; run_cli(['neff', 'info', 'examples/gradient.neff'])",
    ],
)
def test_numpy_is_not_imported_for(code: str, process: Process) -> None:
    done = process("-c", IMPORTS.format(code), python=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == b""
