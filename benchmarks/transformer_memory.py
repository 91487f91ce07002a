"""Time and peak memory of calibrating an encoder in the shape of BERT-base, with random weights and inputs.

    python -m benchmarks.transformer_memory [--layers 12] [--samples 32] [--rounded]

The encoder has token embeddings (30,522 x 768), layers of 12 heads and 3,072 hidden units, and a linear classifier:
110 million parameters with 12 layers. It is a program, as a user would export it. One job calibrates it at quality
``small`` and writes the bundle. With ``--rounded`` labels are the nearest grid points: the search along the trellis,
which needs the most time and works on two million weights at a time, is left out, and everything else is as in a job.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.exported import exported
from cnet.data import Dataset, Split
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.quantize.weights_alone.label_choice import FeedbackChooser
from cnet.spec import JobSpec

WIDTH, HEADS, HIDDEN, TOKENS, CLASSES = 768, 12, 3072, 30522, 8


class EncoderLayer(nn.Module):
    """Attention and two linear layers, each with a residual and a normalization behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """From and to the shape (batch, tokens, width)."""
        heads = [
            part(x).unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        attended = functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = self.first(x + self.out(attended))
        found: Tensor = self.second(x + self.narrow(functional.gelu(self.wide(x))))
        return found


class Encoder(nn.Module):
    """Token embeddings, layers, and a classifier of the first token."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.Sequential(*(EncoderLayer() for _ in range(layers)))
        self.classifier = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, shape (batch, classes), of tokens, shape (batch, length)."""
        found: Tensor = self.classifier(self.layers(self.tokens(tokens))[:, 0])
        return found


def nearest(self: Any, segment: Any, values: Any, keep: Any, *, feedback: bool = True) -> Any:
    """In place of ``FeedbackChooser.multiples``: even multiples, which are one path through the trellis' grids."""
    del self, segment, feedback
    return (2 * np.rint(values / 2) * keep).astype(np.int16)


def main() -> None:
    """Run the job and print what it took."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument(
        "--samples", type=int, default=32, help="inputs to calibrate on; a fourth as many to compare on"
    )
    parser.add_argument("--length", type=int, default=128, help="tokens of an input")
    parser.add_argument("--feedback", action="store_true", help="try error feedback as well")
    parser.add_argument("--rounded", action="store_true", help="nearest grid points in place of the trellis' search")
    options = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, TOKENS, (options.samples * 5 // 4, options.length))
    inputs = Dataset(Split.of(tokens[: options.samples]), Split.of(tokens[options.samples :]))
    program = exported(Encoder(options.layers).eval(), torch.from_numpy(tokens[:2]))
    spec = JobSpec.parse(
        {
            "architecture": {"program": "exported"},
            "calibrate": {"inputs": "random"},
            "quantize": {"name": "calibrated", "quality": "small", "feedback": options.feedback},
        }
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    clock, own = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if options.rounded:
            stack.enter_context(patch.object(FeedbackChooser, "multiples", nearest))
        given = Inputs(program.state_dict, None, Path(folder), program=program, calibration=inputs)
        (point,) = run(spec, given, SilentRunObserver()).points
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = f"{time.perf_counter() - clock:,.0f} s, {time.process_time() - own:,.0f} s of the processor"
    print(f"{program.state_dict.parameters:,} parameters, {point.bytes.total:,} bytes: {took}")
    print(f"memory: {before:,.0f} MiB before the job, {peak:,.0f} MiB at the peak")


if __name__ == "__main__":
    main()
