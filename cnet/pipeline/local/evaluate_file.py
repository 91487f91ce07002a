"""Measure a model's file on a data set, without training."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cnet.errors import SpecError
from cnet.models.programs import filled_weights
from cnet.pipeline import Inputs, RunObserver, SilentRunObserver
from cnet.pipeline.local.compress_file import load_dataset, load_program
from cnet.pipeline.local.model_file import read_model
from cnet.pipeline.procedure import load
from cnet.results.measurements import Scores
from cnet.spec import JobSpec
from cnet.training.tasks import TASKS


def evaluate_file(
    source: Path | None, spec: JobSpec, observer: RunObserver | None = None, *, weights_key: str | None = None
) -> Scores:
    """Scores of a model on the test split of a data set, and on a validation split.

    With a program, the outputs for the weights of the file are also compared with those for the program's own: by the
    divergence of the classes (``kl``, nats) and by how often the most likely class is the same (``agreement``,
    percent), or by the signal-to-noise ratio of numbers (``output_snr_db``, dB). Where the data set has no targets,
    this is all that is measured.

    Args:
        source: a checkpoint, a bundle or a program; None: the program that ``spec`` names, with its own weights.
        spec: a job that names a data set, and an architecture or the path of a program.
        observer: receives every event.
        weights_key: the entry of a checkpoint that holds the weights; None: found by rule.

    Raises:
        SpecError: the spec names no data set, or no network.
        CheckpointError, BundleError, ProgramError, DatasetError: a file cannot be used.
        ArchitectureMismatchError: the weights are not those of the network.
        TrainingError: the network's outputs are not finite, or PyTorch is missing.
        OSError: a file cannot be opened.
    """
    observer = observer or SilentRunObserver()
    if spec.dataset is None:
        raise SpecError("evaluate: no data set is named. Name one.")
    given = read_model(source, weights_key) if source else None
    program = load_program(Path(spec.program.program), observer) if spec.program else None
    original = program.state_dict if program is not None else given
    if original is None:
        raise SpecError("evaluate: there are no weights. Name a checkpoint, a bundle or a program.")
    dataset = load_dataset(spec.dataset, observer)
    if dataset.train.targets is None:
        spec = _compared_only(spec, given is not None)
    named = spec.model_copy(update={"checkpoint": source.name if source else None})
    with tempfile.TemporaryDirectory(prefix="cnet-") as folder:
        inputs = Inputs(original, dataset, Path(folder), program=program)
        network = load(named, inputs, observer).context.network
        if network is None:
            raise SpecError("evaluate: no network is named. Name an architecture or a program.")
        if program is None:
            return network.evaluate(original)
        return network.evaluate(filled_weights(program, given) if given else original, original)


def _compared_only(spec: JobSpec, given: bool) -> JobSpec:
    """The same job for a data set without targets: outputs are compared with those of the program's own weights.

    Args:
        spec: the job.
        given: whether there are other weights than those of the program.

    Raises:
        SpecError: there is nothing to compare, or outputs of the job's task cannot be compared.
    """
    choice = spec.program
    if choice is None or not given:
        raise SpecError(
            "evaluate: the data set has no targets, and there are not two networks whose outputs can be compared. Give "
            "a data set with targets, or name both the original program and a bundle or checkpoint."
        )
    if choice.task.distilled is None:
        raise SpecError(
            f"evaluate: the data set has no targets, which the task {choice.task.name} needs. Give a data set with "
            "targets, or take the task distill, distill_binary or distill_regression."
        )
    compared = choice.model_copy(update={"task": TASKS.create(choice.task.distilled)})
    return spec.model_copy(update={"architecture": compared})
