"""The reference pages: stored as derived, complete, and every link in them leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dgekit.core.choices import CHOICES
from dgekit.core.generations import GENERATIONS
from dgekit.export.publish import SCHEMAS
from dgekit.export.reference import PAGES, write_pages
from dgekit.frontends.program.keys import PROGRAM, TENSOR, TRANSFER
from dgekit.logs.formats import FORMATS
from dgekit.words.checks import RULES
from dgekit.words.enums import ENUMS
from dgekit.words.resolve import LOWERING_RULES
from dgekit.words.word import word_classes

DOCS = Path(__file__).parents[2] / "docs"


def headings(text: str) -> list[str]:
    return re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_the_stored_page_is_the_derived_one(name):
    stored = (DOCS / name).read_bytes()
    assert stored == PAGES[name]().encode(), f"docs/{name} is old: run python -m dgekit.export.reference"


def test_writing_makes_exactly_the_pages(tmp_path):
    written = write_pages(tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in written) == sorted(PAGES)
    assert {path.name for path in (DOCS / "reference").iterdir()} == {Path(n).name for n in PAGES if "/" in n}
    for name in PAGES:
        assert (tmp_path / name).read_bytes() == PAGES[name]().encode()


def test_every_declared_thing_has_its_heading():
    assert {cls.kind for cls in word_classes()} <= set(headings(PAGES["reference/words.md"]()))
    assert set(ENUMS) <= set(headings(PAGES["reference/enums.md"]()))
    assert {*RULES, *LOWERING_RULES} <= set(headings(PAGES["reference/rules.md"]()))
    assert set(CHOICES) <= set(headings(PAGES["reference/choices.md"]()))
    assert set(SCHEMAS) <= set(headings(PAGES["reference/schemas.md"]()))


def test_every_log_line_stands_once_with_its_exact_text():
    page = PAGES["reference/log-lines.md"]()
    for row in FORMATS.values():
        line = [line for line in page.splitlines() if line.startswith(f"| `{row.key}` |")]
        assert len(line) == 1, row.key
        assert f"`{row.text}`".replace("|", "\\|") in line[0]


def test_every_field_of_a_word_is_in_its_table():
    page = PAGES["reference/words.md"]()
    for cls in word_classes():
        section = page.split(f"\n## {cls.kind}\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| \d[^|]* \| [^|]+ \| `(\w+)", section, re.MULTILINE)
        assert rows == [field.name for field in cls.layout.fields], cls.kind


def test_every_key_of_a_transfer_file_is_there():
    page = PAGES["reference/transfer-file.md"]()
    for section in (PROGRAM, TENSOR, TRANSFER):
        part = page.split(f"\n## {section.name}\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)`", part, re.MULTILINE) == [key.name for key in section.keys]


def test_generations_stand_side_by_side():
    page = PAGES["reference/generations.md"]()
    assert "| " + " | ".join(f"`{generation.name}`" for generation in GENERATIONS) + " |" in page
    assert "| `active_bytes` | 196608 | 229376 | 262144 | 262144 | 524288 |" in page  # isa-words 7, rings 4


@pytest.mark.parametrize("name", PAGES)
def test_headings_differ_and_tables_have_even_rows(name):
    text = PAGES[name]()
    assert len(headings(text)) == len(set(headings(text)))
    widths = None
    for line in text.splitlines():
        if not line.startswith("|"):
            widths = None
            continue
        count = len(re.findall(r"(?<!\\)\|", line))
        widths = widths or count
        assert count == widths, line
