"""Whether local files fit each other, read here: a mismatch is told before anything is uploaded.

What cannot be read here, or is not known to this installation, is left to the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnet.errors import CnetError

if TYPE_CHECKING:
    from cnet.client import Client
    from cnet.models.programs import TensorType

ImageShape = tuple[int, int, int]


def check_fit(client: Client, document: Mapping[str, Any], files: Mapping[str, Path], weights_key: str | None) -> None:
    """Check the names and shapes of a checkpoint's file against its architecture, or against a program's file.

    Args:
        client: of the server, which is asked for the shape of a data set that it has.
        document: the job specification.
        files: the local files by field, such as ``checkpoint``.
        weights_key: the entry of the checkpoint that holds the weights; None: found by rule.

    Raises:
        ArchitectureMismatchError: they do not fit.
        DatasetError: the network has fewer outputs than the data set has classes.
    """
    tensors = _tensors_of(files["checkpoint"], weights_key) if "checkpoint" in files else None
    if tensors is None:
        return
    if "program" in files:
        _check_program(files["program"], tensors)
        return
    architecture, data = _built_in(document.get("architecture")), document.get("dataset")
    facts = _image_facts(client, str(data), files.get("dataset")) if architecture and data else None
    if architecture is not None and facts is not None:
        from cnet.models.match import check_match

        check_match(architecture, *facts, {name: each.shape for name, each in tensors.items()})


def _tensors_of(path: Path, weights_key: str | None) -> dict[str, TensorType] | None:
    from cnet.formats import read_checkpoint
    from cnet.models.programs import TensorType

    try:
        weights = read_checkpoint(path, weights_key=weights_key).weights
    except CnetError:
        return None
    return {tensor.name: TensorType(tensor.dtype, tensor.shape) for tensor in weights}


def _check_program(path: Path, tensors: Mapping[str, TensorType]) -> None:
    from cnet.models.programs import ProgramManifest, TensorType, match_names, read_program

    try:
        manifest = ProgramManifest.of(read_program(path))
    except CnetError:
        return
    match_names({row.name: TensorType(row.dtype, row.shape) for row in manifest.tensors}, tensors)


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


def _image_facts(client: Client, name: str, file: Path | None) -> tuple[ImageShape, int] | None:
    """Shape of the images and number of classes of a data set; None where it has no labelled images."""
    if name.startswith("ds_"):
        stored = client.dataset(name)
        return _facts(stored["input_shape"], stored["classes"])
    from cnet.pipeline.local.compress_file import load_dataset

    try:
        dataset = load_dataset(str(file or name))
        return _facts(dataset.input_shape, dataset.classes)
    except (CnetError, ImportError):
        return None


def _facts(shape: Any, classes: int | None) -> tuple[ImageShape, int] | None:
    if classes is None or len(shape) != 3:
        return None
    channels, height, width = map(int, shape)
    return (channels, height, width), classes
