"""``--set PATH=VALUE``: how paths and values are read, and what becomes of the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
import typer
from pydantic import BaseModel

from app.commands.assignments import Assignment, part_names
from app.commands.jobspec import SpecOptions
from cnet.errors import SpecError
from cnet.parts.validation import field_names, part_registry
from cnet.spec import JobSpec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("name=lamp", "lamp"),
        ("name=0.1", 0.1),
        ("name=16", 16),
        ("name=true", True),
        ("name=null", None),
        ("name=[0.9, 0.95]", [0.9, 0.95]),
        ('name={"a": 1}', {"a": 1}),
        ('name="16"', "16"),
        ("name=a=b", "a=b"),
        ("name=", ""),
        ("name=NaN", "NaN"),
        ("name=[1,", "[1,"),
        ("name=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_parsed_as_json_if_possible_and_is_a_string_otherwise(text: str, value: Any) -> None:
    """A number in JSON quotes is a string."""
    assignment = Assignment.parse(text)

    assert assignment == Assignment(("name",), value)
    assert type(assignment.value) is type(value)


@pytest.mark.parametrize("text", ["", "prune", "=1", ".prune=1", "prune.=1", "prune..name=1"])
def test_text_of_another_form_is_a_usage_error(text: str) -> None:
    """It shows the right form."""
    with pytest.raises(typer.BadParameter, match=r"PATH=VALUE.*--set prune\.sparsity=0\.9"):
        Assignment.parse(text)


def test_missing_objects_of_a_path_are_created() -> None:
    """Other fields stay; a value on the path that is not an object is replaced by one."""
    document: dict[str, Any] = {"prune": {"name": "lamp"}, "training": "soon"}

    for text in ("prune.gradual.epochs=3", "training.optimizer.learning_rate=0.1", 'labels={"a.b": "c"}'):
        Assignment.parse(text).apply(document)

    assert document == {
        "prune": {"name": "lamp", "gradual": {"epochs": 3}},
        "training": {"optimizer": {"learning_rate": 0.1}},
        "labels": {"a.b": "c"},
    }


def _fields(model: type[BaseModel], path: tuple[str, ...] = (), part: str = "") -> Iterator[tuple[str, str]]:
    """Each field of a document as a dotted path, and the ``--set`` that chooses the part it belongs to."""
    for name in field_names(model):
        annotation = next(info.annotation for key, info in model.model_fields.items() if name in (key, info.alias))
        registry = part_registry(annotation)
        here = (*path, name)
        yield ".".join(here), part
        for chosen in registry.names() if registry else ():
            yield from _fields(registry.get(chosen), here, f"{name}.name={chosen}")
        for inner in (annotation, *get_args(annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from _fields(inner, here, part)


@pytest.mark.parametrize(("path", "part"), list(_fields(JobSpec)))
def test_every_field_of_a_job_can_be_set(path: str, part: str) -> None:
    """A value that no field takes is refused at the field's own place, so it came there."""
    assignments = [part] if part else []
    document = SpecOptions(assignments=[*assignments, f"{path}=[[[]]]"]).document()

    with pytest.raises(SpecError) as caught:
        JobSpec.parse(document)

    (issue,) = [issue for issue in caught.value.issues if issue.loc]
    place = ".".join(str(key) for key in issue.loc if isinstance(key, str))
    assert place in (path, path.removesuffix(".name"))
    assert "no such field" not in issue.msg


def test_parts_are_listed_by_their_fields() -> None:
    """As the registries know them."""
    names = dict(part_names())

    assert {"architecture", "transform", "method", "prune", "quantize", "encode"} == set(names)
    assert "lamp" in names["prune"]
