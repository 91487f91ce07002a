"""The fields of the form that a message names as the specification does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.web.job_form.sections import UNLABELLED_INPUTS, sections

_PATH = re.compile(r"\b[a-z_]+(?:\.[a-z_]+)*\b")
_ASKED_ABOVE: Mapping[str, tuple[str, str]] = {
    "checkpoint": ("checkpoint", "Checkpoint"),
    "architecture": ("architecture", "Network"),
    "architecture.task": ("task", "What the program does"),
    "architecture.output": ("output", "Number of the output, from 0"),
    "dataset": ("dataset", "Data set"),
    UNLABELLED_INPUTS: (UNLABELLED_INPUTS, "Unlabelled inputs"),
}
"""The end of the input's id and the label of the fields above the settings."""


@dataclass(frozen=True)
class NamedField:
    """A field that a message names.

    Attributes:
        path: as the specification names it.
        label: as the form names it.
        input_id: the id of the HTML input.
    """

    path: str
    label: str
    input_id: str


def named_fields(message: str, parts: Mapping[str, str]) -> list[NamedField]:
    """The fields of the form that ``message`` names, each once, in their order there.

    Args:
        message: for people; it names fields as ``architecture.output``.
        parts: the part that each section of the form shows, by the key of the section.
    """
    known = {path: NamedField(path, label, f"field-{end}") for path, (end, label) in _ASKED_ABOVE.items()}
    for section in sections(parts):
        for field in section.asked_here:
            for inner in field.all():
                label = f"All settings, {section.title}, {inner.label}"
                known[inner.path] = NamedField(inner.path, label, inner.input_id)
    found = dict.fromkeys(_PATH.findall(message))
    return [known[path] for path in found if path in known and ("." in path or path in _ASKED_ABOVE)]
