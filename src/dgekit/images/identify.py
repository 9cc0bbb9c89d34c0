"""Which generation and build an image is: by its strings and their offsets, or by its anchors; the hash is second.

A DRAM image is weighed against every image of which strings are published: formats that should be there and are not,
and what is there though a source counts none, speak against a candidate; then strings at their published offsets
decide, then the size. An IRAM image is weighed by the quoted anchors (pipeline 8.2, 8.5, 8.7).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dgekit.images.anchors import MATCH, anchored_images, check_image
from dgekit.images.boot import reset_targets
from dgekit.images.counts import LINES, ROWS
from dgekit.images.cstrings import c_strings, count_lines
from dgekit.images.known import find_format
from dgekit.images.names import Label, read_label
from dgekit.images.offsets import OFFSETS, debug_image, expected_formats
from dgekit.images.published import IMAGES, hash_check
from dgekit.images.source import Image
from dgekit.logs.formats import FORMATS

PUBLISHED, OTHER, UNKNOWN = "published", "other", "unknown"
_CANDIDATES = tuple(
    name for name in (row.name for row in IMAGES.values()) if expected_formats(name)
)  # DEBUG DRAM of POOL


@dataclass(frozen=True, slots=True)
class Weight:
    """How an image's strings fit one published image; `placed` and `moved` are at and off their published offsets."""

    name: str
    present: int
    missing: int
    against: int
    placed: int
    moved: tuple[tuple[str, int], ...]
    same_size: bool

    @property
    def rank(self) -> tuple[int, int, bool]:
        """Smaller fits better."""
        return self.misfit, len(self.moved) - self.placed, not self.same_size

    @property
    def misfit(self) -> int:
        """What speaks against it; a string that should not be there counts twice."""
        return self.missing + 2 * self.against


@dataclass(frozen=True, slots=True)
class Identity:
    """What an image is: the published image it is taken for (empty: unknown), the build, and the reasons."""

    image: str
    reference: str
    candidates: tuple[str, ...]
    segment: str
    mode: str
    build: str
    hash: str
    sha256: str
    size: int
    evidence: tuple[str, ...]

    @property
    def label(self) -> Label:
        """The parts of the published image's name."""
        return read_label(self.reference)

    @property
    def agrees(self) -> bool | None:
        """Whether the image's own name says the same generation, core and segment; None when it says nothing."""
        said = read_label(self.image)
        if not said.segment or not self.reference:
            return None
        return (said.generation, said.core, said.segment) == (self.label.generation, self.label.core, self.segment)

    def to_json(self) -> dict[str, Any]:
        """The form of `dge image identify --json`."""
        return {
            "image": self.image,
            "generation": self.label.generation or None,
            "core": self.label.core or None,
            "segment": self.segment or None,
            "mode": self.mode or None,
            "build": self.build,
            "reference": self.reference or None,
            "candidates": list(self.candidates),
            "name_agrees": self.agrees,
            "size": self.size,
            "sha256": self.sha256,
            "hash": self.hash or None,
            "evidence": list(self.evidence),
        }


def identify(image: Image) -> Identity:
    """What an image is, with the reasons; raises InputError for bytes that hold an endless string."""
    segment = image.segment
    found = {} if segment in ("IRAM", "SRAM") else _placed_formats(image)
    if not found:
        return _by_anchors(image, segment) or _by_size(image, segment)
    told = _by_strings(image, segment or "DRAM", found)
    sized = _by_size(image, segment)
    if told.reference or not sized.reference:
        return told
    return replace(sized, evidence=told.evidence + sized.evidence)


def published_name(image: Image) -> str:
    """The name to look facts up by: the image's own where it says what it is, else that of what it is taken for."""
    return image.name if image.label.segment else identify(image).reference


def by_published_name(images: Iterable[Image]) -> dict[str, Image]:
    """The images by the name to look facts up by; one that says its name goes before one that is only taken for it."""
    found: dict[str, Image] = {}
    for image in sorted(images, key=lambda image: not image.label.segment):
        found.setdefault(published_name(image), image)
    found.pop("", None)
    return found


def _placed_formats(image: Image) -> dict[str, list[int]]:
    """Every known format that is in the image: key to offsets. Two letters alone are no evidence of anything."""
    found: dict[str, list[int]] = {}
    for string in c_strings(image.data, image.name, 4):
        key = find_format(string.line)
        if key is not None:
            found.setdefault(key, []).append(string.offset)
    return found


def weigh(image: Image, name: str, found: dict[str, list[int]]) -> Weight:
    """How the formats that were found fit the published image of a name."""
    expected = {key for key in expected_formats(name) if FORMATS[key].stage != "token"}
    offsets = {key: offset for offset, key in OFFSETS.get(name, {}).items() if key in found}
    moved = tuple((key, _nearest(found[key], at) - at) for key, at in offsets.items() if at not in found[key])
    return Weight(
        name,
        present=len(expected & found.keys()),
        missing=len(expected - found.keys()),
        against=_against(image.data, name, found),
        placed=len(offsets) - len(moved),
        moved=moved,
        same_size=IMAGES[name].size == len(image.data),
    )


def _nearest(places: Sequence[int], at: int) -> int:
    return min(places, key=lambda place: abs(place - at))


def _against(data: bytes, name: str, found: dict[str, list[int]]) -> int:
    """Strings that are there though a source counts none in the published image, or names another generation's."""
    label = read_label(name)
    zero = [
        row.pattern.encode()
        for row in ROWS
        if row.counter == LINES and name == debug_image(label.generation, row.core, row.engine)
        if row.counts.get(label.generation) == 0
    ]
    return sum(count_lines(data, pattern) > 0 for pattern in zero) + sum(_foreign(key, label) for key in found)


def _foreign(key: str, label: Label) -> bool:
    """A format of other generations only: names of the fast path, boot names, RDMA lines on MAVERICK.

    Lines that were read on CAYMAN alone say nothing of the others.
    """
    generations = FORMATS[key].generations
    if label.generation in generations:
        return False
    return generations in (("MARIANA",), ("MARIANA_PLUS",)) or (
        label.generation == "MAVERICK" and FORMATS[key].stage in ("rdma_gen", "rdma_start")
    )


def _by_strings(image: Image, segment: str, found: dict[str, list[int]]) -> Identity:
    weights = sorted((weigh(image, name, found) for name in _CANDIDATES), key=lambda weight: weight.rank)
    best = weights[0]
    rivals = _rivals(weights)
    alone = len(rivals) == 1
    exact = best.placed and not best.moved and not best.missing and not best.against
    mode = "DEBUG" if any(FORMATS[key].is_line for key in found) else "TEST"
    reference = best.name if alone else ""
    return Identity(
        image.name,
        reference,
        tuple(weight.name for weight in rivals),
        segment,
        mode,
        (PUBLISHED if exact else OTHER) if alone else UNKNOWN,
        hash_check(reference, len(image.data), image.sha256),
        image.sha256,
        len(image.data),
        tuple(_reasons(best, mode)) + _size_reason(best.name, len(image.data)),
    )


def _rivals(weights: Sequence[Weight]) -> list[Weight]:
    """The images that it may be, best first: one, unless too little of any is there or nothing tells them apart."""
    best = weights[0]
    if best.present <= best.missing:
        most = max((weight.present for weight in weights if not weight.against), default=0)
        return [weight for weight in weights if weight.present == most and not weight.against]
    if best.placed > len(best.moved) or best.same_size:
        return [best]
    return [weight for weight in weights if weight.misfit == best.misfit]


def _reasons(best: Weight, mode: str) -> list[str]:
    total = best.present + best.missing
    reasons = [f"{best.present} of {total} formats that are published for {best.name} are in it"]
    if best.against:
        reasons.append(f"{best.against} are in it that a source counts as none there")
    if best.name in OFFSETS:
        reasons.append(f"{best.placed} strings stand at their published offsets, {len(best.moved)} elsewhere")
    reasons += [f"moved: {key} by {distance:+#x}" for key, distance in best.moved]
    lines = "log lines are in it: DEBUG" if mode == "DEBUG" else "names but no log lines: TEST"
    return [*reasons, lines]


def _size_reason(name: str, size: int) -> tuple[str, ...]:
    published = IMAGES[name].size if name in IMAGES else None
    if published is None:
        return ()
    return (f"{size} bytes, as published" if size == published else f"{size} bytes, published are {published}",)


def _by_anchors(image: Image, segment: str) -> Identity | None:
    scores: list[tuple[int, bool, int, str]] = []
    for name in anchored_images():
        checks = [check for check in check_image(name, image.data) if check.anchor.hex]
        matched = sum(check.status == MATCH for check in checks)
        scores.append((matched, matched == len(checks), len(checks), name))
    matched, full, total, name = max(scores)
    if not matched:
        return None
    targets = reset_targets(image.data)
    jumps = () if targets is None else (f"boot jumps to 0x{targets[0]:x} and 0x{targets[1]:x}",)
    size = len(image.data)
    return Identity(
        image.name, name, (name,), segment or read_label(name).segment, "DEBUG", PUBLISHED if full else OTHER,
        hash_check(name, size, image.sha256), image.sha256, size,
        (f"{matched} of {total} quoted anchors of {name} are in it", *jumps, *_size_reason(name, size)),
    )  # fmt: skip


def _by_size(image: Image, segment: str) -> Identity:
    """Nothing in it speaks: the published images of its size, and those whose hash it has."""
    size, sha256 = len(image.data), image.sha256
    sized = [
        row for row in IMAGES.values() if row.size == size and size and segment in ("", read_label(row.name).segment)
    ]
    same = [row.name for row in sized if row.sha256 and sha256.startswith(row.sha256)]
    names = tuple(same) or tuple(row.name for row in sized)
    reference = names[0] if len(names) == 1 else ""
    reason = f"no known string or anchor decides; {size} bytes" + (
        f", as published for {', '.join(names)}" if names else ", no published size"
    )
    return Identity(
        image.name, reference, names, segment, read_label(reference).mode, UNKNOWN,
        hash_check(reference, size, sha256), sha256, size, (reason,),
    )  # fmt: skip
