"""A job's specification from a file, from options and from ``--set``.

What is named later wins: the file, then the options, then each ``--set`` in the order given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import typer

from app.commands.assignments import Assignment
from app.commands.options import (
    Architecture,
    Assignments,
    Clusters,
    Dataset,
    Encoder,
    Inputs,
    JobLabels,
    MaxAccuracyDrop,
    MaxBytes,
    MaxErrorRise,
    MaxKl,
    Method,
    MinAgreement,
    MinOutputSnr,
    MinRatio,
    MinSnr,
    Name,
    NoTraining,
    Program,
    Quality,
    Sparsity,
    SpecFile,
)
from app.console.output import note

_TARGETS = (
    "max_accuracy_drop",
    "max_error_rise",
    "max_bytes",
    "min_ratio",
    "max_kl",
    "min_agreement",
    "min_output_snr",
    "min_snr",
)


@dataclass(frozen=True)
class SpecOptions:
    """The options that describe a job; None or empty where one is not given."""

    spec: SpecFile = None
    sparsity: Sparsity = None
    clusters: Clusters = None
    encode: Encoder = None
    method: Method = None
    dataset: Dataset = None
    architecture: Architecture = None
    program: Program = None
    max_accuracy_drop: MaxAccuracyDrop = None
    max_error_rise: MaxErrorRise = None
    max_bytes: MaxBytes = None
    min_ratio: MinRatio = None
    max_kl: MaxKl = None
    min_agreement: MinAgreement = None
    min_output_snr: MinOutputSnr = None
    min_snr: MinSnr = None
    quality: Quality = None
    inputs: Inputs = None
    no_training: NoTraining = False
    assignments: Assignments = None

    def document(self, checkpoint: str | None = None, base: dict[str, Any] | None = None) -> dict[str, Any]:
        """The specification as a JSON object; its fields are not checked yet.

        A part that is given another name than in the file loses the parameters that the file gives it: they are those
        of the other part.

        Args:
            checkpoint: the checkpoint that is named by the command's argument; it is not put into the specification.
            base: another job's specification, which all options override; None: none.

        Raises:
            typer.BadParameter: the file holds no JSON object, an assignment is not of the form ``PATH=VALUE``, or one
                names another checkpoint.
            OSError: the file cannot be read.

        """
        assignments = [Assignment.parse(text) for text in self.assignments or ()]
        if checkpoint is not None and any(each.path[0] == "checkpoint" for each in assignments):
            raise typer.BadParameter(
                f"the checkpoint is named twice, by the argument {checkpoint} too. Leave one of them out.",
                param_hint="--set checkpoint",
            )
        document = {**(base or {}), **self._from_file()}
        for assignment in assignments:
            if assignment.path[1:] == ("name",) and isinstance(assignment.value, str):
                _name_part(document, assignment.path[0], assignment.value)
        self._add_options(document)
        for assignment in assignments:
            assignment.apply(document)
        for slot in dict.fromkeys(each.path[0] for each in assignments if len(each.path) > 1):
            _add_name(document, slot)
        return document

    def _from_file(self) -> dict[str, Any]:
        if self.spec is None:
            return {}
        try:
            document = json.loads(self.spec.read_bytes())
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(
                f"{self.spec} is not JSON: {error}. Correct the file.", param_hint="--spec"
            ) from error
        if not isinstance(document, dict):
            raise typer.BadParameter(
                f"{self.spec} holds JSON, but no object. Write a job specification: {{...}}.", param_hint="--spec"
            )
        return document

    def _add_options(self, document: dict[str, Any]) -> None:
        if self.sparsity:
            document["prune"] = {**_part_or_default(document, "prune"), "sparsity": list(self.sparsity)}
        if self.clusters:
            document["quantize"] = {**_part_or_default(document, "quantize"), "clusters": list(self.clusters)}
        if self.inputs is not None:
            document["calibrate"] = {**_part(document, "calibrate"), "inputs": self.inputs}
        self._add_quality(document)
        for slot in ("encode", "method", "architecture"):
            name = getattr(self, slot)
            if name is not None:
                _name_part(document, slot, name)
        self._add_program(document)
        if self.dataset is not None:
            document["dataset"] = self.dataset
        if self.no_training:
            self._leave_training_out(document)
        target = {name: value for name in _TARGETS if (value := getattr(self, name)) is not None}
        if target:
            document["target"] = target

    def _add_program(self, document: dict[str, Any]) -> None:
        if self.program is None:
            return
        if self.architecture is not None:
            raise typer.BadParameter(
                "the network is named twice, by --architecture too. Leave one of them out.", param_hint="--program"
            )
        given = {key: value for key, value in _part(document, "architecture").items() if key != "name"}
        document["architecture"] = {**given, "program": self.program}

    def _leave_training_out(self, document: dict[str, Any]) -> None:
        if document.get("dataset") is None:
            raise typer.BadParameter(
                "there is no data set, so nothing is trained. Leave the option out.", param_hint="--no-training"
            )
        if self.method is not None:
            raise typer.BadParameter(
                "a method is a way to train, but --method is given. Leave one of them out.", param_hint="--no-training"
            )
        document["training"] = {**_part(document, "training"), "epochs": 0}
        document["recover"] = {**_part(document, "recover"), "epochs": 0, "centroid_epochs": 0}
        _name_part(document, "method", "none")

    def _add_quality(self, document: dict[str, Any]) -> None:
        if self.quality is None:
            return
        if self.clusters:
            raise typer.BadParameter(
                "a quality is that of a quantizer without clusters, but --clusters is given. Leave one of them out.",
                param_hint="--quality",
            )
        _name_part(document, "quantize", "calibrated" if _part(document, "calibrate") else "auto")
        document["quantize"]["quality"] = self.quality


@dataclass(frozen=True)
class Naming:
    """The options that name a job; None where one is not given."""

    name: Name = None
    label: JobLabels = None

    def added_to(self, document: dict[str, Any]) -> dict[str, Any]:
        """The specification with the name, and with the labels, ``KEY:VALUE`` each, beside those that it has.

        Raises:
            typer.BadParameter: a label is not of this form.
        """
        named = document if self.name is None else {**document, "name": self.name}
        pairs = [text.partition(":") for text in self.label or ()]
        wrong = [key for key, colon, _ in pairs if not colon or not key]
        if wrong:
            raise typer.BadParameter(
                f"{wrong[0]!r} is not of the form KEY:VALUE, such as team:vision. Write it so.", param_hint="--label"
            )
        if not pairs:
            return named
        return {**named, "labels": {**_part(named, "labels"), **{key: value for key, _, value in pairs}}}


def _name_part(document: dict[str, Any], slot: str, name: str) -> None:
    """Choose the part of a slot; the parameters stay only where they belong to this part already."""
    if _part(document, slot).get("name") != name:
        document[slot] = {"name": name}


def _add_name(document: dict[str, Any], slot: str) -> None:
    """Name the part of a slot that was given parameters alone, and say which one it is."""
    part = _part(document, slot)
    if not part or "name" in part:
        return
    from cnet.parts.validation import part_of_fields
    from cnet.spec import DEFAULT_PARTS, JobSpec

    name = part_of_fields(JobSpec, slot, part, DEFAULT_PARTS)
    if name is not None:
        note(f"{slot}.name is not given: using {name}")
        document[slot] = {"name": name, **part}


def _part(document: dict[str, Any], slot: str) -> dict[str, Any]:
    part = document.get(slot)
    return part if isinstance(part, dict) else {}


def _part_or_default(document: dict[str, Any], slot: str) -> dict[str, Any]:
    """The part of a job that ``slot`` names, or the default part of that kind."""
    from cnet.spec import DEFAULT_PARTS

    return {"name": DEFAULT_PARTS[slot], **_part(document, slot)}
