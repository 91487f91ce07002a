"""Other tools on the same symbols or weights: the bytes that they need."""

from __future__ import annotations

import heapq
import io
import json
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cnet.symbols import Symbols

NNCODEC = "nncodec==2.1.3"


def npz(array: npt.NDArray[np.generic]) -> int:
    """Bytes of ``numpy.savez_compressed`` of one array."""
    file = io.BytesIO()
    np.savez_compressed(file, array)
    return len(file.getvalue())


def paper(symbols: Symbols) -> int:
    """The paper's three npz files; labels packed to four bits where there are at most 16 and that is smaller."""
    labels = symbols.labels
    if labels is None:
        raise ValueError("the paper's files need labels")
    sizes = [npz(labels)]
    if len(symbols.centroids) <= 16:
        sizes.append(npz(np.packbits(np.unpackbits(labels[:, None].astype(np.uint8), axis=1)[:, 4:])))
    return npz(np.packbits(symbols.keep)) + npz(symbols.centroids) + min(sizes)


def zstd(symbols: Symbols) -> int:
    """Packed mask, labels and centroids, each under zstd 19."""
    import zstandard  # imported here, since only this comparison needs it

    parts = (np.packbits(symbols.keep), symbols.labels, symbols.centroids)
    return sum(len(zstandard.compress(part.tobytes(), 19)) for part in parts if part is not None)


def huffman(symbols: Symbols) -> int:
    """Deep Compression: Huffman codes of labels and of gaps between kept weights, gaps above 2^8 are split."""
    gaps = np.diff(np.flatnonzero(symbols.keep), prepend=-1) - 1
    fillers = int(np.sum(gaps // 256))
    counts = np.bincount(gaps % 256, minlength=256)
    counts[255] += fillers
    labels = np.bincount(symbols.labels) if symbols.labels is not None else np.zeros(1)
    tables = 256 + len(labels)  # one byte for the code length of each symbol
    return (_huffman_bits(counts) + _huffman_bits(labels)) // 8 + tables + symbols.centroids.nbytes


def _huffman_bits(counts: npt.NDArray[np.integer]) -> int:
    heap = [int(count) for count in counts if count]
    heapq.heapify(heap)
    bits = 0
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        bits += joined
        heapq.heappush(heap, joined)
    return bits


def nncodec_python(folder: Path) -> Path | None:
    """The interpreter of a virtual environment with nncodec, created on first use; None where that fails."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "-q", NNCODEC, "setuptools"]
    if subprocess.run([str(python), "-c", "import nncodec"], capture_output=True, check=False).returncode == 0:
        return python
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(
            f"!!! {NNCODEC} CANNOT BE BUILT HERE, ITS FIGURES ARE MISSING: {done.stderr.strip()[-300:]}",
            file=sys.stderr,
        )
        return None
    return python


_CHILD = """
import json, sys, time
import numpy as np
import nncodec.nn as nn
tensors = dict(np.load(sys.argv[1]))
for qp in map(int, sys.argv[2:]):
    start = time.perf_counter()
    coded = nn.encode(dict(tensors), args={"qp": qp})
    encoded = time.perf_counter()
    decoded = nn.decode(coded)
    done = time.perf_counter()
    np.savez(f"decoded{qp}.npz", **decoded)
    error = sum(float(((t.astype(np.float64) - decoded[n]) ** 2).sum()) for n, t in tensors.items())
    print("RESULT", json.dumps([qp, len(coded), error, encoded - start, done - encoded]))
"""


def nncodec(
    python: Path, tensors: Mapping[str, npt.NDArray[np.float32]], qps: list[int], folder: Path
) -> list[list[float]]:
    """[qp, bytes, squared error, encode seconds, decode seconds] for each qp; ``folder`` gets the decoded tensors."""
    path = folder / "tensors.npz"
    np.savez(path, **tensors)  # type: ignore[arg-type]
    command = [str(python), "-c", _CHILD, str(path), *map(str, qps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
