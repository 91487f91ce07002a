"""The data sets of the study, read from files of this machine."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.data import DATASETS, Dataset

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # where the package dataset-fashion-mnist puts its files

_ROW = 1 + 3 * 32 * 32  # of CIFAR-10's binary version: the label, then three planes of 32 x 32


@dataclass(frozen=True, eq=False)
class Source:
    """A data set with the settings that belong to it.

    Attributes:
        dataset: the images.
        preprocess: JSON form of ``Preprocess``, or None.
        augment: JSON form of ``Augment``.
    """

    dataset: Dataset
    preprocess: dict[str, Any] | None = None
    augment: dict[str, Any] = field(default_factory=dict)


def load(name: str, folder: Path | None) -> Source:
    """The data set ``name``, one of ``NAMES``.

    Args:
        name: name of the data set.
        folder: the folder of its files: idx.gz files (fashion-mnist), mnist_5k.csv.gz (mnist-5k), the .bin files or
            cifar-10-binary.tar.gz (cifar-10). None: the usual folder.
    """
    return _LOADERS[name](folder)


def _digits(folder: Path | None) -> Source:
    del folder
    return Source(DATASETS.create("digits").load())


def _fashion_mnist(folder: Path | None) -> Source:
    folder_path = folder or DEBIAN
    x_train, x_test = (_idx(folder_path / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k"))
    y_train, y_test = (_idx(folder_path / f"{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k"))
    return Source(
        Dataset.of_arrays(x_train[:, None], y_train.astype(np.int64), x_test[:, None], y_test.astype(np.int64)),
    )


def _idx(path: Path) -> npt.NDArray[np.uint8]:
    """An array of LeCun's idx format, of unsigned bytes: 0, 0, 8, dimensions, each length as 4 bytes, the values."""
    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an idx file of unsigned bytes")
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], ">u4").astype(int)
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _mnist_5k(folder: Path | None) -> Source:
    path = (folder or SHARED) / "mnist_5k.csv.gz"
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    table = table[np.random.default_rng(0).permutation(len(table))]  # the file is sorted by class
    images, labels = table[:, :-1].reshape(-1, 1, 28, 28), table[:, -1].astype(np.int64)
    held = len(table) // 5
    return Source(Dataset.of_arrays(images[held:], labels[held:], images[:held], labels[:held]))


def _cifar_10(folder: Path | None) -> Source:
    folder_path = folder or SHARED
    files = dict(_binaries(folder_path))
    train = np.concatenate([files[f"data_batch_{number}.bin"] for number in range(1, 6)])
    test = files["test_batch.bin"]
    dataset = Dataset.of_arrays(*_images(train), *_images(test))
    scaled = dataset.train.input.astype(np.float64) / 255
    preprocess = {"mean": scaled.mean((0, 2, 3)).tolist(), "std": scaled.std((0, 2, 3)).tolist()}
    return Source(dataset, preprocess, {"shift": 4, "flip": True})


def _binaries(folder_path: Path) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    """Name and rows of each .bin file of a folder, or of the archive in which they are published."""
    archive = folder_path if folder_path.is_file() else folder_path / "cifar-10-binary.tar.gz"
    if archive.is_file():
        with tarfile.open(archive) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.name.endswith(".bin") else None
                if content is not None:
                    yield Path(member.name).name, _rows(content.read())
        return
    for path in sorted(folder_path.rglob("*.bin")):
        yield path.name, _rows(path.read_bytes())


def _rows(content: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8).reshape(-1, _ROW)


def _images(rows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64)


_LOADERS: dict[str, Callable[[Path | None], Source]] = {
    "digits": _digits,
    "fashion-mnist": _fashion_mnist,
    "mnist-5k": _mnist_5k,
    "cifar-10": _cifar_10,
}

NAMES = tuple(_LOADERS)
"""The data sets that ``load`` knows."""
