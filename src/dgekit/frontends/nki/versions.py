"""NKI versions whose rules differ (D82): 0.2.0 to 0.6.0."""

from __future__ import annotations

from dgekit.core.errors import UsageError

VERSIONS = ("0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0")
DEFAULT_VERSION = VERSIONS[-1]


def version_named(text: str) -> str:
    """The canonical form of a version; raises UsageError for one whose rules nobody wrote down.

    >>> version_named("0.4"), version_named("0.6.0")
    ('0.4.0', '0.6.0')
    """
    full = f"{text}.0" if text.count(".") == 1 else text
    if full not in VERSIONS:
        raise UsageError(
            f"there are no rules for NKI {text!r}", rule="nki.version", fix="one of " + ", ".join(VERSIONS)
        )
    return full


def is_before(version: str, first: str) -> bool:
    """True when `version` is older than `first`.

    >>> is_before("0.2.0", "0.3.0"), is_before("0.6.0", "0.6.0")
    (True, False)
    """
    return VERSIONS.index(version) < VERSIONS.index(first)
