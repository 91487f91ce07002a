"""A network that needs PyTorch, imported where it is made."""

from __future__ import annotations

import torch
from torch import nn


class EarlyExitNetwork(nn.Module):
    """Logits of a first layer, to which a second adds where the first is in doubt."""

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.norm, self.first, self.second = nn.BatchNorm1d(features), nn.Linear(features, 8), nn.Linear(8, outputs)
        self.direct = nn.Linear(features, outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, shape (n, outputs), of images of shape (n, channels, height, width)."""
        values = self.norm(images.flatten(1))
        logits = self.direct(values)
        if logits.detach().softmax(1).max().item() > 0.99:  # Python control flow on values
            return logits
        return logits + self.second(torch.relu(self.first(values)))
