"""Warnings about a run that works: sentences for its log, each ending with what the user can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from cnet.models.programs import StoredProgram
from cnet.models.programs.document import ProgramOutput
from cnet.models.programs.outputs import choose_output, other_outputs
from cnet.pipeline.network import TrainableNetwork
from cnet.results.damage import ResultWarning, outputs_not_compared
from cnet.results.data_doubts import baseline_at_chance, one_class, validation_seen
from cnet.results.points import BaselineResult
from cnet.results.resolution import small_validation, small_validation_of_errors
from cnet.spec import JobSpec, ProgramArchitecture, Target
from cnet.symbols import SymbolSource
from cnet.weights import Weights

NO_VALIDATION = (
    "warning: there is no validation split, so the run's choices (search, target, selected point) are made on the test "
    "split, and its scores are better than those of new data. Set validation to a share of the training data, such as "
    "0.1."
)
"""The warning about a run that has no validation split."""


def about_output(choice: ProgramArchitecture | None, program: StoredProgram | None) -> Iterator[str]:
    """What to know of the output of a program that is used: that it is probabilities, and how it is understood.

    Args:
        choice: the architecture that the job names; None for one that is built in.
        program: the network.
    """
    if choice is None or program is None:
        return
    outputs = program.program.outputs
    output = outputs[choose_output(outputs, choice.output)]
    ending = None if output.activation is None else output.activation.name
    if ending == "sigmoid" and choice.task.compares_classes and not choice.task.takes_logits_of(output):
        yield (
            f"warning: architecture.output: the program's output {output.name} ends in a sigmoid, as independent "
            f"yes/no decisions do, and the task {choice.task.name} compares its numbers as the logits of classes that "
            "exclude each other. Set architecture.task to binary."
        )
    elif choice.task.takes_logits_of(output):
        yield (
            f"architecture.output: the program's output {output.name} ends in a {ending}, so it is taken as "
            f"probabilities: the task {choice.task.name} works on the logits before it; the network keeps its {ending}"
        )


def about_other_outputs(spec: JobSpec, outputs: Sequence[ProgramOutput]) -> ResultWarning | None:
    """The warning about outputs of a program that a job with samples neither trains nor compares; None without any.

    Args:
        spec: the job.
        outputs: of its program; empty where it has none.
    """
    if spec.program is None or not (spec.trains or spec.calibrate):
        return None
    return outputs_not_compared(other_outputs(outputs, spec.program.output), trained=spec.adapts)


def about_choices(
    target: Target | None, network: TrainableNetwork | None, baseline: BaselineResult
) -> ResultWarning | None:
    """The warning about a target that the samples on which choices are made are too few for.

    Args:
        target: of the job.
        network: has the samples; None without a data set.
        baseline: the network before compression.
    """
    allowed = None if target is None else target.allowed_loss(baseline.quality)
    if target is None or allowed is None or network is None or baseline.quality is None:
        return None
    split = network.choice_split
    samples = len(network.dataset.splits[split])
    if target.min_agreement is not None:
        return small_validation(samples, allowed, 100.0, split)
    if baseline.metric is None or baseline.metric.unit == "percent":
        return small_validation(samples, allowed, baseline.quality, split)
    return small_validation_of_errors(samples, allowed, baseline.quality, split)


def about_data(
    target: Target | None, network: TrainableNetwork | None, baseline: BaselineResult, *, given: bool
) -> Iterator[ResultWarning]:
    """The warnings about data by which the network cannot be judged.

    A given network that is good on the validation split is not trained for other data, whatever its score on the test.

    Args:
        target: of the job.
        network: has the samples; None without a data set.
        baseline: the network before compression.
        given: whether the network was trained before the job.
    """
    if network is None or baseline.metric is None:
        return
    data = network.dataset
    samples = {name: len(split) for name, split in data.splits.items()}
    found = [one_class(data.label_counts, samples)] if baseline.metric.name == "accuracy" else []
    if given:
        chance, seen = baseline_at_chance(baseline, network.guessed_score), validation_seen(baseline, samples)
        found += [chance if seen is None else seen if target or chance else None]
    yield from (each for each in found if each is not None)


def about_weights(weights: Weights) -> Iterator[str]:
    """The warning about a network of which nothing is compressible."""
    if not weights.compressible:
        yield (
            "warning: no tensor is compressible (floating point, two dimensions or more), so the bundle stores every "
            "tensor as it is. Name tensors in compressible.include."
        )


def about_mask(weights: Weights, mask: npt.NDArray[np.bool_], requested: float) -> Iterator[str]:
    """The warnings about a mask.

    Args:
        weights: the network before pruning.
        mask: bool, shape (n,): which weights of w_net are kept.
        requested: the sparsity that was asked for, 0..1.
    """
    zeros = len(mask) - int(np.count_nonzero(mask))
    emptied = (name for name, part in weights.slices() if not mask[part].any() and np.any(weights[name].values()))
    return about_pruning(requested, zeros, len(mask), emptied)


def about_pruning(requested: float, zeros: int, count: int, emptied: Iterable[str]) -> Iterator[str]:
    """The warnings about what pruning did.

    Args:
        requested: the sparsity that was asked for, 0..1.
        zeros: how many weights are zero after pruning.
        count: how many weights there are.
        emptied: names of tensors that had other weights than zeros before, and have none now.
    """
    if requested and zeros > round(requested * count):
        yield (
            f"warning: sparsity {requested:g} was asked for, but {zeros / count:.4f} of the weights are zero already, "
            "and pruning changes no zero. Ask for a higher sparsity to prune more."
        )
    if requested < 1.0:
        for name in emptied:
            yield (
                f"warning: sparsity {requested:g} sets all weights of tensor {name!r} to zero, and the network may "
                "give a constant output. Exclude the tensor, or ask for a lower sparsity."
            )


def about_clusters(symbols: SymbolSource, requested: int | None) -> Iterator[str]:
    """The warning about fewer centroids than the ``requested`` number of clusters."""
    if requested is not None and symbols.clusters is not None and symbols.clusters < requested:
        yield (
            f"warning: {requested} clusters were asked for, but only {symbols.clusters} are used. Ask for as many: the "
            "result is the same."
        )
