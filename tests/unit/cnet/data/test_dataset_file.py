"""Files of data sets are inflated, and archives are opened only where they are harmless."""

from __future__ import annotations

import gzip
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError
from cnet.formats import Limits
from cnet.formats.parsing.tar_archive import TarArchive
from cnet.formats.parsing.zip_archive import ZipArchive
from tests.unit.cnet.formats.parsing.test_tar_archive import tar


def refusal(path: Path, limits: Limits | None = None) -> DatasetError:
    """The error that reading a file raises."""
    with pytest.raises(DatasetError) as refused:
        read_dataset_file(path, limits or Limits())
    return refused.value


def zipped(folder: Path, name: str, mode: int = 0, content: bytes = b"x") -> Path:
    """A zip archive of one member with a Unix mode."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr(info, content)
    return folder / "x.zip"


def test_archives_compressed_with_gzip_are_opened(tmp_path: Path) -> None:
    """Zip and tar; other files are not opened as archives."""
    tar_path = tar(tmp_path, {"a": b"1"})
    packed = tmp_path / "x.tar.gz"
    packed.write_bytes(gzip.compress(tar_path.read_bytes()))

    for path in (tar_path, packed):
        file = DatasetFile.open_dataset(path)
        assert isinstance(file.archive, TarArchive)
        assert file.archive.read("a").tobytes() == b"1"
    assert isinstance(DatasetFile.open_dataset(zipped(tmp_path, "a")).archive, ZipArchive)
    (tmp_path / "x").write_bytes(b"text")
    assert DatasetFile.open_dataset(tmp_path / "x").archive is None


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path: Path, mode: int) -> None:
    """By the Unix mode that the directory states."""
    error = refusal(zipped(tmp_path, "train/cat/1.png", mode | 0o644))

    assert (error.code, "train/cat/1.png" in error.detail) == ("unsafe_archive", True)


@pytest.mark.parametrize("name", ["../x.png", "/x.png", "a/../../x.png", "a\\x.png", "C:x.png"])
def test_paths_that_lead_out_of_a_zip_are_refused(tmp_path: Path, name: str) -> None:
    """Whatever the format would be."""
    assert refusal(zipped(tmp_path, name)).code == "unsafe_archive"


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    """And one in an archive, by the sum of its members."""
    small = Limits(free_bytes=1000, expansion=1)
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes(1_000_000)))

    assert refusal(tmp_path / "x.gz", small).code == "too_large"
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"{number}.png", bytes(1000))
    assert refusal(tmp_path / "x.zip", small).code == "too_large"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"\x93NUMPY\x01\x00", "numpy.savez"),
        (b"\x00\x01\x02", "no data set of a known format"),
    ],
)
def test_files_uploaded_by_mistake_are_refused_by_kind(tmp_path: Path, content: bytes, says: str) -> None:
    """Kinds of files that users upload by mistake."""
    (tmp_path / "x").write_bytes(content)
    error = refusal(tmp_path / "x")

    assert (error.code, says in error.detail) == ("corrupt", True)


def test_an_archive_of_other_files_lists_them(tmp_path: Path) -> None:
    """So that the user sees what was uploaded."""
    error = refusal(zipped(tmp_path, "notes.txt"))

    assert (error.code, "notes.txt" in error.detail) == ("missing_arrays", True)


def test_arrays_beyond_the_limits_are_refused(tmp_path: Path) -> None:
    """By elements and by bytes."""
    np.savez(tmp_path / "x.npz", x=np.zeros((10, 3), np.uint8))
    file = DatasetFile.open_dataset(tmp_path / "x.npz", Limits(elements=30, free_bytes=200, expansion=0))

    file.check_claim(30, 200)
    for claim in ((31, 200), (30, 201)):
        with pytest.raises(DatasetError) as refused:
            file.check_claim(*claim)
        assert refused.value.code == "too_large"
