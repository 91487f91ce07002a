"""The digits of scikit-learn: 1,797 scans of handwritten digits."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import DATASETS, BuiltinDataset, Dataset
from cnet.errors import DatasetError

_TEST_SHARE = 0.2
_SEED = 0


@DATASETS.register("digits")
class Digits(BuiltinDataset):
    """1,797 grey images of 8x8 pixels in ten classes, uint8: 1,438 for training and 359 for testing.

    The pixels of the source, 0 to 16, become round(pixel * 255 / 16). A fifth of each class, drawn with a fixed seed,
    is for testing.
    """

    summary: ClassVar[str] = "1,797 scans of handwritten digits, 8x8, ten classes; comes with scikit-learn."
    source: ClassVar[str] = "Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998"
    input_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    classes: ClassVar[int] = 10
    samples: ClassVar[Mapping[str, int]] = {"train": 1438, "test": 359}

    name: Literal["digits"] = "digits"

    def load(self) -> Dataset:
        """The images and labels.

        Raises:
            DatasetError: (``unavailable``) scikit-learn is not installed.

        """
        with gzip.open(_file(), "rt") as lines:
            table = np.loadtxt(lines, delimiter=",")
        pixels, labels = table[:, :-1], table[:, -1]
        x = np.rint(pixels * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
        y = labels.astype(np.int64)
        test = _test_rows(y)
        return Dataset.of_arrays(x[~test], y[~test], x[test], y[test])


def _file() -> Path:
    """Scikit-learn's file, with 64 pixels and the digit on each line. Importing the package would take a second."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise DatasetError(
            "data set 'digits': it is a part of scikit-learn, which is not installed. Run pip install 'cnet[train]'.",
            code="unavailable",
        )
    return Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"


def _test_rows(y: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """A mask of shape (n,) that is True for a fifth of the rows of each class, drawn with a fixed seed."""
    random = np.random.default_rng(_SEED)
    test = np.zeros(len(y), np.bool_)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        test[random.permutation(rows)[: round(_TEST_SHARE * len(rows))]] = True
    return test
