"""What a user says about training: plain data, no torch."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cnet.documents import UserDocument

Epochs = Annotated[int, Field(ge=0, le=100_000)]
LearningRate = Annotated[float, Field(gt=0.0, le=1000.0)]


class Optimizer(UserDocument):
    """The optimizer and its numbers."""

    name: Literal["sgd", "adam", "adamw"] = "adam"
    learning_rate: LearningRate = 0.003
    momentum: float = Field(default=0.9, ge=0.0, lt=1.0, description="sgd's momentum; adam's and adamw's beta1.")
    weight_decay: float = Field(default=0.0, ge=0.0, le=10.0)
    nesterov: bool = Field(default=False, description="sgd only, with momentum.")

    @model_validator(mode="after")
    def _nesterov_has_momentum(self) -> Self:
        if self.nesterov and (self.name != "sgd" or self.momentum == 0.0):
            raise ValueError("nesterov is a kind of sgd's momentum: use it with sgd and a momentum above 0")
        return self


class Schedule(UserDocument):
    """How the learning rate moves over the epochs of one training."""

    name: Literal["constant", "cosine", "step"] = "constant"
    milestones: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(), strict=False, description="step: epochs at which the rate is multiplied by gamma."
    )
    gamma: float = Field(default=0.1, gt=0.0, le=1.0)
    warmup_epochs: Epochs = Field(default=0, description="Epochs of linear rise from zero, before the rest.")

    @model_validator(mode="after")
    def _milestones_are_steps(self) -> Self:
        if (self.name == "step") != bool(self.milestones):
            raise ValueError("milestones are the epochs of a step schedule: give both or neither")
        return self


class Augment(UserDocument):
    """Random changes of training images; off by default."""

    shift: int = Field(default=0, ge=0, le=64, description="Shift by up to so many pixels each way, zeros move in.")
    flip: bool = Field(default=False, description="Mirror left and right, half of the time.")


class Training(UserDocument):
    """One training: of a baseline from scratch, or fine-tuning."""

    epochs: Epochs = 30
    batch_size: int = Field(default=128, ge=1, le=1_000_000)
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    augment: Augment = Augment()
    seed: int = Field(default=0, ge=0, lt=2**63)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="bfloat16: autocast in forward and backward; weights stay float32."
    )


class Preprocess(UserDocument):
    """What is done to images before the net sees them: (x - mean) / std a channel, after uint8 is scaled to 0..1."""

    mean: tuple[float, ...] = Field(default=(0.0,), min_length=1, max_length=1024, strict=False)
    std: tuple[Annotated[float, Field(ge=1e-6)], ...] = Field(
        default=(1.0,), min_length=1, max_length=1024, strict=False
    )


class Baseline(UserDocument):
    """Training from scratch; what is left out is as in ``training``."""

    epochs: Epochs | None = None
    batch_size: int | None = Field(default=None, ge=1, le=1_000_000)
    optimizer: Optimizer | None = None
    schedule: Schedule | None = None
    augment: Augment | None = None

    def over(self, training: Training) -> Training:
        """``training`` with what is given here in its place."""
        given = {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}
        return training.model_copy(update=given)


class Distill(UserDocument):
    """Learning from the soft outputs of the net as it was before any compression."""

    temperature: float = Field(default=4.0, gt=0.0, le=1000.0, description="How far outputs are softened.")
    share: float = Field(
        default=0.9, ge=0.0, le=1.0, description="Weight of the soft outputs; the rest is the labels'. 1: no labels."
    )


class Recover(UserDocument):
    """Fine-tuning after pruning with pruned weights pinned at zero, then after quantizing of what may still move."""

    epochs: Epochs = Field(default=10, description="Masked fine-tuning of the weights that are left; 0: none.")
    centroid_epochs: Epochs = Field(
        default=1,
        description="Fine-tuning after quantizing, of shared centroids, biases and batch norm; where the centroids are "
        "a grid, of biases and batch norm alone; 0: none.",
    )
    learning_rate: LearningRate | None = Field(
        default=None, description="Where both start, before they fall along a cosine; default: as training's."
    )
    distill: Distill | None = Field(
        default=None, description="Learn from the original net too, here and in a gradual pruning; null: labels alone."
    )
    reestimate_batch_norm: bool = Field(
        default=True, description="Measure running means and variances anew after recovery and after quantizing."
    )
    merge_batch_norm: bool = Field(
        default=False,
        description="Merge running means and variances into scale and shift: the same outputs up to rounding, half the "
        "bytes of batch norm; the net is then not meant to be trained on.",
    )
