"""The images of the study are read as their formats say."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper import data


def _idx(path: Path, values: np.ndarray) -> None:
    head = bytes([0, 0, 8, values.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in values.shape)
    path.write_bytes(gzip.compress(head + values.tobytes()))


def test_fashion_mnist_is_read_from_idx_files(tmp_path: Path) -> None:
    """Images get one channel, labels are whole numbers, the split is that of the files."""
    images = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
    for part, count in (("train", 3), ("t10k", 2)):
        _idx(tmp_path / f"{part}-images-idx3-ubyte.gz", images[:count])
        _idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8))
    dataset = data.load("fashion-mnist", tmp_path).dataset
    assert np.array_equal(dataset.train.input, images[:, None])
    assert np.array_equal(dataset.test.input, images[:2, None])
    assert dataset.train.labels.tolist() == [0, 1, 2]
    assert dataset.test.labels.tolist() == [0, 1]


def test_a_file_of_another_type_is_refused(tmp_path: Path) -> None:
    """An idx file of floats is none of unsigned bytes."""
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x0d\x01\0\0\0\0"))
    with pytest.raises(ValueError, match="not an idx file of unsigned bytes"):
        data.load("fashion-mnist", tmp_path)


def _cifar(folder: Path) -> np.ndarray:
    rows = np.random.default_rng(0).integers(0, 10, (6, 2, 3073), dtype=np.uint8)
    for number in range(5):
        (folder / f"data_batch_{number + 1}.bin").write_bytes(rows[number].tobytes())
    (folder / "test_batch.bin").write_bytes(rows[5].tobytes())
    return rows


def test_cifar_10_is_read_from_a_folder_and_from_its_archive(tmp_path: Path) -> None:
    """A row is the label and three planes; both ways give the same."""
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    rows = _cifar(folder)
    archive = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    for setup in (folder, archive, tmp_path):
        source = data.load("cifar-10", setup)
        assert source.dataset.train.input.shape == (10, 3, 32, 32)
        assert np.array_equal(source.dataset.train.input[2], rows[1, 0, 1:].reshape(3, 32, 32))
        assert np.array_equal(source.dataset.test.labels, rows[5, :, 0])
        assert source.preprocess is not None
        assert source.preprocess["mean"] == pytest.approx((rows[:5, :, 1:].reshape(10, 3, -1) / 255).mean((0, 2)))
        assert source.augment == {"shift": 4, "flip": True}


def test_mnist_5k_is_shuffled_before_it_is_split(tmp_path: Path) -> None:
    """The label is the last column; a file sorted by class gives all classes to both parts."""
    labels = np.repeat(np.arange(5), 20)
    table = np.column_stack([np.full((100, 784), 7), labels])
    with gzip.open(tmp_path / "mnist_5k.csv.gz", "wt") as file:
        np.savetxt(file, table, delimiter=",", fmt="%d")
    dataset = data.load("mnist-5k", tmp_path).dataset
    assert dataset.train.input.shape == (80, 1, 28, 28)
    assert set(dataset.train.labels) == set(dataset.test.labels) == set(range(5))
    assert np.array_equal(np.bincount(dataset.train.labels) + np.bincount(dataset.test.labels), np.full(5, 20))
    assert (dataset.test.input == 7).all()
