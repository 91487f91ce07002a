"""The results of a job, as objects and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cnet.client.documents import Document
from cnet.client.errors import ClientError

if TYPE_CHECKING:
    import pandas as pd

    from cnet.results.points import BaselineResult, Point


class Results(Document):
    """The points of a job so far; docs/metrics.md says what their numbers are.

    ``results["points"]`` and the other members are the JSON of the API; the properties are typed objects.
    """

    selected: int | None

    @property
    def baseline(self) -> BaselineResult | None:
        """The network before compression; None until it was measured."""
        from cnet.results.points import BaselineResult

        found = self["baseline"]
        return None if found is None else BaselineResult.from_json(found)

    @property
    def points(self) -> list[Point]:
        """All points, in the order in which they were made."""
        from cnet.results.points import Point

        return [Point.from_json(each) for each in self["points"]]

    @property
    def selected_point(self) -> Point | None:
        """The point that meets the target best; None until the job has succeeded."""
        chosen = self.selected
        return next((point for point in self.points if point.index == chosen), None) if chosen is not None else None

    def to_pandas(self) -> pd.DataFrame:
        """A row for each point, with the columns of the CSV (``cnet.results.report.csv_columns``).

        Raises:
            ClientError: (``not_installed``) pandas is not installed.
        """
        from cnet.results.report import table_rows

        return table_of(table_rows(self.points, self.selected))


class Metrics(Results):
    """The results of a job with the metrics of each layer."""

    def layers_to_pandas(self) -> pd.DataFrame:
        """A row for each compressible tensor of each point: the index of the point, and the metrics of the tensor.

        Raises:
            ClientError: (``not_installed``) pandas is not installed.
        """
        return table_of([{"point": point.index, **layer.to_json()} for point in self.points for layer in point.layers])


def table_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A table with these rows. Raises ClientError (``not_installed``) where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ClientError(
            "table: it needs the package pandas, which is not installed. Run pip install pandas.", code="not_installed"
        ) from error
    return pd.DataFrame(rows)
