"""Write a golden bundle, once: ``python -m tests.golden.write NAME``."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from cnet.bundle import Bundle, open_bundle, write_bundle
from cnet.encode import ENCODERS
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights

FOLDER = Path(__file__).parent
DIGESTS = FOLDER / "digests.json"


def net() -> tuple[Weights, Symbols]:
    """A net of integers: two float layers (one bfloat16), tied weights, a bias, a counter, a flag, nothing."""
    tensors = [
        Tensor("conv.weight", "float32", np.zeros((3, 2, 3, 3), np.float32)),
        Tensor("conv.bias", "float32", np.arange(3, dtype=np.float32) / 4),
        Tensor("steps", "int64", np.array(2**24 + 1)),
        Tensor("fc.weight", "bfloat16", np.zeros((5, 7), np.uint16)),
        Tensor("head.weight", "bfloat16", np.zeros((5, 7), np.uint16)),
        Tensor("flag", "bool", np.array([True, False])),
        Tensor("nothing", "float16", np.zeros((0, 3), np.float16)),
        Tensor("größe", "complex64", np.array([1 + 2j], np.complex64)),
    ]
    weights = Weights.select(tensors, tied=[("fc.weight", "head.weight")])
    count = weights.compressible_parameters
    keep = np.arange(count) * 7 % 10 < 4
    labels = (np.arange(np.count_nonzero(keep)) * 5 % 8).astype(np.uint8)
    centroids = np.array([-3.14159265, -1, -0.1, -0.0078125, 0.0078125, 0.1, 1, 2.71828183], np.float32)
    return weights, Symbols(keep, labels, centroids)


def digest(bundle: Bundle) -> str:
    """sha256 over name, type, shape and bytes of every tensor, in order."""
    total = hashlib.sha256()
    for tensor in bundle.weights():
        total.update(f"{tensor.name}\0{tensor.dtype}\0{tensor.shape}\0".encode())
        total.update(tensor.data.tobytes())
    return total.hexdigest()


def main(name: str) -> None:
    """Write ``name``.npz and note what it decodes to."""
    path = FOLDER / f"{name}.npz"
    if path.exists():
        raise SystemExit(f"{path.name} exists, and golden bundles are never written again")
    weights, symbols = net()
    encoder = ENCODERS.create(name.partition("-")[2])
    write_bundle(path, weights, symbols, encoder, {"accuracy": 91.5}, {"spec": None})
    digests = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    DIGESTS.write_text(json.dumps(digests | {name: digest(open_bundle(path))}, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
