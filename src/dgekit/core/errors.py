"""Issues and errors: what a check reports, and what stops a command.

A check returns `Issue` values and never raises; `DgeError` carries the same facts when something cannot go on.
Every error class names the exit code the command line ends with (design: 0 clean, 1 findings, 2 usage,
3 unreadable input, 4 unsupported or unspecified, 70 internal fault).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Severity = Literal["error", "warning", "advice", "unspecified"]


def one_line(text: str) -> str:
    """The text with everything that is not printable written out, so that no input breaks a line or a terminal.

    >>> one_line("a\\nb\\x1b[31m")
    'a\\\\nb\\\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding: the rule it breaks, how bad, where, the numbers on both sides, the source and the fix.

    `rule` is namespaced by chapter (`isa.C7`, `rings.1.8`, `dec.D2`); `values` holds the numbers compared.
    """

    rule: str
    severity: Severity
    message: str
    where: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    fix: str = ""

    def to_json(self) -> dict[str, Any]:
        """The issue object of every command (decision D51)."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "where": self.where,
            "values": dict(self.values),
            "source": self.source,
            "fix": self.fix,
        }

    def at(self, prefix: str) -> Issue:
        """The same issue with `prefix` put before its place."""
        where = f"{prefix} . {self.where}" if self.where else prefix
        return Issue(self.rule, self.severity, self.message, where, self.values, self.source, self.fix)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        fix = f" Fix: {self.fix}" if self.fix else ""
        return one_line(f"{self.severity}: {place}{self.message} [{self.rule}]{fix}")


def has_errors(issues: Iterable[Issue]) -> bool:
    """True when any issue is of severity error."""
    return any(issue.severity == "error" for issue in issues)


class DgeError(Exception):
    """The root of every error this package raises on purpose; never a traceback for a user."""

    exit_code: ClassVar[int] = 1
    default_rule: ClassVar[str] = "dge.error"

    def __init__(
        self,
        message: str,
        *,
        rule: str = "",
        where: str = "",
        values: Mapping[str, Any] | None = None,
        source: str = "",
        fix: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule or self.default_rule
        self.where = where
        self.values = dict(values or {})
        self.source = source
        self.fix = fix

    def as_issue(self) -> Issue:
        """The error as a reportable issue of severity error."""
        return Issue(self.rule, "error", self.message, self.where, self.values, self.source, self.fix)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        fix = f" Fix: {self.fix}" if self.fix else ""
        return one_line(f"{place}{self.message} [{self.rule}]{fix}")


class UsageError(DgeError):
    """The call itself is wrong: an unknown name, a bad flag value."""

    exit_code = 2
    default_rule = "dge.usage"


class InputError(DgeError):
    """A file or stream cannot be read as what it should be: wrong syntax, truncated, unknown key."""

    exit_code = 3
    default_rule = "dge.input"


class EncodeError(DgeError):
    """A value does not fit its field."""

    default_rule = "layout.range"


class DecodeError(InputError):
    """Bytes cannot be decoded, for example because there are too few of them."""

    default_rule = "layout.size"


class IllegalWord(DgeError):
    """A word breaks a structural rule that the device answers with its illegal-instruction path."""

    default_rule = "isa.illegal"


class LoweringError(DgeError):
    """A transfer cannot be expressed in words or descriptors."""

    default_rule = "lower.refused"


class ComputeError(DgeError):
    """A compute packet that the runtime, or an engine's limit, refuses; `values` hold the runtime's text and site."""

    default_rule = "cce.refused"


class RingError(DgeError):
    """A ring, doorbell or packet rule is broken."""

    default_rule = "rings.rule"


class EngineError(DgeError):
    """An engine moved to its abort state; `cause` is the number of the error cause group."""

    default_rule = "rings.engine"

    def __init__(self, message: str, *, cause: int = -1, **details: Any) -> None:
        super().__init__(message, **details)
        self.cause = cause


class MemoryFault(DgeError):
    """An access that memory refuses."""

    default_rule = "memory.fault"


class Unmapped(MemoryFault):
    """No memory is at that address."""

    default_rule = "memory.unmapped"


class CrossPartition(MemoryFault):
    """An access runs over the end of an SBUF partition or into its inactive bytes."""

    default_rule = "memory.cross_partition"


class Uninitialised(MemoryFault):
    """A read of bytes that nothing has written (checked on request)."""

    default_rule = "memory.uninitialised"


class Overlap(MemoryFault):
    """Two allocations, or two legs of one transfer, share bytes where they must not."""

    default_rule = "memory.overlap"


class Deadlock(DgeError):
    """Nothing can go on; `values["waits"]` is the wait graph."""

    default_rule = "run.deadlock"


class Unsupported(DgeError):
    """The tool does not do this (yet): a limit of the tool, not of the device."""

    exit_code = 4
    default_rule = "dge.unsupported"


class Unspecified(DgeError):
    """No source says what the device does here, and there is no sensible choice."""

    exit_code = 4
    default_rule = "dge.unspecified"


class InternalError(DgeError):
    """A fault of the tool itself."""

    exit_code = 70
    default_rule = "dge.internal"
