"""One timed step in a process of its own, so that its peak of memory can be measured."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cnet.bundle import open_bundle, write_bundle
from cnet.bundle.unpack import unpack
from cnet.coding import ENCODERS
from cnet.pipeline.local.compress_file import compress_file
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights

PRUNE = {"name": "magnitude", "sparsity": 0.9}


def peak() -> int:
    """Largest resident size of this process so far, in bytes (Linux). Memory of the parent does not count."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def _import_everything() -> None:
    """Write and read a bundle of a few weights, since some modules are imported at their first use."""
    weights = Weights.select([Tensor("w", "float32", np.arange(64, dtype=np.float32).reshape(8, 8))])
    vector = weights.vector()
    keep = PRUNERS.create("magnitude").keep(weights, 0.5)
    symbols = QUANTIZERS.create("kmeans").symbols(vector, keep, 2, [(8, 8)])
    with tempfile.TemporaryDirectory() as folder:
        write_bundle(Path(folder) / "bundle.npz", weights, symbols, ENCODERS.create("compact"))
        open_bundle(Path(folder) / "bundle.npz").verify()


def main(job: str, source: str, target: str, clusters: str) -> None:
    """Run a step and print its time and peak of memory as JSON, without the imports.

    ``compress`` makes a bundle of weights in npy files, ``decode`` and ``load`` read a file to float32.
    """
    _import_everything()
    before = peak()
    start = time.perf_counter()
    result: dict[str, object] = {}
    if job == "compress":
        files = sorted(Path(source).glob("*.npy"))
        tensors = [Tensor(file.stem, "float32", np.load(file, mmap_mode="r")) for file in files]
        weights = Weights.select(tensors)
        vector = weights.vector()
        keep = PRUNERS.create("magnitude").keep(weights, 0.9)
        shapes = [weights[name].shape for name in weights.compressible]
        symbols = QUANTIZERS.create("kmeans").symbols(vector, keep, int(clusters), shapes)
        del vector
        result["bytes"] = write_bundle(target, weights, symbols, ENCODERS.create("compact")).total
    elif job == "stream":
        spec = JobSpec.parse({"checkpoint": "net", "prune": PRUNE, "quantize": {"name": "kmeans", "clusters": 16}})
        result["bytes"] = compress_file(Path(source), spec, Path(target)).points[0].bytes.total
    elif job == "verify":
        open_bundle(source).verify()
    elif job == "unpack":
        unpack(open_bundle(source), Path(target), "safetensors")
    elif job == "decode":
        bundle = open_bundle(source)
        result["weights"] = sum(bundle[name].size for name in bundle)
    elif job == "savez":
        parts = [np.load(file, mmap_mode="r") for file in sorted(Path(source).glob("*.npy"))]
        np.savez_compressed(target, np.concatenate([part.reshape(-1) for part in parts]))
    else:
        result["weights"] = int(np.load(source)["arr_0"].size)
    result["seconds"] = time.perf_counter() - start
    result["peak"] = peak() - before
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
