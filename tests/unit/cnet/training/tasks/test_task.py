"""Every task computes its losses and scores from what a network gives."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional

from cnet.data import Dataset
from cnet.errors import DatasetError, SpecError
from cnet.models.programs.document import Activation, ProgramOutput
from cnet.training.tasks import TASKS
from cnet.training.tasks.ctc import Ctc, edit_distance
from cnet.training.tasks.targets import Targets


def dataset(targets: np.ndarray | None) -> Dataset:
    """Eight samples of one number each, with these targets in both splits."""
    x = np.zeros((8, 1), np.float32)
    return Dataset.of_arrays(x, targets, x, targets)


def test_the_registered_tasks_load_no_torch() -> None:
    """Their names, and that describing them loads no PyTorch."""
    assert TASKS.names() == (
        "binary",
        "classification",
        "ctc",
        "distill",
        "distill_binary",
        "distill_regression",
        "regression",
    )
    code = "import sys, cnet.training.tasks as t; t.TASKS.describe(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_classification_of_samples_and_of_steps() -> None:
    """Accuracy, top-5 and loss; labels for each step count as their mean over a sample."""
    task = TASKS.create("classification")
    logits = torch.eye(7)[[0, 1, 2, 3]] * 3
    labels = torch.tensor([0, 1, 0, 6])

    found = task.scores({name: total.item() for name, total in task.totals(logits, labels).items()}, 4)
    steps = task.totals(logits.reshape(2, 2, 7), labels.reshape(2, 2))

    assert found["accuracy"] == 50
    assert found["loss"] == pytest.approx(functional.cross_entropy(logits, labels).item())
    assert task.loss(logits.reshape(2, 2, 7), labels.reshape(2, 2)).item() == pytest.approx(found["loss"])
    assert (steps["correct"].item(), steps["loss"].item()) == (1.0, pytest.approx(2 * found["loss"]))
    assert task.training_total(logits, labels).item() == 2


@pytest.mark.parametrize("output", [(), ("n",), ("n", 1), ("n", 1, 16, 16)])
def test_outputs_of_one_class_are_not_compared_as_classes(output: tuple[int | str, ...]) -> None:
    """Their divergence would be 0, however the network is changed; numbers are compared by the task regression."""
    for name in ("classification", "distill"):
        with pytest.raises(
            SpecError, match=r"two classes or more.* Take the task binary for yes/no decisions or regression"
        ):
            TASKS.create(name).check_comparable(output)
    for name in ("binary", "regression"):
        TASKS.create(name).check_comparable(output)
    TASKS.create("classification").check_comparable(("n", 2))


def test_regression_counts_squares_and_absolutes() -> None:
    """An axis of one at the end of the output does not matter."""
    task = TASKS.create("regression")
    outputs, targets = torch.tensor([[1.0], [2.0]]), torch.tensor([0.0, 4.0])

    totals = {name: total.item() for name, total in task.totals(outputs, targets).items()}

    assert task.scores(totals, 2) == {"mse": 2.5, "mae": 1.5, "loss": 2.5}
    assert task.loss(outputs, targets).item() == 2.5
    assert not task.metric.higher_is_better


def test_distillation_compares_classes() -> None:
    """The network itself agrees fully and has no divergence."""
    task = TASKS.create("distill")
    outputs = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(0))

    same = task.scores({name: total.item() for name, total in task.totals(outputs, outputs).items()}, 6)
    other = task.scores({name: total.item() for name, total in task.totals(-outputs, outputs).items()}, 6)

    assert same == {"kl": pytest.approx(0, abs=1e-6), "agreement": 100, "loss": pytest.approx(0, abs=1e-6)}
    assert other["kl"] > 0.1
    assert other["agreement"] < 50
    assert task.loss(-outputs, outputs).item() == pytest.approx(other["kl"], rel=1e-4)


def test_distillation_compares_decisions() -> None:
    """A network that never says the rare yes has half of the agreement; a sigmoid at the end is left out."""
    task = TASKS.create("distill_binary")
    outputs = torch.full((40, 1), -2.0)
    outputs[:20] = 2.0
    never = torch.full_like(outputs, -2.0)

    same = task.scores({name: total.item() for name, total in task.totals(outputs, outputs).items()}, 40)
    other = task.scores({name: total.item() for name, total in task.totals(never, outputs).items()}, 40)

    assert same == {"kl": pytest.approx(0, abs=1e-6), "agreement": 100, "loss": pytest.approx(0, abs=1e-6)}
    assert other["agreement"] == pytest.approx(100 * 2 / 3 / 2)
    assert task.loss(never, outputs).item() == pytest.approx(other["kl"], rel=1e-5) == other["loss"]
    assert task.loss(never, outputs).item() == pytest.approx(2 * torch.tensor(2.0).sigmoid().item() - 1, rel=1e-5)
    sigmoid = ProgramOutput(name="y", dtype="float32", shape=(None, 1), activation=Activation(name="sigmoid"))
    assert task.takes_logits_of(sigmoid)
    assert "distill_binary" in (task.doubt_about(outputs.sigmoid()) or "")
    task.check(None, (None, 1))
    task.check_comparable((None, 1))


def test_distillation_compares_numbers_by_channel() -> None:
    """An error of a tenth of a channel's deviation is 20 dB in each unit, by the deviations that it was fitted to."""
    generator = torch.Generator().manual_seed(0)
    units = torch.tensor([1e5, 0.1])
    expected = units * torch.randn(4000, 2, generator=generator)
    found = expected + 0.1 * units * torch.randn(4000, 2, generator=generator)
    fitted = TASKS.create("distill_regression").fitted(expected)

    few = {name: total.item() for name, total in fitted.totals(found[:50], expected[:50]).items()}
    all_of_them = {name: total.item() for name, total in fitted.totals(found, expected).items()}
    same = {name: total.item() for name, total in fitted.totals(expected, expected).items()}

    assert fitted.scores(all_of_them, 4000)["output_snr_db"] == pytest.approx(20, abs=0.3)
    assert fitted.scores(few, 50)["output_snr_db"] == pytest.approx(20, abs=1.5)
    assert fitted.scores(same, 4000) == {"output_snr_db": 150, "loss": 0}
    assert fitted.loss(found, expected).item() == pytest.approx(fitted.scores(all_of_them, 4000)["loss"], rel=1e-4)
    assert fitted.soft_loss(found, expected, 2.0).item() == pytest.approx(fitted.loss(found, expected).item() / 4)
    assert fitted.model_dump() == {"name": "distill_regression"}
    assert fitted.metric.higher_is_better


@pytest.mark.parametrize(
    ("name", "taught"),
    [
        ("classification", "distill"),
        ("ctc", "distill"),
        ("binary", "distill_binary"),
        ("regression", "distill_regression"),
        ("distill", "distill"),
    ],
)
def test_each_task_names_the_one_that_needs_no_targets(name: str, taught: str) -> None:
    """It learns from the original, whatever targets there are."""
    assert TASKS.get(name).distilled == taught
    assert TASKS.get(taught).learns_from_original


def test_maps_have_their_classes_along_the_second_axis() -> None:
    """As convolutions give them; each pixel is a decision."""
    maps = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    rows = maps.movedim(1, -1).reshape(2, 20, 3)
    other, other_rows = -maps, -rows
    labels = torch.arange(40).reshape(2, 4, 5) % 3

    for name, mine, theirs in (("distill", maps, rows), ("classification", labels, labels.reshape(2, 20))):
        task = TASKS.create(name)
        assert task.loss(other, mine).item() == pytest.approx(task.loss(other_rows, theirs).item(), rel=1e-5)
        found, expected = task.totals(other, mine), task.totals(other_rows, theirs)
        assert {key: value.item() for key, value in found.items()} == pytest.approx(
            {key: value.item() for key, value in expected.items()}, rel=1e-5
        )
    assert TASKS.create("classification").training_total(maps, labels) is not None
    TASKS.create("distill").check(None, (None, 3, 4, 1))
    with pytest.raises(DatasetError, match="regression"):
        TASKS.create("distill").check(None, (None, 1, 4, 5))


def test_lines_are_read_by_merging_repeats() -> None:
    """One line is right; of the other, one of three labels is missing."""
    task = TASKS.create("ctc")
    steps = torch.tensor([[1, 1, 0, 1, 2, 0], [3, 3, 0, 0, 2, 2]])
    logits = 9.0 * functional.one_hot(steps, 5)
    targets = torch.tensor([[1, 1, 2, 0], [3, 1, 2, 0]])

    totals = {name: total.item() for name, total in task.totals(logits, targets).items()}
    found = task.scores(totals, 2)

    assert found["exact_lines"] == 50
    assert found["character_error_rate"] == pytest.approx(100 / 6)
    expected = functional.ctc_loss(
        logits.log_softmax(2).transpose(0, 1), targets, torch.tensor([6, 6]), torch.tensor([3, 3])
    )
    assert found["loss"] == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("one", "other", "edits"), [("", "", 0), ("kitten", "sitting", 3), ("ab", "", 2), ("", "a", 1)]
)
def test_edit_distance(one: str, other: str, edits: int) -> None:
    """Levenshtein's examples."""
    assert edit_distance([ord(c) for c in one], [ord(c) for c in other]) == edits


@pytest.mark.parametrize("name", TASKS.names())
def test_drawn_targets_have_a_gradient(name: str) -> None:
    """The same for the same seed."""
    outputs = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    comparison = TASKS.create(name).comparison(outputs.detach())
    one, two = (comparison.sampled_loss(outputs, torch.Generator().manual_seed(1)) for _ in range(2))
    one.backward()
    assert one.item() == two.item()
    assert outputs.grad is not None


@pytest.mark.parametrize(
    ("name", "targets", "output"),
    [
        ("classification", None, (None, 4)),
        ("classification", np.zeros(8, np.float32), (None, 4)),
        ("classification", np.arange(8), (None, 4)),
        ("classification", np.zeros((8, 3), np.int64), (None, 4)),
        ("classification", -np.ones(8, np.int64), (None, 4)),
        ("classification", np.arange(8) % 2, (None, 1)),
        ("regression", None, (None, 1)),
        ("regression", np.zeros((8, 3), np.float32), (None, 2)),
        ("regression", np.zeros((8, 3), np.float32), (None,)),
        ("distill", None, (None, 1)),
        ("ctc", np.zeros(8, np.int64), (None, 6, 4)),
        ("ctc", np.zeros((8, 7), np.int64), (None, 6, 4)),
        ("ctc", np.full((8, 2), 4), (None, 6, 4)),
        ("ctc", np.zeros((8, 2), np.int64), (None, 4)),
    ],
)
def test_targets_that_do_not_fit_are_refused(name: str, targets: np.ndarray | None, output: tuple[int | None]) -> None:
    """Before anything is trained; both are stated, with what to do."""
    with pytest.raises(DatasetError) as caught:
        TASKS.create(name).check(Targets.of(dataset(targets)), output)
    assert caught.value.code in ("bad_labels", "labels_out_of_range")
    assert caught.value.detail.endswith(".")


@pytest.mark.parametrize(
    ("name", "targets", "output"),
    [
        ("classification", np.arange(8) % 4, ("s0", 4)),
        ("classification", np.zeros((8, 3), np.int64), (None, 3, 4)),
        ("regression", np.zeros((8, 1), np.float32), (None,)),
        ("regression", np.zeros(8, np.float32), (None, 1)),
        ("distill", None, (None, 2)),
        ("ctc", np.zeros((8, 6), np.int64), (None, 6, 4)),
    ],
)
def test_targets_that_fit_are_accepted(name: str, targets: np.ndarray | None, output: tuple[int | None]) -> None:
    """No error."""
    TASKS.create(name).check(Targets.of(dataset(targets)), output)


def test_ctc_with_another_blank_label() -> None:
    """The blank is a setting."""
    logits = 9.0 * functional.one_hot(torch.tensor([[3, 0, 0, 3]]), 4)
    assert Ctc(blank=3).totals(logits, torch.tensor([[0, 3]]))["exact"].item() == 1


def test_a_blank_that_is_no_class_is_refused() -> None:
    """The loss would otherwise fail in the middle of a training."""
    targets = Targets("int64", (2,), classes=4)
    Ctc(blank=3).check(targets, (None, 6, 4))
    with pytest.raises(DatasetError, match="4 classes"):
        Ctc(blank=4).check(targets, (None, 6, 4))


def _drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("outputs", "remedy"),
    [
        (_drawn(20, 5), None),
        (_drawn(20, 5).softmax(1), "gives the logits"),
        (_drawn(4, 3, 6, 6).softmax(1), "gives the logits"),
        (_drawn(20, 5).sigmoid(), "binary"),
        (_drawn(4, 3, 6, 6).sigmoid(), "regression"),
        (functional.normalize(_drawn(20, 5)), "regression"),
        (_drawn(3, 2).sigmoid(), None),
        (10 * _drawn(20, 5).abs(), None),
        (_drawn(20, 3) + torch.tensor([0.0, 50.0, 0.0]), "several classes"),
        (_drawn(19, 3) + torch.tensor([0.0, 50.0, 0.0]), None),
        (_drawn(20), None),
    ],
)
@pytest.mark.parametrize("name", ["classification", "distill", "ctc"])
def test_outputs_that_can_hardly_be_logits_are_doubted(name: str, outputs: torch.Tensor, remedy: str | None) -> None:
    """What to do depends on what they look like; few numbers may be anything."""
    doubt = TASKS.create(name).doubt_about(outputs)

    assert (doubt is None) == (remedy is None)
    assert remedy is None or remedy in (doubt or "")
    assert TASKS.create("regression").doubt_about(outputs) is None
