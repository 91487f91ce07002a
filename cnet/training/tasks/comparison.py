"""How the outputs of a network differ from those of the original network.

A comparison says what a difference means: outputs are logits of classes, or numbers. It measures the difference, and
gives the loss whose gradients tell how sensitive the outputs are to errors in the weights.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from cnet.training.tasks.task import class_rows, classes_last, soft_divergence

if TYPE_CHECKING:
    import torch
    from torch import Tensor

NOISE_SHARE = 0.25
"""Standard deviation of the normal distribution around a number of the output, as a share of the number's own."""

MOST_DB = 150.0
"""Largest signal-to-noise ratio of outputs, that of equal ones; differences in float32 leave about as much."""

_CONSTANT = 1e-12  # a variance that is no larger, relative to the mean square, is a rounding error


class Comparison(ABC):
    """Compares outputs, shape (batch, ...), float32, with those of the original network."""

    @abstractmethod
    def decisions(self, outputs: Tensor) -> int:
        """Number of decisions in the outputs of one sample; a divergence is the mean over them."""

    @abstractmethod
    def sampled_loss(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """The summed negative log-likelihood of targets drawn from the outputs, a scalar, for the curvature.

        Args:
            outputs: shape (batch, ...), float32.
            generator: of the draws, on the CPU.
        """

    @abstractmethod
    def divergence(self, outputs: Tensor, expected: Tensor) -> Tensor:
        """The mean Kullback-Leibler divergence from the original's outputs in nats, a scalar.

        Args:
            outputs: shape (batch, ...), float32.
            expected: of the original network, same shape.
        """

    @abstractmethod
    def totals(self, outputs: Tensor, expected: Tensor) -> dict[str, Tensor]:
        """Sums over a batch, scalars, float64, that ``scores`` makes scores of.

        Args:
            outputs: shape (batch, ...), float32.
            expected: of the original network, same shape.
        """

    @abstractmethod
    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Scores by name from sums of ``totals`` over so many samples."""

    def compare(self, outputs: Tensor, expected: Tensor) -> dict[str, float]:
        """Scores of outputs, shape (n, ...), float32, against those of the original network, same shape."""
        totals = {name: float(total) for name, total in self.totals(outputs, expected).items()}
        return self.scores(totals, len(outputs))


class ClassComparison(Comparison):
    """Compares logits of classes: along the last axis or, of maps as convolutions give them, along the second one."""

    def decisions(self, outputs: Tensor) -> int:
        """As ``Comparison.decisions``: steps of a sequence, places of a map."""
        return max(math.prod(classes_last(outputs).shape[1:-1]), 1)

    def sampled_loss(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """As ``Comparison.sampled_loss``: cross-entropy with drawn classes."""
        import torch
        from torch.nn import functional

        rows = class_rows(outputs)
        drawn = torch.multinomial(rows.detach().softmax(1).cpu(), 1, generator=generator)[:, 0].to(rows.device)
        return functional.cross_entropy(rows, drawn, reduction="sum")

    def divergence(self, outputs: Tensor, expected: Tensor) -> Tensor:
        """As ``Comparison.divergence``: that of the classes."""
        return soft_divergence(outputs, expected, 1.0)

    def totals(self, outputs: Tensor, expected: Tensor) -> dict[str, Tensor]:
        """As ``Comparison.totals``; of several decisions a sample, the mean over them counts."""
        outputs, expected = classes_last(outputs), classes_last(expected)
        told, found = expected.log_softmax(-1), outputs.log_softmax(-1)
        divergence = (told.exp() * (told - found)).sum(-1)
        agreement = (outputs.argmax(-1) == expected.argmax(-1)).double()
        batch = len(outputs)
        return {
            "kl": divergence.double().reshape(batch, -1).mean(1).sum(),
            "agreement": agreement.reshape(batch, -1).mean(1).sum(),
        }

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """The divergence ``kl`` in nats, and how often the top class is the same, ``agreement``, in percent."""
        return {"kl": totals["kl"] / samples, "agreement": 100 * totals["agreement"] / samples}


class NumberComparison(Comparison):
    """Compares numbers, each relative to how much the numbers of its channel differ among the original's outputs.

    Channels may have units of their own, such as a price and a probability; an error is as bad in each of them. For the
    divergence a number stands for a normal distribution around it, with the share ``NOISE_SHARE`` of the standard
    deviation of its channel: 0.001 nats are 39 dB of signal to noise, 0.01 nats 29 dB.

    Args:
        deviations: standard deviation of each channel, float32, of a shape that a batch of outputs can be divided by.
    """

    def __init__(self, deviations: Tensor) -> None:
        self._deviations = deviations

    @classmethod
    def of(cls, outputs: Tensor) -> Self:
        """The comparison with these outputs of the original network, shape (n, ...), float32.

        Channels lie along the second axis; of three axes, along the shorter one of the last two. A channel that is the
        same in all outputs counts as the mean of the others do, and by its own size where there are no others.
        """
        import torch

        axis = 2 if outputs.dim() == 3 and outputs.shape[2] < outputs.shape[1] else 1
        numbers = outputs.double() if outputs.dim() > 1 else outputs.double()[:, None]
        others = [each for each in range(numbers.dim()) if each != axis]
        power = numbers.square().mean(others, keepdim=True)
        variance = (numbers - numbers.mean(others, keepdim=True)).square().mean(others, keepdim=True)
        differs = variance > _CONSTANT * power
        if differs.any():
            variance = torch.where(differs, variance, variance[differs].mean())
        else:
            variance = torch.where(power > 0, power, torch.ones_like(power))
        deviations = variance.sqrt().float()
        return cls(deviations if outputs.dim() > 1 else deviations[:, 0])

    def decisions(self, outputs: Tensor) -> int:
        """As ``Comparison.decisions``: all numbers."""
        return max(math.prod(outputs.shape[1:]), 1)

    def sampled_loss(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """As ``Comparison.sampled_loss``: half the squared error, in standard deviations of the drawn noise."""
        import torch

        noise = torch.randn(outputs.shape, generator=generator).to(outputs.device)
        moved = (outputs - outputs.detach()) / (NOISE_SHARE * self._deviations.to(outputs.device))
        return (moved - noise).square().sum() / 2

    def divergence(self, outputs: Tensor, expected: Tensor) -> Tensor:
        """As ``Comparison.divergence``: half the squared difference, in variances of the noise."""
        return self._noise(outputs, expected).mean() / (2 * NOISE_SHARE**2)

    def totals(self, outputs: Tensor, expected: Tensor) -> dict[str, Tensor]:
        """As ``Comparison.totals``: the mean squared difference of each sample, in variances of the channels."""
        return {"noise": self._noise(outputs, expected).reshape(len(outputs), -1).mean(1).sum()}

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """The signal-to-noise ratio ``output_snr_db`` in dB, at most ``MOST_DB``."""
        noise = totals["noise"] / samples
        return {"output_snr_db": MOST_DB if noise == 0 else min(-10 * math.log10(noise), MOST_DB)}

    def _noise(self, outputs: Tensor, expected: Tensor) -> Tensor:
        return ((outputs - expected) / self._deviations.to(outputs.device)).double().square()
