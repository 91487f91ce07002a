"""What a network learns: labels, or the outputs of another network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.training.config import Distill
from cnet.training.objectives import DistilledObjective, Objective
from cnet.training.stage import Distillation, TrainingStage
from cnet.training.tasks.classification import Classification
from tests.small_training import same_bits, small_dataset, small_trainer, small_training


def outputs() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A teacher, images, outputs of a student, and labels."""
    generator = torch.Generator().manual_seed(0)
    teacher = torch.nn.Linear(3, 4)
    with torch.no_grad():
        teacher.weight.copy_(torch.randn(4, 3, generator=generator))
    return teacher, torch.randn(5, 3, generator=generator), torch.randn(5, 4, generator=generator), torch.arange(5) % 4


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.5), (4.0, 0.9), (2.0, 1.0), (3.0, 0.0)])
def test_the_loss_is_the_distillation_loss_of_hinton(temperature: float, share: float) -> None:
    """Compared with the formula."""
    teacher, x, said, y = outputs()
    told = (teacher(x) / temperature).softmax(1)
    divergence = (told * (told.log() - (said / temperature).log_softmax(1))).sum(1).mean()
    expected = share * temperature**2 * divergence + (1 - share) * functional.cross_entropy(said, y)
    objective = DistilledObjective(Classification(), teacher, Distill(temperature=temperature, share=share))
    assert objective.loss([x], said, y).item() == pytest.approx(expected.item(), rel=1e-5)
    assert Objective(Classification()).loss([x], said, y).item() == pytest.approx(
        functional.cross_entropy(said, y).item()
    )


def test_the_teacher_is_not_trained_and_its_own_outputs_have_no_loss() -> None:
    """No gradient reaches it, and a student with the same outputs has no loss."""
    teacher, x, _, y = outputs()
    loss = DistilledObjective(Classification(), teacher, Distill(share=1.0)).loss(
        [x], teacher(x).detach().requires_grad_(), y
    )
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert teacher.weight.grad is None


def test_with_a_share_of_one_labels_are_not_read() -> None:
    """Other labels give the same bits in recovery and in the training of centroids."""
    trainer = small_trainer()
    dataset = small_dataset()
    # the largest label stays, which the number of outputs follows from
    shuffled = small_trainer(
        dataset=replace(dataset, train=replace(dataset.train, targets=np.roll(dataset.train.labels, 1)))
    )
    teacher = trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=10)))
    keep = np.abs(teacher.vector()) > 0.08
    stage = TrainingStage(
        "recover", small_training(), mask=keep, distillation=Distillation(teacher, Distill(share=1.0))
    )
    one, two = (t.train(teacher, stage) for t in (trainer, shuffled))
    assert same_bits(one, two)
    symbols = QUANTIZERS.create("kmeans").symbols(one.vector(), keep, 4)
    three, four = (t.train_centroids(one, symbols, stage)[0] for t in (trainer, shuffled))
    assert same_bits(three, four)
    assert not np.array_equal(three.vector(), symbols.vector())


def test_distillation_recovers_without_labels() -> None:
    """After pruning, the teacher's outputs alone restore the accuracy."""
    trainer = small_trainer()
    teacher = trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=20)))
    keep = PRUNERS.create("magnitude", scope="layer").keep(teacher, 0.95)
    pruned = trainer.train(teacher, TrainingStage("recover", small_training(epochs=0), mask=keep))
    stage = TrainingStage(
        "recover", small_training(epochs=15), mask=keep, distillation=Distillation(teacher, Distill(share=1.0))
    )
    recovered = trainer.train(teacher, stage)
    assert trainer.evaluate(pruned).accuracy < 90
    assert trainer.evaluate(recovered).accuracy >= 95


def test_another_teacher_is_another_training() -> None:
    """So are another temperature, and no teacher."""
    trainer = small_trainer()
    stages = [
        TrainingStage(
            "recover", small_training(), distillation=Distillation(trainer.initial(seed), Distill(temperature=heat))
        )
        for seed, heat in ((0, 4.0), (1, 4.0), (0, 2.0))
    ]
    stages.append(TrainingStage("recover", small_training()))
    assert len({stage.identity("x") for stage in stages}) == 4
