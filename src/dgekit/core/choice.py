"""One modelling switch: its name, its legal values, why it exists and where the question comes from."""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.errors import UsageError

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One switch: its legal `values` (default first; empty for a free number), why it exists, and its source."""

    name: str
    values: tuple[Value, ...]
    question: str
    why: str
    source: str
    minimum: int = 0

    @property
    def default(self) -> Value:
        """The value a run uses when nobody sets the switch."""
        return self.values[0]

    @property
    def is_number(self) -> bool:
        """True for a switch that takes any whole number from `minimum` up."""
        return len(self.values) == 1

    def parse(self, value: object) -> Value:
        """The legal value for what a user wrote; raises UsageError naming the legal ones."""
        if self.is_number:
            return self._parse_number(value)
        if isinstance(self.default, bool):
            text = str(value).lower()
            if text in ("true", "on", "yes", "1"):
                return True
            if text in ("false", "off", "no", "0"):
                return False
        else:
            for legal in self.values:
                if str(value) == str(legal):
                    return legal
        legal_text = ", ".join(str(v).lower() if isinstance(v, bool) else str(v) for v in self.values)
        raise UsageError(f"choice {self.name} has no value {value!r}", rule="choices.value", fix=f"one of {legal_text}")

    def _parse_number(self, value: object) -> int:
        try:
            number = value if isinstance(value, int) else int(str(value), 0)
        except ValueError:
            raise UsageError(f"choice {self.name} takes a whole number, not {value!r}", rule="choices.value") from None
        if number < self.minimum:
            raise UsageError(
                f"choice {self.name} = {number} is below its minimum {self.minimum}",
                rule="choices.value",
                values={"value": number, "minimum": self.minimum},
            )
        return number
