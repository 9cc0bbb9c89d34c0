"""The synthetic archive, built once."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import synthetic_images


@pytest.fixture(scope="session")
def maker() -> ModuleType:
    return synthetic_images.maker()


@pytest.fixture(scope="session")
def payloads() -> dict[str, bytes]:
    return synthetic_images.payloads()


@pytest.fixture(scope="session")
def archive(payloads: dict[str, bytes]) -> bytes:
    return synthetic_images.archive(payloads)


@pytest.fixture(scope="session")
def archive_file(archive: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("images") / "libnrtucode.a"
    path.write_bytes(archive)
    return path
