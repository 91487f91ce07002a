"""What a user can set about training: plain data, no PyTorch."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cnet.documents import UserDocument

Epochs = Annotated[int, Field(ge=0, le=100_000)]
LearningRate = Annotated[float, Field(gt=0.0, le=1000.0)]

DEFAULT_RATE = 0.003
"""Learning rate where a network is trained from scratch."""


class Optimizer(UserDocument):
    """The optimizer and its settings."""

    name: Literal["sgd", "adam", "adamw"] = Field(default="adam", description="Which optimizer.")
    learning_rate: LearningRate | None = Field(
        default=None,
        description=f"Learning rate before the schedule changes it. Null: {DEFAULT_RATE}, or of the rates below it the "
        "largest at which the first steps do a checkpoint no harm.",
    )
    momentum: float = Field(default=0.9, ge=0.0, lt=1.0, description="Momentum of sgd; beta1 of adam and adamw.")
    weight_decay: float = Field(default=0.0, ge=0.0, le=10.0, description="Factor of the weight decay; 0: none.")
    nesterov: bool = Field(default=False, description="Nesterov momentum; only for sgd with a momentum above 0.")

    @property
    def rate(self) -> float:
        """The learning rate, the default where none is given."""
        return DEFAULT_RATE if self.learning_rate is None else self.learning_rate

    @model_validator(mode="after")
    def _nesterov_has_momentum(self) -> Self:
        if self.nesterov and (self.name != "sgd" or self.momentum == 0.0):
            raise ValueError("nesterov: it needs sgd and a momentum above 0. Set both, or leave nesterov out.")
        return self


class Schedule(UserDocument):
    """How the learning rate changes over the epochs of one training."""

    name: Literal["constant", "cosine", "step"] = Field(default="constant", description="Shape of the curve.")
    milestones: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(), strict=False, description="For step: epochs at which the rate is multiplied by gamma."
    )
    gamma: float = Field(default=0.1, gt=0.0, le=1.0, description="For step: factor at each milestone.")
    warmup_epochs: Epochs = Field(default=0, description="Epochs in which the rate first rises linearly from zero.")

    @model_validator(mode="after")
    def _milestones_are_steps(self) -> Self:
        if (self.name == "step") != bool(self.milestones):
            raise ValueError("milestones: they are the epochs of the schedule step. Give both or neither.")
        return self


class Augment(UserDocument):
    """Random changes of training images; none by default."""

    shift: int = Field(default=0, ge=0, le=64, description="Largest shift in pixels, each way; zeros fill the gap.")
    flip: bool = Field(default=False, description="Mirror half of the images left to right.")


class Training(UserDocument):
    """Settings of one training: of a baseline from scratch, or of the fine-tuning."""

    epochs: Epochs = Field(default=30, description="Number of passes over the training images; 0: no training.")
    batch_size: int = Field(default=128, ge=1, le=1_000_000, description="Number of images in a batch.")
    optimizer: Optimizer = Field(default=Optimizer(), description="The optimizer.")
    schedule: Schedule = Field(default=Schedule(), description="Changes of the learning rate over the epochs.")
    augment: Augment = Field(default=Augment(), description="Random changes of the training images.")
    seed: int = Field(default=0, ge=0, lt=2**63, description="Seed of all random numbers of the job.")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="auto: a GPU where there is one.")
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="bfloat16: autocast in the forward and the backward pass; weights stay float32."
    )


class InputScaling(UserDocument):
    """Scaling of an input: (x - mean) / std, after uint8 is divided by 255."""

    mean: tuple[float, ...] = Field(
        default=(0.0,),
        min_length=1,
        max_length=1024,
        strict=False,
        description="Mean: one value for all, or one for each channel of images or column of a table.",
    )
    std: tuple[Annotated[float, Field(ge=1e-6)], ...] = Field(
        default=(1.0,), min_length=1, max_length=1024, strict=False, description="Standard deviation, likewise."
    )


class Preprocess(InputScaling):
    """Scaling of the inputs. Mean and standard deviation hold for images, and for uint8 values that are scaled."""

    normalize: Literal["auto"] | None = Field(
        default=None,
        description="auto: mean and standard deviation of each input that is uint8 or floating point are computed from "
        "the training samples, applied, and recorded in the bundle; null: those that are given here.",
    )
    inputs: dict[Annotated[str, Field(max_length=200)], InputScaling] | None = Field(
        default=None, max_length=100, description="Scaling of single inputs, by their names in the data set."
    )

    @model_validator(mode="after")
    def _check_scaling_is_given_once(self) -> Self:
        given = [name for name in ("mean", "std", "inputs") if name in self.model_fields_set]
        if self.normalize is not None and given:
            raise ValueError(f"normalize computes what {' and '.join(given)} would give. Leave one of them out.")
        return self


class Baseline(UserDocument):
    """Settings of the training from scratch; a setting that is left out is that of ``training``."""

    epochs: Epochs | None = Field(default=None, description="Number of passes over the training images.")
    batch_size: int | None = Field(default=None, ge=1, le=1_000_000, description="Number of images in a batch.")
    optimizer: Optimizer | None = Field(default=None, description="The optimizer.")
    schedule: Schedule | None = Field(default=None, description="Changes of the learning rate over the epochs.")
    augment: Augment | None = Field(default=None, description="Random changes of the training images.")

    def over(self, training: Training) -> Training:
        """``training`` with the settings that are given here in place of its own."""
        given = {name: value for name in self.model_fields_set if (value := getattr(self, name)) is not None}
        return training.model_copy(update=given)


class Distill(UserDocument):
    """Learning from the softened outputs of the network as it was before compression."""

    temperature: float = Field(default=4.0, gt=0.0, le=1000.0, description="Temperature that softens the outputs.")
    share: float = Field(
        default=0.9,
        ge=0.0,
        le=1.0,
        description="Weight of the soft outputs; the labels have the rest. 1: no labels.",
    )


class Recover(UserDocument):
    """Fine-tuning after pruning, with pruned weights at zero, and again after quantizing."""

    epochs: Epochs = Field(default=10, description="Epochs of fine-tuning of the weights that are left; 0: none.")
    centroid_epochs: Epochs = Field(
        default=1,
        description="Epochs of fine-tuning after quantizing, of centroids, biases and batch normalization; where the "
        "centroids are a grid, of biases and batch normalization alone; 0: none.",
    )
    learning_rate: LearningRate | None = Field(
        default=None,
        description="Rate at the start of both, falling along a cosine; default: that of training.",
    )
    distill: Distill | None = Field(
        default=None,
        description="Learn from the original network too, also in a gradual pruning; null: labels alone.",
    )
    reestimate_batch_norm: bool = Field(
        default=True, description="Measure running means and variances again after recovery and after quantizing."
    )
    merge_batch_norm: bool = Field(
        default=False,
        description="Merge running means and variances into scale and shift: the same outputs up to rounding, half the "
        "bytes of batch normalization; for a network that is not trained any more.",
    )
