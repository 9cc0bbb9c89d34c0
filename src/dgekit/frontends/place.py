"""Where in an input file a value stands, so that every error can name it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.core.errors import InputError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Place:
    """A path inside a file (`prog.toml: transfers[2].src`) and the namespace of the rules that speak of it.

    >>> str(Place("prog.toml").key("transfers").item(2).key("src"))
    'prog.toml: transfers[2].src'
    """

    file: str
    path: str = ""
    rules: str = "toml"

    def key(self, name: str) -> Place:
        """The place of a key of the table here; a name that is no bare key is quoted."""
        text = name if len(name) <= _SHOWN and _BARE.fullmatch(name) else shown(name)
        return Place(self.file, f"{self.path}.{text}" if self.path else text, self.rules)

    def item(self, index: int) -> Place:
        """The place of an entry of the array here."""
        return Place(self.file, f"{self.path}[{index}]", self.rules)

    def error(
        self, rule: str, message: str, *, values: Mapping[str, Any] | None = None, source: str = "", fix: str = ""
    ) -> InputError:
        """An error at this place; a rule without a dot gets the file kind's namespace."""
        full = rule if "." in rule else f"{self.rules}.{rule}"
        return InputError(message, rule=full, where=str(self), values=values, source=source, fix=fix)

    def __str__(self) -> str:
        return f"{self.file}: {self.path}" if self.path else self.file


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that looks most like `word`, or an empty string when none does."""
    found = difflib.get_close_matches(word, list(known), 1)
    return found[0] if found else ""


def shown(value: object) -> str:
    """A value as it may stand in a message: short, on one line."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
