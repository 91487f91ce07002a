"""Small networks that together call most kinds of operators."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


class Sequence(nn.Module):
    """Embedding, LSTM, attention and a weight-normed layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.layers = nn.Embedding(11, 8), nn.LSTM(8, 6, bidirectional=True, batch_first=True)
        self.attention = nn.MultiheadAttention(12, 2, batch_first=True)
        self.head = nn.utils.parametrizations.weight_norm(nn.Linear(12, 3))

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, shape (n, 3), of tokens of shape (n, steps), int64."""
        states, _ = self.layers(self.embedding(tokens))
        mixed, _ = self.attention(states, states, states, need_weights=False)
        logits: Tensor = self.head(mixed.mean(1))
        return logits


class Recurrent(nn.Module):
    """A GRU and a plain recurrent layer, with two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.GRU(4, 5, 2, dropout=0.1, batch_first=True), nn.RNN(5, 3)
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, values: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
        """States of shapes (n, 4) and (n, steps, 5), of values of shape (n, steps, 4) and gains of shape (n, 1)."""
        states, _ = self.first(values)
        mixed, _ = self.second(states.transpose(0, 1) * gain.unsqueeze(0))
        hidden, _ = self.cell(mixed[-1])
        return hidden, states


class Pyramid(nn.Module):
    """Convolutions down and up again: transposed and grouped ones, pooling, resizing, padding, concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.norm, self.grouped = nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.last = nn.Conv2d(7, 1, 1)

    def forward(self, images: Tensor) -> Tensor:
        """A map of shape (n, 1, 8, 8), of images of shape (n, 3, 8, 8)."""
        low = functional.gelu(self.norm(self.grouped(self.down(images))))
        small = functional.interpolate(functional.max_pool2d(low, 2), scale_factor=2, mode="bilinear")
        high = self.up(functional.pad(low + small, (0, 0, 0, 0)))
        result: Tensor = self.last(torch.cat([high, images], dim=1)).sigmoid()
        return result


class Indexing(nn.Module):
    """Selection, scattering, masks and sums by index; a 1-d convolution and layer norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(2, 6, 3, padding="same"), nn.LayerNorm(6)
        self.register_buffer("order", torch.tensor([2, 0, 1, 3, 4, 5]))

    def forward(self, values: Tensor) -> Tensor:
        """Numbers of shape (n, 6), of values of shape (n, 2, 9)."""
        states = self.norm(self.conv(values).transpose(1, 2))[:, :, self.get_buffer("order")]
        best = states.topk(3, dim=1).values.sum(1)
        masked = torch.where(best > 0, best, best.masked_fill(best < -1, 0.5))
        total = torch.zeros_like(masked).scatter_add(1, states.argmax(2)[:, :6], masked)
        result: Tensor = torch.einsum("ni,nj->ni", total, masked.softmax(1)).clamp(-3, 3)
        return result


def _images() -> nn.Module:
    features = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2))
    return nn.Sequential(*features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


NETWORKS: tuple[tuple[Callable[[], nn.Module], Callable[[], tuple[Tensor, ...]]], ...] = (
    (Sequence, lambda: (torch.randint(0, 11, (3, 5)),)),
    (_images, lambda: (torch.randn(3, 3, 8, 8),)),
    (Recurrent, lambda: (torch.randn(3, 6, 4), torch.randn(3, 1))),
    (Pyramid, lambda: (torch.randn(3, 3, 8, 8),)),
    (Indexing, lambda: (torch.randn(3, 2, 9),)),
)
"""Networks with example inputs of three samples."""
