"""The results of a run: the baseline, and one point for each bundle; every metric is declared here.

Their JSON forms are those of the HTTP contract. A number that does not exist, or is not finite, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from cnet.results.baseline import (
    BaselineResult,
    TaskScore,
    finite_values,
    own_members,
    quality_of,
    task_score,
    with_metric,
)
from cnet.results.bundle_parts import LayerResult, PartBytes
from cnet.results.damage import ResultWarning
from cnet.results.histogram import WeightHistogram
from cnet.results.measurements import BundleMeasurement, Scores, test_score, validation_score
from cnet.results.metrics import Metric, Source, declare

__all__ = ["BaselineResult", "LayerResult", "PartBytes", "Point", "TaskScore"]


def _point(
    source: Source, unit: str, description: str, compute: Callable[[BundleMeasurement], Any], **shown: Any
) -> Any:
    return declare(Metric(unit, description, source, compute, **shown))


def _score(split: Callable[[Scores | None, str], float | None], name: str, unit: str, description: str) -> Any:
    """The field of a score of the decoded network on one split, by its name; None where it was not measured."""
    declared = _point("network", unit, description, lambda m: split(m.network.scores, name), noted="measured")
    return field(default=None, metadata=declared)


@dataclass(frozen=True)
class Point:
    """One compressed network: what was asked for, what came out, and what it costs; ``layers`` in order of w_net.

    ``layers`` and ``histogram`` are in ``to_metrics`` only, because they are much longer than the rest.
    """

    index: int = field(
        metadata=_point("request", "", "How many points of the job come before it.", lambda m: m.index, heading="point")
    )
    sparsity_requested: float = field(
        metadata=_point("request", "fraction", "What was asked of the pruner.", lambda m: m.sparsity, noted="exact")
    )
    sparsity: float = field(
        metadata=_point(
            "network",
            "fraction",
            "Compressible weights (or weights of factors) that are zero, counted on what the bundle decodes to.",
            lambda m: m.network.counts.sparsity,
            noted="rounded",
            heading="sparsity",
            cell="{:.4f}".format,
        )
    )
    clusters_requested: int | None = field(
        metadata=_point("request", "", "What was asked of the quantizer.", lambda m: m.clusters, noted="exact")
    )
    clusters: int | None = field(
        metadata=_point(
            "network",
            "",
            "Centroids in the bundle; null where values are kept as they are.",
            lambda m: m.network.centroids,
            noted="exact",
            heading="clusters",
        )
    )
    accuracy: float | None = field(
        metadata=_point(
            "network",
            "percent",
            "Accuracy of the decoded network on the test split; of yes/no decisions (task `binary`) the share of right "
            "ones; null without a data set.",
            lambda m: test_score(m.network.scores, "accuracy"),
            noted="exact",
            heading="accuracy",
            cell="{:.2f} %".format,
        )
    )
    accuracy_before_quantize: float | None = field(
        metadata=_point(
            "network",
            "percent",
            "Accuracy of the network that was pruned and recovered, and not yet quantized.",
            lambda m: m.network.accuracy_before_quantize,
            noted="exact",
        )
    )
    loss: float | None = field(
        metadata=_point(
            "network",
            "",
            "Mean loss of the decoded network on the test split, for a classification in nats.",
            lambda m: test_score(m.network.scores, "loss"),
            noted="rounded",
        )
    )
    ratio: float = field(
        metadata=_point(
            "file",
            "",
            "Compression ratio: `npz_bytes` of the baseline ÷ bytes of the bundle, all of it.",
            lambda m: m.baseline.npz_bytes / m.bytes.total,
            heading="ratio",
            cell="{:.2f}".format,
        )
    )
    ratio_weights: float | None = field(
        metadata=_point(
            "file",
            "",
            "The paper's ratio: `compressible_npz_bytes` of the baseline ÷ bytes of mask, labels and centroids.",
            lambda m: (
                m.baseline.compressible_npz_bytes / m.bytes.symbols if m.baseline.compressible_parameters else None
            ),
        )
    )
    ratio_raw: float = field(
        metadata=_point(
            "file",
            "",
            "`raw_bytes` of the baseline ÷ bytes of the bundle.",
            lambda m: m.baseline.raw_bytes / m.bytes.total,
        )
    )
    bits_per_parameter: float | None = field(
        metadata=_point(
            "file",
            "bits",
            "8 · bytes of the bundle ÷ `parameters` of the baseline.",
            lambda m: 8 * m.bytes.total / m.baseline.parameters if m.baseline.parameters else None,
        )
    )
    label_entropy: float | None = field(
        metadata=_point(
            "network",
            "bits per label",
            "Entropy of the labels, Σ -p log2 p over the cluster populations; null where there are no labels.",
            lambda m: m.network.counts.label_entropy,
            noted="rounded",
        )
    )
    bytes: PartBytes = field(metadata=_point("file", "bytes", "Size of the bundle's file by part.", lambda m: m.bytes))
    mse: float = field(
        metadata=_point(
            "network",
            "",
            "Mean of (decoded - original)² over the compressible weights; original: just before pruning.",
            lambda m: m.network.counts.mse,
            noted="rounded",
        )
    )
    sha256: str = field(metadata=_point("file", "", "SHA-256 of the bundle's file, hex.", lambda m: m.sha256))
    layers: tuple[LayerResult, ...] = ()
    warnings: tuple[ResultWarning, ...] = ()
    quantizer: str | None = field(
        default=None, metadata=_point("request", "", "Name of the quantizer.", lambda m: m.quantizer)
    )
    step: float | None = field(
        default=None,
        metadata=_point("request", "", "Step size of the quantizer's grid.", lambda m: m.settings.get("step")),
    )
    mu: float | None = field(
        default=None,
        metadata=_point(
            "request",
            "",
            "Lagrange multiplier of the quantizer's rate.",
            lambda m: m.settings.get("mu"),
        ),
    )
    snr_db: float | None = field(
        default=None,
        metadata=_point(
            "network",
            "dB",
            "10 log10 of the energy of the compressible weights ÷ that of their errors; null where none changed.",
            lambda m: m.network.counts.snr_db,
            noted="measured",
        ),
    )
    metric: TaskScore | None = field(
        default=None,
        metadata=_point(
            "network",
            "",
            "What networks of the task are compared by; null without a data set.",
            lambda m: task_score(m.network.scores),
            noted="measured",
        ),
    )
    accuracy_validation: float | None = _score(
        validation_score,
        "accuracy",
        "percent",
        "Accuracy of the decoded network on the validation split, by which the point is selected; null without one.",
    )
    top5: float | None = _score(
        test_score,
        "top5",
        "percent",
        "Samples of the test split whose class label is among the five most likely classes.",
    )
    kl: float | None = _score(
        test_score,
        "kl",
        "nats",
        "Mean Kullback-Leibler divergence of the classes, or of each yes/no decision, from those of the original "
        "network, on the test split, or without a data set on the inputs that a calibration sets apart.",
    )
    agreement: float | None = _score(
        test_score,
        "agreement",
        "percent",
        "Samples of the test split with the top class of the original network, or of yes/no decisions the mean of the "
        "agreement on yes and that on no; without a data set, of the inputs that a calibration sets apart.",
    )

    kl_validation: float | None = _score(
        validation_score,
        "kl",
        "nats",
        "The divergence `kl` on the validation split, by which choices are made; null without one.",
    )
    agreement_validation: float | None = _score(
        validation_score,
        "agreement",
        "percent",
        "The agreement on the validation split, by which choices are made; null without one.",
    )
    compared_inputs: int | None = _score(
        test_score,
        "inputs",
        "",
        "Inputs that `kl` and `agreement`, or `output_snr_db`, were measured on where a calibration sets them apart; "
        "null otherwise.",
    )
    output_snr_db: float | None = _score(
        test_score,
        "output_snr_db",
        "dB",
        "10 log10 of the variance of outputs that are numbers ÷ the mean square of their difference from those of the "
        "original network, both relative to the variance of their channel; on the test split, or without a data set "
        "on the inputs that a calibration sets apart; at most 150.",
    )
    worst_output_snr_db: float | None = _score(
        test_score, "worst_output_snr_db", "dB", "The ratio `output_snr_db` of the output's worst channel alone."
    )
    output_snr_db_validation: float | None = _score(
        validation_score,
        "output_snr_db",
        "dB",
        "The ratio `output_snr_db` on the validation split, by which choices are made; null without one.",
    )
    histogram: WeightHistogram | None = None

    @property
    def quality(self) -> float | None:
        """The number that choices compare, larger is better; None where nothing was measured."""
        return quality_of(self)

    def to_json(self) -> dict[str, Any]:
        """The contract's Point, without ``bundle_url``, ``layers`` and ``histogram``."""
        document = asdict(replace(self, layers=(), histogram=None))
        del document["layers"], document["histogram"]
        document["warnings"] = list(document["warnings"])  # a stored point, read from JSON, must compare as equal
        return finite_values(document)

    def to_metrics(self) -> dict[str, Any]:
        """``to_json``, ``layers`` and ``histogram``: everything that is known of the point."""
        histogram = self.histogram and self.histogram.to_json()
        return {**self.to_json(), "layers": [layer.to_json() for layer in self.layers], "histogram": histogram}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_json`` and of ``to_metrics``; other members are ignored."""
        own = own_members(cls, document)
        own = with_metric(own)
        own["bytes"] = PartBytes(**own_members(PartBytes, document["bytes"]))
        own["warnings"] = tuple(ResultWarning(**row) for row in document.get("warnings", ()))
        own["histogram"] = WeightHistogram.from_json(document.get("histogram"))
        own["layers"] = tuple(LayerResult.from_json(row) for row in document.get("layers", ()))
        return cls(**own)
