"""Writing images to a folder: whole files or none, never outside of it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dgekit.core.errors import InputError
from dgekit.images.source import Image

# what an image may be called as a file: no separator, no leading dot, nothing that a terminal or shell acts on
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+\-]{0,199}")
SUFFIX = ".bin"


def file_names(images: Sequence[Image]) -> tuple[str, ...]:
    """The file names of images; raises InputError for a name that could lead elsewhere or that two images share."""
    names: dict[str, Image] = {}
    for image in images:
        if not _SAFE.fullmatch(image.name):
            raise InputError(
                f"the name {image.name[:80]!r} is no plain file name", rule="images.name", where=image.member[:80]
            )
        name = image.name if image.name.endswith(SUFFIX) else image.name + SUFFIX
        if name.lower() in names:
            raise InputError(f"two images would become {name}", rule="images.duplicate", where=image.member)
        names[name.lower()] = image
    return tuple(image.name.removesuffix(SUFFIX) + SUFFIX for image in images)


def write_images(images: Sequence[Image], folder: Path) -> tuple[Path, ...]:
    """Write each image as `<name>.bin` into a folder (made if missing) and return the paths; raises InputError.

    Every name is checked before anything is written. A file appears under its name only when it is whole; one that is
    there already, be it a link, is replaced, never written through.
    """
    paths = tuple(folder / name for name in file_names(images))
    try:
        folder.mkdir(exist_ok=True)
        for path, image in zip(paths, images, strict=True):
            _write(path, image.data)
    except OSError as problem:
        raise InputError(
            f"cannot write into {folder}: {problem.strerror or problem}", rule="images.output", where=folder.name
        ) from None
    return paths


def _write(path: Path, data: bytes) -> None:
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".dge-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except OSError:
        Path(partial).unlink(missing_ok=True)
        raise
