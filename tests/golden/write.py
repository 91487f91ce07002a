"""Write a golden bundle, once: ``python -m tests.golden.write NAME``."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cnet.bundle import Bundle, open_bundle, write_bundle
from cnet.coding import ENCODERS, trellis
from cnet.coding.compact.encoder import Compact, CompactLimits
from cnet.reconstruction import AxisScales, Dither, Scales, axis_factors, sides_of
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


def larger_net(*, path: bool) -> tuple[Weights, Symbols]:
    """A net of integers that is large enough for the coder's models; with ``path`` its labels follow a trellis."""
    shapes = {"conv.weight": (24, 16, 3, 3), "fc.weight": (40, 33)}
    tensors = [Tensor(name, "float32", np.zeros(shape, np.float32)) for name, shape in shapes.items()]
    tensors.append(Tensor("conv.bias", "float32", np.arange(24, dtype=np.float32) / 8))
    weights = Weights.select(tensors)
    place = np.arange(weights.compressible_parameters)
    mixed = (place * 2654435761) % 2**32
    mixed = ((mixed ^ mixed >> 15) * 2246822519) % 2**32 >> 12  # whole numbers without a pattern
    steps = np.where(mixed % 5 > 1, mixed % 11 // 3, 0).astype(np.int32)
    if path:
        cuts = np.split(steps, [24 * 16 * 9])
        length = trellis.LANE_WEIGHTS
        padded = [np.pad(cut, (0, -len(cut) % length)).reshape(-1, length) for cut in cuts]
        multiples = [trellis.path_multiples(lanes, 3).reshape(-1) for lanes in padded]
        flat = [each[: len(cut)] for each, cut in zip(multiples, cuts, strict=True)]
        steps = np.concatenate(flat)
    signed = np.where(mixed % 7 > 2, steps, -steps)
    used, labels = np.unique(signed[signed != 0], return_inverse=True)
    return weights, Symbols(signed != 0, labels.astype(np.uint8), used.astype(np.float32) * np.float32(0.0625))


def unquantized_net() -> tuple[Weights, Symbols]:
    """The larger net with the values of what is kept in place of labels."""
    weights, symbols = larger_net(path=False)
    return weights, Symbols(symbols.keep, None, symbols.vector()[symbols.keep])


def local_net(name: str) -> tuple[Weights, Symbols]:
    """The first net, a dither behind its labels, or a factor for each of its eight rows or two tensors."""
    weights, symbols = net()
    sizes = np.array([54, 35] if name == "tensors" else [18] * 3 + [7] * 5, np.int64)
    factors = (np.arange(len(sizes)) * 5 % 8 + 1).astype(np.float32) / 4
    return weights, replace(symbols, reconstruction=Dither(2019, 0.1) if name == "dither" else Scales(factors, sizes))


def axes_net() -> tuple[Weights, Symbols]:
    """The first net, with a factor for each of its two tensors, eight rows and nine columns."""
    weights, symbols = net()
    shapes = [weights[name].shape for name in weights.compressible]
    factors = (np.arange(axis_factors(shapes)) * 5 % 8 + 1).astype(np.float32) / 3
    return weights, replace(symbols, reconstruction=AxisScales(factors, sides_of(shapes)))


def notes_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metrics and extra of the golden bundle ``name``: a run's, as they were when it was written, where it ends so."""
    if not name.endswith("notes"):
        return {"accuracy": 91.5}, {"spec": None}
    metrics, extra = json.loads((FOLDER / "notes.json").read_text())
    return metrics, extra


NETS = {
    "dither": lambda: local_net("dither"),
    "scales": lambda: local_net("scales"),
    "tensors": lambda: local_net("tensors"),
    "axes": axes_net,
    "values": unquantized_net,
    "adaptive": lambda: larger_net(path=False),
    "large": lambda: larger_net(path=False),
    "trellis": lambda: larger_net(path=True),
}


def net_of(name: str) -> tuple[Weights, Symbols]:
    """The net in the golden bundle ``name``, such as v1-npz or v1-compact-adaptive: its last word names it."""
    return NETS.get(name.split("-")[-1], net)()


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
    weights, symbols = net_of(name)
    if name.endswith("large"):
        Compact.limits = CompactLimits(adaptive=0, deflated=-1)  # the form of large networks, in a small file
    encoder = ENCODERS.create(name.split("-")[1])
    write_bundle(path, weights, symbols, encoder, *notes_of(name))
    digests = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    DIGESTS.write_text(json.dumps(digests | {name: digest(open_bundle(path))}, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
