"""The weights of a model's file, whatever it is: a checkpoint, a bundle or a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnet.bundle import open_bundle
from cnet.formats import is_bundle, read_checkpoint
from cnet.models.programs import StoredProgram, is_program, read_program
from cnet.weights import Weights


def read_model(path: Path, weights_key: str | None = None) -> Weights:
    """All tensors of a model: those of a checkpoint, decoded from a bundle, or of a program's ``state_dict``.

    Args:
        path: the file.
        weights_key: the entry of a checkpoint that holds the weights; None: found by rule.

    Raises:
        CheckpointError, BundleError, ProgramError: the file cannot be used.
        OSError: it cannot be opened.
    """
    if is_bundle(path):
        return open_bundle(path).weights()
    if is_program(path):
        archive = read_program(path)
        return StoredProgram(archive.program, archive.weights).state_dict
    return read_checkpoint(path, weights_key=weights_key).weights


def corrected_tensors(path: Path) -> frozenset[str]:
    """Names of the tensors of a bundle that a calibration may have moved to keep the means of channels.

    Empty for other files, and where the bundle notes no calibration.

    Args:
        path: of a file that ``read_model`` can read.
    """
    if not is_bundle(path):
        return frozenset()
    bundle = open_bundle(path)
    spec: dict[str, Any] = (bundle.extra or {}).get("spec") or {}
    if not spec.get("calibrate") or (spec.get("quantize") or {}).get("name") != "calibrated":
        return frozenset()
    return frozenset(bundle) - bundle.slices.keys() - {product.name for product in bundle.products}
