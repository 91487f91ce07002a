"""Whether the files of a job fit each other, read here: a mismatch is told before anything is uploaded.

What cannot be read here, or is not known to this installation, is left to the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnet.errors import CnetError

if TYPE_CHECKING:
    from cnet.client import Client
    from cnet.data.dataset_facts import DatasetFacts
    from cnet.models.programs import ProgramManifest, TensorType
    from cnet.training.tasks.program_architecture import ProgramArchitecture

_LARGEST_DATA = 2**30  # bytes of a data set that is read here, all of it in memory
_LEFT_TO_SERVER = ("too_large", "unavailable", "program_version", "program_operator")
"""Codes of errors that another installation may not have: its limits, packages and release differ."""


def check_fit(client: Client, document: Mapping[str, Any], files: Mapping[str, Path], weights_key: str | None) -> None:
    """Check a checkpoint's file, a program and a data set against each other, where two of them are at hand.

    A program or data set that the server has is asked for there.

    Args:
        client: of the server, which is asked for the shapes of a data set that it has.
        document: the job specification.
        files: the local files by field, such as ``checkpoint``.
        weights_key: the entry of the checkpoint that holds the weights; None: found by rule.

    Raises:
        ArchitectureMismatchError: checkpoint and network do not fit.
        DatasetError: a data set cannot be read, the network does not take its inputs, or has other targets or fewer
            classes.
        ProgramError: the program cannot be read, trained or calibrated.
        SpecError: the output that the job names does not exist, or the images are too small for the architecture.
    """
    tensors = _tensors_of(files["checkpoint"], weights_key) if "checkpoint" in files else None
    named = document.get("architecture")
    named_program = named.get("program") if isinstance(named, dict) else None
    if named_program is not None:
        _check_program(client, document, files, tensors)
        return
    architecture = _built_in(document.get("architecture"))
    facts = _facts_of(client, document.get("dataset"), files.get("dataset")) if architecture is not None else None
    if facts is not None:
        images, classes = facts.images
        if tensors is None:
            architecture.tensors(images, classes)
        else:
            from cnet.models.match import check_match

            check_match(architecture, images, classes, {name: each.shape for name, each in tensors.items()})


def _tensors_of(path: Path, weights_key: str | None) -> dict[str, TensorType] | None:
    from cnet.formats import read_checkpoint
    from cnet.models.programs import TensorType

    try:
        weights = read_checkpoint(path, weights_key=weights_key).weights
    except CnetError:
        return None
    return {tensor.name: TensorType(tensor.dtype, tensor.shape) for tensor in weights}


def _check_program(
    client: Client,
    document: Mapping[str, Any],
    files: Mapping[str, Path],
    tensors: Mapping[str, TensorType] | None,
) -> None:
    """Check a program's file against the tensors of a checkpoint, the data set and the calibration inputs."""
    from cnet.models.programs import TensorType, match_names
    from cnet.training.tasks.program_fit import check_calibration, check_dataset

    choice = _choice_of(document["architecture"])
    program = _manifest_of(client, files.get("program"), document["architecture"]["program"])
    if program is None:
        return
    if tensors is not None and "program" in files:
        match_names({row.name: TensorType(row.dtype, row.shape) for row in program.tensors}, tensors)
    if choice is None:
        return
    facts = _facts_of(client, document.get("dataset"), files.get("dataset"))
    if facts is not None:
        check_dataset(program, choice, facts)
    calibrate = document.get("calibrate")
    named = calibrate.get("inputs") if isinstance(calibrate, dict) else None
    inputs = _facts_of(client, named, files.get("calibration inputs"))
    if inputs is not None:
        check_calibration(program, choice, inputs)


def _manifest_of(client: Client, path: Path | None, name: Any) -> ProgramManifest | None:
    """The description of a program: of a file here, or of the one that the server has by its id, without tensors."""
    from cnet.models.programs import ProgramManifest, read_program

    if path is None:
        return _described(client.program(name)) if str(name).startswith("prog_") else None
    try:
        return ProgramManifest.of(read_program(path))
    except CnetError as error:
        if error.code in _LEFT_TO_SERVER:
            return None
        raise


def _described(shown: Mapping[str, Any]) -> ProgramManifest:
    """The manifest of a program that a server shows, as far as it does: without tensors and ranges of sizes."""
    from cnet.models.programs import ProgramInput, ProgramManifest, ProgramOutput

    rows = {
        name: [{key: row[key] for key in ("name", "shape", "dtype")} for row in shown[name]]
        for name in ("inputs", "outputs")
    }
    reasons = [row["detail"] for row in shown["warnings"] if row["code"] == "not_trainable"]
    return ProgramManifest(
        inputs=tuple(ProgramInput(value=f"x{index}", **row) for index, row in enumerate(rows["inputs"])),
        outputs=tuple(ProgramOutput(**row) for row in rows["outputs"]),
        ranges={},
        tensors=(),
        parameters=shown["parameters"],
        untrainable=None if shown["trainable"] else next(iter(reasons), "the server says so"),
        train_graph=shown["train_graph"],
        tied=(),
        operators=(),
        torch_version=shown["torch_version"],
        warnings=(),
    )


def _choice_of(architecture: Any) -> ProgramArchitecture | None:
    """The task and output of a program; None for a task that is not known here."""
    from cnet.training.tasks.program_architecture import ProgramArchitecture

    try:
        return ProgramArchitecture.model_validate(architecture)
    except (CnetError, ValueError):
        return None


def _built_in(architecture: Any) -> Any:
    """The built-in architecture that a specification names; None for a program, or for one that is not known here."""
    from cnet.models import ARCHITECTURES

    choice = {"name": architecture} if isinstance(architecture, str) else architecture
    if not isinstance(choice, dict) or choice.get("name") not in ARCHITECTURES.names():
        return None
    try:
        return ARCHITECTURES.create(**choice)
    except (CnetError, ValueError, TypeError):
        return None


def _facts_of(client: Client, name: Any, file: Path | None) -> DatasetFacts | None:
    """What is known of a data set: a file here, one of the server by its id, a built-in one; None where nothing is."""
    from cnet.data import DATASETS
    from cnet.data.dataset_facts import DatasetFacts
    from cnet.data.dataset_reader import has_known_format

    if file is None and isinstance(name, str):
        if name.startswith("ds_"):
            return DatasetFacts.of_manifest(client.dataset(name))
        return DatasetFacts.of_builtin(name) if name in DATASETS.names() else None
    if file is None or file.stat().st_size > _LARGEST_DATA:
        return None
    try:
        return DatasetFacts.of_file(file)
    except ImportError:
        return None
    except CnetError as error:
        if error.code in _LEFT_TO_SERVER or not has_known_format(file):
            return None
        raise
