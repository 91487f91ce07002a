"""nncodec (MPEG NNC) as a rival: networks trained by CNET, quantized and encoded by nncodec."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.paper import machine
from benchmarks.paper.jobs import Job
from benchmarks.paper.results import Results
from benchmarks.paper.work import StudySetup
from cnet.bundle import open_bundle
from cnet.models import ARCHITECTURES
from cnet.spec import JobSpec
from cnet.training.config import Training
from cnet.weights import Weights

LABEL = "nncodec on CNET"
QPS = (-28, -26, -24, -22, -20, -16, -12)
_TRAINED = ("/cut/CNET ", "/cut/OBD, CNET, ")


def jobs(made: Sequence[Job]) -> list[Job]:
    """One job for each network that is measured. These jobs are not run by the pipeline."""
    spec = {"nncodec": peers.NNCODEC, "qp": list(QPS), "prune": {}}
    nets = [job for job in made if any(part in job.name for part in _TRAINED)]
    return [replace(net, name=_name(net), label=LABEL, group="rivals", start=net.name, spec=spec) for net in nets]


def _name(net: Job) -> str:
    return f"{net.name.replace('/cut/', '/code/', 1)}/nncodec"


def measure(todo: Sequence[Job], setup: StudySetup, results: Results, environment: Path) -> None:
    """Encode, decode and evaluate every network that exists and is not measured yet.

    Prints a message where nncodec cannot be installed.

    Args:
        todo: the result of ``jobs``.
        setup: setup of the study.
        results: gets a point for each qp.
        environment: folder of the virtual environment of nncodec, which is created where it is missing.
    """
    python = peers.nncodec_python(environment)
    if python is None:
        return
    bench = _Bench(setup, python)
    for job in todo:
        if job.start and job.name not in results.done and setup.bundle(job.start).exists():
            began = time.perf_counter()
            for point in bench.points(job.start):
                results.append({"type": "point", **job.about(), "point": point, "machine": bench.machine})
            done = {"type": "done", **job.about(), "spec": job.spec, "machine": bench.machine}
            results.append({**done, "seconds": time.perf_counter() - began})
            print(f"measured {job.name}", flush=True)


@dataclass(frozen=True)
class _Bench:
    """Measures networks.

    Attributes:
        setup: setup of the study, with the images to evaluate on.
        python: an interpreter with nncodec.
    """

    setup: StudySetup
    python: Path

    @property
    def machine(self) -> str:
        """Name of the machine, for results."""
        return machine.name("cpu")

    def points(self, net: str) -> Iterator[dict[str, Any]]:
        """One point for each qp, as JSON with the members that tables read."""
        from cnet.training.networks.architectures import ArchitectureBuilder
        from cnet.training.trainer import Trainer

        net_spec = {"architecture": {"name": self.setup.architecture}, "dataset": self.setup.dataset}
        spec = JobSpec.parse({**net_spec, "preprocess": self.setup.source.preprocess})
        architecture = ARCHITECTURES.create(self.setup.architecture)
        dataset = self.setup.source.dataset
        network = ArchitectureBuilder.for_dataset(architecture, dataset)
        trainer = Trainer(network, dataset, Training(device="cpu"), spec.preprocess)
        weights = open_bundle(self.setup.bundle(net)).weights()
        for index, (qp, size, decoded) in enumerate(_coded(self.python, weights)):
            accuracy = trainer.evaluate(decoded).accuracy
            sizes = {"mask": 0, "labels": size, "centroids": 0, "total": size}
            yield {
                "index": index,
                "qp": qp,
                "sparsity_requested": 0.0,
                "clusters_requested": None,
                "label_entropy": None,
                "accuracy": accuracy,
                "accuracy_before_quantize": accuracy,
                "bytes": sizes,
            }


def _coded(python: Path, weights: Weights) -> Iterator[tuple[int, int, Weights]]:
    """For each qp: its value, the bytes (without integer tensors, in favour of nncodec), and the decoded network."""
    tensors = {tensor.name: tensor.data.astype(np.float32) for tensor in weights if tensor.data.dtype.kind == "f"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for qp, size, *_ in peers.nncodec(python, tensors, list(QPS), folder):
            with np.load(folder / f"decoded{int(qp)}.npz") as file:
                arrays = {key: file[key].reshape(tensors[key].shape) for key in file.files}
            yield int(qp), int(size), weights.with_arrays(arrays)
