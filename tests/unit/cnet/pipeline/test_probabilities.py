"""Networks that end in a softmax are compressed, trained and judged as the same networks without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import cnet
from cnet.pipeline import SilentRunObserver


class Net(nn.Module):
    """A classifier of four classes, trained to be sure, whose last step is a function of its logits."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending
        self.hidden, self.head = nn.Linear(12, 24), nn.Linear(24, 4)

    def forward(self, values: Tensor) -> Tensor:
        """Shape (n, 4), or (n, 4, 1) of the ending ``unsqueezed``, of values of shape (n, 12)."""
        logits: Tensor = self.head(torch.relu(self.hidden(values)))
        if self.ending == "softmax":
            return logits.softmax(1)
        if self.ending == "squeezed":
            return logits[:, :, None].softmax(1).squeeze(-1)
        if self.ending == "exp":
            shifted = (logits - logits.amax(1, keepdim=True)).exp()
            return shifted / shifted.sum(1, keepdim=True)
        return logits


class Log(SilentRunObserver):
    """Keeps the log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        """Keep a line."""
        self.lines.append(message)


def samples(count: int = 160) -> tuple[Tensor, Tensor]:
    """Inputs, shape (count, 12), and labels from 0 to 3, which a linear network tells apart."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(count) % 4
    return torch.randn(count, 12, generator=generator) + 2 * functional.one_hot(labels, 12), labels


def trained(ending: str) -> Net:
    """The same weights for each ending."""
    torch.manual_seed(0)
    net = Net("logits")
    values, labels = samples()
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(60):
        optimizer.zero_grad()
        functional.cross_entropy(net(values), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    net.ending = ending
    return net


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Whether all tensors of two networks have the same bits."""
    mine, theirs = one.state_dict(), other.state_dict()
    return all(torch.equal(mine[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("ending", ["softmax", "squeezed"])
@pytest.mark.parametrize("task", ["classification", "distill"])
def test_calibration_gives_the_same_weights_and_divergence(ending: str, task: str) -> None:
    """Steps, and the divergence that is told, are those of the logits; the log says so once."""
    nets, log = {"logits": trained("logits"), ending: trained(ending)}, Log()
    spec = {"quantize": {"name": "calibrated", "quality": "smallest"}}

    points = {
        name: cnet.compress(net, inputs=samples()[0], spec=spec, task=task, observer=log).point
        for name, net in nets.items()
    }

    assert points[ending]["kl"] == points["logits"]["kl"] > 1e-4
    assert points[ending]["agreement"] == points["logits"]["agreement"]
    assert same_weights(nets[ending], nets["logits"])
    [line] = [line for line in log.lines if "softmax" in line]
    assert "output0 ends in a softmax, so it is taken as probabilities" in line


@pytest.mark.parametrize("task", ["classification", "distill"])
def test_training_gives_the_same_scores(task: str) -> None:
    """Loss, accuracy and divergence of a network that was pruned and trained."""
    values, labels = samples()
    data: dict[str, Any] = {"x_train": values[:120], "x_test": values[120:]}
    if task == "classification":
        data |= {"y_train": labels[:120], "y_test": labels[120:]}
    spec = {
        "training": {"epochs": 2, "batch_size": 16, "device": "cpu"},
        "prune": {"name": "magnitude", "sparsity": 0.5},
        "recover": {"epochs": 2, "centroid_epochs": 1, "distill": {}},
        "quantize": {"name": "kmeans", "clusters": 8},
    }

    one, other = (cnet.compress(trained(name), data, spec=spec, task=task).point for name in ("softmax", "logits"))

    assert one["kl"] == pytest.approx(other["kl"], rel=1e-4) != 0
    for name in ("agreement", "accuracy"):
        assert one.get(name) == other.get(name)
    assert one["metric"] == other["metric"]


def test_probabilities_that_no_softmax_makes_are_warned_about() -> None:
    """In a calibration, where nothing else tells it; logits and regressions are not."""
    found = {}
    for ending, task in (("exp", "classification"), ("exp", "regression"), ("logits", "classification")):
        log = Log()
        result = cnet.compress(trained(ending), inputs=samples()[0], task=task, observer=log)
        found[ending, task] = sum("add up to 1 over the classes" in line for line in log.lines)
        codes = [each["code"] for each in result.point["warnings"]]
        assert codes.count("outputs_doubtful") == found[ending, task]

    assert found == {("exp", "classification"): 1, ("exp", "regression"): 0, ("logits", "classification"): 0}


def test_the_same_warning_with_a_data_set() -> None:
    """Said once, however many points are made."""
    log, (values, labels) = Log(), samples()
    clusters = {"name": "kmeans", "clusters": [8, 16]}
    spec = {"prune": {"name": "magnitude", "sparsity": 0}, "quantize": clusters, "training": {"epochs": 0}}

    cnet.compress(trained("exp"), (values.numpy(), np.asarray(labels)), spec=spec, observer=log)

    assert sum("add up to 1 over the classes" in line for line in log.lines) == 1
