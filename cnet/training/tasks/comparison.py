"""How the outputs of a network differ from those of the original network.

A comparison says what a difference means: outputs are logits of classes, or numbers. It measures the difference, and
gives the loss whose gradients tell how sensitive the outputs are to errors in the weights.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from cnet.training.tasks.task import class_rows, classes_last, soft_divergence

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Doubles = npt.NDArray[np.float64]

NOISE_SHARE = 0.25
"""Standard deviation of the normal distribution around a number of the output, as a share of the number's own."""

MOST_DB = 150.0
"""Largest signal-to-noise ratio of outputs, that of equal ones; differences in float32 leave about as much."""

_CONSTANT = 1e-13  # a variance that is no larger, relative to the mean square, is rounding errors of float32
_TAIL = 0.02  # of a channel's numbers on each side, which do not count for its deviation
_INNER_VARIANCE = 0.93  # of a normal distribution of variance 1 whose tails are moved to the bounds
_FAR = 3.0  # deviations from the middle, beyond which a number counts relative to its own distance


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
        """Sums over a batch, float64, any shape, that ``scores`` makes scores of.

        Args:
            outputs: shape (batch, ...), float32.
            expected: of the original network, same shape.
        """

    @abstractmethod
    def scores(self, totals: Mapping[str, Tensor], samples: int) -> dict[str, float]:
        """Scores by name from sums over so many samples, of the shapes that ``totals`` gives."""

    def compare(self, outputs: Tensor, expected: Tensor) -> dict[str, float]:
        """Scores of outputs, shape (n, ...), float32, against those of the original network, same shape."""
        return self.scores(self.totals(outputs, expected), len(outputs))


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

    def scores(self, totals: Mapping[str, Tensor], samples: int) -> dict[str, float]:
        """The divergence ``kl`` in nats, and in percent how often the top class is the same, ``agreement``.

        Args:
            totals: sums of ``totals``, shape () each.
            samples: over so many.
        """
        return {"kl": float(totals["kl"]) / samples, "agreement": 100 * float(totals["agreement"]) / samples}


class NumberComparison(Comparison):
    """Compares numbers, each relative to how much the numbers of its channel differ among the original's outputs.

    Channels may have units of their own, such as a price and a probability; an error is as bad in each of them. Numbers
    far from the others of their channel, which a strange input gives, count relative to their distance, so that a few
    neither hide the errors of the others nor dominate. For the divergence a number stands for a normal distribution
    around it, with the share ``NOISE_SHARE`` of that standard deviation: 0.001 nats are 39 dB of signal to noise, 0.01
    nats 29 dB.

    Args:
        middles: mean of each channel, float32, of a shape that a batch of outputs can be divided by.
        deviations: standard deviation of each channel, float32, same shape.
        reaches: in deviations from the middle, beyond which a number counts relative to its distance, same shape.
    """

    def __init__(self, middles: Tensor, deviations: Tensor, reaches: Tensor) -> None:
        self._middles, self._deviations, self._reaches = middles, deviations, reaches

    @classmethod
    def of(cls, outputs: Tensor) -> Self:
        """The comparison with these outputs of the original network, shape (n, ...), float32.

        Channels lie along the second axis; of three axes, along the shorter one of the last two. The largest and the
        smallest numbers of a channel do not count. A channel that is the same in all outputs counts as the mean of the
        others do, and by its own size where there are no others.
        """
        import torch

        axis = 2 if outputs.dim() == 3 and outputs.shape[2] < outputs.shape[1] else 1
        numbers = (outputs if outputs.dim() > 1 else outputs[:, None]).movedim(axis, 0).double().cpu().numpy()
        rows = numbers.reshape(len(numbers), -1)
        bounds = np.quantile(rows, (_TAIL, 1 - _TAIL), axis=1)[..., None]
        inner = np.clip(rows, *bounds)
        flat = np.ptp(inner, 1) == 0  # of a channel that is hardly ever other than one number, all of them count
        inner[flat] = rows[flat]
        middles, power = inner.mean(1), np.square(rows).mean(1)
        variances = _without_constant(inner.var(1) / np.where(flat, 1, _INNER_VARIANCE), power)
        shape = [1] * max(outputs.dim() - 1, 1)
        shape[axis - 1] = len(rows)
        found = (middles, np.sqrt(variances), np.where(flat, np.inf, _FAR))
        made = (torch.from_numpy(each.astype(np.float32)).reshape(shape).to(outputs.device) for each in found)
        return cls(*(each if outputs.dim() > 1 else each[0] for each in made))

    def decisions(self, outputs: Tensor) -> int:
        """As ``Comparison.decisions``: all numbers."""
        return max(math.prod(outputs.shape[1:]), 1)

    def sampled_loss(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """As ``Comparison.sampled_loss``: half the squared error, in standard deviations of the drawn noise."""
        import torch

        noise = torch.randn(outputs.shape, generator=generator).to(outputs.device)
        moved = (outputs - outputs.detach()) / (NOISE_SHARE * self._scales(outputs.detach()))
        return (moved - noise).square().sum() / 2

    def divergence(self, outputs: Tensor, expected: Tensor) -> Tensor:
        """As ``Comparison.divergence``: half the squared difference, in variances of the noise."""
        return self._noise(outputs, expected).mean() / (2 * NOISE_SHARE**2)

    def totals(self, outputs: Tensor, expected: Tensor) -> dict[str, Tensor]:
        """As ``Comparison.totals``: the squared differences of each channel, in variances, mean over its numbers."""
        noise = self._noise(outputs, expected)
        axes = [axis for axis, size in enumerate(self._deviations.shape, 1) if size == 1]
        return {"noise": (noise.mean(axes) if axes else noise).sum(0).reshape(-1)}

    def scores(self, totals: Mapping[str, Tensor], samples: int) -> dict[str, float]:
        """The signal-to-noise ratio ``output_snr_db`` in dB, and that of the worst channel; at most ``MOST_DB``.

        Args:
            totals: sums of ``totals``, shape (channels,).
            samples: over so many.
        """
        noise = totals["noise"] / samples
        return {"output_snr_db": decibels(float(noise.mean())), "worst_output_snr_db": decibels(float(noise.max()))}

    def _noise(self, outputs: Tensor, expected: Tensor) -> Tensor:
        return ((outputs - expected) / self._scales(expected)).double().square()

    def _scales(self, expected: Tensor) -> Tensor:
        """What an error of each number is divided by: its channel's deviation, or a share of its distance from it."""
        channels = (self._middles, self._deviations, self._reaches)
        middles, deviations, reaches = (each.to(expected.device) for each in channels)
        return ((expected - middles).abs() / reaches).maximum(deviations)


def _without_constant(variances: Doubles, power: Doubles) -> Doubles:
    """Variances of channels, with others in place of those that are rounding errors of their mean square ``power``."""
    differs = variances > _CONSTANT * power
    if differs.any():
        return np.where(differs, variances, variances[differs].mean())
    return np.where(power > 0, power, 1.0)


def decibels(noise: float) -> float:
    """A signal-to-noise ratio in dB, at most ``MOST_DB``, of a noise power relative to that of the signal."""
    return MOST_DB if noise == 0 else min(-10 * math.log10(noise), MOST_DB)
