"""The binary versions of CIFAR-10 and CIFAR-100 are read as they are published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.data.dataset_reader import read_dataset_file
from tests.unit.cnet.data.formats.archives import KINDS, Kind, packed, refusal

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32), np.uint8)
NAMES = b"airplane\nautomobile\nbird\n\n"


def rows(count: int, *labels: int) -> bytes:
    """Rows of some images with these labels each."""
    head = np.tile(np.array(labels, np.uint8), (count, 1))
    return np.concatenate([head, IMAGES[:count].reshape(count, -1)], axis=1).tobytes()


TEN = {
    "cifar-10-batches-bin/batches.meta.txt": NAMES,
    **{f"cifar-10-batches-bin/data_batch_{number}.bin": rows(2, number - 1) for number in range(1, 4)},
    "cifar-10-batches-bin/readme.html": b"<html>",
    "cifar-10-batches-bin/test_batch.bin": rows(6, 1),
}
HUNDRED = {
    "cifar-100-binary/coarse_label_names.txt": b"a\n",
    "cifar-100-binary/fine_label_names.txt": NAMES,
    "cifar-100-binary/train.bin": rows(6, 9, 2),
    "cifar-100-binary/test.bin": rows(3, 9, 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_cifar_10_is_read(tmp_path: Path, kind: Kind) -> None:
    """The batches in order, with the names of the classes."""
    uploaded = read_dataset_file(packed(tmp_path, TEN, kind))

    assert (uploaded.format, uploaded.warnings, uploaded.layout) == ("cifar_binary", (), "channels_first")
    assert uploaded.class_names == ("airplane", "automobile", "bird")
    assert uploaded.dataset.train.labels.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(uploaded.dataset.train.input, IMAGES[[0, 1, 0, 1, 0, 1]])
    np.testing.assert_array_equal(uploaded.dataset.test.input, IMAGES)


def test_cifar_100_is_read_with_its_fine_labels(tmp_path: Path) -> None:
    """The fine label is the second of the two bytes before an image."""
    uploaded = read_dataset_file(packed(tmp_path, HUNDRED, "tar.gz"))

    assert (uploaded.dataset.train.labels.tolist(), uploaded.dataset.test.labels.tolist()) == ([2] * 6, [1] * 3)
    np.testing.assert_array_equal(uploaded.dataset.test.input, IMAGES[:3])


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ({"c/data_batch_1": b"\x80\x02", "c/test_batch": b"", "c/batches.meta": b""}, "unsafe_archive", "pickled"),
        ({"c/train.bin": HUNDRED["cifar-100-binary/train.bin"]}, "missing_arrays", "both"),
        ({**TEN, "cifar-10-batches-bin/test_batch.bin": rows(1, 0)[:-1]}, "truncated", "3073"),
        ({**TEN, "cifar-10-batches-bin/test_batch.bin": b""}, "truncated", "0 bytes"),
    ],
    ids=["python", "no test", "cut", "empty"],
)
def test_faults_have_their_codes(tmp_path: Path, files: dict[str, Any], code: str, says: str) -> None:
    """The Python version, missing and cut files."""
    error = refusal(packed(tmp_path, files, "tar"))

    assert (error.code, says in error.detail) == (code, True), error.detail
