"""Tables of numbers as text: which column has the targets, and what the others are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from cnet.data.dataset_reader import UploadedDataset, read_dataset_file
from cnet.formats import Limits
from tests.real_files import real_file
from tests.unit.cnet.data.formats.archives import refusal


def written(folder: Path, text: str) -> Path:
    """A file of this text."""
    (folder / "data.csv").write_text(text, newline="")
    return folder / "data.csv"


def codes(uploaded: UploadedDataset) -> list[str]:
    """The codes of its warnings."""
    return [warning.code for warning in uploaded.warnings]


ROWS = "0.5,1,-3,0\n1e-3,2,4,1\n7,8,9,2\n1,1,1,1\n0,0,0,0\n"


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (ROWS, [1e-3, 2, 4]),
        (ROWS.replace("\n", "\r\n"), [1e-3, 2, 4]),
        (ROWS.replace(",", ";").rstrip(), [1e-3, 2, 4]),
        (ROWS.replace(",", "\t"), [1e-3, 2, 4]),
        ("\ufeffa,b,c,label\n" + ROWS, [1e-3, 2, 4]),
        ('"a","b","c","Class"\n' + ROWS, [1e-3, 2, 4]),
        ("\n".join(",".join(reversed(row.split(","))) for row in ROWS.split()), [4, 2, 1e-3]),
    ],
    ids=["last", "crlf", "semicolons", "tabs", "header", "quoted", "first"],
)
def test_a_column_of_labels_is_found(tmp_path: Path, text: str, inputs: list[float]) -> None:
    """By its name or its values; a warning says which it is."""
    uploaded = read_dataset_file(written(tmp_path, text))
    both = uploaded.dataset.splits.values()

    assert (uploaded.format, codes(uploaded)[:2]) == ("csv", ["target_column", "split_made"])
    assert sorted(label for split in both for label in split.labels) == [0, 0, 1, 1, 2]
    assert any(np.array_equal(row, np.array(inputs, np.float32)) for split in both for row in split.input)


def test_named_target_columns_give_a_regression(tmp_path: Path) -> None:
    """A header without a name of targets means that there are none."""
    regression = read_dataset_file(written(tmp_path, "y,a\n0.5,1\n2.5,3\n"))
    bare = read_dataset_file(written(tmp_path, "a,b\n1,2\n3,4\n"))

    assert regression.dataset.train.targets is not None
    assert regression.dataset.train.targets.dtype == np.float32
    assert bare.dataset.train.targets is None
    assert bare.dataset.input_shapes == {"x": (2,)}


def test_a_column_named_as_labels_may_lack_classes(tmp_path: Path) -> None:
    """The header already says that the column holds labels."""
    uploaded = read_dataset_file(written(tmp_path, "label,a\n3,1\n5,3\n"))

    assert uploaded.dataset.classes in (4, 6)


def test_rows_of_square_images_become_images(tmp_path: Path) -> None:
    """Images of 8x8 pixels and more; a warning says so."""
    pixels = np.arange(640).reshape(10, 64) % 256
    text = "\n".join(",".join(map(str, [*row, number % 2])) for number, row in enumerate(pixels))
    uploaded = read_dataset_file(written(tmp_path, text))
    deeper = read_dataset_file(written(tmp_path, text.replace("255", "256")))

    assert uploaded.dataset.input_shape == (1, 8, 8)
    assert uploaded.dataset.train.input.dtype == np.uint8
    assert "read_as_images" in codes(uploaded)
    assert deeper.dataset.input_shapes == {"x": (64,)}


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("1,2,0\n3,x,1\n", "corrupt", "row 2,"),
        ("1,2,0\n3,1\n", "corrupt", "row"),
        ("# My notes, in text\n\nHello.\n", "corrupt", "if the file is no table, give one of: cifar_binary, csv, "),
        ("1,,0\n3,4,1\n", "corrupt", "row 1, not counting a header, column 2 "),
        ("1,nan,0\n2,3,1\n", "not_finite", "NaN"),
        ("7,0.5\n9,1.5\n", "bad_labels", "Add a header"),
        ("label,a\n-1,1\n-2,3\n", "bad_labels", "from 0"),
        ("label,\n1\n", "corrupt", "row"),
        ("a,label\n1,0\n", "bad_shape", "one sample"),
        ("a,label\n", "bad_shape", "no"),
    ],
)
def test_a_refusal_has_a_code_and_says_what_is_wrong(tmp_path: Path, text: str, code: str, says: str) -> None:
    """The message names the row and the column where there are such."""
    error = refusal(written(tmp_path, text))

    assert (error.code, says in error.detail) == (code, True), error.detail


def test_short_rows_that_need_too_much_memory_are_refused(tmp_path: Path) -> None:
    """The memory of the numbers is computed before they are read."""
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"1,0\n" * 1000))

    assert refusal(path, Limits(free_bytes=15_000, expansion=0)).code == "too_large"
    assert refusal(path, Limits(elements=1999)).code == "too_large"


@pytest.mark.real
def test_real_digits_are_read() -> None:
    """5,000 images of MNIST, sorted by class, without a header."""
    uploaded = read_dataset_file(real_file("data/mnist_5k.csv.gz"))
    dataset = uploaded.dataset

    assert (dataset.input_shape, dataset.classes, len(dataset.test)) == ((1, 28, 28), 10, 1000)
    assert np.bincount(np.concatenate([dataset.train.labels, dataset.test.labels])).tolist() == [500] * 10
    assert codes(uploaded) == ["target_column", "read_as_images", "split_made"]
