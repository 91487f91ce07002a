"""Uploaded npz data sets: what is accepted, how it is read, and the code of each fault."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.data import Dataset
from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError
from cnet.formats import Limits, Notice
from tests.fuzzing import fuzzed
from tests.real_files import real_file

X = np.arange(10 * 6 * 5, dtype=np.uint8).reshape(10, 6, 5)
Y = np.arange(10) % 3
CODES = {
    *("empty_file", "corrupt", "truncated", "missing_arrays", "length_mismatch", "bad_shape", "bad_labels"),
    *("not_finite", "too_large", "unsafe_archive", "read"),
}


def npz(folder: Path, **arrays: Any) -> Path:
    """An npz of these arrays."""
    np.savez_compressed(folder / "data.npz", **arrays)
    return folder / "data.npz"


def read(path: Path, **options: Any) -> tuple[Dataset, tuple[Notice, ...]]:
    """The data set of a file, and the warnings."""
    uploaded = read_dataset_file(path, **options)
    return uploaded.dataset, uploaded.warnings


def refusal(path: Path, **options: Any) -> DatasetError:
    """The error that reading raises."""
    try:
        dataset, _ = read(path, **options)
    except DatasetError as error:
        return error
    raise AssertionError(f"was read: {dataset}")


def test_four_arrays_are_a_data_set(tmp_path: Path) -> None:
    """Grey images get one channel, labels become int64, and there is no warning."""
    path = npz(tmp_path, x_train=X, y_train=Y, x_test=X[:4], y_test=Y[:4].astype(np.uint8))
    dataset, warnings = read(path)
    assert warnings == ()
    assert (dataset.input_shape, dataset.classes) == ((1, 6, 5), 3)
    assert np.array_equal(dataset.train.input, X[:, None])
    assert (dataset.train.input.dtype, dataset.test.labels.dtype, len(dataset.test.input)) == (np.uint8, np.int64, 4)


def test_two_arrays_are_split_the_same_way_each_time(tmp_path: Path) -> None:
    """A fifth becomes the test set, every image is in one of the two sets, and a warning says so."""
    path = npz(tmp_path, x=X, y=Y)
    dataset, warnings = read(path)
    again, _ = read(path)
    assert (len(dataset.train.input), len(dataset.test.input)) == (8, 2)
    assert np.array_equal(dataset.test.input, again.test.input)
    both = np.concatenate([dataset.train.input, dataset.test.input])[:, 0]
    assert {image.tobytes() for image in both} == {image.tobytes() for image in X}
    assert [warning.code for warning in warnings] == ["split_made"]


@pytest.mark.parametrize("suffix", ["val", "validation"])
@pytest.mark.parametrize("form", ["train and test", "train", "one set", "several inputs"])
def test_a_file_brings_its_own_validation_samples(tmp_path: Path, suffix: str, form: str) -> None:
    """They are the validation split as they are, whether or not the file has a test set."""
    held = {f"x_{suffix}": X[:3], f"y_{suffix}": Y[:3]}
    train = {"x_train": X, "y_train": Y}
    arrays = {
        "train and test": {**train, "x_test": X[:4], "y_test": Y[:4], **held},
        "train": {**train, **held},
        "one set": {"x": X, "y": Y, **held},
        "several inputs": {"inputs.a": X, "y": Y, f"inputs_{suffix}.a": X[:3], f"y_{suffix}": Y[:3]},
    }[form]

    dataset, warnings = read(npz(tmp_path, **arrays))

    assert dataset.validation is not None
    assert np.array_equal(dataset.validation.input.reshape(3, 6, 5), X[:3])
    assert np.array_equal(dataset.validation.labels, Y[:3])
    sizes = (10, 4) if form == "train and test" else (8, 2)
    assert (len(dataset.train), len(dataset.test)) == sizes
    assert [each.code for each in warnings] == ([] if form == "train and test" else ["split_made"])


@pytest.mark.parametrize(
    ("held", "code", "says"),
    [
        ({"x_val": X[:3]}, "bad_labels", "the targets of train and validation"),
        ({"x_val": X[:3, :4], "y_val": Y[:3]}, "bad_shape", "the inputs of train and validation"),
        ({"x_val": X[:3], "y_val": Y[:2]}, "length_mismatch", "x_val and y_val"),
        ({"x_val": X[:3], "x_validation": X[:3]}, "missing_arrays", "under two names"),
    ],
)
def test_validation_samples_that_do_not_fit_are_refused(
    tmp_path: Path, held: dict[str, Any], code: str, says: str
) -> None:
    """As those of the other splits."""
    error = refusal(npz(tmp_path, x_train=X, y_train=Y, x_test=X, y_test=Y, **held))

    assert error.code == code
    assert says in error.detail


@pytest.mark.parametrize(
    ("shape", "input_shape", "told"),
    [
        ((4, 3, 8, 9), (3, 8, 9), False),
        ((4, 8, 9, 3), (3, 8, 9), False),
        ((4, 1, 8, 8), (1, 8, 8), False),
        ((4, 8, 8, 1), (1, 8, 8), False),
        ((4, 16, 8, 8), (16, 8, 8), True),
        ((4, 8, 8, 16), (16, 8, 8), True),
        ((4, 3, 3, 3), (3, 3, 3), True),
        ((4, 5, 6, 7), (5, 6, 7), True),
        ((4, 3, 4, 4), (3, 4, 4), True),
    ],
)
def test_channels_are_found(tmp_path: Path, shape: Any, input_shape: Any, told: bool) -> None:
    """First or last; a warning says where that is not certain."""
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 1000
    dataset, warnings = read(npz(tmp_path, x=x, y=np.arange(4)))
    assert dataset.input_shape == input_shape
    assert ("ambiguous_channels" in [warning.code for warning in warnings]) == told
    assert dataset.train.input.flags.c_contiguous
    if shape[-1] == input_shape[0] != shape[1]:
        whole = np.concatenate([dataset.train.input, dataset.test.input])
        assert sorted(whole.sum((1, 2, 3))) == pytest.approx(sorted(x.sum((1, 2, 3))))
        assert any(np.array_equal(image, x[0].transpose(2, 0, 1)) for image in whole)


@pytest.mark.parametrize("kind", ["f2", "f4", ">f4", "f8", ">f8"])
def test_floats_become_float32(tmp_path: Path, kind: str) -> None:
    """Of any width and byte order."""
    x = (X[:, None] / 256).astype(kind)
    dataset, warnings = read(npz(tmp_path, x_train=x, y_train=Y, x_test=x, y_test=Y))
    assert (dataset.train.input.dtype, warnings) == (np.float32, ())
    assert np.array_equal(dataset.train.input, x.astype(np.float32))


@pytest.mark.parametrize(
    ("x", "dtype", "code"),
    [
        (X.astype(np.int64), np.uint8, "converted"),
        (X.astype(np.int16) - 5, np.float32, "converted"),
        (X > 20, np.float32, "converted"),
        (X[:, None].astype(np.float32), np.float32, "large_values"),
        (X / np.float32(256), np.float32, "read_as_images"),
    ],
)
def test_images_of_unusual_types_are_converted_with_a_warning(tmp_path: Path, x: Any, dtype: Any, code: str) -> None:
    """The warning says to what they were converted."""
    dataset, warnings = read(npz(tmp_path, x_train=x, y_train=Y, x_test=x, y_test=Y))
    assert dataset.train.input.dtype == dtype
    assert {warning.code for warning in warnings} == {code}


def test_several_inputs_keep_order_and_axes(tmp_path: Path) -> None:
    """In both sets; an array that would pass for images is taken as it is."""
    tokens, images = np.arange(30, dtype=np.int32).reshape(10, 3), X[..., None]
    sets = {f"inputs_{name}.{key}": x for name in ("train", "test") for key, x in {"z": tokens, "a": images}.items()}
    dataset, warnings = read(npz(tmp_path, **sets, y_train=Y, y_test=Y))
    assert dataset.input_shapes == {"z": (3,), "a": (6, 5, 1)}
    assert [values.dtype.name for values in dataset.test.inputs.values()] == ["int64", "uint8"]
    assert {warning.code for warning in warnings} == {"converted"}


def test_targets_may_be_values_labels_of_steps_or_missing(tmp_path: Path) -> None:
    """With one input of two dimensions, such as tokens or spectra."""
    tokens = np.arange(50).reshape(10, 5)
    regression, _ = read(npz(tmp_path, x=tokens / 7, y=np.linspace(0, 1, 20).reshape(10, 2)))
    assert (regression.train.targets.dtype, regression.train.targets.shape) == (np.float32, (8, 2))
    assert (regression.train.input.dtype, regression.has_labels) == (np.float32, False)
    steps, _ = read(npz(tmp_path, x=tokens, y=np.arange(50).reshape(10, 5) % 4))
    assert (steps.train.labels.shape, steps.classes, steps.train.input.dtype) == ((8, 5), 4, np.int64)
    bare, warnings = read(npz(tmp_path, x=tokens))
    assert (bare.train.targets, len(bare.test), [w.code for w in warnings]) == (None, 2, ["split_made"])
    both, _ = read(npz(tmp_path, x_train=tokens, x_test=tokens[:3]))
    assert (len(both.train), len(both.test), both.test.targets) == (10, 3, None)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "shape", "targets"),
    [("efficientnet_lite0", (3, 224, 224), None), ("ocr_english_g2", (1, 64, 256), (18,))],
)
def test_the_inputs_of_real_programs_are_read(name: str, shape: Any, targets: Any) -> None:
    """Photographs without labels, and lines of text with the classes of their characters."""
    path = real_file(f"programs/{name}_inputs.npz")
    dataset, _ = read(path)
    assert dataset.input_shape == shape
    assert (None if dataset.test.targets is None else dataset.test.targets.shape[1:]) == targets


def test_labels_in_one_column_and_other_arrays(tmp_path: Path) -> None:
    """Shape (N, 1) is accepted; warnings name unused arrays and classes without images."""
    path = npz(tmp_path, x_train=X, y_train=Y[:, None] * 2, x_test=X, y_test=Y[:, None], names=np.ones(3))
    dataset, warnings = read(path)
    assert (dataset.train.labels.shape, dataset.classes) == ((10,), 5)
    assert [warning.code for warning in warnings] == ["ignored_arrays", "absent_classes"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"x_train": None}, "missing_arrays"),
        ({"y_test": None}, "missing_arrays"),
        ({"inputs_train.a": X}, "missing_arrays"),
        ({"y_train": Y[:-1]}, "length_mismatch"),
        ({"x_test": X[:, :5]}, "bad_shape"),
        ({"x_test": X / 256}, "bad_shape"),
        ({"x_train": X[:, 0]}, "bad_shape"),
        ({"x_train": X[:0], "y_train": Y[:0]}, "bad_shape"),
        ({"x_train": X[:, :0]}, "bad_shape"),
        ({"x_train": np.uint8(3)}, "bad_shape"),
        ({"x_train": X.astype(complex)}, "bad_shape"),
        ({"x_train": X.astype(str)}, "bad_shape"),
        ({"y_train": Y.astype(float)}, "bad_labels"),
        ({"y_train": np.stack([Y, Y], 1)}, "bad_labels"),
        ({"y_train": Y - 1}, "bad_labels"),
        ({"y_train": np.full(10, 2**63, np.uint64)}, "bad_labels"),
        ({"y_train": np.eye(10, dtype=int)}, "bad_labels"),
        ({"y_train": np.int64(3)}, "bad_labels"),
        ({"x_train": np.where(X == 7, np.nan, X)}, "not_finite"),
        ({"x_train": X * 1e300}, "not_finite"),
        ({"x_train": np.array([{}] * 10, dtype=object)}, "unsafe_archive"),
    ],
    ids=str,
)
def test_faults_have_their_codes(tmp_path: Path, change: dict[str, Any], code: str) -> None:
    """Each fault has one code and a message that names the array."""
    arrays = {"x_train": X, "y_train": Y, "x_test": X, "y_test": Y} | change
    error = refusal(npz(tmp_path, **{name: array for name, array in arrays.items() if array is not None}))
    assert error.code == code
    assert error.detail


def test_one_image_cannot_be_split(tmp_path: Path) -> None:
    """Training and test set need one each."""
    assert refusal(npz(tmp_path, x=X[:1], y=Y[:1])).code == "bad_shape"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b"hello", "corrupt"),
        (b"PK\x03\x04 cut", "truncated"),
        (b"PK\x05\x06" + b"\0" * 18, "missing_arrays"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, code: str) -> None:
    """Files that are not an archive, or only a part of one."""
    (tmp_path / "x").write_bytes(data)
    assert refusal(tmp_path / "x").code == code


def test_a_cut_file_is_truncated(tmp_path: Path) -> None:
    """Its directory is at the end."""
    path = npz(tmp_path, x=X, y=Y)
    path.write_bytes(path.read_bytes()[:-30])
    assert refusal(path).code == "truncated"


@pytest.mark.parametrize("name", ["../x.npy", "/etc/x.npy", "a/x.npy", "a\\x.npy"])
def test_paths_in_the_archive_are_refused(tmp_path: Path, name: str) -> None:
    """An npz file has none."""
    path = npz(tmp_path, x=X, y=Y)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"")
    assert refusal(path).code == "unsafe_archive"


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    """NumPy would return the last."""
    path = npz(tmp_path, x=X, y=Y)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("x.npy", b"")
    assert refusal(path).code == "unsafe_archive"


def test_a_zip_bomb_is_refused_before_memory_is_allocated(tmp_path: Path) -> None:
    """For compressed zeros, and for too many elements."""
    path = npz(tmp_path, x=np.zeros((10, 1000, 1000), np.uint8), y=Y)
    assert refusal(path, limits=Limits(free_bytes=0)).code == "too_large"
    assert refusal(path, limits=Limits(elements=9_000_000)).code == "too_large"


def outcome(path: Path) -> str:
    """The code of the refusal, or ``read``."""
    try:
        read(path)
    except DatasetError as error:
        return error.code
    return "read"


@fuzzed(300)
@given(data=st.data())
def test_damaged_files_raise_no_other_error(tmp_path: Path, data: st.DataObject) -> None:
    """Files with changed bytes and without their end raise a DatasetError or are read."""
    np.savez(tmp_path / "data.npz", x=X[:3], y=Y[:3])
    raw = bytearray((tmp_path / "data.npz").read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "bad.npz").write_bytes(raw[: data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))])
    assert outcome(tmp_path / "bad.npz") in CODES
