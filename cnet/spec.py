"""The job specification: what a user asks for, as a frozen and validated document."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from cnet.calibrate.config import Calibrate
from cnet.coding import ENCODERS, Encoder
from cnet.documents import UserDocument
from cnet.errors import SpecError
from cnet.methods import METHODS, Method
from cnet.models import ARCHITECTURES, Architecture
from cnet.parts.capabilities import Calibratable, reason_for_data
from cnet.parts.registry import OneOf
from cnet.parts.validation import issues_of, part_fields, summary_of
from cnet.prune import PRUNERS, Gradual, Pruner
from cnet.quantize import QUANTIZERS, Quantizer
from cnet.target import Target as Target
from cnet.training.config import Baseline, Recover, Training
from cnet.training.config import Preprocess as Preprocess
from cnet.training.resources import Resources
from cnet.training.tasks import TASKS
from cnet.training.tasks.program_architecture import DEFAULT_TASK as DEFAULT_TASK
from cnet.training.tasks.program_architecture import ProgramArchitecture as ProgramArchitecture
from cnet.transform import TRANSFORMS, Transform
from cnet.weights import Selection

Pattern = Annotated[str, Field(min_length=1, max_length=500)]

DEFAULT_PARTS = {"method": "cnet", "prune": "magnitude", "quantize": "kmeans", "encode": "compact"}
"""The part that a job uses where its specification leaves a field out; a method only with a data set."""

DEFAULT_QUANTIZER_ALONE = "auto"
"""The quantizer of a job without a data set, in which no training can make up for damage."""

DEFAULT_QUANTIZER_CALIBRATED = "calibrated"
"""The quantizer of a job with calibration inputs."""

DEFAULT_QUALITY = "safe"
"""The quality of these two quantizers."""

DEFAULT_VALIDATION = 0.1
"""Share of the training data on which a job makes its choices, where its specification says nothing."""


class Compressible(UserDocument):
    """Which tensors to compress, by name patterns with ``*`` and ``?``, in addition to the default rule."""

    include: tuple[Pattern, ...] = Field(
        default=(),
        max_length=1000,
        strict=False,
        description="Name patterns of floating-point tensors to compress in addition.",
    )
    exclude: tuple[Pattern, ...] = Field(
        default=(), max_length=1000, strict=False, description="Name patterns of tensors to store exactly."
    )

    def selection(self) -> Selection:
        """The same patterns as the library's value type."""
        return Selection(self.include, self.exclude)


class Webhook(UserDocument):
    """The receiver of a message once the job has ended. A job that runs without a server sends none."""

    url: str = Field(min_length=1, max_length=2000, description="URL that receives the message, by `POST`; `https`.")


class JobSpec(UserDocument):
    """One compression job. A field that is left out or null has its default, and so has each field of its parts."""

    model_config = ConfigDict(defer_build=True)  # the first validation reads the registries; an import reads none

    checkpoint: str | None = Field(
        default=None,
        max_length=200,
        description="Id of the checkpoint; null: take the weights of the program, or train the built-in architecture "
        "from scratch first.",
    )
    architecture: (
        Annotated[
            Architecture | ProgramArchitecture,
            OneOf(ARCHITECTURES, others=(ProgramArchitecture,), bare_names=True),
        ]
        | None
    ) = Field(
        default=None,
        description="Network that the weights belong to, built-in or a program; needed with a data set.",
    )
    dataset: str | None = Field(
        default=None,
        max_length=200,
        description="Id of a data set, or the name of a built-in one; null: compress the weights without any data.",
    )
    validation: float | None = Field(
        default=None,
        ge=0.0,
        le=0.5,
        description="Share of the training data that is set apart by a draw with training.seed, and on which every "
        "choice of the job is made; test data only report. 0: choices are made on test data. Default: "
        f"{DEFAULT_VALIDATION}.",
    )
    calibrate: Calibrate | None = Field(
        default=None,
        description="Unlabelled inputs by which the weights are quantized, as the last stage of the job; null: none.",
    )
    preprocess: Preprocess | None = Field(
        default=None,
        description="Scaling of the inputs of the data set and of the calibration; null: only uint8 is divided by 255.",
    )
    compressible: Compressible | None = Field(
        default=None, description="Tensors to compress; null: all floating-point tensors of two dimensions or more."
    )
    transform: Annotated[Transform, OneOf(TRANSFORMS)] | None = Field(
        default=None, description="Change of form before pruning; null: none."
    )
    method: Annotated[Method, OneOf(METHODS)] | None = Field(
        default=None, description="Training method of the fine-tuning before pruning."
    )
    training: Training | None = Field(default=None, description="Settings of the fine-tuning.")
    baseline: Baseline | None = Field(
        default=None, description="Settings of the training from scratch; what is left out is as in training."
    )
    prune: Annotated[Pruner, OneOf(PRUNERS)] | None = Field(
        default=None, description="Which weights become zero, and how many."
    )
    recover: Recover | None = Field(
        default=None, description="Settings of the fine-tuning after pruning and quantizing."
    )
    quantize: Annotated[Quantizer, OneOf(QUANTIZERS)] | None = Field(
        default=None, description="Which values the non-zero weights may have."
    )
    encode: Annotated[Encoder, OneOf(ENCODERS)] | None = Field(default=None, description="Entropy coder of the bundle.")
    target: Target | None = Field(
        default=None,
        description="What the selected point must meet; null: to lose at most 1 point of accuracy, if possible.",
    )
    resources: Resources | None = Field(default=None, description="What the worker must have; null: by need.")
    name: str | None = Field(default=None, max_length=200, description="Name of the job, for people.")
    labels: dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=255)]] | None = Field(
        default=None, max_length=32, description="Labels of the job, by which lists can be filtered."
    )
    time_limit: int | None = Field(
        default=None, ge=1, description="Seconds that the job may run; waiting in the queue does not count."
    )

    webhook: Webhook | None = Field(
        default=None, description="Address to which a server sends a message once the job has ended; null: none."
    )

    @classmethod
    def parse(cls, document: Any) -> JobSpec:
        """A specification from a JSON value (what ``json.loads`` gives) or from JSON text.

        Raises:
            SpecError: with one issue for each mistake, all at once.
            PluginError: an installed plug-in is broken.
        """
        try:
            text = document if isinstance(document, str | bytes) else json.dumps(document, allow_nan=False)
            return cls.model_validate_json(text)
        except ValidationError as error:
            issues = issues_of(error, cls)
            raise SpecError(f"the job spec is not valid: {summary_of(issues)}", issues=issues) from error
        except (TypeError, ValueError, RecursionError) as error:
            raise SpecError(
                "job spec: the document is neither JSON text nor a value that JSON can hold. "
                "Send a JSON object without NaN and Infinity."
            ) from error

    @model_validator(mode="after")
    def _check_inputs(self) -> Self:
        """Check that checkpoint, architecture and data set go together."""
        if self.architecture is None and (self.checkpoint is None or self.dataset is not None):
            raise ValueError(
                "a dataset needs an architecture. Name the architecture that the checkpoint belongs to, or a program."
                if self.checkpoint is not None
                else "there is nothing to compress. Give a checkpoint, a program, or an architecture and a dataset to "
                "train a baseline from scratch."
            )
        if self.program is None and self.architecture is not None and self.dataset is None:
            if self.calibrate is None:
                raise ValueError("an architecture needs data. Give a dataset or calibrate.inputs, or leave it out.")
            if self.checkpoint is None:
                raise ValueError("an architecture that is not trained needs weights. Give a checkpoint, or a dataset.")
        if self.checkpoint is not None and self.baseline is not None:
            raise ValueError("baseline is the training from scratch. Leave it out where a checkpoint is given.")
        return self

    @model_validator(mode="after")
    def _check_calibration(self) -> Self:
        """Check that calibration, network and quantizer go together."""
        if self.calibrate is None:
            if isinstance(self.quantize, Calibratable):
                raise ValueError(
                    "quantize: it needs inputs in calibrate. Give calibrate.inputs, or take the quantizer auto."
                )
            return self
        if self.architecture is None:
            raise ValueError("calibrate: it needs a network. Name a program, or the architecture of the checkpoint.")
        if self.calibrate.inputs is None and not self.trains:
            raise ValueError(
                "calibrate.inputs: it is missing, and a job without a dataset has no other inputs. Name a data set."
            )
        return self

    @model_validator(mode="after")
    def _check_needs_of_data(self) -> Self:
        """Check that a job without a data set asks for nothing that needs one."""
        if self.trains:
            return self
        scaling = () if self.calibrate is not None else ("preprocess",)
        unused = [n for n in ("training", "baseline", "recover", *scaling, "validation") if getattr(self, n)]
        if unused:
            raise ValueError(f"without a dataset nothing is trained. Leave out {', '.join(unused)}.")
        for field in part_fields(JobSpec):
            reason = reason_for_data(getattr(self, field))
            if reason:
                raise ValueError(f"{field} without a dataset: {reason}")
        if self.target is not None and self.target.limits_score:
            raise ValueError(
                "target: max_accuracy_drop and max_error_rise need a dataset to measure the score on. Give one, or "
                "take another target."
            )
        if self.target is not None and self.target.compares_outputs and self.calibrate is None:
            raise ValueError(
                "target: max_kl, min_agreement and min_output_snr need inputs to compare outputs on. Give an "
                "architecture or a program and inputs in calibrate or a dataset, or take min_snr, which needs none."
            )
        return self

    @model_validator(mode="after")
    def _check_classes(self) -> Self:
        """Check that a target that compares outputs is for outputs such as those of the task."""
        if self.target is None or self.architecture is None:
            return self
        task = self.program.task if self.program else TASKS.create(DEFAULT_TASK)
        error = not task.metric.higher_is_better
        if wrong := self.target.misfit(task.name, classes=task.compares_classes, error=error):
            raise ValueError(wrong)
        return self

    @property
    def trains(self) -> bool:
        """Whether there is a data set, and therefore fine-tuning and accuracies."""
        return self.dataset is not None

    @property
    def adapts(self) -> bool:
        """Whether weights are trained after the original, and so make up for what pruning and quantizing have done."""
        training, recover = self.training or Training(), self.recover or Recover()
        return self.trains and training.epochs + recover.epochs + recover.centroid_epochs > 0

    @property
    def program(self) -> ProgramArchitecture | None:
        """The program that the job names as its architecture; None where it names none."""
        return self.architecture if isinstance(self.architecture, ProgramArchitecture) else None

    def resolved(self) -> JobSpec:
        """The same job with every default written out, as its manifest and the API show it."""
        unpruned = {} if self.adapts else {"sparsity": (0.0,)}  # no training would make up for it
        update: dict[str, Any] = {
            "prune": self.prune or PRUNERS.create(DEFAULT_PARTS["prune"], **unpruned),
            "quantize": self.quantize or self._default_quantizer(),
            "encode": self.encode or ENCODERS.create(DEFAULT_PARTS["encode"]),
        }
        if self.trains:
            training = self.training or Training()
            update["training"] = training
            update["validation"] = DEFAULT_VALIDATION if self.validation is None else self.validation
            update["prune"] = _prune_gradually(update["prune"], training)
            update["method"] = self.method or METHODS.create(DEFAULT_PARTS["method"] if self.adapts else "none")
            update["recover"] = self.recover or Recover()
            if self.checkpoint is None and self.program is None:
                update["baseline"] = self.baseline or Baseline()
        return self.model_copy(update=update)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, without the fields that are not set."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, serialize_as_any=True)

    def _default_quantizer(self) -> Quantizer:
        """The quantizer of a job that names none."""
        if self.adapts and self.calibrate is None:
            return QUANTIZERS.create(DEFAULT_PARTS["quantize"])
        name = DEFAULT_QUANTIZER_ALONE if self.calibrate is None else DEFAULT_QUANTIZER_CALIBRATED
        return QUANTIZERS.create(name, quality=DEFAULT_QUALITY)


def _prune_gradually(pruner: Pruner, training: Training) -> Pruner:
    """The pruner with the default that a data set allows: step by step, for no more epochs than the fine-tuning."""
    if pruner.gradual is not None:
        return pruner
    epochs = min(Gradual().epochs, training.epochs)
    return pruner.model_copy(update={"gradual": Gradual(epochs=epochs)})
