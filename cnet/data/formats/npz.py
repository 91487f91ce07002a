"""Npz files of arrays whose first axis counts the samples.

``x_train, y_train, x_test, y_test``, or ``x, y``, of which a fifth becomes the test set. Several inputs are
``inputs_train.NAME`` and ``inputs_test.NAME``, or ``inputs.NAME``, in the order of the file. The targets may be
missing. ``x_validation, y_validation`` or ``x_val, y_val`` are samples for validation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cnet.data.dataset import DEFAULT_INPUT, Array, Dataset, Split
from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetContents, DatasetFormat, Layout
from cnet.data.input_arrays import NamedArray, are_images, check_input_array, read_images, read_plain_input
from cnet.data.splitting import checked_split, join_splits, split_off_test
from cnet.data.target_arrays import check_target_array, read_targets
from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.npz import has_only_arrays
from cnet.formats.parsing.npy_arrays import NpyArray, read_npy_header
from cnet.formats.parsing.quoting import quoted_list
from cnet.formats.parsing.zip_archive import ZipArchive

_HOW = (
    "Name the arrays x_train, y_train, x_test and y_test, or x and y; x_validation and y_validation may be added; "
    "several inputs are inputs.NAME; y is optional."
)
_VALIDATION = ("_validation", "_val")


@DATASET_FORMATS.register("npz")
class NpzDataset(DatasetFormat):
    """NumPy's archive of arrays: inputs, and targets where there are any."""

    summary: ClassVar[str] = "NumPy's npz with x_train, y_train, x_test, y_test, or x and y; x_validation; inputs.NAME."
    source: ClassVar[str] = "https://numpy.org/doc/stable/reference/generated/numpy.savez.html"

    name: Literal["npz"] = "npz"

    def recognizes(self, file: DatasetFile) -> bool:
        """Whether a file is a zip archive of arrays and nothing else."""
        return isinstance(file.archive, ZipArchive) and has_only_arrays(file.archive)

    def read(self, file: DatasetFile) -> DatasetContents:
        """The samples.

        Raises:
            DatasetError: ``missing_arrays``, ``length_mismatch``, ``bad_shape``, ``bad_labels``, ``not_finite``,
                ``too_large``, ``unsafe_archive``.
            CheckpointError: the archive is damaged.
        """
        if not isinstance(file.archive, ZipArchive):
            raise DatasetError("the file is not an npz archive. Save the arrays with numpy.savez.", code="corrupt")
        names = _array_names(file.archive)
        splits = _splits(names)
        arrays = {name: read_npy_header(file.archive, f"{name}.npy") for one in splits.values() for name in one.arrays}
        file.check_claim(sum(one.elements for one in arrays.values()), sum(one.nbytes for one in arrays.values()))
        ignored = [name for name in names if name not in arrays]
        detail = f"arrays that are not part of the data set were left out: {quoted_list(ignored)}"
        notices = [Notice("ignored_arrays", detail)] if ignored else []
        for split in splits.values():
            _check_headers(split, arrays)
        loaded = {name: _load(split, arrays, notices) for name, split in splits.items()}
        samples = {name: split for name, (split, _) in loaded.items()}
        return DatasetContents(_joined(samples, notices), tuple(notices), loaded["train"][1])


@dataclass(frozen=True)
class _SplitArrays:
    """Names of the arrays of one split: of each input, and of the targets where there are any."""

    inputs: dict[str, str]
    targets: str | None

    @property
    def arrays(self) -> tuple[str, ...]:
        return (*self.inputs.values(), *(() if self.targets is None else (self.targets,)))


def _array_names(archive: ZipArchive) -> list[str]:
    paths = [name for name in archive.names if "/" in name]
    if paths:
        raise DatasetError(
            f"the archive holds paths ({quoted_list(paths)}) and not only arrays. Save the arrays with numpy.savez.",
            code="unsafe_archive",
        )
    return [name.removesuffix(".npy") for name in archive.names]


def _joined(samples: dict[str, Split], notices: list[Notice]) -> Dataset:
    """The data set of the splits of a file, of which a fifth of the samples becomes the test set where it has none."""
    if "test" in samples:
        return join_splits(samples["train"], samples["test"], samples.get("validation"))
    made = split_off_test(samples["train"], notices)
    return join_splits(made.train, made.test, samples.get("validation"))


def _splits(names: list[str]) -> dict[str, _SplitArrays]:
    """The names of the arrays of each split; of one set of samples as those of the training split."""
    train, test, one = (_split(names, suffix) for suffix in ("_train", "_test", ""))
    validation = _validation(names)
    if train.inputs and test.inputs:
        if (train.targets is None) != (test.targets is None):
            raise _missing(names, "only one of the two sets has targets")
        return {"train": train, "test": test, **validation}
    if one.inputs:
        return {"train": one, **validation}
    if train.inputs and validation:
        return {"train": train, **validation}
    missing = "there is no training set" if test.inputs else "there is no test set"
    raise _missing(
        names, missing if train.inputs or test.inputs else "none of them holds inputs" if names else "it needs inputs"
    )


def _validation(names: list[str]) -> dict[str, _SplitArrays]:
    """The names of the arrays of the validation split, where there is one."""
    found = [split for suffix in _VALIDATION if (split := _split(names, suffix)).inputs]
    if len(found) > 1:
        raise _missing(names, "the samples for validation are there under two names")
    return dict(zip(("validation",), found, strict=False))


def _split(names: list[str], suffix: str) -> _SplitArrays:
    prefix = f"inputs{suffix}."
    inputs = {name.removeprefix(prefix): name for name in names if name.startswith(prefix) and name != prefix}
    if f"x{suffix}" in names:
        if inputs:
            raise _missing(names, f"there are both x{suffix} and {prefix}NAME")
        inputs = {DEFAULT_INPUT: f"x{suffix}"}
    return _SplitArrays(inputs, f"y{suffix}" if f"y{suffix}" in names else None)


def _listed(names: list[str]) -> str:
    return f"the arrays {quoted_list(names)}" if names else "no arrays"


def _missing(names: list[str], fault: str) -> DatasetError:
    return DatasetError(
        f"data set: the archive has {_listed(names)}, and {fault}. {_HOW}",
        code="missing_arrays",
    )


def _check_headers(split: _SplitArrays, arrays: dict[str, NpyArray]) -> None:
    for name in split.inputs.values():
        check_input_array(name, arrays[name].dtype, arrays[name].shape)
    if split.targets is not None:
        check_target_array(split.targets, arrays[split.targets].dtype, arrays[split.targets].shape)


def _load(split: _SplitArrays, arrays: dict[str, NpyArray], notices: list[Notice]) -> tuple[Split, Layout | None]:
    inputs: dict[str, Array] = {}
    layout: Layout | None = None
    for name, array_name in split.inputs.items():
        array = NamedArray(array_name, arrays[array_name].load())
        if "." not in array_name and are_images(array.values.shape):
            inputs[name], layout = read_images(array, notices)
        else:
            inputs[name] = read_plain_input(array, notices)
    targets = None
    if split.targets is not None:
        targets = read_targets(NamedArray(split.targets, arrays[split.targets].load()), notices)
    return checked_split(Split(inputs, targets), " and ".join(split.arrays)), layout
