"""The specification that a filled form stands for."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Mapping
from typing import Any

from app import formatting
from app.web.job_form.fields import Field
from app.web.job_form.sections import TOP_FIELDS, UNLABELLED_INPUTS, Section, sections

Form = Mapping[str, str]
"""The inputs of a form by name; fields that were left empty may be missing."""


def chosen_parts(form: Form, base: Mapping[str, Any]) -> dict[str, str]:
    """The part of each section: that of the form, or else that of ``base``, the specification that the form changes."""
    parts = {key: value["name"] for key, value in base.items() if isinstance(value, dict) and "name" in value}
    given = {key.removesuffix(".name"): value for key, value in form.items() if key.endswith(".name") and value}
    return {**parts, **given}


def document_of(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    """The specification: ``base``, with the fields that are filled in. What they mean is checked later.

    Text that is no number where one is asked for stays text, so that the check names the field and the mistake.

    Args:
        form: the filled form.
        base: the specification that empty fields stand for.
    """
    document = copy.deepcopy(dict(base))
    chosen = chosen_parts(form, base)
    for each in sections(chosen):
        if each.choices and each.chosen is not None:
            part = document.get(each.key)
            if not isinstance(part, dict) or part.get("name") != each.chosen:
                document[each.key] = {"name": each.chosen}
        for field in each.fields:
            _read(field, form, document)
    _read_top(form, document)
    _drop_inputs(form, document)
    order = [*TOP_FIELDS, *(key for key in document if key not in TOP_FIELDS)]
    return {key: document[key] for key in order if document.get(key) not in (None, "")}


def grid_of(form: Form) -> dict[str, list[Any]]:
    """The grid of a study: the values of each line ``path: value, value``; empty where a single job is meant."""
    lines = (line.partition(":") for line in form.get("grid", "").splitlines() if line.strip())
    return {path.strip(): _grid_values(values) for path, _, values in lines}


def _grid_values(text: str) -> list[Any]:
    with contextlib.suppress(ValueError):
        values: list[Any] = json.loads(f"[{text}]")
        return values
    return [_number_or_text(item.strip()) for item in text.split(",") if item.strip()]


def placeholders(base: Mapping[str, Any], shown: list[Section]) -> dict[str, str]:
    """What an empty field stands for, by its path: the value of ``base``, or else the default of the field."""
    fields = [inner for each in shown for field in each.fields for inner in field.all()]
    found = {field.path: field.default for field in fields}
    found |= {f"{each.key}.name": str(_at(base, f"{each.key}.name") or "") for each in shown if each.choices}
    for field in fields:
        value = _at(base, field.path)
        if value is not None and not isinstance(value, dict):
            found[field.path] = ", ".join(map(str, value)) if isinstance(value, list) else formatting.plain(value)
    return found


def _read(field: Field, form: Form, document: dict[str, Any]) -> None:
    if field.kind == "object":
        if form.get(f"{field.path}.use"):
            _put(document, field.path, _at(document, field.path) or {})
        for child in field.children:
            _read(child, form, document)
        return
    text = form.get(field.path, "").strip()
    if text:
        _put(document, field.path, _value(field, text))


def _value(field: Field, text: str) -> Any:
    if field.kind == "list":
        return [_number_or_text(item.strip()) for item in text.replace("\n", ",").split(",") if item.strip()]
    if field.kind in ("integer", "number"):
        return _number_or_text(text)
    if field.kind == "switch":
        return {"true": True, "false": False}.get(text, text)
    if field.kind == "json":
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return text


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _read_top(form: Form, document: dict[str, Any]) -> None:
    """Checkpoint, network, data set, name and labels, which a form sends as choices and text."""
    for key in ("checkpoint", "dataset", "name"):
        if form.get(key) is not None:
            document[key] = form[key].strip() or None
    network = form.get("architecture")
    if network is not None:
        program = {"program": network, "task": form.get("task") or "classification"}
        if form.get("output", "").strip():
            program["output"] = _number_or_text(form["output"].strip())
        document["architecture"] = program if network.startswith("prog_") else {"name": network} if network else None
    if form.get("labels", "").strip():
        pairs = (pair.partition(":") for pair in form["labels"].replace("\n", ",").split(",") if pair.strip())
        document["labels"] = {key.strip(): value.strip() for key, _, value in pairs}


def _drop_inputs(form: Form, document: dict[str, Any]) -> None:
    """Leave the calibration out where the form takes back the unlabelled inputs of the job that it changes."""
    calibrate = document.get("calibrate")
    if form.get(UNLABELLED_INPUTS) != "" or not isinstance(calibrate, dict) or not calibrate.get("inputs"):
        return
    kept = {name: value for name, value in calibrate.items() if form.get(f"calibrate.{name}")}
    document["calibrate"] = kept or None


def _at(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    *outer, last = path.split(".")
    for name in outer:
        inner = document.get(name)
        document[name] = inner if isinstance(inner, dict) else {}
        document = document[name]
    document[last] = value
