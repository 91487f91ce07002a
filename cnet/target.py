"""What the selected point of a job must meet: a limit of the size, of the accuracy lost, or of the damage."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from cnet.documents import UserDocument


class Target(UserDocument):
    """What the selected point must meet; exactly one of the fields is set."""

    max_accuracy_drop: float | None = Field(
        default=None,
        ge=0.0,
        le=100.0,
        description="Percentage points of accuracy below the baseline (of a task with another metric: its loss against "
        "the baseline in its own unit); of the points that lose no more, the smallest bundle is selected.",
    )
    max_error_rise: float | None = Field(
        default=None,
        ge=0.0,
        description="Of a task whose score is an error, such as the mean squared error of a regression: percent above "
        "the error of the baseline; selects as max_accuracy_drop.",
    )
    max_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Size of the bundle in bytes; of the points that fit, the most accurate one.",
    )
    min_ratio: float | None = Field(
        default=None, gt=0.0, description="Size of the original as npz / size of the bundle; selects as max_bytes."
    )
    max_kl: float | None = Field(
        default=None,
        ge=0.0,
        description="Mean Kullback-Leibler divergence in nats of the outputs from those of the original network, on "
        "the validation split; of the points that differ no more, the smallest bundle is selected.",
    )
    min_agreement: float | None = Field(
        default=None,
        ge=0.0,
        le=100.0,
        description="Percent of inputs with the top class of the original network, on the validation split; selects as "
        "max_kl.",
    )
    min_snr: float | None = Field(
        default=None,
        description="Signal-to-noise ratio of the weights in dB (snr_db); needs no inputs; selects as max_kl.",
    )
    min_output_snr: float | None = Field(
        default=None,
        description="Signal-to-noise ratio in dB of outputs that are numbers (task regression) against those of the "
        "original network (output_snr_db), on the validation split; selects as max_kl.",
    )

    @model_validator(mode="after")
    def _check_exactly_one(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{len(given)} limits are given ({', '.join(given) or 'none'}). Give exactly one of "
                f"{', '.join(type(self).model_fields)}."
            )
        return self

    @property
    def limits_size(self) -> bool:
        """Whether the limit is one of the size, so that the best point that fits is selected; else the smallest."""
        return self.max_bytes is not None or self.min_ratio is not None

    @property
    def limits_score(self) -> bool:
        """Whether the limit is one of the score of the task, which a data set tells."""
        return self.max_accuracy_drop is not None or self.max_error_rise is not None

    def allowed_loss(self, before: float | None) -> float | None:
        """The percentage points of accuracy, or of agreement, that may be lost; None where something else is limited.

        Of a task with another metric than a percentage it is the allowed loss in its unit.

        Args:
            before: the score of the network before compression; None: not known yet.
        """
        if self.min_agreement is not None:
            return 100 - self.min_agreement
        if self.max_error_rise is not None:
            return None if before is None else self.max_error_rise / 100 * abs(before)
        return self.max_accuracy_drop

    @property
    def compares_outputs(self) -> bool:
        """Whether the limit is one of the difference between outputs and those of the original network."""
        return self.compares_classes or self.min_output_snr is not None

    @property
    def compares_classes(self) -> bool:
        """Whether the limit is one of the difference between classes and those of the original network."""
        return self.max_kl is not None or self.min_agreement is not None

    def misfit(self, task: str, *, classes: bool, error: bool) -> str | None:
        """Why the limit cannot be one for the outputs of a task, and what to do; None where it can.

        Args:
            task: its name.
            classes: whether its outputs are classes, and not numbers.
            error: whether its score is an error, of which less is better.
        """
        if self.max_error_rise is not None and not error:
            instead = "max_accuracy_drop" if classes else "min_output_snr"
            return f"target.max_error_rise: the score of the task {task} is no error. Take {instead}."
        if self.max_accuracy_drop is not None and not classes and not error:
            return (
                f"target.max_accuracy_drop: the task {task} has no accuracy. Take min_output_snr, the smallest ratio "
                "in dB of the outputs to their errors."
            )
        if self.compares_classes and not classes:
            return (
                f"target: max_kl and min_agreement compare classes, which the task {task} does not have. Take "
                "min_output_snr, which compares numbers, max_error_rise, which limits the rise of the task's own "
                "error on a dataset, or min_snr."
            )
        if self.min_output_snr is not None and classes:
            return (
                f"target.min_output_snr: it compares numbers, and the outputs of the task {task} are classes. Take "
                "max_kl or min_agreement, or set architecture.task to regression."
            )
        return None
