"""Whole files or none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from wcetchar.errors import InputError
from wcetchar.store import files, write_atomically


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def test_text_and_bytes(folder: Path) -> None:
    write_atomically(folder / "a", "é\r\n")
    assert (folder / "a").read_bytes() == b"\xc3\xa9\r\n"
    write_atomically(str(folder / "a"), b"\x00\xff")
    assert (folder / "a").read_bytes() == b"\x00\xff"
    assert [p.name for p in folder.iterdir()] == ["a"]


def test_a_failure_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "a"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace", "fchmod"):
        with monkeypatch.context() as patch:
            patch.setattr(files.os, step, fail)
            with pytest.raises(InputError, match="No space left"):
                write_atomically(path, "new")
        assert path.read_text() == "old"
        assert [p.name for p in folder.iterdir()] == ["a"]


def test_the_content_reaches_the_disk_before_it_takes_the_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("fsync")
        fsync(descriptor)

    def note_replace(source: str, target: Path) -> None:
        assert Path(source).parent == folder
        assert Path(source).read_text() == "whole"
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(files.os, "fsync", note_fsync)
    monkeypatch.setattr(files.os, "replace", note_replace)
    write_atomically(folder / "a", "whole")
    assert steps == ["fsync", "replace", "fsync"]


def test_permissions(folder: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomically(folder / "new", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o640
    (folder / "new").chmod(0o604)
    write_atomically(folder / "new", "y")
    assert stat.S_IMODE((folder / "new").stat().st_mode) == 0o604


def test_a_link_is_followed(folder: Path) -> None:
    (folder / "target").write_text("old")
    (folder / "link").symlink_to("target")
    write_atomically(folder / "link", "new")
    assert (folder / "link").is_symlink()
    assert (folder / "target").read_text() == "new"


def test_places_that_cannot_be_written(folder: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        write_atomically(folder, "x")
    with pytest.raises(InputError, match="cannot be written") as caught:
        write_atomically(folder / "missing" / "a", "x")
    assert caught.value.hint


def test_a_device_is_written_to(folder: Path) -> None:
    write_atomically("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
