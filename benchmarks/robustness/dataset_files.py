"""Good and hostile data sets of every format, to be damaged."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.robustness.packing import RunsACommand, gzipped, tarred, zipped

_RANDOM = np.random.default_rng(2)
_IMAGES = _RANDOM.integers(0, 256, (20, 3, 6, 6), dtype=np.uint8)
_LABELS = (np.arange(20) % 4).astype(np.uint8)
_IMAGE_FORMS = ("PNG", "JPEG", "WEBP")


def npz(folder: Path) -> list[bytes]:
    """Images with labels, split or not; several inputs; tokens; an array of objects."""
    del folder
    files = []
    for arrays in (
        {"x": _IMAGES, "y": _LABELS},
        {"x_train": _IMAGES, "y_train": _LABELS, "x_test": _IMAGES[:5], "y_test": _LABELS[:5]},
        {"inputs.tokens": np.arange(60).reshape(20, 3), "inputs.gain": np.ones((20, 2), np.float32), "y": _LABELS},
        {"x": _IMAGES, "y": np.ones((20, 2), np.float64)},
        {"x": np.array([RunsACommand(), 1], dtype=object), "y": _LABELS[:2]},
    ):
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type] # names are any
        files.append(stream.getvalue())
    return files


def csv(folder: Path) -> list[bytes]:
    """Rows of numbers with the label at the end, with and without a heading, and compressed."""
    del folder
    table = np.concatenate([_IMAGES.reshape(len(_IMAGES), -1)[:, :16], _LABELS[:, None]], axis=1)
    plain = "".join(",".join(map(str, row)) + "\n" for row in table.tolist()).encode()
    heading = ",".join([*(f"pixel{number}" for number in range(16)), "label"]).encode() + b"\r\n"
    return [plain, heading + plain, gzipped(plain)]


def idx(folder: Path) -> list[bytes]:
    """The four files of MNIST in each kind of archive, each of them compressed or not."""
    del folder
    files = {
        "train-images-idx3-ubyte": _idx(_IMAGES[:, 0]),
        "train-labels-idx1-ubyte": _idx(_LABELS),
        "t10k-images-idx3-ubyte": _idx(_IMAGES[:5, 0]),
        "t10k-labels-idx1-ubyte": _idx(_LABELS[:5]),
    }
    packed = {f"{name}.gz": gzipped(content) for name, content in files.items()}
    return [zipped(files), zipped(packed), tarred(files), gzipped(tarred(packed))]


def cifar_binary(folder: Path) -> list[bytes]:
    """CIFAR-10 and CIFAR-100 in their binary versions."""
    del folder
    images = _RANDOM.integers(0, 256, (6, 3072), dtype=np.uint8)
    ten, hundred = (np.concatenate([np.ones((6, labels), np.uint8), images], axis=1).tobytes() for labels in (1, 2))
    cifar_10 = {
        "cifar-10-batches-bin/batches.meta.txt": b"airplane\nautomobile\n",
        "cifar-10-batches-bin/data_batch_1.bin": ten,
        "cifar-10-batches-bin/test_batch.bin": ten,
    }
    cifar_100 = {
        "cifar-100-binary/fine_label_names.txt": b"apple\nbear\n",
        "cifar-100-binary/train.bin": hundred,
        "cifar-100-binary/test.bin": hundred,
    }
    return [gzipped(tarred(cifar_10)), zipped(cifar_10), tarred(cifar_100)]


def image_folder(folder: Path) -> list[bytes]:
    """Images of each format in folders of classes, with and without splits, and an image that claims to be huge."""
    del folder
    pictures = {form: [_picture(image, form) for image in _IMAGES[:6]] for form in _IMAGE_FORMS}
    split, plain = {}, {}
    for number, content in enumerate(content for row in pictures.values() for content in row):
        split[f"{('train', 'train', 'test')[number % 3]}/{'ab'[number % 2]}/{number}.png"] = content
        plain[f"data/{'ab'[number % 2]}/{number}.jpg"] = content
    bomb = {**plain, "data/a/bomb.png": _claiming_to_be_huge(pictures["PNG"][0])}
    return [zipped(split), tarred(plain), gzipped(tarred(split)), zipped(bomb)]


def _picture(image: npt.NDArray[np.uint8], form: str) -> bytes:
    """An image, shape (channels, height, width), as a file."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0))).save(stream, form)
    return stream.getvalue()


def _claiming_to_be_huge(png: bytes) -> bytes:
    """A PNG file whose header states 60,000 by 60,000 pixels."""
    import zlib

    header = b"IHDR" + struct.pack(">II", 60_000, 60_000) + png[24:29]
    return png[:12] + header + struct.pack(">I", zlib.crc32(header)) + png[33:]


def _idx(values: npt.NDArray[np.uint8]) -> bytes:
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
