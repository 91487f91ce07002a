"""Warnings about points that may have been damaged, with what to do, and a verdict in one line.

Where a network was run on data, its measured score says how much was lost, or its agreement with the original, or, of
outputs that are numbers, their signal-to-noise ratio. Without data nothing does; then the signal-to-noise ratio of the
weights says what is likely: below ``RUINED_DB`` networks that were not trained for it lose most of their accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cnet.results.baseline import choice_split, scores_by_split

if TYPE_CHECKING:
    from cnet.results.points import BaselineResult, Point

RUINED_CODE = "likely_ruined"
"""Code of the warning about a network that is likely to be ruined."""

DOUBTFUL_CODE = "outputs_doubtful"
"""Code of the warning that outputs can hardly be what the job's task takes them for."""

LOST_CODE = "output_lost"
"""Code of the warning about a channel of the outputs that is lost among others."""

RUINED_DB = 12.0
"""Signal-to-noise ratio in dB below which a network is likely to be ruined: a sixteenth of the energy is noise."""

LAYER_RUINED_DB = 6.0
"""The same for one tensor: a quarter of its energy is noise."""

RUINED_SHARE = 0.75
"""A network that keeps less than this share of its score, such as its accuracy, has lost what it was made for."""

RUINED_ERROR = 4.0
"""The same for a score that is an error, such as a mean squared error: how many times larger it has become."""

RUINED_AGREEMENT = 75.0
"""The same for the inputs in percent for which a network predicts what the original does, where no score is known."""

RUINED_OUTPUT_DB = 10.0
"""The same for the signal-to-noise ratio in dB of outputs that are numbers: a tenth of their variance is noise."""

LOST_OUTPUT_DB = 3.0
"""The same for one channel of such outputs: half of its variance is noise."""

FEW_INPUTS = 20
"""Fewer inputs than these say little of others: where all keep their prediction, one in seven may still change it."""

RUINING_SPARSITY = 0.5
"""Largest sparsity that networks usually survive without training."""

RUINING_BITS = 3.0
"""Fewest bits of a label that networks usually survive without training."""

_REMEDY = "Ask for the quantizer auto with quality safe and for no sparsity, or give a data set to train on."
_TRAINED_REMEDY = (
    "Ask for less sparsity (0 prunes nothing), for the quantizer auto or more clusters, or for more epochs at a "
    "smaller training.learning_rate; if the data are few, train nothing (on the command line --no-training)."
)
_NAMED_TENSORS = 5
_NAMED_OUTPUTS = 3


@dataclass(frozen=True)
class ResultWarning:
    """What the user of a point should know.

    Attributes:
        code: ``accuracy_unknown``, ``likely_ruined``, ``layer_ruined``, ``few_inputs``, ``output_lost``,
            ``outputs_not_compared``, ``outputs_doubtful``, ``one_class``, ``baseline_at_chance``, ``validation_seen``
            or ``small_validation``.
        detail: what is wrong, and what to do.
        tensor: the name of the tensor that it is about; None for the whole network.
    """

    code: str
    detail: str
    tensor: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The warning as the HTTP contract states it."""
        return {"code": self.code, "detail": self.detail, "tensor": self.tensor}


def warnings_about(point: Point, baseline: BaselineResult) -> tuple[ResultWarning, ...]:
    """The warnings about a point; none where no weight has changed."""
    if point.snr_db is None:
        return ()
    if point.quality is None and point.agreement is None and point.output_snr_db is None:
        return tuple(_without_measurement(point, point.snr_db))
    lost = _measured_ruin(point, baseline)
    found = [] if lost is None else [ResultWarning(RUINED_CODE, lost)]
    worst = point.worst_output_snr_db
    if lost is None and worst is not None and worst < LOST_OUTPUT_DB:
        found.append(ResultWarning(LOST_CODE, _output_lost(worst)))
    if point.compared_inputs is not None and point.compared_inputs < FEW_INPUTS:
        found.append(ResultWarning("few_inputs", _few_inputs(point.compared_inputs)))
    return tuple(found)


def _measured_ruin(point: Point, baseline: BaselineResult) -> str | None:
    """What was lost, and what to do, where the point's score or agreement says that it is ruined."""
    before, after = baseline.quality, point.quality
    if before is None or after is None:
        if point.agreement is not None and point.agreement < RUINED_AGREEMENT:
            return f"agreement: {_agreement(point, 'only ')}. {_REMEDY}"
        if point.output_snr_db is not None and point.output_snr_db < RUINED_OUTPUT_DB:
            return f"output_snr_db: the {_outputs(point)} those of the original. {_REMEDY}"
        return None
    name = point.metric.name if point.metric else "accuracy"
    ruined = after < RUINED_SHARE * before if before > 0 else after < RUINED_ERROR * before
    if not ruined:
        return None
    sign = -1 if point.metric is not None and not point.metric.higher_is_better else 1
    return (
        f"{name}: it was {sign * before:.6g} before compression and is {sign * after:.6g} now, on the "
        f"{choice_split(point)} split. {_TRAINED_REMEDY}"
    )


def _output_lost(worst_db: float) -> str:
    """The text of the warning about outputs of which a channel has this signal-to-noise ratio in dB."""
    return (
        f"one channel of the outputs has hardly anything left of the original's: the noise in it is {worst_db:.1f} dB "
        "below its variance. Compare each channel with the original; where channels have very different units, train "
        f"on targets that are scaled alike. {_REMEDY}"
    )


def _few_inputs(count: int) -> str:
    """The text of the warning about outputs that were compared on so many inputs."""
    measured = "one input alone" if count == 1 else f"{count} inputs alone"
    return (
        f"the difference of the outputs was measured on {measured}, which say little of others. Give {5 * FEW_INPUTS} "
        f"calibration inputs or more, of which one in five is set apart to measure on, or {FEW_INPUTS} or more as "
        "x_test."
    )


def _without_measurement(point: Point, snr_db: float) -> Iterator[ResultWarning]:
    yield ResultWarning("accuracy_unknown", accuracy_unknown())
    if snr_db < RUINED_DB:
        yield ResultWarning(
            RUINED_CODE,
            f"the noise in the weights is only {snr_db:.1f} dB below them, and below {RUINED_DB:g} dB networks that "
            f"were not trained for it are usually ruined. {_REMEDY}",
        )
    ruined = [layer for layer in point.layers if layer.snr_db is not None and layer.snr_db < LAYER_RUINED_DB]
    for number, layer in enumerate(ruined[:_NAMED_TENSORS], 1):
        others = len(ruined) - number if number == _NAMED_TENSORS else 0
        more = f", and so it is in {others} more tensors" if others else ""
        yield ResultWarning(
            "layer_ruined",
            f"{layer.name}: the noise is only {layer.snr_db:.1f} dB below the weights{more}. Exclude the tensor "
            "(compressible.exclude), or ask for a better quality.",
            layer.name,
        )


def outputs_not_compared(names: Sequence[str], *, trained: bool) -> ResultWarning | None:
    """The warning about outputs of a program that a job neither trains nor compares; None where there are none.

    Args:
        names: of these outputs.
        trained: whether the job trains the network, by another output.
    """
    if not names:
        return None
    listed = ", ".join(names[:_NAMED_OUTPUTS]) + (", ..." if len(names) > _NAMED_OUTPUTS else "")
    lost = "training by another output may have ruined them" if trained else "nothing measures what they have lost"
    return ResultWarning(
        "outputs_not_compared",
        f"the program also gives {listed}, which this job does not compare: {lost}. Compare them with those of the "
        "original before you use them, or export a module without them.",
    )


def accuracy_unknown() -> str:
    """The text of the warning about a job without a data set."""
    return (
        "there is no data set, so it is not known what the network still can do. Compare its outputs with those of "
        "the original before you use it, or give a data set."
    )


def foreseen(sparsity: float, bits: float) -> Iterator[ResultWarning]:
    """The warnings about a job without a data set that can be given before it runs.

    Args:
        sparsity: the largest that it asks for, 0..1.
        bits: the fewest bits of a label that it asks for.
    """
    if not sparsity and bits >= 32:
        return
    yield ResultWarning("accuracy_unknown", accuracy_unknown())
    if sparsity > RUINING_SPARSITY:
        yield ResultWarning(
            RUINED_CODE,
            f"prune.sparsity: {sparsity:g} without training usually ruins a network; up to {RUINING_SPARSITY:g} most "
            f"survive. {_REMEDY}",
        )
    if bits < RUINING_BITS:
        yield ResultWarning(
            RUINED_CODE,
            f"quantize: labels of {bits:.1f} bits without training usually ruin a network. {_REMEDY}",
        )


def verdict(baseline: BaselineResult, point: Point) -> str:
    """One line that says whether the network of a point can be expected to work."""
    if point.quality is not None:
        noise = "" if point.output_snr_db is None else f"; {_outputs(point)} those of the original"
        return f"verdict: {_word(point)}, {_measured(baseline, point)}{noise}"
    if point.snr_db is None:
        return "verdict: lossless, every compressible weight is as it was"
    noise = f"noise {point.snr_db:.1f} dB below the weights"
    if point.agreement is not None:
        kl = "" if point.kl is None else f", KL {point.kl:.2g} nats"
        return f"verdict: {_word(point)}, {_agreement(point)}{kl}, {noise}"
    if point.output_snr_db is not None:
        return f"verdict: {_word(point)}, {_outputs(point)} those of the original, {noise}"
    if _word(point) == "ruined":
        return f"verdict: likely ruined, {noise}. {_REMEDY}"
    return f"verdict: not measured (no data set), {noise}. Compare outputs with those of the original before use."


def _word(point: Point) -> str:
    """What the warnings about a point make of what was measured of it."""
    codes = {warning.code for warning in point.warnings}
    if codes & {RUINED_CODE, "layer_ruined"}:
        return "ruined"
    if LOST_CODE in codes:
        return "a channel of the outputs is lost"
    if codes & {"one_class", "baseline_at_chance"}:
        return "measured on data that do not tell"
    return "doubtful" if DOUBTFUL_CODE in codes else "measured"


def _agreement(point: Point, only: str = "") -> str:
    """How many predictions stayed, and on how many inputs: a few say little about others."""
    return f"predictions agree with the original by {only}{point.agreement:.2f} %{_on_inputs(point)}"


def _on_inputs(point: Point) -> str:
    """On how many inputs outputs were compared, where a calibration sets them apart."""
    count = point.compared_inputs
    return "" if count is None else f" on {count:,} input{'' if count == 1 else 's'}"


def _outputs(point: Point) -> str:
    """How far the outputs lie from those of the original, and on how many inputs; the ratio was measured."""
    worst = point.worst_output_snr_db
    channel = "" if worst is None else f" ({worst:.1f} dB in the worst channel)"
    return f"noise in the outputs{_on_inputs(point)} is {point.output_snr_db:.1f} dB{channel} below"


def _measured(baseline: BaselineResult, point: Point) -> str:
    """The score of a point and that of the original, each with its split: the test split, then that of choices."""
    unit = "percent" if point.metric is None else point.metric.unit
    written = "{:.4g} %".format if unit == "percent" else f"{{:.6g}} {unit}".rstrip().format
    name = point.metric.name if point.metric else "accuracy"
    (before, before_validation), (after, validation) = scores_by_split(baseline), scores_by_split(point)
    told = "" if after is None else f"{written(after)} on the test split{_before(before, written)}"
    if validation is not None:
        used = f"{written(validation)} on the validation split{_before(before_validation, written)}"
        told = f"{told}; the selection used {used}" if told else used
    return f"{name} {told}"


def _before(value: float | None, written: Callable[[float], str]) -> str:
    return "" if value is None else f", {written(value)} before compression"
