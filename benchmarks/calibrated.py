"""Compression calibrated on unlabelled inputs, against one step size, plain GPTQ and nncodec at equal divergence.

    python -m benchmarks.calibrated FILES --nncodec .nncodec

Networks are the programs of ``FILES/programs``. Inputs of the calibration and of the evaluation are disjoint:
EfficientNet-Lite0 once by whole photographs (five of 16 are evaluated on) and once by crops of the same photographs
(every third one); the OCR network by lines of text. Each way of compressing is run at some settings; bytes at a
divergence of 0.03 and 0.1 nats are read off a line through two points in logarithms. Bytes are those of mask, labels,
centroids and step sizes of the compressible tensors. Runs are kept in ``--work``: a second call makes
those that are missing, and writes ``docs/results/calibrated.md``.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import peers
from benchmarks.plain_gptq import round_with_feedback
from cnet.calibrate.calibration import Calibration, Quantizing
from cnet.calibrate.config import Calibrate
from cnet.calibrate.layer_quantizer import LayerQuantizer, short_float
from cnet.calibrate.network import OutputComparison
from cnet.calibrate.samples import Samples, in_batches
from cnet.calibrate.second_moments import FeedbackFactors
from cnet.calibrate.sensitivity import TensorFisher
from cnet.calibrate.sequence import LayerInputs, quantize_in_sequence
from cnet.coding import ENCODERS
from cnet.coding.uniform_grid import label_integers
from cnet.data import Split
from cnet.models.programs import StoredProgram, read_program
from cnet.observer import SilentObserver
from cnet.quantize import QUANTIZERS
from cnet.reconstruction import Scales, tensor_sizes
from cnet.symbols import Symbols
from cnet.tables import without_tables
from cnet.training.config import Preprocess
from cnet.training.programs.builder import ProgramBuilder
from cnet.training.tasks import TASKS
from cnet.weights import Selection, Weights

ROOT = Path(__file__).resolve().parents[1]
TARGETS = (0.03, 0.1)
PHOTOGRAPHS = (1, 5, 9, 13, 14)
"""The photographs that EfficientNet-Lite0 is evaluated on where whole photographs are kept apart."""

_HEAD = """# Compression calibrated on unlabelled inputs

Command: `python -m benchmarks.calibrated FILES --nncodec .nncodec`; `FILES` has a folder `programs` with the archives
of the networks and their inputs. Bytes of mask, labels, centroids and step sizes of the compressible tensors; every
stream is decoded before it is measured. Evaluation inputs are in no calibration. Bytes at a divergence are read off a
line through the points on both sides, in logarithms; where one side has none, off the line through the two nearest
points, marked by a star. *One step*: `ecsq` with one step for the network and a trellis, without inputs. *GPTQ*: steps
by layer from the Fisher information, error feedback with 1 % of damping, no rate, no corrections, our encoder.
*nncodec*: 2.1.3. *Calibrated*: the quantizer's defaults, with steps by row and column, and labels along a trellis in
which each path keeps its own errors. *No feedback*: with `feedback` off, so that errors cancel by the weights alone.
After the bytes of the last two: their quotients to one step, GPTQ and nncodec. Two runs that differ only in the order
of samples differ by a fifth in KL, which is 4 to 5 % of the bytes.

| network, how inputs are divided | KL | one step | GPTQ | nncodec | calibrated | no feedback |
|---|---:|---:|---:|---:|---:|---:|"""

_TRIED = """
## Memory for a transformer

`python -m benchmarks.transformer_memory --samples 16 --length 64 --rounded`: an encoder in the shape of BERT-base,
108.5 million parameters. 4,571 MiB at the peak (1,634 before the job) and 106 seconds of one core, both without the
search along the trellis, which works on two million weights at a time. With 4 of the 12 layers: 2,525 MiB and 48
seconds.

## After fine-tuning

LeNet-5 on Fashion-MNIST after the default fine-tuning (91.30 % before, on this machine), calibrated on 1,024 training
images, with biases and batch norm trained for an epoch around the labels. Whole bundles: `python -m benchmarks.paper
--dataset fashion-mnist --architecture lenet5 --sparsities 0.95 0.96 --workers 1 --results FILE --only "code/CNET
gradual, the default"`. *Trained*: `ecsq` with trained centroids, the best coder for these networks before; its smallest
file within half a point had 14,618 bytes (95 %, step 0.3, on another machine).

| sparsity | labels | bytes | accuracy | lost |
|---|---|---:|---:|---:|
| 95 % | calibrated, 0.01 nats | 15,130 | 90.87 | 0.43 |
| 95 % | calibrated, 0.015 nats | 13,801 | 90.83 | 0.47 |
| 95 % | calibrated, 0.02 nats | 12,754 | 90.76 | 0.54 |
| 96 % | trained, step 0.2 | 14,972 | 90.88 | 0.42 |
| 96 % | trained, step 0.3 | 12,617 | 90.65 | 0.65 |
| 96 % | trained, step 0.4 | 10,941 | 90.51 | 0.79 |
| 96 % | calibrated, 0.01 nats | 13,364 | 90.58 | 0.72 |
| 96 % | calibrated, 0.015 nats | 12,378 | 90.80 | 0.50 |
| 96 % | **calibrated, 0.02 nats** | 11,633 | 90.80 | 0.50 |

One seed; the accuracy of neighbouring rows differs by 0.2 points by chance. Without the epoch of biases and batch norm,
95 % and 0.01 nats gave 15,127 bytes at 90.80 %. Calibrated on 4,096 images instead, 95 % gave 13,223 bytes at 90.70 %
(0.02 nats) and 14,174 at 90.83 % (0.015). These three were measured by recipes that are not kept.

## What each part of error feedback is worth

The OCR network at an expected divergence of 0.15, calibrated on 100 lines and evaluated on 300 others, by a script that
is not kept and before steps differed by row and column. *Price* is that of a bit, relative to the slope of squared
error against bits at many bits a weight. At equal bytes, a KL that is 10 % larger is worth 2.6 % of the bytes.

| labels | bytes | KL |
|---|---:|---:|
| nearest, with feedback | 1,033,699 | 0.0369 |
| the same, inputs weighted by the squared gradient behind the layer | 1,036,047 | 0.0438 |
| the same, by its square root | 1,034,195 | 0.0361 |
| price 1/4 | 999,115 | 0.0354 |
| price 1/2 | 976,535 | 0.0411 |
| price 1/4, biases and running means not corrected | 999,439 | 0.0429 |
| price 1/4, second moments shrunk by 0.01, not by what suits the other half of the inputs | 1,013,731 | 0.0369 |
| price 1/4, shrunk by 0.02, and no layer makes up for those before | 1,013,451 | 0.0409 |
| trellis, price 0.1 | 1,072,658 | 0.0205 |
| **trellis, price 0.2** (what the quantizer does) | 1,052,242 | 0.0225 |
| trellis, price 0.4 | 1,022,374 | 0.0316 |

A full price, as there was before, needed 1,071,736 bytes at a KL of 0.0348 (an expected divergence of 0.1, evaluated on
100 lines) where none needed 1,148,564 at 0.0246: it lost more than it saved, which is why plain GPTQ was ahead.

## What steps by row and column are worth

Bits a weight that steps from one half of the calibration inputs would have saved at equal error on the other half, mean
of both directions, with the exponent and floor that are best for each axis of each tensor (`cnet.calibrate.axis_steps`
at the time of these figures had exponents up to 1):

| network, how inputs are divided | rows | columns |
|---|---:|---:|
| EfficientNet-Lite0, photographs | 0.01 | 0.25 |
| EfficientNet-Lite0, crops | 0.03 | 0.30 |
| OCR, lines | 0.48 | 0.07 |

Small transformers with random weights (a script that is not kept) lost by such steps: with exponents up to 1, other
inputs diverged four times as far at 0.17 bits less; with exponents up to 0.5, a quarter farther at 0.12 bits less.
Exponents are therefore limited to 0.5, which costs the OCR network with feedback 7 % in bytes and 29 % in KL at an
expected divergence of 0.06 (889,887 bytes at 0.0189 with exponents up to 1).

## What second moments are shrunk towards

EfficientNet-Lite0 at an expected divergence of 0.08, one way alone, by a script that is not kept; before decision 16,
moments were shrunk towards their own diagonal:

| shrinkage | photographs: bytes, KL | crops: bytes, KL |
|---|---|---|
| no feedback | 1,990,285 at 0.0621 | |
| towards the diagonal, by unlike halves | 1,973,297 at 0.1989 | |
| towards the diagonal, 0.01 | 1,973,805 at 0.1342 | 1,824,407 at 0.0211 |
| diagonal alone, no layer makes up for those before | 1,971,441 at 0.3429 | |
| **towards the identity, by alike halves** | 1,990,261 at 0.0529 | 1,845,611 at 0.0159 |

Small transformers of four layers on 400 other inputs (24 tokens of a vocabulary of 2,000, by their frequency), also by
a script that is not kept, at an expected divergence of 0.03: with random weights 161,801 bytes at a KL of 0.0317 with
feedback and 170,363 at 0.0363 without it; trained, 170,281 at 0.0139 and 169,693 at 0.0370.

## How many labels are drawn of each sample for the Fisher information

GPTQ, and crops and lines without feedback, were measured with one draw, not again with four. With one draw, before:
photographs 2,257,527 bytes at 0.0382 (0.04), crops 1,696,610 bytes at 0.0310 and 1,615,455 at 0.0354 (expected
divergences of 0.12 and 0.15); OCR 958,111 at 0.0178 and 773,407 at 0.0426 (0.06 and 0.15). With four, at 0.03, crops
need 3 % fewer bytes and OCR 6 % more, which is about the noise. The OCR network is sure of most steps of a line, so
that a rare draw has most of the information: with one draw it was underestimated by half, and its divergences are
closer to those asked for now.
"""

DAMPING = 0.01
"""Of plain GPTQ, relative to the diagonal."""


@dataclass(frozen=True)
class Point:
    """What one way gave at one setting: bytes, divergence in nats, agreement in percent, seconds, MiB at the peak."""

    setting: float
    bytes: int
    kl: float
    agreement: float
    seconds: float
    memory: int


@dataclass(frozen=True, eq=False)
class Case:
    """A network with disjoint inputs for the calibration and for the evaluation."""

    name: str
    program: StoredProgram
    calibrated: np.ndarray[Any, Any]
    evaluated: np.ndarray[Any, Any]
    preprocess: Preprocess
    settings: dict[str, tuple[float, ...]]
    work: Path

    @cached_property
    def weights(self) -> Weights:
        """Its tensors, compressible as in a job."""
        state, selection = self.program.state_dict, without_tables(Selection(), self.program.state_dict.tensors)
        selection = replace(selection, tables=selection.tables | self.program.buffers)
        return Weights.select(state.tensors, selection, state.tied, state.metadata)

    @cached_property
    def calibration(self) -> Calibration:
        """On the inputs for it."""
        return Calibration(*self._common(self.calibrated), preprocess=self.preprocess, device="cpu")

    @cached_property
    def comparison(self) -> OutputComparison:
        """On the inputs for the evaluation."""
        return OutputComparison(*self._common(self.evaluated), preprocess=self.preprocess, device="cpu")

    @cached_property
    def sensitivities(self) -> dict[str, TensorFisher]:
        """Measured once for all settings, and kept."""
        path = self.work / f"{self.name} sensitivities.json"
        if not path.exists():
            found = self.calibration.sensitivities(self.weights)
            path.write_text(json.dumps({name: fisher.to_json() for name, fisher in found.items()}))
        return {name: TensorFisher.from_json(each) for name, each in json.loads(path.read_text()).items()}

    def _common(self, inputs: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        network, task = ProgramBuilder(self.program, 0), TASKS.create("classification")
        return network, task, Split.of(inputs), Calibrate(samples=len(inputs)), SilentObserver()


def cases(folder: Path, work: Path) -> Iterator[Case]:
    """The networks and divisions of their inputs; what is measured is kept in ``work``."""
    programs = folder / "programs"
    with np.load(programs / "efficientnet_lite0_inputs.npz") as file:
        crops, photographs = file["x"], file["photo"]
    steps = {
        "one step": (0.2, 0.1),
        "GPTQ": (0.03, 0.1),
    }
    own: dict[str, dict[str, tuple[float, ...]]] = {
        "photographs": {"calibrated": (0.02, 0.04, 0.15), "no feedback": (0.02, 0.04, 0.15)},
        "crops": {"calibrated": (0.04, 0.15, 0.5), "no feedback": (0.02, 0.06)},
    }
    scaling = Preprocess(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
    program = _program(programs / "efficientnet_lite0.pt2")
    for name, apart in (
        ("photographs", np.isin(photographs, PHOTOGRAPHS)),
        ("crops", np.arange(len(crops)) % 3 == 0),
    ):
        settings = {**steps, **own[name], "nncodec": (-38, -34, -30)}
        yield Case(f"EfficientNet-Lite0, {name}", program, crops[~apart], crops[apart], scaling, settings, work)
    with np.load(programs / "ocr_english_g2_inputs.npz") as file:
        lines = file["x"]
    halves = Preprocess(mean=(0.5,), std=(0.5,))
    program = _program(programs / "ocr_english_g2.pt2")
    steps = {
        "one step": (0.4, 0.8),
        "GPTQ": (0.03, 0.1, 0.3),
        "calibrated": (0.06, 0.15, 0.5, 1.0),
        "no feedback": (0.03, 0.1),
        "nncodec": (-30, -22, -18),
    }
    yield Case("OCR, lines", program, lines[:100], lines[700:800], halves, steps, work)


def _program(path: Path) -> StoredProgram:
    archive = read_program(path)
    return StoredProgram(archive.program, archive.weights)


def one_step(case: Case, setting: float) -> tuple[Weights, Symbols]:
    """``ecsq`` with one step for the network, as good as it gets without inputs."""
    shapes, vector = [case.weights[name].shape for name in case.weights.compressible], case.weights.vector()
    quantizer = QUANTIZERS.create("ecsq", step=setting, mu=0.5)
    return case.weights, quantizer.symbols(vector, vector != 0, None, shapes)


def calibrated(case: Case, setting: float) -> tuple[Weights, Symbols]:
    """The quantizer ``calibrated`` at an expected divergence."""
    keep = case.weights.vector() != 0
    return case.calibration.quantize(case.weights, keep, Quantizing(setting, feedback=True), case.sensitivities)


def no_feedback(case: Case, setting: float) -> tuple[Weights, Symbols]:
    """The same, without labels by error feedback."""
    keep = case.weights.vector() != 0
    return case.calibration.quantize(case.weights, keep, Quantizing(setting), case.sensitivities)


def gptq(case: Case, setting: float) -> tuple[Weights, Symbols]:
    """Plain GPTQ under our encoder: steps by layer from the sensitivities, feedback, no rate and no corrections."""
    weights = case.weights
    shapes = {name: weights[name].shape for name in weights.compressible}
    everywhere = {name: torch.ones(shape, dtype=torch.bool) for name, shape in shapes.items()}
    plain = LayerQuantizer.for_divergence(setting, 0.0, case.sensitivities, shapes, everywhere)
    loaded = case.calibration.load(weights)
    names = dict(zip(map(id, loaded.compressible_tensors()), weights.compressible, strict=True))
    batches = in_batches(case.calibration.split)

    def quantize(name: str, layer: LayerInputs) -> torch.Tensor:
        matrix = layer.weight.double()
        step = short_float(math.sqrt(plain.cost / max(case.sensitivities[name].mean, 1e-12)))
        factors = FeedbackFactors.of((layer.halves[0] + layer.halves[1]).own, DAMPING)
        labels = round_with_feedback(matrix, step, factors)
        plain.labels[name] = labels.reshape(-1).numpy().astype(np.int32)
        plain.units[name] = step
        return (labels * step).to(layer.weight.dtype)

    quantize_in_sequence(loaded.module, names, Samples(batches, (False,) * len(batches)), quantize, correct=False)
    for name, tensor in zip(weights.compressible, loaded.compressible_tensors(), strict=True):
        if name not in plain.labels:
            plain.without_inputs(name, tensor.detach())
    multiples = np.concatenate([plain.labels[name] for name in weights.compressible])
    labels, used = label_integers(multiples[multiples != 0])
    factors = np.array([plain.units[name] for name in weights.compressible], np.float32)
    scales = Scales(factors, tensor_sizes(list(shapes.values())))
    return weights, Symbols(multiples != 0, labels, used.astype(np.float32), scales)


WAYS: dict[str, Callable[[Case, float], tuple[Weights, Symbols]]] = {
    "one step": one_step,
    "GPTQ": gptq,
    "calibrated": calibrated,
    "no feedback": no_feedback,
}
PEERS = ("one step", "GPTQ", "nncodec")


def measure(case: Case, way: str, setting: float) -> Point:
    """One way at one setting; what is encoded is decoded again."""
    known = {} if way == "one step" else case.sensitivities  # before the clock starts
    del known
    start = time.process_time()
    weights, symbols = WAYS[way](case, setting)
    seconds = time.process_time() - start
    shapes = [weights[name].shape for name in weights.compressible]
    encoder = ENCODERS.create("compact")
    streams, header = encoder.encode(symbols, shapes)
    decoded = encoder.decode(streams, header, shapes)
    if not np.array_equal(decoded.keep, symbols.keep) or not np.array_equal(decoded.labels, symbols.labels):
        raise RuntimeError(f"{way}: the streams do not decode to the symbols. Report this fault of cnet.")
    size = sum(map(len, streams.values())) + (0 if symbols.reconstruction is None else 2 * len(shapes))
    scores = case.comparison.scores(case.weights, weights.with_vector(symbols.vector()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Point(setting, size, scores["kl"], scores["agreement"], seconds, memory)


def nncodec(case: Case, settings: Sequence[float], python: Path) -> Iterator[Point]:
    """The rival at each qp: all compressible tensors, as float32."""
    tensors = {name: case.weights[name].values().astype(np.float32) for name in case.weights.compressible}
    with tempfile.TemporaryDirectory() as folder:
        for qp, size, _, seconds, _ in peers.nncodec(python, tensors, [int(each) for each in settings], Path(folder)):
            with np.load(Path(folder) / f"decoded{int(qp)}.npz") as file:
                arrays = {name: file[name].reshape(tensors[name].shape) for name in tensors}
            scores = case.comparison.scores(case.weights, case.weights.with_arrays(arrays))
            yield Point(qp, int(size), scores["kl"], scores["agreement"], seconds, 0)


@dataclass(frozen=True)
class Size:
    """Bytes at a divergence; ``measured`` where points on both sides of it were."""

    bytes: float
    measured: bool

    def __str__(self) -> str:
        return f"{self.bytes:,.0f}" + ("" if self.measured else " *")


def size_at(points: Sequence[Point], target: float) -> Size | None:
    """The size at a divergence, by a line in logarithms through two points; None below two points."""
    near = sorted(points, key=lambda point: abs(math.log(point.kl / target)))
    below, above = ([point for point in near if (point.kl <= target) == side] for side in (True, False))
    both = bool(below and above)
    chosen = [below[0], above[0]] if both else near[:2]
    if len(chosen) < 2 or chosen[0].kl == chosen[1].kl:
        return None
    (x0, y0), (x1, y1) = ((math.log(point.kl), math.log(point.bytes)) for point in chosen)
    return Size(math.exp(y0 + (y1 - y0) * (math.log(target) - x0) / (x1 - x0)), both)


def page(found: dict[str, dict[str, list[Point]]], numbers: dict[str, tuple[int, int]]) -> str:
    """The results as Markdown."""
    lines = [_HEAD]
    for name, ways in found.items():
        for target in TARGETS:
            sizes = [size_at(ways.get(way, []), target) for way in PEERS]
            cells = ["-" if size is None else str(size) for size in sizes]
            for way in ("calibrated", "no feedback"):
                own = size_at(ways.get(way, []), target)
                shares = ["-" if own is None or size is None else f"{own.bytes / size.bytes:.2f}" for size in sizes]
                cells.append("-" if own is None else f"{own} ({', '.join(shares)})")
            lines.append(f"| {name} | {target:g} | {' | '.join(cells)} |")
    lines += [
        "",
        "All points:",
        "",
        "| network | calibrated on, evaluated on | way | setting | bytes | KL | agreement |",
    ]
    lines += ["|---|---:|---|---:|---:|---:|---:|"]
    for name, ways in found.items():
        for way, points in ways.items():
            for point in points:
                cells = [name, "{}, {}".format(*numbers[name]), way, f"{point.setting:g}", f"{point.bytes:,}"]
                lines.append("| " + " | ".join([*cells, f"{point.kl:.4f}", f"{point.agreement:.1f} %"]) + " |")
    own = [point for ways in found.values() for way in ("calibrated", "no feedback") for point in ways.get(way, [])]
    if own:
        slowest, largest = max(point.seconds for point in own), max(point.memory for point in own)
        lines += [
            "",
            f"One calibrated point took at most {slowest:.0f} s of one core, statistics included where it was the",
        ]
        lines += [f"first of its network, and at most {largest:,} MiB of memory."]
    return "\n".join(lines) + "\n" + _TRIED


def main() -> None:
    """Make the missing runs and write the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path, help="with the folder programs")
    parser.add_argument("--work", type=Path, default=ROOT / ".calibrated", help="where finished runs are kept")
    parser.add_argument("--nncodec", type=Path, help="folder of the virtual environment of nncodec; measured if given")
    parser.add_argument("--only", default="", help="part of the name of a network")
    parser.add_argument("--way", default="", help="name of one way")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "results" / "calibrated.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, list[Point]]] = {}
    numbers: dict[str, tuple[int, int]] = {}
    for case in cases(options.folder, options.work):
        numbers[case.name] = (len(case.calibrated), len(case.evaluated))
        found[case.name] = {way: list(_points(case, way, settings, options)) for way, settings in case.settings.items()}
    options.page.write_text(page(found, numbers))


def _points(case: Case, way: str, settings: Sequence[float], options: argparse.Namespace) -> Iterator[Point]:
    """The points of one way: those that are kept, and those that are asked for now."""
    for setting in settings:
        path = options.work / f"{case.name} {way} {setting:g}.json"
        wanted = options.only in case.name and options.way in ("", way)
        if not path.exists() and wanted:
            if way != "nncodec":
                path.write_text(json.dumps(asdict(measure(case, way, setting))))
            elif options.nncodec and (python := peers.nncodec_python(options.nncodec)):
                (point,) = nncodec(case, [setting], python)
                path.write_text(json.dumps(asdict(point)))
        if path.exists():
            yield Point(**json.loads(path.read_text()))


if __name__ == "__main__":
    main()
