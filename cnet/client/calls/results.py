"""Calls for the results of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cnet.client.calls.base import Calls, path_of
from cnet.client.http.call import Call
from cnet.client.http.download import OnBytes, download_file
from cnet.client.results import Metrics, Results

_DOWNLOAD_SECONDS = 300.0  # a model may have to be decoded before its first byte


class ResultCalls(Calls):
    """Calls for what a job has produced: its points, plot, bundles and models. Jobs of other owners are not found."""

    async def results(self, job_id: str) -> Results:
        """The points of a job so far."""
        return Results(await self._get(f"{path_of('jobs', job_id)}/results"))

    async def metrics(self, job_id: str) -> Metrics:
        """The points of a job so far, with the metrics of each layer."""
        return Metrics(await self._get(f"{path_of('jobs', job_id)}/metrics"))

    async def metrics_csv(self, job_id: str) -> str:
        """The points of a job so far as CSV, one row each."""
        call = Call("GET", f"{path_of('jobs', job_id)}/metrics", headers={"Accept": "text/csv"})
        return (await self._transport.send(call)).text

    async def plot(self, job_id: str) -> str:
        """The plot of a job, size against accuracy, as SVG text."""
        return (await self._transport.send(Call("GET", f"{path_of('jobs', job_id)}/plot.svg"))).text

    async def compare_plot(self, job_ids: Sequence[str]) -> str:
        """The points of up to 20 jobs on one plot, size against accuracy, as SVG text."""
        return (await self._transport.send(Call("GET", "/v1/compare/plot.svg", params={"job": list(job_ids)}))).text

    async def compare_csv(self, job_ids: Sequence[str]) -> str:
        """The points of up to 20 jobs as one CSV, with the columns ``job`` and ``name`` before the metrics."""
        return (await self._transport.send(Call("GET", "/v1/compare/points.csv", params={"job": list(job_ids)}))).text

    async def download(
        self, job_id: str, path: str | Path, *, point: int | None = None, on_progress: OnBytes | None = None
    ) -> str:
        """Write the bundle of a point to a file, completely or not at all.

        Args:
            job_id: the job.
            path: where to write.
            point: index of the point; None: the selected one.
            on_progress: called with the bytes that have arrived and all bytes.

        Returns:
            the SHA-256 of the file in hex, equal to the one that the server sent.

        Raises:
            ClientError: (``digest_mismatch``) the content arrived changed.
            OSError: the file cannot be written.
        """
        params = {} if point is None else {"point": str(point)}
        call = Call("GET", f"{path_of('jobs', job_id)}/bundle", params=params, timeout=_DOWNLOAD_SECONDS)
        return await download_file(self._transport, call, Path(path), on_progress)

    async def download_model(
        self,
        job_id: str,
        path: str | Path,
        *,
        format: str = "safetensors",  # noqa: A002 - the name in the HTTP contract
        point: int | None = None,
        on_progress: OnBytes | None = None,
    ) -> str:
        """Write the decoded model of a point to a file, completely or not at all. Arguments and errors as ``download``.

        ``format`` is one that the API offers: ``safetensors``, ``torch`` (or ``pt``), ``npz``, ``onnx`` (the tensors
        without a graph) or ``onnx-packed`` (the same as codes of a few bits, with nodes that decode them). ``unpack``
        of a bundle with ``--like`` writes either ONNX file with the graph of the network.
        """
        params = {"format": format, **({} if point is None else {"point": str(point)})}
        call = Call("GET", f"{path_of('jobs', job_id)}/model", params=params, timeout=_DOWNLOAD_SECONDS)
        return await download_file(self._transport, call, Path(path), on_progress)
