"""Tables of numbers as text: one sample a row, one of the columns its target, gzip or not.

The column of the targets is the one that the header calls label, class, target or y; where the header has none of
them, the samples have no targets. Without a header it is the last or the first column, by its values: the whole numbers
from 0 to a largest one, none left out. A column called target or y whose values are others holds the values of a
regression.

Rows of 8x8, 9x9, ... whole numbers from 0 to 255 are read as grey images; other rows as float32 vectors.
"""

from __future__ import annotations

import io
import re
from math import isqrt
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.data.dataset import Split
from cnet.data.dataset_file import DatasetFile
from cnet.data.dataset_format import DATASET_FORMATS, DatasetContents, DatasetFormat
from cnet.data.input_arrays import Array, NamedArray, finite_float32
from cnet.data.splitting import split_off_test
from cnet.data.target_arrays import read_targets
from cnet.errors import DatasetError
from cnet.formats import Notice
from cnet.formats.parsing.quoting import quoted

_HEAD = 2**16  # bytes that are looked at; the first line must end within
_DELIMITERS = b",;\t"
_LABEL_NAMES = ("label", "labels", "class")
_TARGET_NAMES = (*_LABEL_NAMES, "target", "y")
_SMALLEST_SIDE = 8  # of an image, in pixels
_NUMBER_BYTES = 8
_TEXT = re.compile(rb"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*")
_POSITION = re.compile(r"at row (\d+)(?:, column (\d+))?")

Table = npt.NDArray[np.float64]


@DATASET_FORMATS.register("csv")
class CsvDataset(DatasetFormat):
    """A table of numbers as text, with one column of targets."""

    summary: ClassVar[str] = "Comma-separated values: a sample a row, with a column of labels; gzip or not."
    source: ClassVar[str] = "RFC 4180"

    name: Literal["csv"] = "csv"

    def recognizes(self, file: DatasetFile) -> bool:
        """Whether a file is text whose first line has several fields."""
        head = file.head(_HEAD)
        line = head.partition(b"\n")[0]
        return (
            file.archive is None
            and _TEXT.fullmatch(head) is not None
            and not head.lstrip().startswith((b"<", b"{", b"["))
            and any(delimiter in line for delimiter in _DELIMITERS)
        )

    def read(self, file: DatasetFile) -> DatasetContents:
        """The samples, of which a fifth becomes the test set.

        Raises:
            DatasetError: ``corrupt``, ``bad_labels``, ``bad_shape``, ``not_finite``, ``too_large``.
        """
        notices: list[Notice] = []
        first = file.head(_HEAD).removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
        delimiter = max((first.count(one), one) for one in (b",", b";", b"\t"))[1]
        header = _header(first, delimiter)
        table = _table(file, first.count(delimiter) + 1, delimiter, skip=header is not None)
        if not np.isfinite(table).all():
            raise DatasetError("table: it has values that are NaN or infinite. Replace them.", code="not_finite")
        column = _label_column(table) if header is None else _named_column(header)
        targets = None
        if column is not None:
            named = header is not None and header[column].lower() in _LABEL_NAMES
            targets = _targets(table[:, column], notices, named=named)
            notices.append(Notice("target_column", _column_detail(column, table.shape[1], header)))
            table = np.delete(table, column, axis=1)
        if table.shape[1] == 0:
            raise DatasetError("table: it has no column but the targets. Add the inputs.", code="bad_shape")
        return DatasetContents(split_off_test(Split.of(_inputs(table, notices), targets), notices), tuple(notices))


def _header(line: bytes, delimiter: bytes) -> list[str] | None:
    """The names of the columns; None where the first line has numbers."""
    names = [field.strip().strip('"') for field in line.decode("utf-8", "replace").split(delimiter.decode())]
    try:
        for name in filter(None, names):
            float(name)
    except ValueError:
        return names
    return None


def _table(file: DatasetFile, columns: int, delimiter: bytes, *, skip: bool) -> Table:
    """All numbers, shape (rows, columns). Raises DatasetError (``corrupt``, ``too_large``)."""
    content = file.mapped[:].removeprefix(b"\xef\xbb\xbf")
    numbers = (content.count(b"\n") + 1) * columns
    file.check_claim(numbers, numbers * _NUMBER_BYTES)
    if skip and not content.partition(b"\n")[2].strip():
        raise DatasetError("table: it has no row. Add samples.", code="bad_shape")
    try:
        table = np.loadtxt(
            io.TextIOWrapper(io.BytesIO(content), "utf-8"),
            np.float64,
            comments=None,
            delimiter=delimiter.decode(),
            skiprows=int(skip),
            ndmin=2,
            quotechar='"',
        )
    except (ValueError, OverflowError) as error:
        found = _POSITION.search(str(error))
        place = f"row {int(found[1]) + 1}, not counting a header," if found else "one of its rows"
        place += f" column {found[2]}" if found and found[2] else ""
        formats = ", ".join(DATASET_FORMATS.names())
        raise DatasetError(
            f"table: the file was read as text with {columns} columns, of which {place} is no number, or the row has "
            f"not as many. Correct it; if the file is no table, give one of: {formats}.",
            code="corrupt",
        ) from error
    if table.shape[1] != columns:
        raise DatasetError(
            f"table: its rows have {table.shape[1]} columns, and its header has {columns}. Correct it.", code="corrupt"
        )
    return table


def _named_column(header: list[str]) -> int | None:
    names = [name.lower() for name in header]
    found = [names.index(name) for name in _TARGET_NAMES if name in names]
    return found[0] if found else None


def _label_column(table: Table) -> int:
    """The column of a table without header that holds labels. Raises DatasetError (``bad_labels``)."""
    for column in (table.shape[1] - 1, 0):
        if _are_labels(table[:, column]):
            return column
    raise DatasetError(
        "table: neither its last nor its first column has the labels 0, 1, 2, ..., each of them in some row. "
        'Add a header that names the column of the targets "label".',
        code="bad_labels",
    )


def _column_detail(column: int, columns: int, header: list[str] | None) -> str:
    if header is not None:
        return f"the column {quoted(header[column])} was read as the targets"
    return f"the {'first' if column == 0 else 'last'} of {columns} columns was read as the labels"


def _are_labels(values: npt.NDArray[np.float64]) -> bool:
    """Whether values, shape (n,), are whole numbers from 0, at least two of them, none left out."""
    classes = np.unique(values)
    return len(classes) > 1 and np.array_equal(classes, np.arange(len(classes)))


def _targets(values: npt.NDArray[np.float64], notices: list[Notice], *, named: bool) -> Array:
    """Labels, or the values of a regression, shape (n,). Where a column is ``named`` so, whole numbers are labels."""
    whole = bool((values == np.rint(values)).all()) and bool((np.abs(values) < 2**53).all())
    are_labels = _are_labels(values) or (named and whole)
    return read_targets(NamedArray("of the targets", values.astype(np.int64) if are_labels else values), notices)


def _inputs(table: Table, notices: list[Notice]) -> npt.NDArray[Any]:
    """The samples as grey images, uint8, shape (n, 1, side, side), or as vectors, float32, shape (n, columns)."""
    rows, columns = table.shape
    side = isqrt(columns)
    if side < _SMALLEST_SIDE or side * side != columns or table.min() < 0 or table.max() > 255:
        return finite_float32(NamedArray("of the inputs", table))
    images = table.astype(np.uint8)
    if not np.array_equal(images, table):
        return finite_float32(NamedArray("of the inputs", table))
    detail = f"rows of {columns} whole numbers from 0 to 255 were read as grey images of {side}x{side} pixels"
    notices.append(Notice("read_as_images", detail))
    return images.reshape(rows, 1, side, side)
