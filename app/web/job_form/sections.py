"""The sections of the form: one for each part of a job, and one for each group of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.web.job_form.fields import Field, field_of, fields_of
from cnet.parts.validation import part_fields
from cnet.spec import JobSpec

TOP_FIELDS = ("checkpoint", "architecture", "dataset", "name", "labels")
"""The fields of a specification that the first part of the form asks for."""

UNLABELLED_INPUTS = "calibrate.inputs"
"""The field of a group of settings that the part of the form about data asks for."""

TITLES: Mapping[str, str] = {
    "method": "Training method",
    "training": "Fine-tuning",
    "baseline": "Training from scratch",
    "prune": "Pruning",
    "recover": "Recovery",
    "quantize": "Quantizing",
    "encode": "Encoding",
    "transform": "Change of form",
    "target": "Target",
    "compressible": "Which tensors are compressed",
    "preprocess": "Scaling of the inputs",
    "calibrate": "Calibration",
}
"""Titles of the sections, in their order. A field of a newer specification follows under its own name."""


@dataclass(frozen=True)
class Choice:
    """A part that can be chosen: its name, what it does, where it comes from."""

    name: str
    summary: str
    source: str


@dataclass(frozen=True)
class Section:
    """A section of the form.

    Attributes:
        key: the field of the specification.
        title: for people.
        description: what the field is.
        choices: the parts that the field can name; empty for a group of settings.
        chosen: the part whose parameters are asked for; None: no part was chosen yet.
        fields: the parameters of that part, or the settings.
    """

    key: str
    title: str
    description: str
    choices: Sequence[Choice]
    chosen: str | None
    fields: Sequence[Field]

    @property
    def asked_here(self) -> Sequence[Field]:
        """The fields that are asked for in the section itself, and not above it with the data."""
        return [field for field in self.fields if field.path != UNLABELLED_INPUTS]


def sections(chosen: Mapping[str, str]) -> list[Section]:
    """All sections, and at the end one with the settings that are no group.

    Args:
        chosen: the name of the part by the key of its section, where one was chosen.
    """
    schema = _schema()
    keys = [key for key in schema["properties"] if key not in TOP_FIELDS]
    order = [*(key for key in TITLES if key in keys), *(key for key in keys if key not in TITLES)]
    made = [section(key, chosen.get(key)) for key in order]
    groups = [each for each in made if each.choices or each.fields[0].path.count(".")]
    single = [field for each in made if each not in groups for field in each.fields]
    more = Section("more", "More settings", "Settings of the job as a whole.", (), None, single)
    return [*groups, more] if single else groups


def section(key: str, chosen: str | None = None) -> Section:
    """The section of one field of the specification, with the parameters of the part ``chosen``."""
    schema = _schema()["properties"][key]
    title, description = TITLES.get(key, key.replace("_", " ").capitalize()), str(schema.get("description", ""))
    registry = part_fields(JobSpec).get(key)
    if registry is None:
        field = field_of(schema, key, _schema()["$defs"])
        return Section(key, title, description, (), None, field.children or (field,))
    rows = registry.describe()
    choices = tuple(Choice(row["name"], row["summary"], row["source"]) for row in rows)
    parameters = next((row["parameters"] for row in rows if row["name"] == chosen), None)
    fields = fields_of(parameters, key, parameters.get("$defs", {})) if parameters else ()
    return Section(key, title, description, choices, chosen if parameters else None, fields)


@cache
def _schema() -> dict[str, Any]:
    return JobSpec.model_json_schema()
