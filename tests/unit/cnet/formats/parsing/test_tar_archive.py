"""Tar archives: every usual variant is read, and everything but plain files is refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.errors import CheckpointError
from cnet.formats import MappedFile
from cnet.formats.parsing.tar_archive import TarArchive, is_tar
from tests.fuzzing import fuzzed

FILES = {"a/one.bin": b"1" * 700, "a/" + "long" * 35 + "/two.bin": b"2" * 512, "three": b""}


def tar(folder: Path, files: dict[str, bytes], form: int = tarfile.PAX_FORMAT, *more: tarfile.TarInfo) -> Path:
    """A tar archive of these files, and of other members without content."""
    path = folder / "data.tar"
    with tarfile.open(path, "w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in more:
            archive.addfile(info)
    return path


def entry(name: str, kind: bytes, **attributes: str) -> tarfile.TarInfo:
    """A member of a kind."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


def opened(path: Path) -> TarArchive:
    """The archive of a file."""
    return TarArchive(MappedFile.open(path))


def code(path: Path) -> str:
    """The code of the refusal."""
    with pytest.raises(CheckpointError) as refused:
        opened(path)
    assert refused.value.detail.endswith(".")
    return refused.value.code


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_files_are_read_in_place(tmp_path: Path, form: int) -> None:
    """With long names, in the order of the archive; folders are no files."""
    path = tar(tmp_path, FILES, form, entry("a", tarfile.DIRTYPE), entry("b/", tarfile.DIRTYPE))
    archive = opened(path)

    assert is_tar(MappedFile.open(path))
    assert archive.names == tuple(FILES)
    assert {name: archive.read(name).tobytes() for name in archive.names} == FILES
    assert [archive.size(name) for name in archive.names] == [700, 512, 0]
    assert archive.head("a/one.bin", 3) == b"111"
    assert archive.head("three", 3) == b""


def test_a_leading_dot_is_no_part_of_a_name(tmp_path: Path) -> None:
    """``tar -C folder .`` writes it."""
    assert opened(tar(tmp_path, {"./a/b": b"x"}, tarfile.GNU_FORMAT, entry("./", tarfile.DIRTYPE))).names == ("a/b",)


@pytest.mark.parametrize(
    "member",
    [
        entry("link", tarfile.SYMTYPE, linkname="/etc/passwd"),
        entry("link", tarfile.LNKTYPE, linkname="three"),
        entry("null", tarfile.CHRTYPE),
        entry("disk", tarfile.BLKTYPE),
        entry("pipe", tarfile.FIFOTYPE),
        entry("other", b"V"),
        entry("odd", b"\xff"),
        entry("../up", tarfile.REGTYPE),
        entry("a/../../up", tarfile.REGTYPE),
        entry("/etc/passwd", tarfile.REGTYPE),
        entry("../up/", tarfile.DIRTYPE),
        entry("C:\\x", tarfile.REGTYPE),
        entry("a\\b", tarfile.REGTYPE),
        entry("a\nb", tarfile.REGTYPE),
    ],
    ids=lambda member: repr(member.name) + repr(member.type),
)
def test_everything_but_plain_files_is_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    """Links, devices and names that lead out of the archive."""
    assert code(tar(tmp_path, FILES, tarfile.PAX_FORMAT, member)) == "unsafe_archive"


def test_sparse_files_are_refused(tmp_path: Path) -> None:
    """They claim any size in a few bytes."""
    sparse = entry("sparse", tarfile.REGTYPE)
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "sparse", "GNU.sparse.realsize": "9" * 12}

    assert code(tar(tmp_path, FILES, tarfile.PAX_FORMAT, sparse)) == "unsafe_archive"
    assert code(tar(tmp_path, FILES, tarfile.GNU_FORMAT, entry("s", tarfile.GNUTYPE_SPARSE))) == "unsafe_archive"


def test_a_name_of_megabytes_is_refused(tmp_path: Path) -> None:
    """No header needs it."""
    assert code(tar(tmp_path, {"x" * 100_000: b""}, tarfile.GNU_FORMAT)) == "unsafe_archive"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Unpacking would keep the last."""
    assert code(tar(tmp_path, FILES, tarfile.PAX_FORMAT, entry("three", tarfile.REGTYPE))) == "duplicate_name"


def edited(path: Path, edit: Callable[[bytearray], None]) -> Path:
    """The file, changed in place."""
    raw = bytearray(path.read_bytes())
    edit(raw)
    path.write_bytes(raw)
    return path


def test_a_damaged_header_is_not_the_end(tmp_path: Path) -> None:
    """``tarfile`` would leave out the rest in silence."""

    def damage(raw: bytearray) -> None:
        raw[512 + 1024] ^= 1

    assert code(edited(tar(tmp_path, FILES, tarfile.USTAR_FORMAT), damage)) == "corrupt"


def test_data_after_the_end_are_refused(tmp_path: Path) -> None:
    """Two archives in one file."""
    path = tar(tmp_path, FILES)
    path.write_bytes(path.read_bytes() * 2)

    assert code(path) == "corrupt"


@pytest.mark.parametrize("length", [600, 512 + 1024, 1000])
def test_a_cut_archive_is_truncated(tmp_path: Path, length: int) -> None:
    """Inside a file and between two."""
    path = tar(tmp_path, FILES, tarfile.USTAR_FORMAT)
    path.write_bytes(path.read_bytes()[:length])

    assert code(path) == "truncated"


def test_a_size_beyond_the_file_is_truncated(tmp_path: Path) -> None:
    """Also one that is written in base 256."""
    big = entry("big", tarfile.REGTYPE)
    big.size = 2**60
    path = tmp_path / "big.tar"
    path.write_bytes(big.tobuf(tarfile.GNU_FORMAT) + bytes(1024))

    assert code(path) == "truncated"


def test_other_files_are_no_archives(tmp_path: Path) -> None:
    """Short files, zeros and text."""
    for content in (b"x", bytes(1024), b"hello" * 400):
        (tmp_path / "x").write_bytes(content)
        assert not is_tar(MappedFile.open(tmp_path / "x"))


def outcome(path: Path) -> str:
    """The code of the refusal, or ``read``."""
    try:
        archive = opened(path)
    except CheckpointError as error:
        return error.code
    assert all(len(archive.read(name)) == archive.size(name) for name in archive.names)
    return "read"


@fuzzed(400)
@given(data=st.data())
def test_damage_raises_no_other_error(tmp_path: Path, data: st.DataObject) -> None:
    """Headers whose checksums are right again are read or refused."""
    path = tar(tmp_path, {"a": b"1" * 30, 60 * "b" + "/" + 60 * "c": b"2"}, data.draw(st.sampled_from([0, 1, 2])))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, 4 * 512))] = data.draw(st.integers(0, 255))
    for block in range(0, 6 * 512, 512):
        header = raw[block : block + 512]
        if data.draw(st.booleans()) and any(header):
            total = sum(header[:148]) + 8 * 32 + sum(header[156:])
            raw[block + 148 : block + 156] = b"%06o\0 " % total
    path.write_bytes(raw)

    assert outcome(path) in ("read", "corrupt", "truncated", "unsafe_archive", "duplicate_name")
