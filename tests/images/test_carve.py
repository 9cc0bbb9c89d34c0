"""Files are written whole, under plain names, in the folder that was named."""

from __future__ import annotations

import os

import pytest

from dgekit.core.errors import InputError
from dgekit.images import carve
from dgekit.images.carve import file_names, write_images
from dgekit.images.source import Image, load_images, read_images


def test_carved_files_are_the_payloads(archive, payloads, tmp_path):
    folder = tmp_path / "out"
    paths = write_images(load_images(archive, "x"), folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.bin" for name in payloads)
    assert all(path.read_bytes() == payloads[path.stem] for path in paths)
    assert {image.name: image.data for image in read_images(folder)} == payloads


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/b", "a\\b", "", ".", "..", ".hidden", "a\0b", "a\nb", "x" * 300, "ä"]
)
def test_names_that_could_lead_elsewhere(name, tmp_path):
    with pytest.raises(InputError) as caught:
        write_images([Image("good", "", b"1"), Image(name, name, b"x")], tmp_path / "out")
    assert caught.value.rule == "images.name"
    assert not (tmp_path / "out").exists()


def test_two_images_never_become_one_file():
    for other in ("img", "IMG", "img.bin"):
        with pytest.raises(InputError) as caught:
            file_names([Image("img", "", b""), Image(other, "", b"")])
        assert caught.value.rule == "images.duplicate"


def test_a_link_is_replaced_and_not_written_through(tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "img.bin").symlink_to(outside)
    write_images([Image("img", "", b"carved")], folder)
    assert outside.read_bytes() == b"mine"
    assert (folder / "img.bin").read_bytes() == b"carved"
    assert not (folder / "img.bin").is_symlink()


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    (tmp_path / "b.bin").mkdir()
    with pytest.raises(InputError) as caught:
        write_images([Image("a", "", b"1"), Image("b", "", b"2")], tmp_path)
    assert caught.value.rule == "images.output"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "b.bin"]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(carve.Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        write_images([Image("c", "", b"1")], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "b.bin"]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "missing" / "deep"):
        with pytest.raises(InputError) as caught:
            write_images([Image("a", "", b"1")], folder)
        assert caught.value.rule == "images.output"
