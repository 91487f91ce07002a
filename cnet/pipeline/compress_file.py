"""Compress a checkpoint file to a bundle file, without a server."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from cnet.data import DATASETS, Dataset
from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError
from cnet.files import atomic_path
from cnet.formats import read_checkpoint, refuse_lone_shard
from cnet.pipeline import Inputs, Outcome, RunObserver, SilentRunObserver, run
from cnet.spec import JobSpec
from cnet.weights import Weights


def compress_file(  # noqa: PLR0913 - the file, the job, and four options that most callers leave out
    source: Path | None,
    spec: JobSpec,
    out: Path,
    observer: RunObserver | None = None,
    *,
    folder: Path | None = None,
    streaming: bool | None = None,
    weights_key: str | None = None,
) -> Outcome:
    """Compress a checkpoint file as ``spec`` says and write the selected bundle to ``out``.

    Args:
        source: the checkpoint, in any format that ``read_checkpoint`` reads; None trains a baseline from scratch.
        spec: the job. Its ``dataset`` is a built-in name or the path of an npz file; the name of ``source``
            takes the place of its ``checkpoint``.
        out: the bundle, replaced where it exists; written only if the run succeeds.
        observer: receives every event.
        folder: where the run keeps its state, so that the same call continues where it ended; None: a temporary
            folder, removed at the end.
        streaming: as in ``cnet.pipeline.Inputs``.
        weights_key: the entry of the checkpoint that holds the weights; None: the one that ``read_checkpoint`` finds.

    Raises:
        CheckpointError, DatasetError: a file that cannot be read.
        CnetError: as ``cnet.pipeline.run``.
    """
    observer = observer or SilentRunObserver()
    spec = spec.model_copy(update={"checkpoint": source.name if source else None})
    if source:
        refuse_lone_shard(source.name)
    weights = _read_weights(source, spec, weights_key, observer) if source else None
    dataset = load_dataset(spec.dataset, observer) if spec.dataset else None
    if folder is not None:
        return _into(out, run(spec, Inputs(weights, dataset, folder, streaming), observer))
    with tempfile.TemporaryDirectory(prefix="cnet-") as temporary:
        return _into(out, run(spec, Inputs(weights, dataset, Path(temporary), streaming), observer))


def _read_weights(source: Path, spec: JobSpec, weights_key: str | None, observer: RunObserver) -> Weights:
    """The weights of a file; the observer is told which entry of it they are, and all that the reader noticed."""
    selection = spec.compressible.selection() if spec.compressible else None
    checkpoint = read_checkpoint(source, weights_key=weights_key, selection=selection)
    if checkpoint.weights_key is not None:
        observer.log(f"the weights are those of the entry {checkpoint.weights_key!r}")
    for warning in checkpoint.warnings:
        observer.log(f"warning: {warning}")
    return checkpoint.weights


def load_dataset(name: str, observer: RunObserver | None = None) -> Dataset:
    """The built-in data set called ``name``, or that of the file with this path.

    Raises:
        DatasetError: there is neither, or the file cannot be used.
    """
    if name in DATASETS.names():
        return DATASETS.create(name).load()
    if not Path(name).is_file():
        known = ", ".join(DATASETS.names())
        raise DatasetError(
            f"data set {name!r}: it is neither built in nor a file. Give the path of a file, or one of: {known}.",
            code="unknown_dataset",
        )
    uploaded = read_dataset_file(Path(name))
    for warning in uploaded.warnings:
        (observer or SilentRunObserver()).log(f"warning: {warning.detail}")
    return uploaded.dataset


def _into(out: Path, outcome: Outcome) -> Outcome:
    """Copy the selected bundle to ``out``, whole or not at all."""
    try:
        with atomic_path(out) as draft:
            shutil.copyfile(outcome.bundles[outcome.selected], draft)
    except OSError as error:
        error.filename, error.filename2 = str(out), None  # a full disk is reported under the name of the source
        raise
    return outcome
