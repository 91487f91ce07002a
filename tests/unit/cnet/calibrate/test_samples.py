"""The division of calibration inputs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cnet.calibrate.samples import alike_halves, unlike_halves

SOURCES = 16


def from_sources(each: int, spread: float = 0.05) -> tuple[Tensor, Tensor]:
    """Outputs of samples from some sources, shape (n, 10), and the source of each; in a mixed order."""
    generator = torch.Generator().manual_seed(3)
    centres = torch.randn(SOURCES, 10, generator=generator)
    source = torch.arange(SOURCES).repeat_interleave(each)[torch.randperm(SOURCES * each, generator=generator)]
    return centres[source] + spread * torch.randn(len(source), 10, generator=generator), source


def test_a_source_is_mostly_in_one_half() -> None:
    """Of each source at least three quarters of the samples that are not set apart, on average."""
    outputs, source = from_sources(9)

    first, second, _ = alike_halves(outputs)

    counts = torch.stack([torch.bincount(source[half], minlength=SOURCES) for half in (first, second)])
    assert float((counts.max(0)[0] / counts.sum(0).clamp(min=1)).mean()) > 0.75


def test_the_halves_are_alike() -> None:
    """Their means are closer than those of the halves that are as unlike as possible."""
    outputs, _ = from_sources(9)

    first, second, _ = alike_halves(outputs)
    low, high = unlike_halves(outputs)

    apart = float((outputs[low].mean(0) - outputs[high].mean(0)).norm())
    assert float((outputs[first].mean(0) - outputs[second].mean(0)).norm()) < 0.8 * apart


def test_unlike_halves_have_the_samples_of_alike_ones() -> None:
    """The same ones are set apart from both."""
    outputs, _ = from_sources(9)

    assert torch.equal(torch.cat(unlike_halves(outputs)).sort()[0], torch.cat(alike_halves(outputs)[:2]).sort()[0])


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 31, 32, 100])
def test_each_sample_is_in_one_part(count: int) -> None:
    """The halves differ by few samples, and an eighth is set apart where there are 32."""
    outputs = torch.randn(count, 5, generator=torch.Generator().manual_seed(count))

    parts = alike_halves(outputs)

    assert torch.equal(torch.cat(parts).sort()[0], torch.arange(count))
    assert 0 <= len(parts[0]) - len(parts[1]) <= 4
    assert len(parts[2]) == (2 * (count // 16) if count >= 32 else 0)


def test_the_division_does_not_depend_on_the_order_of_samples() -> None:
    """The same samples are together."""
    outputs = torch.randn(60, 5, generator=torch.Generator().manual_seed(1))
    order = torch.randperm(60, generator=torch.Generator().manual_seed(2))

    for part, other in zip(alike_halves(outputs), alike_halves(outputs[order]), strict=True):
        assert set(part.tolist()) == set(order[other].tolist())


def test_equal_outputs_are_divided_too() -> None:
    """Nothing tells the samples from each other, and half of them is in each half."""
    first, second, apart = alike_halves(torch.zeros(16, 3))

    assert (len(first), len(second), len(apart)) == (8, 8, 0)
