"""Folders of images in a zip or tar archive: PNG, JPEG and WebP.

``train/CLASS/FILE`` and ``test/CLASS/FILE``, or ``CLASS/FILE``, of which a fifth becomes the test set. ``validation``
(also ``val`` or ``valid``) is a validation set beside a test set, and the test set where there is no other. Without
folders of classes the images have no labels. Folders around all of these do not matter, nor do folders within a class.
Classes are numbered in the order of their names as text, as torchvision does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from cnet.data.dataset import Dataset, Split
from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetContents, DatasetFormat
from cnet.data.images import ImageKind, common_kind, read_image
from cnet.data.splitting import join_splits, split_off_test
from cnet.data.target_arrays import MAX_CLASSES
from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.parsing.archive import Archive
from cnet.formats.parsing.quoting import quoted, quoted_list

_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_HIDDEN = ("__MACOSX", "Thumbs.db", "desktop.ini")
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


@DATASET_FORMATS.register("image_folder")
class ImageFolder(DatasetFormat):
    """Images in folders that are named after their classes."""

    summary: ClassVar[str] = "Zip or tar of train/CLASS/FILE and test/CLASS/FILE, or CLASS/FILE; PNG, JPEG, WebP."
    source: ClassVar[str] = "https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.ImageFolder.html"

    name: Literal["image_folder"] = "image_folder"

    def recognizes(self, file: DatasetFile) -> bool:
        """Whether an archive has a file with the suffix of an image."""
        return file.archive is not None and any(_is_image(name) for name in file.archive.names)

    def read(self, file: DatasetFile) -> DatasetContents:
        """The images and labels.

        Raises:
            DatasetError: ``bad_shape`` where the images have several sizes, ``corrupt`` where one cannot be read,
                ``missing_arrays`` where there is no training set, ``too_large``, ``unsafe_archive``.
            CheckpointError: the archive is damaged.
        """
        if file.archive is None:
            raise DatasetError("the file is no archive. Pack the folders in a zip or tar archive.", code="corrupt")
        notices: list[Notice] = []
        images = _labelled_files(_image_names(file.archive, notices))
        kind = common_kind(file.archive, [image.name for image in images], notices)
        nbytes = len(images) * kind.nbytes
        file.check_claim(nbytes, nbytes)
        classes = sorted({image.class_name for image in images if image.class_name is not None})
        if len(classes) > MAX_CLASSES:
            raise DatasetError(
                f"the archive has {len(classes)} classes, and at most {MAX_CLASSES} are accepted. Join some folders.",
                code="bad_labels",
            )
        _note_order(classes, notices)
        splits = {
            split: _split(file.archive, [image for image in images if image.split == split], kind, classes)
            for split in sorted({image.split for image in images})
        }
        return DatasetContents(_dataset(splits, notices), tuple(notices), None, tuple(classes) or None)


@dataclass(frozen=True)
class _ImageFile:
    """An image of the archive. ``split`` is train, validation, test, or empty where the folders do not tell."""

    name: str
    split: str
    class_name: str | None


def _image_names(archive: Archive, notices: list[Notice]) -> list[str]:
    """Names of all images, sorted. Raises DatasetError (``unsafe_archive``) for an archive in the archive."""
    visible = [name for name in archive.names if not _is_hidden(name)]
    nested = [name for name in visible if name.lower().endswith(_ARCHIVES)]
    if nested:
        raise DatasetError(
            f"the archive has archives in it: {quoted_list(nested, 3)}. Pack the images themselves.",
            code="unsafe_archive",
        )
    ignored = [name for name in visible if not _is_image(name)]
    if ignored:
        notices.append(Notice("ignored_files", f"files that are no images were left out: {quoted_list(ignored)}"))
    return sorted(name for name in visible if _is_image(name))


def _is_hidden(name: str) -> bool:
    return any(part in _HIDDEN or part.startswith(".") for part in name.split("/"))


def _is_image(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not _is_hidden(name)


def _labelled_files(names: Sequence[str]) -> list[_ImageFile]:
    """What the folders say of each image. Raises DatasetError where they contradict each other."""
    folders = [tuple(name.split("/")[:-1]) for name in names]
    around = _common_folders(folders)
    inner = [folder[around:] for folder in folders]
    are_splits = all(folder and folder[0].lower() in _SPLITS for folder in inner)
    if not are_splits and around and folders[0][around - 1].lower() in _SPLITS:
        are_splits, inner = True, [folder[around - 1 :] for folder in folders]
    splits = [_SPLITS[folder[0].lower()] if are_splits else "" for folder in inner]
    classes = [folder[int(are_splits) :][:1] for folder in inner]
    labelled = sum(map(bool, classes))
    if labelled not in (0, len(names)):
        bare = next(name for name, found in zip(names, classes, strict=True) if not found)
        raise DatasetError(
            f"{labelled} of {len(names)} images are in the folder of a class, and {quoted(bare)} is not. "
            "Move every image into one, or none.",
            code="bad_labels",
        )
    rows = zip(names, splits, classes, strict=True)
    return [_ImageFile(name, split, found[0] if found else None) for name, split, found in rows]


def _common_folders(folders: Sequence[tuple[str, ...]]) -> int:
    """Number of folders that are around all images."""
    shortest, longest = min(folders), max(folders)
    pairs = zip(shortest, longest, strict=False)
    return next((depth for depth, (one, other) in enumerate(pairs) if one != other), min(len(shortest), len(longest)))


def _note_order(classes: list[str], notices: list[Notice]) -> None:
    """Tell where numbered folders do not have the labels of their numbers."""
    if all(name.isascii() and name.isdigit() for name in classes) and classes != sorted(classes, key=int):
        detail = f"the folders are numbered, and ordered as text: {quoted_list(classes, 4)} are the labels 0, 1, 2, ..."
        notices.append(Notice("class_order", detail))


def _split(archive: Archive, images: list[_ImageFile], kind: ImageKind, classes: list[str]) -> Split:
    """The images of one split and their labels."""
    pixels = np.empty((len(images), *kind.shape), np.uint8)
    for row, image in zip(pixels, images, strict=True):
        row[...] = read_image(archive, image.name, kind)
    if not classes:
        return Split.of(pixels)
    numbers = {name: number for number, name in enumerate(classes)}
    return Split.of(pixels, np.array([numbers[image.class_name or ""] for image in images], np.int64))


def _dataset(splits: dict[str, Split], notices: list[Notice]) -> Dataset:
    if "" in splits:
        return split_off_test(splits[""], notices)
    if "train" not in splits:
        raise DatasetError(
            f"the archive has the folders {quoted_list(splits)} and no folder train. Add it.", code="missing_arrays"
        )
    if "test" in splits:
        return join_splits(splits["train"], splits["test"], splits.get("validation"))
    if "validation" in splits:
        notices.append(Notice("validation_is_test", "there is no folder test; the validation images are the test set"))
        return join_splits(splits["train"], splits["validation"])
    return split_off_test(splits["train"], notices)
