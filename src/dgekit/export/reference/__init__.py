"""The reference pages under `docs/`, derived from the declarations.

`python -m dgekit.export.reference [FOLDER]` writes them (FOLDER is `docs` unless given); a test compares what is
written now with what is stored, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dgekit.export.reference.facts import choices_guide, choices_page, enums_page, generations_page, rules_page
from dgekit.export.reference.forms import keys_page, log_page, schemas_page
from dgekit.export.reference.layouts import records_page, words_page
from dgekit.export.reference.nki import nki_page

PAGES: Mapping[str, Callable[[], str]] = {
    "choices.md": choices_guide,
    "reference/words.md": words_page,
    "reference/enums.md": enums_page,
    "reference/rules.md": rules_page,
    "reference/nki-rules.md": nki_page,
    "reference/choices.md": choices_page,
    "reference/log-lines.md": log_page,
    "reference/generations.md": generations_page,
    "reference/records.md": records_page,
    "reference/transfer-file.md": keys_page,
    "reference/schemas.md": schemas_page,
}

__all__ = ["PAGES", "write_pages"]


def write_pages(folder: Path) -> list[Path]:
    """Write every page below `folder` and return the files."""
    written = []
    for name, derive in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(derive(), encoding="utf-8", newline="\n")
        written.append(path)
    return written
