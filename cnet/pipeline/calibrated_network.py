"""A network with calibration inputs, by which the pipeline quantizes, and on which it compares outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cnet.data import Dataset
from cnet.models.match import check_match
from cnet.models.programs import StoredProgram
from cnet.observer import Observer
from cnet.parts.capabilities import Calibratable
from cnet.pipeline.network import Mask, OnFraction, builder_of, needs_torch
from cnet.results.measurements import Scores
from cnet.spec import DEFAULT_TASK, JobSpec, ProgramArchitecture
from cnet.symbols import Symbols
from cnet.training.tasks import TASKS
from cnet.weights import Weights

if TYPE_CHECKING:
    from cnet.calibrate.calibration import Calibration
    from cnet.calibrate.network import OutputComparison

NO_OTHER_INPUTS = (
    "calibrate: outputs are compared on {measured} inputs that were set apart from the {used} calibrated on"
)
"""The sentence about a job without a data set, whose calibration inputs are all that there is to measure on."""


class CalibratedNetwork:
    """A network with calibration inputs. Making one imports PyTorch.

    Args:
        spec: the job; ``calibrate`` and ``architecture`` are set.
        inputs: the training split is calibrated on. Without a data set of the job, the test split is measured on.
        program: of a user's own network; None for a built-in architecture.
        observer: its log gets what a person should know; asked whether to stop.

    Raises:
        TrainingError: (``torch_missing``) PyTorch is not installed.
        SpecError: the task cannot compare outputs such as those of the program.
    """

    def __init__(self, spec: JobSpec, inputs: Dataset, program: StoredProgram | None, observer: Observer) -> None:
        if spec.architecture is None or spec.calibrate is None:
            raise ValueError("calibrate: the job names no network or no inputs. Make no calibrated network of it.")
        with needs_torch("calibrate"):
            from cnet.calibrate.calibration import Calibration
            from cnet.calibrate.network import OutputComparison
        self._architecture = spec.architecture
        self._inputs = inputs
        self._observer = observer
        training = spec.resolved().training
        device = training.device if training else "auto"
        builder = builder_of(spec.architecture, inputs, program, device)
        task = spec.program.task if spec.program else TASKS.create(DEFAULT_TASK)
        if spec.program:  # a built-in architecture has the classes of its checkpoint
            task.check_comparable(builder.output_shape)
        common: dict[str, Any] = {"preprocess": spec.preprocess, "device": device}
        self._calibration: Calibration = Calibration(builder, task, inputs.train, spec.calibrate, observer, **common)
        self._comparison: OutputComparison | None = None
        if not spec.trains:
            self._comparison = OutputComparison(builder, task, inputs.test, spec.calibrate, observer, **common)

    def check(self, weights: Weights) -> None:
        """Check that tensors and inputs fit the network, and say what a person should know of the inputs.

        Raises:
            ArchitectureMismatchError, DatasetError: they do not; both are stated.
        """
        if not isinstance(self._architecture, ProgramArchitecture):
            shapes = {tensor.name: tensor.shape for tensor in weights}
            check_match(self._architecture, self._inputs.input_shape, 1, shapes)
        for warning in self._calibration.warnings():
            self._observer.log(f"warning: {warning}")
        if self._comparison is not None:
            measured, used = len(self._comparison.split), len(self._calibration.split)
            self._observer.log(NO_OTHER_INPUTS.format(measured=measured, used=used))

    def sensitivities(self, weights: Weights, on_fraction: OnFraction) -> dict[str, Any]:
        """What is measured once for all points of a sparsity, as JSON: see ``Calibration.sensitivities``."""
        found = self._calibration.sensitivities(weights, on_fraction)
        return {name: fisher.to_json() for name, fisher in found.items()}

    def quantize(
        self,
        weights: Weights,
        keep: Mask,
        quantizer: Calibratable,
        sensitivities: dict[str, Any],
        on_fraction: OnFraction,
    ) -> tuple[Weights, Symbols]:
        """Weights with corrected biases and running means, and their symbols: see ``Calibration.quantize``.

        Args:
            weights: of the network, before or after pruning.
            keep: which of w_net may be other than zero: bool, shape (n,).
            quantizer: how fine.
            sensitivities: of the same network.
            on_fraction: told the done part, 0..1.
        """
        from cnet.calibrate.calibration import Quantizing
        from cnet.calibrate.sensitivity import TensorFisher

        quantizing = Quantizing(
            quantizer.expected_divergence,
            quantizer.mu,
            largest_step=quantizer.largest_step,
            feedback=quantizer.feedback,
        )
        measured = {name: TensorFisher.from_json(document) for name, document in sensitivities.items()}
        return self._calibration.quantize(weights, keep, quantizing, measured, on_fraction)

    @property
    def doubt(self) -> str | None:
        """Why the outputs can hardly be what the task takes them for; None where they may be, or are not known yet."""
        return None if self._comparison is None else self._comparison.doubt

    def scores(self, decoded: Weights, original: Weights) -> Scores | None:
        """How the outputs of a decoded network differ on inputs set apart; None where a data set measures it.

        Args:
            decoded: the network to measure.
            original: the network before compression, the same in every call.
        """
        if self._comparison is None:
            return None
        return Scores.of_differences(self._comparison.scores(original, decoded), len(self._comparison.split))
