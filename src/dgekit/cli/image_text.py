"""The answers of `dge image` as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dgekit.core.generations import GENERATIONS
from dgekit.images.anchors import ABSENT, STATUSES, Check
from dgekit.images.census import Found
from dgekit.images.difference import Difference
from dgekit.images.identify import PUBLISHED, Identity
from dgekit.images.names import NO_GENERATION, read_label
from dgekit.images.published import MEMBERS, PACKAGE
from dgekit.images.source import Image
from dgekit.logs.formats import FORMATS

_GENERATIONS = tuple(generation.name for generation in GENERATIONS)


def plain(text: str) -> str:
    """A text of the file with its control and other bytes written out, safe on a terminal."""
    return text.encode("unicode_escape").decode("ascii")


def listing_lines(images: Sequence[Image]) -> Iterator[str]:
    """The table of `dge image ls`, and how many members each generation has beside the published number."""
    head = ("image", "generation", "core", "engine", "mode", "segment", "bytes", "sha256", "published")
    rows: list[Sequence[str]] = [head]
    for image in images:
        label = image.label
        parts = (label.generation, label.core, label.engine, label.mode, image.segment)
        rows.append(
            (
                plain(image.name),
                *(part or "-" for part in parts),
                str(len(image.data)),
                image.sha256[:16],
                image.published,
            )
        )
    yield from _table(rows)
    counts = Counter(image.label.group for image in images)
    shares = (f"{name} {counts[name]} ({MEMBERS[name]})" for name in (*_GENERATIONS, NO_GENERATION))
    yield f"images (published): {', '.join(shares)}; total {len(images)} ({sum(MEMBERS.values())})"


def census_lines(found: Sequence[Found], notes: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]) -> Iterator[str]:
    """Published rows with a column a generation, then what is missing or new by image (`notes`: missing, unlisted)."""
    yield "count as published; `n != p`: n found, p published; `n (p)`: not compared; `n *`: nothing published"
    groups: dict[tuple[str, str], dict[tuple[str, str], dict[str, Found]]] = {}
    for row in found:
        if len(row.images) == 1:
            label = read_label(row.images[0])
            rows = groups.setdefault((label.core, label.engine), {})
            rows.setdefault((row.pattern, row.counter), {})[label.generation] = row
    for (core, engine), rows in groups.items():
        present = [name for name in _GENERATIONS if any(name in cells for cells in rows.values())]
        yield ""
        yield f"{core}_{engine} DEBUG DRAM"
        body = [
            (pattern, counter, *(_cell(cells.get(name)) for name in present))
            for (pattern, counter), cells in rows.items()
        ]
        yield from _table([("pattern", "counter", *present), *body])
    for row in found:
        if len(row.images) > 1:
            yield f"over {len(row.images)} images: {row.pattern}, {row.counter}: {_cell(row)}"
    for name, (missing, unlisted) in notes.items():
        yield from (f"{name}: missing: {FORMATS[key].text}" for key in missing)
        if unlisted:
            yield f"{plain(name)}: {len(unlisted)} known formats that no source lists for it"


def _cell(row: Found | None) -> str:
    if row is None:
        return ""
    if row.differs:
        return f"{row.count} != {row.published}"
    if row.published is None:
        return f"{row.count} *"
    return str(row.count) if row.compared else f"{row.count} ({row.published})"


def anchor_lines(checks: Sequence[Check]) -> Iterator[str]:
    """The anchors that are in the file, by image and group, and how many of each outcome there are."""
    head = ""
    for check in checks:
        if check.status == ABSENT:
            continue
        anchor = check.anchor
        title = f"{anchor.image}: {anchor.group}"
        if title != head:
            yield title
        head = title
        text = check.text or "?"
        string = f'  "{plain(check.string)}"' if check.string else ""
        found = f"  {anchor.address:#7x}  {check.hex:6}  {text:32} {check.status}{_expected(check)}"
        yield f"{found}  {anchor.meaning}{string}"
    counts = Counter(check.status for check in checks)
    yield ", ".join(f"{status} {counts[status]}" for status in STATUSES if counts[status])


def _expected(check: Check) -> str:
    if check.status not in ("differs", "unseen", "outside"):
        return ""
    return f" (published {check.anchor.hex + ' ' if check.anchor.hex else ''}{check.anchor.text})"


def identity_lines(identity: Identity) -> Iterator[str]:
    """One identity: the verdict, then the reasons."""
    label = identity.label
    known = [label.generation, label.core, identity.mode, identity.segment]
    verdict = " ".join(part for part in known if part) if identity.reference else "not identified"
    build = f"{PUBLISHED} ({PACKAGE})" if identity.build == PUBLISHED else identity.build
    yield f"{plain(identity.image)}: {verdict}, build: {build}"
    if len(identity.candidates) > 1:
        yield f"  candidates: {', '.join(identity.candidates)}"
    if identity.agrees is False:
        yield "  its name says otherwise"
    yield from (f"  {reason}" for reason in identity.evidence)
    if identity.hash:
        outcome = "the published hash" if identity.hash == "same" else "not the published hash"
        yield f"  sha256 {identity.sha256[:16]}: {outcome}"


def difference_lines(difference: Difference) -> Iterator[str]:
    """One pair of images: strings lost, gained, moved."""
    yield f"{plain(difference.left.name)} -> {plain(difference.right.name)}"
    yield from (f"  lost    0x{string.offset:x}  {string.shown}" for string in difference.lost)
    yield from (f"  gained  0x{string.offset:x}  {string.shown}" for string in difference.gained)
    for move in difference.moved:
        yield f"  moved   0x{move.old.offset:x} -> 0x{move.new.offset:x} ({move.distance:+#x})  {move.new.shown}"
    distances = ", ".join(f"{count} by {distance:+#x}" for distance, count in difference.distances.most_common(5))
    yield (
        f"  {len(difference.lost)} lost, {len(difference.gained)} gained, {len(difference.moved)} moved"
        + (f" ({distances})" if distances else "")
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
