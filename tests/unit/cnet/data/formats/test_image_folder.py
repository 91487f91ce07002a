"""Folders of images: what their names mean, and how the images are read."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.data.dataset_reader import UploadedDataset, read_dataset_file
from cnet.errors import DatasetError
from cnet.formats import Limits
from tests.fuzzing import fuzzed
from tests.unit.cnet.data.formats.archives import KINDS, Kind, folders, packed, picture, refusal, split_images

Image = pytest.importorskip("PIL.Image")


def codes(uploaded: UploadedDataset) -> list[str]:
    """The codes of its warnings."""
    return [warning.code for warning in uploaded.warnings]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("around", ["", "my data/"])
def test_splits_and_classes_are_found(tmp_path: Path, kind: Kind, around: str) -> None:
    """In each kind of archive, with a folder around all or not."""
    uploaded = read_dataset_file(packed(tmp_path, {around + name: data for name, data in split_images().items()}, kind))
    train, test = uploaded.dataset.train, uploaded.dataset.test

    assert (uploaded.format, uploaded.class_names, uploaded.warnings) == ("image_folder", ("cat", "dog"), ())
    assert train.input.shape == (3, 1, 4, 6)
    assert dict(zip(train.input[:, 0, 0, 0].tolist(), train.labels.tolist(), strict=True)) == {0: 0, 2: 0, 1: 1}
    assert (test.input[0, 0, 0, 0], test.labels.tolist()) == (3, [1])


def test_classes_alone_are_split(tmp_path: Path) -> None:
    """Folders within a class do not matter."""
    names = [f"data/{'ab'[number % 2]}/{number % 3}/{number}.png" for number in range(10)]
    uploaded = read_dataset_file(packed(tmp_path, folders(*names)))

    assert (uploaded.class_names, codes(uploaded)) == (("a", "b"), ["split_made"])
    for split in uploaded.dataset.splits.values():
        np.testing.assert_array_equal(split.input[:, 0, 0, 0] % 2, split.labels)
    assert (len(uploaded.dataset.train), len(uploaded.dataset.test)) == (8, 2)


@pytest.mark.parametrize(
    ("names", "splits", "told"),
    [
        (("train/a/0.png", "val/a/1.png", "test/a/2.png"), {"train": 1, "validation": 1, "test": 1}, []),
        (("train/a/0.png", "Valid/a/1.png"), {"train": 1, "test": 1}, ["validation_is_test"]),
        (("x/train/a/0.png", "x/train/b/1.png", "x/train/b/2.png"), {"train": 2, "test": 1}, ["split_made"]),
        (("train/0.png", "test/1.png", "test/2.png"), {"train": 1, "test": 2}, []),
        (("0.png", "1.png", "2.png"), {"train": 2, "test": 1}, ["split_made"]),
        (("one/0.png", "one/1.png"), {"train": 1, "test": 1}, ["split_made"]),
    ],
)
def test_other_layouts_of_image_folders_are_read(
    tmp_path: Path, names: tuple[str, ...], splits: dict[str, int], told: list[str]
) -> None:
    """Validation sets, a training set alone, and images without classes."""
    uploaded = read_dataset_file(packed(tmp_path, folders(*names)))

    assert {name: len(split) for name, split in uploaded.dataset.splits.items()} == splits
    assert [code for code in codes(uploaded) if code != "absent_classes"] == told
    assert (uploaded.dataset.train.targets is None) == (uploaded.class_names is None)


def test_other_files_are_left_out(tmp_path: Path) -> None:
    """Those that operating systems add without a word, others with a warning."""
    hidden = {"__MACOSX/train/cat/._0.png": b"x", "train/.DS_Store": b"x", "train/cat/Thumbs.db": b"x"}
    quiet = read_dataset_file(packed(tmp_path, {**split_images(), **hidden}))
    told = read_dataset_file(packed(tmp_path, {**split_images(), "README.txt": b"x"}))

    assert (codes(quiet), codes(told)) == ([], ["ignored_files"])


def test_numbered_classes_are_ordered_as_text(tmp_path: Path) -> None:
    """As torchvision does; a warning says so."""
    uploaded = read_dataset_file(packed(tmp_path, folders(*(f"{number}/x.png" for number in range(11)))))

    assert uploaded.class_names is not None
    assert uploaded.class_names[:3] == ("0", "1", "10")
    assert "class_order" in codes(uploaded)


@pytest.mark.parametrize(
    ("images", "channels", "told"),
    [
        ([picture(), picture(form="JPEG"), picture(mode="1")], 1, []),
        ([picture(), picture(mode="RGB", form="WEBP")], 3, []),
        ([picture(mode="P"), picture(mode="RGB")], 3, []),
        ([picture(mode="CMYK", form="JPEG"), picture(form="JPEG")], 3, []),
        ([picture(mode="LA"), picture()], 1, ["transparency_dropped"]),
        ([picture(mode="RGBA"), picture()], 3, ["transparency_dropped"]),
    ],
)
def test_images_become_one_or_three_channels(
    tmp_path: Path, images: list[bytes], channels: int, told: list[str]
) -> None:
    """One channel where all images are grey."""
    files = {f"{'ab'[number % 2]}/{number}.png": data for number, data in enumerate(images)}
    uploaded = read_dataset_file(packed(tmp_path, files))

    assert uploaded.dataset.input_shape == (channels, 4, 6)
    assert [code for code in codes(uploaded) if code not in ("absent_classes", "split_made")] == told


def test_pixels_are_exact(tmp_path: Path) -> None:
    """Pixels of colour images, and of 16-bit images, which are divided by 256."""
    colours = np.random.default_rng(0).integers(0, 256, (4, 6, 3), np.uint8)
    deep = np.arange(24, dtype=np.uint16).reshape(4, 6) * 2700
    streams = [io.BytesIO(), io.BytesIO()]
    Image.fromarray(colours).save(streams[0], "PNG")
    Image.fromarray(deep).save(streams[1], "PNG")
    first, second = (stream.getvalue() for stream in streams)
    colour = read_dataset_file(packed(tmp_path, {"train/0.png": first, "test/0.png": first}))
    grey = read_dataset_file(packed(tmp_path, {"train/0.png": second, "test/0.png": picture()}))

    np.testing.assert_array_equal(colour.dataset.test.input[0], colours.transpose(2, 0, 1))
    np.testing.assert_array_equal(grey.dataset.train.input[0, 0], deep >> 8)
    assert codes(grey) == ["converted"]


def bomb(width: int, height: int) -> bytes:
    """A PNG that claims a size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ({"a/0.png": picture(), "b/1.png": picture(size=(5, 4))}, "bad_shape", "6x4 ('a/0.png') and 5x4 ('b/1.png')"),
        ({"a/0.png": picture(), "1.png": picture()}, "bad_labels", "'1.png'"),
        ({"test/a/0.png": picture(), "val/a/1.png": picture()}, "missing_arrays", "train"),
        ({"a/0.png": picture(), "b/1.png": picture()[:50]}, "corrupt", "'b/1.png'"),
        ({"a/0.png": picture(), "b/1.png": b"hello"}, "corrupt", "'b/1.png'"),
        ({"a/0.png": picture(), "b/1.png": picture(form="GIF")}, "corrupt", "'b/1.png'"),
        ({"a/0.png": picture(), "b/1.png": b""}, "corrupt", "'b/1.png'"),
        ({"a/0.png": picture(), "b/more.zip": b""}, "unsafe_archive", "more.zip"),
        ({"a/0.png": picture(), "a/../../1.png": picture()}, "unsafe_archive", "plain"),
        ({"a/0.png": bomb(8000, 8000), "b/1.png": bomb(8000, 8000)}, "too_large", "Resize"),
        ({"a/0.png": bomb(50_000, 50_000), "b/1.png": picture()}, "too_large", "Resize"),
        ({"a/0.png": bomb(100, 100), "b/1.png": bomb(100, 100)}, "corrupt", "'a/0.png'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_faults_have_their_codes(tmp_path: Path, kind: Kind, files: dict[str, bytes], code: str, says: str) -> None:
    """And messages that name the image."""
    error = refusal(packed(tmp_path, files, kind))

    assert (error.code, says in error.detail) == (code, True), error.detail


def test_images_that_decode_to_too_much_memory_are_refused(tmp_path: Path) -> None:
    """The memory of all images is computed before the first is decoded."""
    path = packed(tmp_path, {f"{number % 2}/{number}.png": bomb(1000, 1000) for number in range(20)})

    assert refusal(path, Limits(free_bytes=10**7, expansion=0)).code == "too_large"
    assert refusal(path, Limits(elements=10**7)).code == "too_large"


def outcome(path: Path) -> str:
    """The code of the refusal, or ``read``."""
    try:
        read_dataset_file(path)
    except DatasetError as error:
        return error.code
    return "read"


@fuzzed(500)
@given(data=st.data())
def test_damaged_images_raise_no_other_error(tmp_path: Path, data: st.DataObject) -> None:
    """Of each format, with changed bytes and without their end."""
    form, mode = data.draw(st.sampled_from([("PNG", "RGBA"), ("PNG", "P"), ("JPEG", "RGB"), ("WEBP", "RGB")]))
    raw = bytearray(picture(form=form, mode=mode, size=(20, 20)))
    for _ in range(data.draw(st.integers(1, 5))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))
    files = {"a/0.png": bytes(raw[:cut]), "b/1.png": picture(size=(20, 20))}

    assert outcome(packed(tmp_path, files)) in {"read", "corrupt", "too_large", "bad_shape"}
