"""ONNX models with packed weights: ``python -m benchmarks.packed [--files FOLDER] [--write]``.

Each network is compressed, and its bundle unpacked twice into the same graph: with float weights, and packed. Both run
in ONNX Runtime on one thread.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import torch

from benchmarks.programs import digit_network
from cnet import Bundle, export_program, open_bundle
from cnet.bundle.packed_onnx import PackedReport, write_packed_onnx
from cnet.bundle.unpack import unpack
from cnet.models.programs import read_program
from cnet.pipeline.local.compress_file import compress_file
from cnet.spec import JobSpec
from cnet.training.programs.onnx_graph import write_onnx_graph

ROOT = Path(__file__).resolve().parents[1]
_COLUMNS = [
    *("network", "job", "bits", "bundle", "float ONNX", "packed ONNX", "smaller", "over the best"),
    *("difference", "load, ms", "load packed, ms", "run, ms", "run packed, ms"),
]
_JOBS: dict[str, dict[str, Any]] = {
    "default (`auto`)": {},
    "90 % pruned, 15 clusters": {
        "prune": {"name": "magnitude", "sparsity": 0.9},
        "quantize": {"name": "kmeans", "clusters": 15},
    },
    "255 clusters": {"quantize": {"name": "kmeans", "clusters": 255}},
}
_REPEATS = 7
_BITS = (4, 8, 12, 16, 32)


@dataclass(frozen=True)
class Network:
    """A network to compress.

    Attributes:
        name: shown in the table.
        program: its exported program.
        checkpoint: the weights; None: those of the program.
        samples: what it is run on, shape (n, ...).
    """

    name: str
    program: Path
    checkpoint: Path | None
    samples: npt.NDArray[np.float32]


def main() -> None:
    """Measure all jobs on all networks and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--write", action="store_true", help="write docs/results/packed.md")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for network in _networks(options.files, folder):
            graph = folder / "graph.onnx"
            write_onnx_graph(read_program(network.program), graph)
            for name, job in _JOBS.items():
                rows.append(_row(network, graph, name, job))
                print(" | ".join(rows[-1]), flush=True)
    if options.write:
        _write(rows)


def _networks(files: Path, folder: Path) -> list[Network]:
    digits = folder / "digits.pt2"
    export_program(digit_network(), torch.zeros(2, 1, 28, 28), digits)
    pixels = np.loadtxt(files / "data" / "mnist_5k.csv.gz", delimiter=",", max_rows=64)[:, :-1]
    images = (pixels.reshape(-1, 1, 28, 28) / 255).astype(np.float32)
    found = [Network("digits", digits, files / "checkpoints" / "handwriting_model.pth", images)]
    for name, program in (("ocr", "ocr_english_g2"), ("efficientnet", "efficientnet_lite0")):
        inputs = np.load(files / "programs" / f"{program}_inputs.npz")["x"][:4]
        scaled = inputs.astype(np.float32) / 255 if inputs.dtype == np.uint8 else inputs.astype(np.float32)
        found.append(Network(name, files / "programs" / f"{program}.pt2", None, scaled))
    return found


def _row(network: Network, graph: Path, name: str, job: dict[str, Any]) -> list[str]:
    folder = graph.parent
    bundle, plain, packed = folder / "bundle.npz", folder / "float.onnx", folder / "packed.onnx"
    spec = JobSpec.parse({"architecture": {"program": str(network.program)}, "checkpoint": None, **job})
    compress_file(network.checkpoint, spec, bundle)
    opened = open_bundle(bundle)
    unpack(opened, plain, "onnx", graph)
    report = write_packed_onnx(opened, packed, graph)
    best, bits = _best_packing(opened, report)
    one, other = _measured(plain, network.samples), _measured(packed, network.samples)
    sizes = [path.stat().st_size for path in (bundle, plain, packed)]
    return [
        network.name,
        name,
        bits,
        *(f"{size:,}" for size in sizes),
        f"{sizes[1] / sizes[2]:.2f}",
        f"{sizes[2] / best:.3f}",
        f"{_difference(one.outputs, other.outputs):.1e}",
        *(f"{1000 * seconds:.0f}" for seconds in (one.load, other.load)),
        *(f"{1000 * seconds:.1f}" for seconds in (one.run, other.run)),
    ]


def _best_packing(bundle: Bundle, report: PackedReport) -> tuple[int, str]:
    """Bytes of labels, codebooks and other tensors of the graph, nothing else; and the bits of a label on average."""
    labels = total = 0
    for name in report.packed:
        values = bundle[name]
        distinct = len(np.unique(values))
        bits = next(bits for bits in _BITS if distinct <= 2**bits)
        labels += bits * values.size
        total += min(math.ceil(bits * values.size / 8) + distinct * values.itemsize, values.nbytes)
    other = sum(bundle[name].nbytes for name in report.other)
    return total + other, f"{labels / report.packed_elements:.1f}"


@dataclass(frozen=True)
class Measured:
    """A model in ONNX Runtime.

    Attributes:
        outputs: all of them.
        load, run: seconds, each the shortest of several.
    """

    outputs: list[npt.NDArray[Any]]
    load: float
    run: float


def _measured(path: Path, samples: npt.NDArray[np.float32]) -> Measured:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    load, session = _shortest(lambda: onnxruntime.InferenceSession(str(path), options))
    name = session.get_inputs()[0].name
    run, outputs = _shortest(lambda: session.run(None, {name: samples}))
    return Measured(outputs, load, run)


def _shortest(call: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest processor time of several calls, in seconds, and the last result."""
    found = []
    for _ in range(_REPEATS):
        started = time.process_time()
        result = call()
        found.append(time.process_time() - started)
    return min(found), result


def _difference(ones: list[npt.NDArray[Any]], others: list[npt.NDArray[Any]]) -> float:
    """The largest difference of two outputs, relative to the largest output."""
    return max(
        float(np.max(np.abs(one - other)) / max(float(np.max(np.abs(one))), 1e-30))
        for one, other in zip(ones, others, strict=True)
    )


def _write(rows: list[list[str]]) -> None:
    """Replace the table of the page."""
    page = ROOT / "docs" / "results" / "packed.md"
    text = page.read_text()
    start, end = "<!-- the table -->\n", "<!-- the end of the table -->"
    table = ["| " + " | ".join(row) + " |" for row in (_COLUMNS, ["---"] * len(_COLUMNS), *rows)]
    before, after = text[: text.index(start) + len(start)], text[text.index(end) :]
    page.write_text(before + "\n".join(["", *table, "", ""]) + after)


if __name__ == "__main__":
    main()
