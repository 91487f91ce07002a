"""JobSpec: what a user asks for. Frozen and validated; JSON at the edge only."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from cnet.capabilities import reason_for_data
from cnet.coding import ENCODERS, Encoder
from cnet.documents import UserDocument
from cnet.errors import SpecError
from cnet.methods import METHODS, Method
from cnet.models import ARCHITECTURES, Architecture
from cnet.prune import PRUNERS, Gradual, Pruner
from cnet.quantize import QUANTIZERS, Quantizer
from cnet.registry import OneOf
from cnet.training.config import Baseline, Recover, Training
from cnet.training.config import Preprocess as Preprocess
from cnet.transform import TRANSFORMS, Transform
from cnet.validation import issues_of
from cnet.weights import Selection

Pattern = Annotated[str, Field(min_length=1, max_length=500)]

#: the part that a job with a data set uses where the spec leaves a field out
DEFAULT_PARTS = {"method": "cnet", "prune": "magnitude", "quantize": "kmeans", "encode": "compact"}


class Target(UserDocument):
    """What the selected point must meet; exactly one of the three."""

    max_accuracy_drop: float | None = Field(
        default=None, ge=0.0, le=100.0, description="Points of accuracy below the baseline; the smallest file wins."
    )
    max_bytes: int | None = Field(default=None, ge=1, description="Size of the bundle; the most accurate wins.")
    min_ratio: float | None = Field(default=None, gt=0.0, description="npz of the original / bundle; as max_bytes.")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(value is not None for value in (self.max_accuracy_drop, self.max_bytes, self.min_ratio)) != 1:
            raise ValueError("give exactly one of max_accuracy_drop, max_bytes, min_ratio")
        return self


class Compressible(UserDocument):
    """Which tensors to compress, by name patterns (``*`` and ``?``), beyond the default rule."""

    include: tuple[Pattern, ...] = Field(default=(), max_length=1000, strict=False)
    exclude: tuple[Pattern, ...] = Field(default=(), max_length=1000, strict=False)

    def selection(self) -> Selection:
        """The same as the library's value type."""
        return Selection(self.include, self.exclude)


class JobSpec(UserDocument):
    """One compression job. A part that is left out and a part that is null mean the same: the default.

    So do a field inside a part that is left out and one that is null.
    """

    model_config = ConfigDict(defer_build=True)  # the first validation reads the registries; an import reads none

    checkpoint: str | None = Field(default=None, max_length=200)
    architecture: Annotated[Architecture, OneOf(ARCHITECTURES)] | None = None
    dataset: str | None = Field(default=None, max_length=200)
    preprocess: Preprocess | None = None
    compressible: Compressible | None = None
    transform: Annotated[Transform, OneOf(TRANSFORMS)] | None = None
    method: Annotated[Method, OneOf(METHODS)] | None = None
    training: Training | None = None
    baseline: Baseline | None = None
    prune: Annotated[Pruner, OneOf(PRUNERS)] | None = None
    recover: Recover | None = None
    quantize: Annotated[Quantizer, OneOf(QUANTIZERS)] | None = None
    encode: Annotated[Encoder, OneOf(ENCODERS)] | None = None
    target: Target | None = None
    name: str | None = Field(default=None, max_length=200)
    labels: dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=255)]] | None = Field(
        default=None, max_length=32
    )
    time_limit: int | None = Field(default=None, ge=1, description="Seconds of running; queue time does not count.")

    @classmethod
    def parse(cls, document: Any) -> JobSpec:
        """A spec from a JSON value (what ``json.loads`` gives) or from JSON text.

        Raises:
            SpecError: with one issue for each thing that is wrong, all at once.
        """
        try:
            text = document if isinstance(document, str | bytes) else json.dumps(document, allow_nan=False)
            return cls.model_validate_json(text)
        except ValidationError as error:
            issues = issues_of(error, cls)
            summary = " ".join(f"{'.'.join(map(str, i.loc)) or 'spec'}: {i.msg.rstrip('.')}." for i in issues[:5])
            raise SpecError(f"the job spec is not valid: {summary}", issues=issues) from error
        except (TypeError, ValueError, RecursionError) as error:
            raise SpecError("the job spec is not JSON (NaN and Infinity are no JSON numbers)") from error

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        if self.checkpoint is None and (self.architecture is None or self.dataset is None):
            raise ValueError("give a checkpoint, or an architecture and a dataset to train a baseline from scratch")
        if self.dataset is not None and self.architecture is None:
            raise ValueError("a dataset needs an architecture: name the net that the checkpoint belongs to")
        if self.architecture is not None and self.dataset is None:
            raise ValueError("an architecture needs a dataset; leave both out to compress the weights alone")
        if not self.trains:
            unused = [n for n in ("training", "baseline", "recover", "preprocess") if getattr(self, n)]
            if unused:
                raise ValueError(f"without a dataset nothing is trained. Leave out {', '.join(unused)}.")
            for section in ("transform", "method", "prune", "quantize", "encode"):
                reason = reason_for_data(getattr(self, section))
                if reason:
                    raise ValueError(f"{section} without a dataset: {reason}")
        if self.checkpoint is not None and self.baseline is not None:
            raise ValueError("baseline is the training from scratch: leave it out where a checkpoint is given")
        if not self.trains and self.target is not None and self.target.max_accuracy_drop is not None:
            raise ValueError("target.max_accuracy_drop needs a dataset to measure accuracy on")
        return self

    @property
    def _default_pruner(self) -> Pruner:
        """Where a method makes the zeros of a job without data, nothing more is pruned unless asked for."""
        decided = not self.trains and self.method is not None
        return PRUNERS.create(DEFAULT_PARTS["prune"], **({"sparsity": (0.0,)} if decided else {}))

    @property
    def trains(self) -> bool:
        """Whether there is a data set, and so fine-tuning and accuracies."""
        return self.dataset is not None

    def resolved(self) -> JobSpec:
        """The same with every default written out; what a job's manifest and the API show."""
        update: dict[str, Any] = {
            "prune": self.prune or self._default_pruner,
            "quantize": self.quantize or QUANTIZERS.create(DEFAULT_PARTS["quantize"]),
            "encode": self.encode or ENCODERS.create(DEFAULT_PARTS["encode"]),
        }
        if self.trains:
            training = self.training or Training()
            update["training"] = training
            update["prune"] = _gradually(update["prune"], training)
            update["method"] = self.method or METHODS.create(DEFAULT_PARTS["method"])
            update["recover"] = self.recover or Recover()
            if self.checkpoint is None:
                update["baseline"] = self.baseline or Baseline()
        return self.model_copy(update=update)

    def to_json(self) -> dict[str, Any]:
        """The JSON form; parts that are not set are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, serialize_as_any=True)


def _gradually(pruner: Pruner, training: Training) -> Pruner:
    """The pruner with its default where a net is trained: step by step, for no longer than the fine-tuning."""
    if pruner.gradual is not None:
        return pruner
    epochs = min(Gradual().epochs, training.epochs)
    return pruner.model_copy(update={"gradual": Gradual(epochs=epochs)})
