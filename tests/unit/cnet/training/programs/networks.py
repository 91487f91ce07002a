"""Small networks of many kinds, with example inputs, for tests of programs. Run in a process that has PyTorch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from cnet.training.programs import export_program


class ConvNormDropout(nn.Module):
    """A convolution with batch norm and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.dropout, self.classifier = nn.Dropout(0.3), nn.Linear(8, 5)

    def forward(self, images: Tensor) -> Tensor:
        """Logits, shape (n, 5), of images of shape (n, 3, h, w)."""
        features = torch.relu(self.norm(self.conv(images))).mean((2, 3))
        logits: Tensor = self.classifier(self.dropout(features))
        return logits


class Recurrent(nn.Module):
    """A bidirectional LSTM or GRU on integer tokens."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.embedding, self.classifier = nn.Embedding(30, 16), nn.Linear(24, 4)
        self.layers = kind(16, 12, 2, batch_first=True, dropout=0.2, bidirectional=True)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, shape (n, 4), of tokens of shape (n, steps), int64."""
        states, _ = self.layers(self.embedding(tokens))
        logits: Tensor = self.classifier(states[:, -1])
        return logits


class TwoInputs(nn.Module):
    """A regression on two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.last = nn.Linear(4, 8), nn.Linear(3, 8), nn.Linear(8, 1)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """One number for each sample, shape (n,), of inputs of shapes (n, 4) and (n, 3)."""
        value: Tensor = self.last(torch.tanh(self.left(one) + self.right(other)))
        return value.squeeze(-1)


class Transformer(nn.Module):
    """A small transformer whose output layer shares the embedding's weight; it returns a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(50, 32), nn.Parameter(0.1 * torch.ones(9, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        """Logits for each step, shape (n, 9, 50), of tokens of shape (n, 9), int64."""
        return {"logits": self.head(self.encoder(self.embedding(tokens) + self.positions))}


class Unusual(nn.Module):
    """Weight norm of both kinds, a part without gradients, a literal tensor and a buffer outside the ``state_dict``."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(6, 6)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(6, 7))
        self.register_buffer("scale", torch.full((7,), 1.5), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Seven numbers for each sample, shape (n, 7), of values of shape (n, 6)."""
        with torch.no_grad():
            shifted = self.frozen(values) + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        result: Tensor = self.normed(shifted * 2) * self.get_buffer("scale")
        return result


@dataclass(frozen=True)
class Case:
    """A network and inputs of ``count`` samples for it."""

    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Tensor, ...]]


def _tokens(classes: int, steps: int) -> Callable[[int], tuple[Tensor, ...]]:
    return lambda count: (torch.randint(0, classes, (count, steps)),)


CASES = {
    "batch norm and dropout": Case(ConvNormDropout, lambda count: (torch.randn(count, 3, 8, 8),)),
    "LSTM on tokens": Case(lambda: Recurrent(nn.LSTM), _tokens(30, 7)),
    "GRU on tokens": Case(lambda: Recurrent(nn.GRU), _tokens(30, 7)),
    "regression on two inputs": Case(TwoInputs, lambda count: (torch.randn(count, 4), torch.randn(count, 3))),
    "transformer": Case(Transformer, _tokens(50, 9)),
    "unusual": Case(Unusual, lambda count: (torch.randn(count, 6),)),
}


def seeded_network(case: Case) -> nn.Module:
    """A fresh network, the same one at each call."""
    torch.manual_seed(3)
    return case.build()


def write_archive(case: Case, path: Path) -> None:
    """Write the archive of ``seeded_network``. An export takes a second, so that each is made once in a process."""
    path.write_bytes(_archive(case))


@cache
def _archive(case: Case) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.pt2"
        export_program(seeded_network(case), case.inputs(4), path)
        return path.read_bytes()
