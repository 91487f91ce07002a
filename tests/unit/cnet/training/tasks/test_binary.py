"""Independent decisions are trained, scored and compared one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, kl_divergence

import cnet
from cnet.data import Dataset
from cnet.errors import DatasetError
from cnet.models.programs.document import Activation, ProgramOutput
from cnet.pipeline import SilentRunObserver
from cnet.training.tasks import TASKS
from cnet.training.tasks.targets import Targets

BINARY = TASKS.create("binary")


def random_logits(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers with a standard deviation of 3."""
    return 3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def dataset(targets: np.ndarray) -> Dataset:
    """Samples of one number each, with these targets in both splits."""
    x = np.zeros((len(targets), 1), np.float32)
    return Dataset.of_arrays(x, targets, x, targets)


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 4), (6, 1, 2, 3)])
def test_each_decision_counts_by_itself(shape: tuple[int, ...]) -> None:
    """Accuracy, F1 and loss; integers, booleans and numbers are the same targets, whatever their axes of 1."""
    outputs = random_logits(*shape)
    yes = random_logits(*shape, seed=1) > 0
    expected = nn.functional.binary_cross_entropy_with_logits(outputs, yes.float()).item()
    flat = tuple(size for size in shape if size != 1)

    for targets in (yes, yes.long(), yes.float().reshape(flat)):
        totals = {name: total.item() for name, total in BINARY.totals(outputs, targets).items()}
        found = BINARY.scores(totals, 6)
        right = ((outputs > 0) == yes).double().mean().item()
        assert BINARY.loss(outputs, targets).item() == pytest.approx(expected)
        assert found["loss"] == pytest.approx(expected)
        assert found["accuracy"] == pytest.approx(100 * right)
        both, one = ((outputs > 0) & yes).sum().item(), ((outputs > 0) != yes).sum().item()
        assert found["f1"] == pytest.approx(100 * 2 * both / (2 * both + one))
        trained = BINARY.training_total(outputs, targets)
        assert trained is not None
        assert trained.item() == pytest.approx(6 * right)


def test_the_divergence_is_that_of_bernoulli_distributions() -> None:
    """The same in the soft loss and in the comparison; small ones are not lost in rounding."""
    expected, outputs = random_logits(8, 3), random_logits(8, 3, seed=1)
    divergence = kl_divergence(Bernoulli(logits=expected), Bernoulli(logits=outputs)).mean().item()
    comparison = BINARY.comparison(expected)

    found, same = comparison.compare(outputs, expected), comparison.compare(expected, expected)
    near = comparison.compare(expected + 1e-4, expected)

    assert found["kl"] == pytest.approx(divergence, rel=1e-5)
    assert comparison.divergence(outputs, expected).item() == pytest.approx(divergence, rel=1e-5)
    assert BINARY.soft_loss(2 * outputs, 2 * expected, 2.0).item() == pytest.approx(divergence, rel=1e-4)
    yes, no = ((outputs > 0) & (expected > 0)).sum().item(), ((outputs <= 0) & (expected <= 0)).sum().item()
    different = outputs.numel() - yes - no
    assert different > 0
    agreement = 50 * (2 * yes / (2 * yes + different) + 2 * no / (2 * no + different))
    assert found["agreement"] == pytest.approx(agreement)
    assert same == {"kl": 0, "agreement": 100}
    variance = (expected.sigmoid() * (-expected).sigmoid()).double().mean().item()
    assert near["kl"] == pytest.approx(variance * 1e-8 / 2, rel=1e-2)
    assert comparison.decisions(outputs) == 3


def test_confident_decisions_have_finite_losses_and_gradients() -> None:
    """Logits whose sigmoid is 0 or 1 in float32."""
    outputs = torch.tensor([[500.0], [-500.0]], requires_grad=True)
    expected = torch.tensor([[-500.0], [-500.0]])

    soft = BINARY.soft_loss(outputs, expected, 1.0) + BINARY.loss(outputs, torch.tensor([0, 1]))
    (soft + BINARY.comparison(expected).sampled_loss(outputs, torch.Generator().manual_seed(0))).backward()

    assert math.isfinite(soft.item())
    assert outputs.grad is not None
    assert outputs.grad.isfinite().all()
    assert outputs.grad.abs().max() > 0.1


@pytest.mark.parametrize(
    ("targets", "output"),
    [
        (np.arange(8) % 2, (None,)),
        (np.arange(8) % 2, ("s0", 1)),
        (np.float32(np.arange(8) / 8), ("s0", 1)),
        (np.zeros((8, 3), np.int64), ("s0", 3)),
        (np.zeros((8, 4, 5), np.float32), ("s0", 1, "s1", 5)),
    ],
)
def test_targets_that_fit_are_accepted(targets: np.ndarray, output: tuple[int | str | None, ...]) -> None:
    """No error."""
    BINARY.check(Targets.of(dataset(targets)), output)


@pytest.mark.parametrize(
    ("targets", "output", "words"),
    [
        (None, ("s0", 1), "the targets are none"),
        (np.arange(8) % 3, ("s0", 1), "the targets are 0 to 2, .*classification"),
        (np.float32(np.arange(8) - 1.5), ("s0", 1), "the targets are -1.5 to 5.5"),
        (np.arange(8) % 2, ("s0", 3), r"int64 of shape \(\)"),
        (np.zeros((8, 2), np.int64), ("s0", 3), r"shape \(any, 3\)"),
    ],
)
def test_targets_that_do_not_fit_are_refused(
    targets: np.ndarray | None, output: tuple[int | str | None, ...], words: str
) -> None:
    """Shapes, and values that are no decisions."""
    known = None if targets is None else Targets.of(dataset(targets))
    with pytest.raises(DatasetError, match=words) as caught:
        BINARY.check(known, output)
    assert caught.value.code == "bad_labels"


@pytest.mark.parametrize(
    ("targets", "guess"),
    [
        (np.arange(8) // 6, 75.0),
        (np.zeros(8, np.int64), 50.0),
        (np.stack([np.arange(8) // 6, np.arange(8) // 2 // 3], 1), 75.0),
        (np.stack([np.arange(8) // 7, np.zeros(8, np.int64)], 1), 68.75),
        (np.float32(np.arange(8) / 10), 75.0),
    ],
)
def test_the_score_of_a_guess(targets: np.ndarray, guess: float) -> None:
    """The more common answer of each label."""
    assert BINARY.guessed_score(targets) == pytest.approx(guess)


@pytest.mark.parametrize(("name", "taken"), [("sigmoid", True), ("softmax", False), (None, False)])
def test_a_sigmoid_at_the_end_is_left_out(name: str | None, taken: bool) -> None:
    """A softmax is not: what goes into it is not a decision."""
    activation = None if name is None else Activation.model_validate({"name": name, "axis": None})
    output = ProgramOutput(name="output0", dtype="float32", shape=("s0", 3), activation=activation)

    assert BINARY.takes_logits_of(output) == taken


@pytest.mark.parametrize(("kept", "agreement"), [(10, 100), (5, 50 * (10 / 15 + 60 / 65)), (0, 50 * 60 / 70)])
def test_a_rare_answer_counts_as_much_as_the_common_one(kept: int, agreement: float) -> None:
    """A network that never gives it agrees in three of four decisions, and is ruined."""
    expected, outputs = -torch.ones(40, 1), -torch.ones(40, 1)
    expected[:10], outputs[:kept] = 1, 1

    assert BINARY.comparison(expected).compare(outputs, expected)["agreement"] == pytest.approx(agreement)


def test_one_answer_of_another_kind_is_no_measurement() -> None:
    """One yes among 40 that is lost; where there are few decisions at all, all of them count alike."""
    expected, outputs = -torch.ones(40, 1), -torch.ones(40, 1)
    expected[0] = 1

    for count, agreement in ((40, 100 * 78 / 79), (4, 75)):
        found = BINARY.comparison(expected).compare(outputs[:count], expected[:count])
        assert found["agreement"] == pytest.approx(agreement)


def test_where_all_answers_are_the_same_only_that_one_counts() -> None:
    """The other one is given by neither network."""
    assert BINARY.comparison(torch.ones(4, 1)).compare(torch.ones(4, 1), torch.ones(4, 1))["agreement"] == 100


class Labels(nn.Module):
    """A network of independent labels, which ends in a sigmoid or in another function."""

    def __init__(self, labels: int, ending: str) -> None:
        super().__init__()
        self.ending = ending
        self.hidden, self.head = nn.Linear(6, 16), nn.Linear(16, labels)

    def forward(self, values: Tensor) -> Tensor:
        """Shape (n, labels), or (n,) of a single label, of values of shape (n, 6)."""
        logits = 4 * self.head(torch.relu(self.hidden(values)))
        outputs: Tensor = {"sigmoid": torch.sigmoid, "exp": lambda x: 1 / (1 + (-x).exp())}.get(self.ending, _same)(
            logits
        )
        return outputs.squeeze(-1)


def _same(logits: Tensor) -> Tensor:
    return logits


class Log(SilentRunObserver):
    """Keeps the log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, message: str) -> None:
        """Keep a line."""
        self.lines.append(message)


def seeded(labels: int, ending: str) -> Labels:
    """The same weights for each ending."""
    torch.manual_seed(0)
    return Labels(labels, ending)


@pytest.mark.parametrize("labels", [1, 3])
def test_calibration_by_a_sigmoid_is_that_by_its_logits(labels: int) -> None:
    """Equal divergence, agreement and weights; a sigmoid that is written in another way is warned about."""
    values, found, nets = random_logits(150, 6), {}, {}
    spec = {"quantize": {"name": "calibrated", "quality": "smallest"}}
    for ending in ("sigmoid", "none", "exp"):
        log, nets[ending] = Log(), seeded(labels, ending)
        found[ending] = cnet.compress(nets[ending], inputs=values, spec=spec, task="binary", observer=log).point
        assert any("taken as probabilities" in line for line in log.lines) == (ending == "sigmoid")
        assert any("all between 0 and 1" in line for line in log.lines) == (ending == "exp")

    assert found["sigmoid"]["kl"] == found["none"]["kl"] > 1e-4
    assert found["sigmoid"]["agreement"] == found["none"]["agreement"] < 100
    mine, theirs = nets["sigmoid"].state_dict(), nets["none"].state_dict()
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)


def test_a_network_of_labels_is_trained() -> None:
    """To the labels of its data set, whose score is better than a guess."""
    values = random_logits(240, 6)
    labels = values[:, :3] > 0
    net = seeded(3, "sigmoid")
    spec = {
        "training": {"epochs": 8, "batch_size": 16, "device": "cpu"},
        "recover": {"epochs": 4, "centroid_epochs": 1},
        "prune": {"name": "magnitude", "sparsity": 0.3},
    }

    found = cnet.compress(net, (values, labels), spec=spec, task="binary")

    assert found.report["baseline"]["accuracy"] < 65
    assert found.point["accuracy"] > 80
    assert found.point["metric"]["name"] == "accuracy"
    assert 0 <= net(values).min() < 0.2 < 0.8 < net(values).max() <= 1


def test_the_task_of_classes_points_to_decisions_where_a_sigmoid_ends() -> None:
    """Several labels are no classes that exclude each other."""
    log = Log()

    cnet.compress(seeded(3, "sigmoid"), inputs=random_logits(60, 6), observer=log)

    assert any("ends in a sigmoid" in line and "Set architecture.task to binary" in line for line in log.lines)
