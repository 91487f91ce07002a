"""The fields of the form that a message names as the specification does."""

from __future__ import annotations

from app.web.job_form.field_names import named_fields


def test_fields_of_a_message_have_the_labels_of_the_page() -> None:
    """Each once, in their order; common words that are also fields are none."""
    message = "Choose another architecture.output or architecture.task, architecture.output too. Name training.epochs."

    found = named_fields(message, {})

    assert [(field.label, field.input_id) for field in found] == [
        ("Number of the output, from 0", "field-output"),
        ("What the program does", "field-task"),
        ("All settings, Fine-tuning, epochs", "field-training.epochs"),
    ]
    assert named_fields("Nothing here names a field.", {}) == []


def test_the_parameters_of_a_shown_part_are_named() -> None:
    """Those of a part that is not shown have no field on the page."""
    assert [each.path for each in named_fields("quantize.clusters: 0", {"quantize": "kmeans"})] == ["quantize.clusters"]
    assert named_fields("quantize.clusters: 0", {"quantize": "auto"}) == []
