"""Image files of untrusted origin, decoded by Pillow: PNG, JPEG and WebP, uint8, channels first.

The header of each image is read first: all images must have one size, and what they take is known before the first is
decoded. Grey images have one channel where all of them are grey, otherwise three. Transparency is dropped.
"""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.parsing.archive import Archive
from cnet.formats.parsing.quoting import quoted

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 2**25
"""The most pixels of one image."""

_FORMATS = ("PNG", "JPEG", "WEBP")
_GREY = ("1", "L", "LA", "I;16", "I;16B", "I;16L", "I")
_DEEP = ("I;16", "I;16B", "I;16L", "I")
_TRANSPARENT = ("LA", "PA", "RGBA", "La", "RGBa")
_DECODING_ERRORS = (
    *(OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError),
    *(AttributeError, struct.error, zlib.error, Warning),
    NotImplementedError,  # raised by Pillow for a compression that it lacks
)
"""What Pillow raises for damaged images."""


@dataclass(frozen=True)
class ImageKind:
    """What all images of a data set have in common: height and width in pixels, and 1 or 3 channels."""

    channels: int
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.channels, self.height, self.width

    @property
    def nbytes(self) -> int:
        """Bytes of one decoded image."""
        return self.channels * self.height * self.width


def common_kind(archive: Archive, names: Sequence[str], notices: list[Notice]) -> ImageKind:
    """Size and channels of images, by their headers.

    Args:
        archive: contains the images.
        names: names of at least one image.
        notices: gets what decoding will change.

    Raises:
        DatasetError: ``bad_shape`` where they have several sizes, ``too_large`` where an image has more than 2^25
            pixels, ``corrupt`` where a header cannot be read; ``unavailable`` where Pillow is not installed.
    """
    sizes: dict[tuple[int, int], str] = {}
    modes: dict[str, str] = {}
    for name in names:
        with _opened(archive, name) as image:
            sizes.setdefault(image.size, name)
            modes.setdefault(image.mode, name)
        if len(sizes) > 1:
            examples = " and ".join(f"{w}x{h} ({quoted(example)})" for (w, h), example in sizes.items())
            raise DatasetError(
                f"the images have different sizes, such as {examples}. Resize all of them to one size.",
                code="bad_shape",
            )
    width, height = next(iter(sizes))
    transparent = [mode for mode in modes if mode in _TRANSPARENT]
    if transparent:
        detail = f"transparency was dropped, such as that of {quoted(modes[transparent[0]])}"
        notices.append(Notice("transparency_dropped", detail))
    deep = [mode for mode in modes if mode in _DEEP]
    if deep:
        detail = f"pixels of 16 bits were divided by 256, such as those of {quoted(modes[deep[0]])}"
        notices.append(Notice("converted", detail))
    return ImageKind(1 if set(modes) <= set(_GREY) else 3, height, width)


def read_image(archive: Archive, name: str, kind: ImageKind) -> npt.NDArray[np.uint8]:
    """The pixels of an image, uint8, of the shape of ``kind``. Raises DatasetError (``corrupt``)."""
    with _opened(archive, name) as image:
        if image.size != (kind.width, kind.height):
            raise ValueError(f"the image has another size now: {image.size}. Read its header again.")
        if image.mode in _DEEP:
            grey = (np.asarray(image).astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8)
            return np.broadcast_to(grey, kind.shape)
        pixels = np.asarray(image.convert("L" if kind.channels == 1 else "RGB"), np.uint8)
        return pixels.reshape(kind.height, kind.width, kind.channels).transpose(2, 0, 1)


@contextmanager
def _opened(archive: Archive, name: str) -> Iterator[Image.Image]:
    """An image whose header was read; what Pillow raises inside the block becomes a DatasetError."""
    try:
        from PIL import Image
    except ImportError as error:
        raise DatasetError(
            "images: reading them needs Pillow, which is not installed. Run pip install pillow.", code="unavailable"
        ) from error
    content = io.BytesIO(archive.read(name).tobytes())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(content, formats=_FORMATS) as image:
                _check_pixels(name, image.size)
                yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(name) from error
    except _DECODING_ERRORS as error:
        raise DatasetError(
            f"image {quoted(name)}: it cannot be read as PNG, JPEG or WebP. Replace it.", code="corrupt"
        ) from error


def _check_pixels(name: str, size: tuple[int, int]) -> None:
    if size[0] * size[1] > MAX_PIXELS:
        raise _too_large(name)


def _too_large(name: str) -> DatasetError:
    return DatasetError(
        f"image {quoted(name)}: it has more than {MAX_PIXELS} pixels. Resize the images.", code="too_large"
    )
