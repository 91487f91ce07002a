"""Size and speed of the encoders beside other tools.

    python -m benchmarks.codec --checkpoints FOLDER [--quick] [--only QUESTION ...]

Needs the packages of the extra ``bench`` (``pip install -e '.[bench]'``). Prints one table for each question; with
``--write`` it also writes docs/results/codec.md and its plot. All bytes that are counted are decoded and compared in
the same run.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import inputs, peers, svg
from benchmarks.inputs import Shapes, Vector
from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.symbols import Symbols

ROOT = Path(__file__).resolve().parents[1]
NETS = ("resnet32-d509ac18.th", "resnet20-12fca82f.th", "svhn.pth", "onet.pt", "silero_vad_16k.safetensors")
QPS = [-20, -24, -28, -32]
_RUNS = 3
_LARGE = 300  # millions of weights
_PARTS = ("symbols", "error", "kmeans", "speed", "streaming", "damage")

Table = list[list[str]]


def coded(symbols: Symbols, shapes: Shapes) -> int:
    """Bytes of the streams of the encoder ``compact``, which are decoded and compared."""
    compact = ENCODERS.create("compact")
    streams, header = compact.encode(symbols, shapes)
    assert np.array_equal(compact.decode(streams, header, shapes).vector(), symbols.vector())
    return sum(len(stream) for stream in streams.values())


def same_symbols(folder: Path) -> Table:
    """Table: the same mask, labels and centroids in every coder."""
    rows = [["net", "sparsity", "k", "npz x 3", "zstd 19", "Huffman", "compact", "compact / npz"]]
    for name in NETS:
        weights = inputs.real(folder, name)
        vector, shapes = weights.vector(), inputs.shapes_of(weights)
        for sparsity, clusters in ((0.0, 16), (0.9, 16), (0.9, 256), (0.95, 16)):
            keep = PRUNERS.create("magnitude").keep(weights, sparsity)
            symbols = QUANTIZERS.create("kmeans").symbols(vector, keep, clusters, shapes)
            npz, ours = peers.paper(symbols), coded(symbols, shapes)
            sizes = [npz, peers.zstd(symbols), peers.huffman(symbols), ours]
            rows.append([name, f"{sparsity}", f"{clusters}", *(f"{size:,}" for size in sizes), f"{ours / npz:.3f}"])
    return rows


def at_error(vector: Vector, shapes: Shapes, error: float, **parameters: Any) -> tuple[int, float]:
    """Bytes and squared error of ecsq at the largest step whose error is not above ``error``."""
    low, high = 1e-3, 2.0
    found = (0, 0.0)
    for _ in range(12):
        step = float(np.sqrt(low * high))
        symbols = QUANTIZERS.create("ecsq", step=step, **parameters).symbols(vector, vector != 0, None, shapes)
        reached = float(np.sum((symbols.vector().astype(np.float64) - vector) ** 2))
        if reached > error:
            high = step
        else:
            low, found = step, (coded(symbols, shapes), reached)
    return found


def rate_and_error(folder: Path, work: Path, python: Path | None) -> tuple[Table, str | None]:
    """Table and plot: bytes of ecsq and of nncodec at equal error."""
    rows = [["qp", "rel. MSE", "nncodec", "ecsq 32 states", "ratio", "ecsq 128 states", "ratio"]]
    if python is None:
        return [*rows, ["-"] * 7], None
    weights = inputs.real(folder, NETS[0])
    vector, shapes = weights.vector(), inputs.shapes_of(weights)
    power = float(np.sum(vector.astype(np.float64) ** 2))
    tensors = {name: np.asarray(weights[name].data, np.float32) for name in weights.compressible}
    lines: dict[str, list[tuple[float, float]]] = {"nncodec 2.1.3": [], "ecsq, 32 states": [], "k-means, npz": []}
    for qp, size, error, _, _ in peers.nncodec(python, tensors, QPS, work):
        row = [f"{qp}", f"{error / power:.3e}", f"{size:,}"]
        for states in (32, 128):
            ours, reached = at_error(vector, shapes, error, states=states)
            row += [f"{ours:,}", f"{ours / size:.3f}"]
            if states == 32:
                lines["ecsq, 32 states"].append((ours, reached / power))
        lines["nncodec 2.1.3"].append((size, error / power))
        rows.append(row)
    for clusters in (16, 32, 64, 128):
        symbols = QUANTIZERS.create("kmeans").symbols(vector, vector != 0, clusters, shapes)
        error = float(np.sum((symbols.vector().astype(np.float64) - vector) ** 2))
        lines["k-means, npz"].append((peers.paper(symbols), error / power))
    return rows, svg.plot(lines, "bytes", "relative mean squared error")


def clustering(folder: Path) -> Table:
    """Table: k-means with 256 clusters, its time and error."""
    import kmeans1d
    from sklearn.cluster import KMeans

    vector = inputs.real(folder, NETS[0]).vector()

    def ours() -> float:
        codebook = QUANTIZERS.create("kmeans").quantize(vector, 256)
        return float(np.mean((codebook.centroids[codebook.labels].astype(np.float64) - vector) ** 2))

    def sklearn() -> float:
        return float(KMeans(256, n_init=1, random_state=0).fit(vector[:, None]).inertia_) / len(vector)

    def optimal() -> float:
        labels, centroids = kmeans1d.cluster(vector, 256)
        return float(np.mean((np.asarray(centroids)[labels] - vector) ** 2))

    timed = {"cnet": _best(ours), "scikit-learn": _best(sklearn), "kmeans1d (optimal)": _timed(optimal)}
    best = timed["kmeans1d (optimal)"][1]
    rows = [["k-means 461,872 weights, k 256", "seconds", "time / scikit-learn", "MSE / optimal"]]
    for name, (seconds, error) in timed.items():
        rows.append([name, f"{seconds:.3f}", f"{seconds / timed['scikit-learn'][0]:.4f}", f"{error / best:.4f}"])
    return rows


def _best(work: Callable[[], float]) -> tuple[float, float]:
    return min(_timed(work) for _ in range(_RUNS))


def _timed(work: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def speed(work: Path, name: str) -> Table:
    """Table: time to prune, quantize and encode, and to decode, beside savez_compressed and numpy.load."""
    vector, shapes = inputs.made(name)
    folder = work / name
    folder.mkdir()
    start = 0
    for number, shape in enumerate(shapes):
        size = int(np.prod(shape))
        np.save(folder / f"{number:04d}.npy", vector[start : start + size].reshape(shape))
        start += size
    count, nbytes = len(vector), vector.nbytes
    del vector
    npz = work / f"{name}.npz"
    saved, loaded = _job("savez", folder, npz), _job("load", npz, npz)
    rows = [
        [f"{count:,} weights, sparsity .9", "encode s", "/ savez", "decode s", "MB/s / numpy.load", "peak / weights"]
    ]
    for clusters in (16, 256):
        bundle = work / f"{name}-{clusters}.npz"
        made, read = _job("compress", folder, bundle, clusters), _job("decode", bundle, bundle)
        ratios = made["seconds"] / saved["seconds"], loaded["seconds"] / read["seconds"], made["peak"] / nbytes
        times = f"{made['seconds']:.2f}", f"{read['seconds']:.2f}"
        rows.append([f"k {clusters}", times[0], f"{ratios[0]:.2f}", times[1], f"{ratios[1]:.2f}", f"{ratios[2]:.2f}"])
    return rows


def streaming(work: Path) -> Table:
    """Table: time and memory of a network of 1.2 GB, from its file to a bundle and back."""
    source, bundle, back = work / "large.safetensors", work / "large.npz", work / "back.safetensors"
    nbytes = inputs.write_large(source, _LARGE)
    rows = [[f"{nbytes / 1e9:.2f} GB of float32, sparsity .9, k 16", "s", "peak / weights"]]
    for job, files in {"stream": (source, bundle), "verify": (bundle, bundle), "unpack": (bundle, back)}.items():
        done = _run(job, *files, 16)
        names = {"stream": "compress", "verify": "verify", "unpack": "unpack to safetensors"}
        rows.append([names[job], f"{done['seconds']:.0f}", f"{done['peak'] / nbytes:.3f}"])
    assert back.stat().st_size > nbytes
    return rows


def _job(job: str, source: Path, target: Path, clusters: int = 16) -> dict[str, float]:
    """The shortest time and the highest peak of memory of some runs."""
    runs = [_run(job, source, target, clusters) for _ in range(_RUNS)]
    return {"seconds": min(run["seconds"] for run in runs), "peak": max(run["peak"] for run in runs)}


def _run(job: str, source: Path, target: Path, clusters: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.codec_job", job, str(source), str(target), str(clusters)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def corruptions(folder: Path, work: Path, count: int) -> Table:
    """Table: bundles with one changed byte, each of which must be refused."""
    rng, refused, each = np.random.default_rng(0), 0, count // len(NETS)
    for name in NETS:
        weights = inputs.real(folder, name)
        keep = PRUNERS.create("magnitude").keep(weights, 0.9)
        symbols = QUANTIZERS.create("kmeans").symbols(weights.vector(), keep, 16, inputs.shapes_of(weights))
        write_bundle(work / "one.npz", weights, symbols, ENCODERS.create("compact"))
        content = (work / "one.npz").read_bytes()
        for place, change in zip(rng.integers(0, len(content), each), rng.integers(1, 256, each), strict=True):
            damaged = bytearray(content)
            damaged[place] ^= int(change)
            try:
                open_bundle(io.BytesIO(bytes(damaged))).verify()
            except BundleError:
                refused += 1
    return [["single-byte corruptions", "refused"], [f"{each * len(NETS):,}", f"{refused:,}"]]


def text(tables: list[Table]) -> str:
    """The tables as Markdown."""
    parts = []
    for head, *rows in tables:
        lines = [head, ["---"] * len(head), *rows]
        parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run what the command line asks for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, default=ROOT.parent / "shared" / "checkpoints")
    parser.add_argument(
        "--nncodec", type=Path, default=ROOT / ".nncodec", help="folder of the virtual environment of nncodec"
    )
    parser.add_argument("--quick", action="store_true", help="leave out the network of 110M weights")
    parser.add_argument("--only", choices=_PARTS, nargs="+", default=_PARTS, help="answer only these questions")
    parser.add_argument("--write", action="store_true", help="write docs/results/codec.md")
    options = parser.parse_args()
    if options.write and set(options.only) != set(_PARTS):
        parser.error("--write needs the answers to all questions. Leave --only out.")
    missing = [name for name in ("kmeans1d", "zstandard") if find_spec(name) is None]
    if missing:
        parser.error(f"{' and '.join(missing)}: not installed. Run pip install -e '.[bench]'.")
    tables, plot = [], None
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        if "symbols" in options.only:
            tables.append(same_symbols(options.checkpoints))
        if "error" in options.only:
            table, plot = rate_and_error(options.checkpoints, work, peers.nncodec_python(options.nncodec))
            tables.append(table)
        if "kmeans" in options.only:
            tables.append(clustering(options.checkpoints))
        if "speed" in options.only:
            tables += [speed(work, net) for net in (("22M",) if options.quick else inputs.MADE)]
        if "streaming" in options.only and not options.quick:
            tables.append(streaming(work))
        if "damage" in options.only:
            tables.append(corruptions(options.checkpoints, work, 20_000))
    print(text(tables))
    if options.write:
        _write(tables, plot)


def _write(tables: list[Table], plot: str | None) -> None:
    results = ROOT / "docs" / "results"
    intro = (
        "# Size and speed of the encoders\n\nMade by `python -m benchmarks.codec --write`, after "
        "`pip install -c constraints.txt -e '.[bench]'`. All bytes that are\ncounted were decoded and compared in the "
        "same run.\n\n"
    )
    (results / "codec.md").write_text(intro + text(tables) + ("\n![bytes against error](codec.svg)\n" if plot else ""))
    if plot:
        (results / "codec.svg").write_text(plot)


if __name__ == "__main__":
    main()
