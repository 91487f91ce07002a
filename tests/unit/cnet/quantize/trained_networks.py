"""Small networks of many kinds, trained in a second or two each on the data set ``digits``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cnet.data.digits import Digits


@cache
def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images, float32, shape (n, 1, 8, 8), and labels, for training and for the test."""
    data = Digits().load()
    parts: list[Tensor] = []
    for split in (data.train, data.test):
        images = torch.from_numpy(np.asarray(split.input, np.float32) / 255)
        parts += [images.reshape(-1, 1, 8, 8), torch.from_numpy(np.asarray(split.labels))]
    return parts[0], parts[1], parts[2], parts[3]


class OneHugeLayer(nn.Sequential):
    """A perceptron that has nearly all its weights in one layer."""

    def __init__(self) -> None:
        layers = [nn.Flatten(), nn.Linear(64, 768), nn.ReLU(), nn.Linear(768, 24), nn.ReLU(), nn.Linear(24, 10)]
        super().__init__(*layers)


class Tiny(nn.Sequential):
    """A perceptron of 1,210 parameters."""

    def __init__(self) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


class Depthwise(nn.Module):
    """Depthwise and pointwise convolutions with batch normalization."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()]
        for width, out in ((16, 32), (32, 48)):
            layers += [nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False), nn.BatchNorm2d(width)]
            layers += [nn.ReLU6(), nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU6()]
        self.layers, self.last = nn.Sequential(*layers), nn.Linear(48, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.last(self.layers(images).mean((2, 3)))
        return logits


class Convolutions(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 24, 3, padding=1)
        self.hidden, self.last = nn.Linear(24 * 16, 48), nn.Linear(48, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        found = functional.relu(self.second(functional.relu(self.first(images))))
        logits: Tensor = self.last(functional.relu(self.hidden(functional.max_pool2d(found, 2).flatten(1))))
        return logits


class WeightNormalized(nn.Module):
    """A perceptron whose parameters are the directions of its rows and their lengths."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((64, 64), (64, 64), (64, 10))
        self.directions = nn.ParameterList(torch.randn(rows, columns) * 3 for columns, rows in sizes)
        self.lengths = nn.ParameterList(torch.ones(rows, 1) for _, rows in sizes)
        self.biases = nn.ParameterList(torch.zeros(rows) for _, rows in sizes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        found = images.flatten(1)
        for place, (direction, length, bias) in enumerate(zip(self.directions, self.lengths, self.biases, strict=True)):
            weight = direction / direction.norm(dim=1, keepdim=True) * length
            found = functional.linear(functional.relu(found) if place else found, weight, bias)
        return found


class Recurrent(nn.Module):
    """Rows of an image one after the other."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.cells, self.last = kind(8, 48, 2, batch_first=True), nn.Linear(48, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.last(self.cells(images[:, 0])[0][:, -1])
        return logits


class TiedTransformer(nn.Module):
    """Predicts each pixel's brightness from those before it; the embedding is the last layer too."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(17, width)
        self.places = nn.Parameter(torch.randn(64, width) * 0.02)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.mixing, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of 17 levels for all pixels but the first, shape (n, 63, 17)."""
        tokens = levels(images)[:, :-1]
        found = self.embedding(tokens) + self.places[: tokens.shape[1]]
        parts = self.mixing(self.norms[0](found)).unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
        found = found + self.joined(mixed)
        found = found + self.narrow(functional.gelu(self.wide(self.norms[1](found))))
        logits: Tensor = self.norms[2](found) @ self.embedding.weight.T
        return logits


def levels(images: Tensor) -> Tensor:
    """Brightness of each pixel, 0..16, shape (n, 64)."""
    return (images.flatten(1) * 16).round().long()


def trained(module: nn.Module, epochs: int, penalty: float = 0.0, rate: float = 3e-3) -> nn.Module:
    """The module after training on digits; ``penalty`` is a price of the sum of magnitudes."""
    images, labels, _, _ = digits()
    optimizer = torch.optim.Adam(module.parameters(), rate)
    module.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            logits = module(images[batch])
            targets = labels[batch] if logits.ndim == 2 else levels(images[batch])[:, 1:]
            loss = functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
            loss = loss + penalty * sum(each.abs().sum() for each in module.parameters())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return module.eval()


def of_another_scale() -> nn.Module:
    """Convolutions of which one tensor is ten thousand times smaller, and the next one larger."""
    module = trained(Convolutions(), 6)
    with torch.no_grad():
        for tensor in (module.second.weight, module.second.bias):
            tensor.mul_(1e-4)
        module.hidden.weight.mul_(1e4)
    return module


def pruned() -> nn.Module:
    """Convolutions of which two fifths of the weights are zero."""
    module = trained(Convolutions(), 10)
    with torch.no_grad():
        for tensor in module.parameters():
            if tensor.ndim > 1:
                tensor.mul_(tensor.abs() > tensor.abs().flatten().quantile(0.4))
    return module


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "one huge layer": lambda: trained(OneHugeLayer(), 5, rate=1e-3),
    "depthwise": lambda: trained(Depthwise(), 8),
    "another scale": of_another_scale,
    "lstm": lambda: trained(Recurrent(nn.LSTM), 8, rate=1e-2),
    "gru": lambda: trained(Recurrent(nn.GRU), 8, rate=1e-2),
    "tied transformer": lambda: trained(TiedTransformer(), 2),
    "trained for too long": lambda: trained(Tiny(), 60, rate=2e-2),
    "weight-normalized": lambda: trained(WeightNormalized(), 12, rate=2e-2),
    "heavy tails": lambda: trained(Convolutions(), 8, penalty=1e-4),
    "pruned": pruned,
}
