"""IDX files: pairs and single files, plain or gzip, in each kind of archive."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError
from cnet.formats import Limits
from tests.fuzzing import fuzzed
from tests.unit.cnet.data.formats.archives import KINDS, Kind, packed, refusal

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}
X = np.arange(10 * 6 * 5, dtype=np.uint8).reshape(10, 6, 5)
Y = (np.arange(10) % 3).astype(np.uint8)
DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # where the package dataset-fashion-mnist puts its files


def idx(values: Any) -> bytes:
    """The IDX file of an array."""
    kind = CODES[values.dtype.str[1:]]
    header = struct.pack(f">BBBB{values.ndim}I", 0, 0, kind, values.ndim, *values.shape)
    return header + values.astype(values.dtype.newbyteorder(">")).tobytes()


FILES = {
    "mnist/train-images-idx3-ubyte": idx(X),
    "mnist/train-labels-idx1-ubyte": idx(Y),
    "mnist/t10k-images-idx3-ubyte": idx(X[:4]),
    "mnist/t10k-labels-idx1-ubyte": idx(Y[:4]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gz", [False, True])
def test_pairs_are_read(tmp_path: Path, kind: Kind, gz: bool) -> None:
    """Of both sets, whether or not each file is compressed."""
    files = {f"{name}.gz": gzip.compress(content) for name, content in FILES.items()} if gz else FILES
    uploaded = read_dataset_file(packed(tmp_path, files, kind))

    assert (uploaded.format, uploaded.warnings, uploaded.dataset.classes) == ("idx", (), 3)
    np.testing.assert_array_equal(uploaded.dataset.train.input, X[:, None])
    np.testing.assert_array_equal(uploaded.dataset.test.labels, Y[:4])


def test_other_names_of_idx_files_are_read(tmp_path: Path) -> None:
    """A dot before idx, words for test; unrelated files are left out."""
    names = ["a-train-images.idx3-ubyte", "a-train-labels.idx1-ubyte", "a-test-images.idx3", "a-test-labels.idx1"]
    files = dict(zip(names, FILES.values(), strict=True)) | {"readme.txt": b"x", ".x-idx3": b""}
    uploaded = read_dataset_file(packed(tmp_path, files))

    assert uploaded.dataset.splits["test"].input.shape == (4, 1, 6, 5)
    assert [warning.code for warning in uploaded.warnings] == ["ignored_files"]


@pytest.mark.parametrize("kind", CODES)
def test_every_element_type_is_read(tmp_path: Path, kind: str) -> None:
    """Vectors without labels, in a file of their own."""
    values = np.arange(12).astype(kind).reshape(6, 2)
    (tmp_path / "x").write_bytes(gzip.compress(idx(values)))
    dataset = read_dataset_file(tmp_path / "x").dataset

    assert sorted(np.concatenate([dataset.train.input, dataset.test.input])[:, 0]) == list(range(0, 12, 2))
    assert dataset.train.targets is None


def test_a_training_set_alone_is_split(tmp_path: Path) -> None:
    """As in every format."""
    files = {name: content for name, content in FILES.items() if "train" in name}
    uploaded = read_dataset_file(packed(tmp_path, files))

    assert (len(uploaded.dataset.train), len(uploaded.dataset.test)) == (8, 2)
    assert [warning.code for warning in uploaded.warnings] == ["split_made"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"mnist/train-images-idx3-ubyte": None}, "missing_arrays"),
        ({"mnist/t10k-images-idx3-ubyte": None}, "missing_arrays"),
        ({"mnist/t10k-labels-idx1-ubyte": None}, "bad_labels"),
        ({"other/train-images-idx3-ubyte": idx(X)}, "missing_arrays"),
        ({"mnist/train-images-idx3-ubyte": idx(X)[:-1]}, "truncated"),
        ({"mnist/train-images-idx3-ubyte": idx(X)[:9]}, "truncated"),
        ({"mnist/train-images-idx3-ubyte": idx(X) + b"x"}, "corrupt"),
        ({"mnist/train-images-idx3-ubyte": b""}, "corrupt"),
        ({"mnist/train-images-idx3-ubyte": idx(X[:9])}, "length_mismatch"),
        ({"mnist/train-images-idx3-ubyte": idx(X[:, :0])}, "bad_shape"),
        ({"mnist/train-images-idx3-ubyte": struct.pack(">BBBB3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 9)}, "truncated"),
        ({"mnist/train-images-idx3-ubyte": gzip.compress(idx(X), mtime=0)[:-9]}, "truncated"),
        ({"mnist/train-labels-idx1-ubyte": idx((Y - 1).astype(np.int8))}, "bad_labels"),
        ({"../train-labels-idx1-ubyte": b""}, "unsafe_archive"),
    ],
    ids=str,
)
def test_faults_have_their_codes(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    """Missing, cut and contradicting files."""
    files = {name: content for name, content in {**FILES, **change}.items() if content is not None}
    error = refusal(packed(tmp_path, files))

    assert error.code == code, error.detail


def test_a_bomb_in_a_member_is_refused(tmp_path: Path) -> None:
    """Before it is inflated."""
    name, zeros, limits = "train-images-idx3-ubyte.gz", bytes(2**24), Limits(free_bytes=2**20)
    path = packed(tmp_path, {name: gzip.compress(gzip.compress(zeros))}, "tar.gz")
    bomb = packed(tmp_path, {name: gzip.compress(zeros)})

    assert refusal(path, limits).code == "corrupt"
    assert refusal(bomb, limits).code == "too_large"
    assert refusal(bomb).code == "corrupt"  # within the limits it is inflated, and is no IDX file


def outcome(path: Path) -> str:
    """The code of the refusal, or ``read``."""
    try:
        read_dataset_file(path)
    except DatasetError as error:
        return error.code
    return "read"


@fuzzed(300)
@given(data=st.data())
def test_damaged_files_raise_no_other_error(tmp_path: Path, data: st.DataObject) -> None:
    """Files with changed bytes and without their end raise a DatasetError or are read."""
    name = data.draw(st.sampled_from(sorted(FILES)))
    raw = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, min(20, len(raw) - 1)))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))

    assert outcome(packed(tmp_path, {**FILES, name: bytes(raw[:cut])})) in {
        *("read", "corrupt", "truncated", "length_mismatch", "bad_shape", "bad_labels", "not_finite", "too_large")
    }


@pytest.mark.real
def test_real_files_are_read(tmp_path: Path) -> None:
    """Fashion-MNIST as Debian ships it, packed in a tar archive."""
    if not DEBIAN.is_dir():
        pytest.skip("the package dataset-fashion-mnist is not installed")
    files = {path.name: path.read_bytes() for path in DEBIAN.glob("*.gz")}
    dataset = read_dataset_file(packed(tmp_path, files, "tar")).dataset

    assert (dataset.input_shape, dataset.classes) == ((1, 28, 28), 10)
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 60_000, "test": 10_000}
    assert np.bincount(dataset.test.labels).tolist() == [1000] * 10
