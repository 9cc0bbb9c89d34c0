"""`dge image`: what is inside firmware images that the user owns."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dgekit.cli.options import common, print_json
from dgekit.core.errors import UsageError

if TYPE_CHECKING:
    from dgekit.images.source import Image


@click.group("image")
def command() -> None:
    """Look into firmware images: an archive, a shared object, carved blobs, or a folder of these.

    Images are yours: none comes with this tool. SOURCE is a file, a folder, or - for standard input.

    \b
    Examples:
      dge image ls libnrtucode.a
      dge image carve libnrtucode.a img_CAYMAN_NX_POOL_DEBUG_DRAM -o carved
      dge image census libnrtucode.a
      dge image anchors libnrtucode.a
      dge image identify blob.bin
    """


@command.command("ls")
@click.argument("source")
@common
def listing(source: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """List the images: generation, core, engine, mode, segment, size, hash.

    The last column says whether size and hash are the published ones (same, differs, or nothing where none is
    published); the last line counts the images of each generation beside the published number.

    \b
    Example:
      dge image ls libnrtucode.a
    """
    from dgekit.cli.image_text import listing_lines

    images = _load(source)
    if as_json:
        print_json([_listed(image) for image in images])
        return 0
    _print(listing_lines(images))
    return 0


def _listed(image: Image) -> dict[str, object]:
    label = image.label
    return {
        "name": image.name,
        "member": image.member,
        "generation": label.generation or None,
        "core": label.core or None,
        "engine": label.engine or None,
        "mode": label.mode or None,
        "segment": image.segment or None,
        "size": len(image.data),
        "sha256": image.sha256,
        "published": image.published or None,
    }


@command.command("carve")
@click.argument("source")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every image that is not empty.")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder for the files, made if missing.")
@common
def carve(
    source: str,
    names: tuple[str, ...],
    everything: bool,
    output: str,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write images as DIR/NAME.bin: the raw device segment, unmodified.

    Nothing is written outside DIR, and no file is ever half there; a file of that name is replaced.

    \b
    Example:
      dge image carve libnrtucode.a img_CAYMAN_NX_POOL_DEBUG_DRAM -o carved
    """
    from dgekit.images.carve import write_images

    if everything == bool(names):
        raise UsageError("name the images to carve, or give --all", rule="images.carve")
    images = _load(source)
    chosen = [image for image in images if image.data] if everything else [_named(images, name) for name in names]
    paths = write_images(chosen, Path(output))
    if as_json:
        print_json([{**_listed(image), "file": path.name} for image, path in zip(chosen, paths, strict=True)])
        return 0
    _print(f"{path}  {len(image.data)} bytes" for image, path in zip(chosen, paths, strict=True))
    return 0


@command.command("strings")
@click.argument("source")
@click.option("--image", "name", metavar="NAME", help="Only this image.")
@click.option("--min", "minimum", type=click.IntRange(1, 4096), default=4, show_default=True, help="Fewest characters.")
@common
def strings(source: str, name: str | None, minimum: int, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """List the C strings with offset, device address and the format they are.

    Device address: an IRAM's offset itself, a DRAM's offset + 0x80000; other segments have no rule. Code is not
    listed unless named. --json prints one object a line.

    \b
    Example:
      dge image strings libnrtucode.a --json
    """
    import json

    from dgekit.cli.image_text import plain
    from dgekit.images.cstrings import c_strings
    from dgekit.images.difference import string_json

    images = _load(source)
    for image in [_named(images, name)] if name else [image for image in images if image.segment != "IRAM"]:
        for string in c_strings(image.data, image.name, minimum):
            entry = string_json(image, string)
            if as_json:
                click.echo(json.dumps({"image": image.name, **entry}))
                continue
            columns = (plain(image.name), entry["offset"], entry["va"] or "-", entry["format"] or "-", string.shown)
            click.echo("  ".join(columns))
    return 0


@command.command("census")
@click.argument("source")
@click.option("--published", is_flag=True, help="With --json: the compared rows, each with its counter.")
@common
def census(source: str, published: bool, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Count every known format and symbol in each image, beside the published counts; exit 1 on a difference.

    Each row names its counter: `lines` (pieces between line feeds that hold the text, as most sources counted) or
    `strings` (NUL-ended strings). Totals that count unknown strings too are shown and not compared. --json prints
    one object, image name to counts by format; a symbol that is itself a published row is counted as that row is.

    \b
    Example:
      dge image census libnrtucode.a
    """
    from dgekit.cli.image_text import census_lines
    from dgekit.images.census import compare_rows, count_formats, missing_formats, unlisted_formats
    from dgekit.images.identify import by_published_name
    from dgekit.images.source import by_name
    from dgekit.logs.formats import FORMATS

    images = {name: image for name, image in by_name(_load(source)).items() if image.segment in ("DRAM", "")}
    counts = {name: count_formats(image.data, name) for name, image in images.items()}
    known = by_published_name(images.values())
    found = compare_rows({name: image.data for name, image in known.items()})
    notes = {
        name: (missing_formats(name, counts[image.name]), unlisted_formats(name, counts[image.name]))
        for name, image in known.items()
    }
    if as_json and published:
        print_json([row.to_json() for row in found])
    elif as_json:
        print_json({name: {FORMATS[key].text: n for key, n in by_key.items()} for name, by_key in counts.items()})
    else:
        _print(census_lines(found, notes))
    return 1 if any(row.differs for row in found) or any(missing for missing, _ in notes.values()) else 0


@command.command("anchors")
@click.argument("source")
@common
def anchors(source: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Check the published instruction anchors at their addresses and decode them; exit 1 if quoted bytes differ.

    match: the quoted bytes stand there; decoded: no bytes are quoted, and the place decodes to the published
    instruction; differs, outside, unseen, absent: not so. A const16 of a string shows the string it loads.

    \b
    Example:
      dge image anchors libnrtucode.a
    """
    from dgekit.cli.image_text import anchor_lines
    from dgekit.images.anchors import ABSENT, anchored_images, check_anchors, failed
    from dgekit.images.identify import by_published_name
    from dgekit.images.names import read_label

    images = {name: image.data for name, image in by_published_name(_load(source)).items()}
    code = {name: images[name] for name in anchored_images() if name in images}
    drams = {name: images.get(name.removesuffix(read_label(name).segment) + "DRAM", b"") for name in code}
    checks = check_anchors(code, drams)
    if as_json:
        print_json([check.to_json() for check in checks])
    else:
        _print(anchor_lines(checks))
    return 1 if failed(checks) or all(check.status == ABSENT for check in checks) else 0


@command.command("identify")
@click.argument("source")
@click.option("--image", "name", metavar="NAME", help="Only this image.")
@common
def identify(source: str, name: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Say which generation, core and build each image is, and why; exit 1 if one cannot be told.

    Strings and their offsets decide, or the anchors; the hash is only a second check. Build is published, other
    (known strings or anchors, not all where they are published) or unknown.

    \b
    Example:
      dge image identify blob.bin
    """
    from dgekit.cli.image_text import identity_lines
    from dgekit.images.identify import identify as identify_image

    images = _load(source)
    found = [identify_image(image) for image in ([_named(images, name)] if name else images) if image.data]
    if as_json:
        print_json([identity.to_json() for identity in found])
    else:
        _print(line for identity in found for line in identity_lines(identity))
    return 0 if found and all(identity.reference for identity in found) else 1


@command.command("diff")
@click.argument("left")
@click.argument("right")
@click.option("--image", "name", metavar="NAME", help="Only this image.")
@click.option("--with", "other", metavar="NAME", help="With --image: the image of RIGHT to compare it with.")
@click.option("--min", "minimum", type=click.IntRange(1, 4096), default=4, show_default=True, help="Fewest characters.")
@common
def diff(
    left: str,
    right: str,
    name: str | None,
    other: str | None,
    minimum: int,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compare the strings of two files image by image: gained, lost, moved; exit 1 when they differ.

    Images of the same name are compared; two files of one image each are compared whatever their names.

    \b
    Example:
      dge image diff old.a new.a
    """
    from dgekit.cli.image_text import difference_lines, plain
    from dgekit.images.difference import diff_images, pair_images
    from dgekit.images.source import by_name

    old, new = by_name(_load(left)), by_name(_load(right))
    if name or other:
        if name is None:
            raise UsageError("--with needs --image", rule="images.diff")
        old, new = ({one.name: one} for one in (_named(old.values(), name), _named(new.values(), other or name)))
    pairs, only_left, only_right = pair_images(old, new)
    found = [diff_images(a, b, minimum) for a, b in pairs if "IRAM" not in (a.segment, b.segment)]
    if as_json:
        print_json({"images": [one.to_json() for one in found], "only_left": only_left, "only_right": only_right})
    else:
        _print(line for one in found if one or len(found) == 1 for line in difference_lines(one))
        _print(f"only in {left}: {plain(key)}" for key in only_left)
        _print(f"only in {right}: {plain(key)}" for key in only_right)
    return 1 if any(found) or only_left or only_right else 0


def _load(source: str) -> tuple[Image, ...]:
    from dgekit.images.limits import MAX_BYTES
    from dgekit.images.source import load_images, read_images

    if source != "-":
        return read_images(Path(source))
    return load_images(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>")


def _named(images: Iterable[Image], name: str) -> Image:
    from dgekit.images.source import image_named

    return image_named(images, name)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
