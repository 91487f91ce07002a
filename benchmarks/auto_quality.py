"""What the quantizer ``auto`` costs and keeps on real networks, from their weights alone.

    python -m benchmarks.auto_quality FOLDER

FOLDER has the checkpoints and programs that ``networks`` names. For each network: the bytes of mask, labels and
centroids at a divergence of 0.03 nats from the original's outputs, of ``auto`` and of one step for the whole network
(``ecsq``), on the inputs of the half that nothing was chosen on; and what ``safe`` changes on all inputs. Every
bundle is decoded and compared with what was written.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.nn import functional

from cnet.coding import ENCODERS
from cnet.quantize import QUANTIZERS, auto
from cnet.symbols import Symbols

TARGET = 0.03
State = dict[str, torch.Tensor]


@dataclass
class Network:
    """A network to evaluate: ``run`` gives logits from a state and inputs; ``half`` is what to report on."""

    name: str
    run: Callable[[State, torch.Tensor], torch.Tensor]
    state: State
    inputs: torch.Tensor
    half: torch.Tensor
    labels: torch.Tensor | None = None

    @property
    def names(self) -> list[str]:
        """The compressible tensors."""
        return [name for name, tensor in self.state.items() if tensor.ndim > 1]

    def logits(self, inputs: torch.Tensor, vector: Any = None) -> torch.Tensor:
        """Outputs, class last, of the state or of one with another w_net."""
        state, start = dict(self.state), 0
        for name in self.names if vector is not None else ():
            shape = self.state[name].shape
            state[name] = torch.from_numpy(vector[start : start + shape.numel()]).reshape(shape)
            start += shape.numel()
        with torch.no_grad():
            return torch.cat([self.run(state, part) for part in inputs.split(16)])


def networks(folder: Path) -> Iterator[Network]:
    """The networks, one after the other."""
    photos = dict(np.load(folder / "programs/efficientnet_lite0_inputs.npz"))
    yield _handwriting(folder)
    for depth, file in ((20, "resnet20-12fca82f.th"), (32, "resnet32-d509ac18.th")):
        yield _resnet(folder / "checkpoints" / file, depth, photos)
    text = np.load(folder / "programs/ocr_english_g2_inputs.npz")["x"][700:900]
    lines = torch.from_numpy(text).float() / 127.5 - 1
    yield _program(folder / "programs/ocr_english_g2.pt2", lines, torch.arange(200) % 2 > 0)
    x = (torch.from_numpy(photos["x"]).float() - 127) / 128
    yield _program(folder / "programs/efficientnet_lite0.pt2", x, torch.from_numpy(photos["photo"]) % 2 > 0)


def _program(path: Path, inputs: torch.Tensor, half: torch.Tensor) -> Network:
    module: Any = torch.export.load(path).module()
    state = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}

    def run(weights: State, part: torch.Tensor) -> torch.Tensor:
        module.load_state_dict(weights)
        return torch.as_tensor(module(part))

    return Network(path.stem, run, state, inputs, half)


def _handwriting(folder: Path) -> Network:
    path = folder / "checkpoints/handwriting_model.pth"
    state = torch.load(path, map_location="cpu", weights_only=True)
    with gzip.open(folder / "data/mnist_5k.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    x = (torch.from_numpy(table[:, 1:]).reshape(-1, 1, 28, 28) / 255 - 0.1307) / 0.3081

    def run(s: State, x: torch.Tensor) -> torch.Tensor:
        for place in (0, 3, 6):
            name = f"conv_layers.{place}"
            x = functional.conv2d(x, s[f"{name}.weight"], s[f"{name}.bias"], padding=1)
            x = functional.max_pool2d(functional.relu(x), 2)
        x = functional.relu(functional.linear(x.flatten(1), s["fc_layers.0.weight"], s["fc_layers.0.bias"]))
        return functional.linear(x, s["fc_layers.2.weight"], s["fc_layers.2.bias"])

    labels = torch.from_numpy(table[:, 0].astype(np.int64))
    return Network("handwriting_model", run, dict(state), x, torch.arange(len(x)) >= 1500, labels)


def _resnet(path: Path, depth: int, photos: Any) -> Network:
    loaded = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    state = {name.removeprefix("module."): tensor.detach() for name, tensor in loaded.items()}

    def norm(s: State, x: torch.Tensor, n: str) -> torch.Tensor:
        parts = (s[f"{n}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
        return functional.batch_norm(x, *parts)

    def run(s: State, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(norm(s, functional.conv2d(x, s["conv1.weight"], padding=1), "bn1"))
        for stage, block in ((stage, block) for stage in (1, 2, 3) for block in range((depth - 2) // 6)):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = functional.conv2d(x, s[f"{name}.conv1.weight"], stride=stride, padding=1)
            y = functional.conv2d(functional.relu(norm(s, y, f"{name}.bn1")), s[f"{name}.conv2.weight"], padding=1)
            if stride == 2:
                pad = y.shape[1] // 4
                x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, pad, pad))
            x = functional.relu(norm(s, y, f"{name}.bn2") + x)
        return functional.linear(x.mean((2, 3)), s["linear.weight"], s["linear.bias"])

    return Network(f"resnet{depth}", run, state, *_crops(photos))


def _crops(photos: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """1,600 random crops scaled to 32 pixels, normalized; and whether each is of an odd photograph."""
    rng, found, odd = np.random.default_rng(0), [], []
    for _ in range(1600):
        index, side = int(rng.integers(len(photos["x"]))), int(rng.integers(48, 225))
        top, left = rng.integers(0, 224 - side + 1, 2)
        crop = torch.from_numpy(photos["x"][index][:, top : top + side, left : left + side]).float()[None] / 255
        found.append(functional.interpolate(crop, size=32, mode="area")[0])
        odd.append(bool(photos["photo"][index] % 2))
    mean, std = torch.tensor([0.485, 0.456, 0.406])[:, None, None], torch.tensor([0.229, 0.224, 0.225])[:, None, None]
    return (torch.stack(found) - mean) / std, torch.tensor(odd)


def divergence(before: torch.Tensor, after: torch.Tensor) -> float:
    """Mean Kullback-Leibler divergence in nats of ``after`` from ``before``, logits, class last."""
    one, other = before.double().log_softmax(-1), after.double().log_softmax(-1)
    return float((one.exp() * (one - other)).sum(-1).mean())


def symbols_of(network: Network, name: str, fineness: float, mu: float) -> tuple[Symbols, list[tuple[int, ...]]]:
    """The symbols of a network; ``fineness`` is a signal-to-noise ratio in dB, roughly, for both quantizers."""
    shapes = [tuple(network.state[tensor].shape) for tensor in network.names]
    vector = np.concatenate([network.state[tensor].numpy().reshape(-1) for tensor in network.names])
    if name == "ecsq":
        quantizer = QUANTIZERS.create("ecsq", step=float(12**0.5 * 10 ** (-fineness / 20)), mu=mu)
        return quantizer.symbols(vector, vector != 0, None, shapes), shapes
    quantizer = QUANTIZERS.create("auto", snr_db=fineness)
    with patch.object(auto, "MU", mu):
        return quantizer.symbols(vector, vector != 0, None, shapes), shapes


def bytes_of(symbols: Symbols, shapes: list[tuple[int, ...]]) -> int:
    """Bytes under the encoder compact, decoded again to check them."""
    encoder = ENCODERS.create("compact")
    streams, header = encoder.encode(symbols, shapes)
    decoded = encoder.decode(streams, header, shapes)
    if not np.array_equal(decoded.keep, symbols.keep) or not np.array_equal(decoded.labels, symbols.labels):
        raise AssertionError("the streams do not decode to the symbols")
    factors = 0 if symbols.reconstruction is None else 2 * len(shapes) + 8
    return sum(len(stream) for stream in streams.values()) + factors


def bytes_at_target(network: Network, name: str, mu: float) -> float:
    """Bytes at the divergence ``TARGET``: bisection of the fineness, then a line in logarithms through what is near."""
    inputs, points = network.inputs[network.half], []
    before = network.logits(inputs)
    coarse, fine = (-10.0, 40.0)
    for _ in range(8):
        symbols, shapes = symbols_of(network, name, (coarse + fine) / 2, mu)
        off = float(np.log(max(divergence(before, network.logits(inputs, symbols.vector())), 1e-9) / TARGET))
        coarse, fine = ((coarse + fine) / 2, fine) if off > 0 else (coarse, (coarse + fine) / 2)
        if abs(off) < 1:
            points.append((off, float(np.log(bytes_of(symbols, shapes)))))
    x, y = np.array(points).T
    return float(np.exp(np.polyfit(x, y, 1)[1] if np.ptp(x) > 0.1 else y.mean()))


def safe(network: Network) -> str:
    """Agreement, divergence, loss of accuracy and bytes of the quality ``safe``, on all inputs."""
    start = time.time()
    shapes = [tuple(network.state[tensor].shape) for tensor in network.names]
    vector = np.concatenate([network.state[tensor].numpy().reshape(-1) for tensor in network.names])
    symbols = QUANTIZERS.create("auto").symbols(vector, vector != 0, None, shapes)
    took = time.time() - start
    before, after = network.logits(network.inputs), network.logits(network.inputs, symbols.vector())
    agreement = float((before.argmax(-1) == after.argmax(-1)).double().mean())
    lost = "-"
    if network.labels is not None:
        hits = [float((logits.argmax(-1) == network.labels).double().mean()) for logits in (before, after)]
        lost = f"{100 * (hits[0] - hits[1]):.2f}"
    size = bytes_of(symbols, shapes)
    changed, raw = 100 * (1 - agreement), 4 * len(vector)
    return (
        f"| {network.name} | {raw:,} | {size:,} | {raw / size:.1f} | {changed:.2f} | {divergence(before, after):.1e}"
        f" | {lost} | {took:.0f} |"
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mu", type=float, default=0.2, help="price of a bit of auto")
    parser.add_argument("--only", help="name of one network")
    arguments = parser.parse_args()
    for network in networks(arguments.folder):
        if arguments.only in (None, network.name):
            print(safe(network), flush=True)
            one, own = (bytes_at_target(network, *each) for each in (("ecsq", 0.5), ("auto", arguments.mu)))
            print(f"| {network.name} | {one:,.0f} | {own:,.0f} | {own / one:.3f} |", flush=True)


if __name__ == "__main__":
    main()
