"""What a test can hold of the project's language: docstrings, shapes of arrays, and errors that say what to do."""

from __future__ import annotations

import ast
import re

from tests.architecture.source_tree import (
    Function,
    Message,
    array_arguments,
    array_types,
    definitions,
    messages,
    states_shapes,
)
from tests.repository import ROOT

# First words with which a docstring is a clause without a subject or a verb, not a noun phrase or an imperative.
VAGUE_BEGINNINGS = (
    "Of ",
    "Where ",
    "Who ",
    "Those ",
    "It ",
    "They ",
    "All that ",
    "Everything ",
    "Something ",
    "Such ",
)

# Words that say nothing in this field, and near-synonyms of terms that docs/glossary.md defines.
VAGUE_WORDS = (
    *("picked", "told of", "tells of", "nought", "on its way", "gone on", "of no kind", "kept ones", "a number more"),
    *("the rest of it", "path was lost", "riddle", "a person at", "the house"),
)

# The first word of the sentence that tells the reader of an error what to do.
REMEDIES = (
    *(
        "Add",
        "Ask",
        "Change",
        "Check",
        "Choose",
        "Close",
        "Convert",
        "Copy",
        "Correct",
        "Create",
        "Decrease",
        "Delete",
        "Do not",
        "Download",
        "Drop",
    ),
    *(
        "Export",
        "Fix",
        "Free",
        "Freeze",
        "Give",
        "Increase",
        "Install",
        "Join",
        "Keep",
        "Leave",
        "List",
        "Load",
        "Log in",
        "Lower",
        "Make",
        "Move",
        "Name",
    ),
    *(
        "Number",
        "Omit",
        "Open",
        "Pack",
        "Pass",
        "Put",
        "Quantize",
        "Raise",
        "Read",
        "Reduce",
        "Register",
        "Remove",
        "Rename",
        "Repeat",
        "Replace",
    ),
    *(
        "Report",
        "Request",
        "Reshape",
        "Resize",
        "Restart",
        "Restore",
        "Cancel",
        "Declare",
        "Retry",
        "Rewrite",
        "Run",
        "Save",
        "See",
        "Select",
        "Send",
        "Set",
        "Shorten",
        "Specify",
        "Split",
        "Start",
        "Stop",
    ),
    *("Submit", "Take", "Train", "Try", "Turn", "Unset", "Upgrade", "Upload", "Use", "Wait", "Write"),
)

# Exceptions whose text needs no remedy, each with the reason: a folder or module, and the exception's name.
WITHOUT_REMEDY: dict[tuple[str, str], str] = {
    ("", "AttributeError"): "Python's own protocol of attributes, which no user of a program reads",
    ("", "AssertionError"): "a defect of the program itself",
    ("cnet/formats", "ValueError"): "caught by the reader of the format, which adds what to do",
    ("cnet/formats", "TruncatedMessageError"): "caught by the reader of the format, which adds what to do",
    ("cnet/formats/torch", "UnpicklingError"): "caught by the reader of the format, which adds what to do",
    ("cnet/coding", "ValueError"): "caught by the reader of the bundle, which adds what to do",
    ("cnet/spec.py", "SpecError"): "every issue that it lists ends with what to do",
    ("cnet/spec.py", "ValueError"): "the part says what to do",
    ("cnet/formats/onnx/template.py", "CnetError"): "the remedy is chosen beside the fault",
    ("cnet/formats/refusals.py", "CheckpointError"): "the remedy is chosen with the format",
    ("cnet/bundle", "ValueError"): "caught by the reader of the bundle, which adds what to do",
    ("app/core/settings.py", "ValueError"): "the error of all settings, which names the variable, ends with what to do",
}


def test_every_public_definition_has_a_docstring() -> None:
    """Modules, classes and functions whose names are public say what they are or do."""
    missing = [str(one) for one in definitions() if one.is_public and not one.docstring]

    assert missing == []


def test_docstrings_begin_with_what_is_returned_or_done() -> None:
    """The first line is an imperative or a noun phrase that is understood without the code."""
    vague = [
        f"{one}: {one.docstring.splitlines()[0]}" for one in definitions() if one.docstring.startswith(VAGUE_BEGINNINGS)
    ]

    assert vague == []


def test_docstrings_use_the_words_of_the_field() -> None:
    """No word of the stop list stands in a docstring."""
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, VAGUE_WORDS))})\b", re.IGNORECASE)

    vague = [f"{one}: {found[0]!r}" for one in definitions() if (found := pattern.search(one.docstring))]

    assert vague == []


def test_public_functions_state_the_shapes_of_their_arrays() -> None:
    """Whoever takes an array says in the docstring of the function, or of its class, what shape it has."""
    types = array_types()
    classes = {(one.path, one.name): one for one in definitions() if isinstance(one.node, ast.ClassDef)}
    silent = []
    for one in definitions():
        if isinstance(one.node, Function) and one.is_public and array_arguments(one, types):
            owner = classes.get((one.path, one.name.rpartition(".")[0]))
            inherits = one.docstring.startswith("As ``")  # the docstring that it names states them
            if not inherits and not states_shapes(one.docstring) and not (owner and states_shapes(owner.docstring)):
                silent.append(f"{one}: {', '.join(array_arguments(one, types))}")

    assert silent == []


def test_errors_end_with_what_to_do() -> None:
    """The last sentence of a message is an imperative with a full stop."""
    silent = [
        str(message) for message in messages() if not _is_excepted(message) and not _ends_with_remedy(message.text)
    ]

    assert silent == []


def test_no_text_shows_a_dictionary_of_python() -> None:
    """A field is named by its path, such as ``quantize.quality``, which the page, the command and JSON share."""
    shown = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("cnet", "app", "worker")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"[^{]\{'\w+': ", node.value)
    ]

    assert shown == []


def test_every_exception_from_the_rule_is_used() -> None:
    """No exception stays behind when its error is gone."""
    found = [(_path_of(message), message.exception) for message in messages() if not _ends_with_remedy(message.text)]

    unused = [
        key for key in WITHOUT_REMEDY if not any(path.startswith(key[0]) and key[1] == name for path, name in found)
    ]

    assert unused == []


def _ends_with_remedy(text: str) -> bool:
    """Whether a sentence after the first begins with a verb of ``REMEDIES``, and the text ends with a full stop."""
    sentences = re.split(r"(?<=[.:;!?}])\s+", text.strip())[1:]
    return text.rstrip().endswith((".", "{}")) and any(
        re.match(rf"({'|'.join(REMEDIES)})\b", sentence) for sentence in sentences
    )


def _is_excepted(message: Message) -> bool:
    path = _path_of(message)
    return any(path.startswith(prefix) and message.exception == name for prefix, name in WITHOUT_REMEDY)


def _path_of(message: Message) -> str:
    return message.path.relative_to(ROOT).as_posix()
