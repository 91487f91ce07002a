"""The steps of the demo."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.console.follow import follow, results_table
from app.console.output import emit_line
from app.console.progress import ProgressBar
from app.demo import recipe
from app.demo.decoding import decode
from app.demo.processes import network_messages, running_service
from app.up.errors import StartError
from cnet.bundle import open_bundle
from cnet.client import Client

_TOLERANCE = 1e-6  # percent; both numbers are fractions of the same images


@dataclass(frozen=True)
class Demo:
    """One run of the demo.

    Attributes:
        folder: where it writes ``baseline.pth``, ``model.npz`` (the bundle), ``decoded.npz``, and ``service/`` (the
            data folder of the service).
        quiet: print nothing.

    """

    folder: Path
    quiet: bool

    def run(self) -> dict[str, Any]:
        """Run all steps.

        Returns:
            The results of the job, the accuracies measured here, and the time in seconds.

        Raises:
            StartError: a step failed, or the result is not good enough (``not_good_enough``).
            CnetError: from the client, or from the reader of the bundle.

        """
        started = time.monotonic()
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        with running_service(self.folder / "service", self.folder / "logs" / "service.log") as url:
            self._print(f"service: {url} while the demo runs")
            baseline = self._train()
            with Client(url) as client:
                job, digest = self._compress(client)
                results = client.results(job["id"])
            verified = self._verify(results, baseline)
        self._show(results, digest, time.monotonic() - started)
        _check(results)
        return {
            **results,
            "job": job["id"],
            "bundle": str(self.folder / "model.npz"),
            "sha256": digest,
            "local_accuracy": {"baseline": baseline, "selected": verified},
            "seconds": round(time.monotonic() - started, 1),
        }

    def _train(self) -> float:
        """Train the baseline; returns its accuracy in percent."""
        with ProgressBar("training the baseline", quiet=self.quiet) as bar:
            return self._run_network("train", self.folder / "baseline.pth", bar)

    def _compress(self, client: Client) -> tuple[dict[str, Any], str]:
        """Upload, submit, follow, download; returns the job and the sha256 of the bundle."""
        checkpoint = client.upload_checkpoint(self.folder / "baseline.pth")
        self._print(
            f"uploaded baseline.pth: {checkpoint['parameters']:,} parameters, {checkpoint['size_bytes']:,} bytes"
        )
        queued = client.submit(recipe.job(checkpoint["id"]))
        self._print(f"job {queued['id']}")
        job = follow(client, queued["id"], quiet=self.quiet)
        if job["status"] != "succeeded":
            error = job["error"] or {"code": job["status"], "detail": "Read its log."}
            raise StartError(
                f"demo: the job ended as {job['status']}: {error['detail']} Run `cnet demo` again.", code=error["code"]
            )
        return job, client.download(job["id"], self.folder / "model.npz")

    def _verify(self, results: dict[str, Any], baseline: float) -> float:
        """Decode with NumPy alone, evaluate here, and compare with the service; returns the accuracy in percent."""
        open_bundle(self.folder / "model.npz").verify()
        decoded = decode(self.folder)
        with ProgressBar("evaluating the decoded network", quiet=self.quiet) as bar:
            accuracy = self._run_network("evaluate", decoded, bar)
        said = results["points"][results["selected"]]["accuracy"]
        for name, here, there in (("baseline", baseline, results["baseline"]["accuracy"]), ("bundle", accuracy, said)):
            if abs(here - there) > _TOLERANCE:
                raise StartError(
                    f"the {name} has an accuracy of {here:.2f} % here, but {there:.2f} % on the service. Report this.",
                    code="demo_failed",
                )
        return accuracy

    def _run_network(self, action: str, file: Path, bar: ProgressBar) -> float:
        accuracy = float("nan")
        for message in network_messages((action, str(file)), self.folder / "logs" / f"{action}.log"):
            if "progress" in message:
                bar.progress(message["progress"])
            if "metric" in message:
                bar.metric(message["metric"])
            accuracy = message.get("accuracy", accuracy)
        return accuracy

    def _show(self, results: dict[str, Any], digest: str, seconds: float) -> None:
        if self.quiet:
            return
        emit_line("")
        emit_line(results_table(results, recipe.job("")))
        emit_line("")
        emit_line(f"{self.folder / 'model.npz'}: measured again after decoding with NumPy, with the same accuracy")
        emit_line(f"sha256 {digest}")
        emit_line(f"the service has ended; `cnet up --data {self.folder / 'service'}` starts it again, with this job")
        emit_line(f"done in {seconds:.0f} s")

    def _print(self, text: str) -> None:
        if not self.quiet:
            emit_line(text)


def demo(folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Run the demo in ``folder``; see ``Demo.run``."""
    return Demo(folder.absolute(), quiet).run()


def _check(results: dict[str, Any]) -> None:
    """Raise StartError where the selected point does not reach what the recipe asks for."""
    point, before = results["points"][results["selected"]], results["baseline"]["accuracy"]
    lost = before - point["accuracy"]
    if point["ratio"] < recipe.LEAST_RATIO or lost > recipe.MOST_ACCURACY_LOST:
        raise StartError(
            f"the selected point is {point['ratio']:.1f} times smaller and loses {lost:.2f} points of accuracy, not"
            f" {recipe.LEAST_RATIO:g} times or more and {recipe.MOST_ACCURACY_LOST:g} points or less. Report this.",
            code="not_good_enough",
        )
