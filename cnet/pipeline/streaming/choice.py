"""Whether a run reads its weights chunk by chunk."""

from __future__ import annotations

from cnet.errors import SpecError
from cnet.parts.capabilities import streams
from cnet.parts.registry import Part
from cnet.pipeline.inputs import Inputs
from cnet.pipeline.plan import CompressionPlan
from cnet.search import CandidateGrid
from cnet.spec import JobSpec
from cnet.weights import Weights


def reads_in_chunks(spec: JobSpec, inputs: Inputs, checkpoint: Weights | None) -> bool:
    """Whether a run reads its weights chunk by chunk instead of holding them in memory.

    Args:
        spec: the job.
        inputs: ``streaming`` is what the user wants; None: whatever fits the size of the network.
        checkpoint: the weights, None where a baseline is trained.

    Raises:
        SpecError: (``cannot_stream``) streaming is asked for, and the job needs all weights in memory.
    """
    asked = inputs.streaming
    if asked is False:
        return False
    if checkpoint is None or inputs.dataset is not None or inputs.calibration is not None:
        obstacles = ["a job with a data set or calibration inputs has all weights in memory"]
    elif asked is None and checkpoint.raw_bytes < inputs.streaming_sizes.least_bytes:
        return False
    else:
        obstacles = _obstacles(spec, checkpoint)
    if obstacles and asked:
        raise SpecError(
            f"streaming: not possible for this job, because {'; '.join(obstacles)}. Turn streaming off.",
            code="cannot_stream",
        )
    return not obstacles


def _obstacles(spec: JobSpec, checkpoint: Weights) -> list[str]:
    plan, grid, found = CompressionPlan.of(spec), CandidateGrid.of(spec), []
    if spec.target is not None and grid.searched:
        found.append("a search looks at all weights, unless the job names sparsity, quantizer and clusters")
    if plan.method is not None or plan.transform is not None:
        found.append("a method or a transform works on all weights at once")
    quantizers = [("quantizer", candidate.quantizer) for candidate in grid.candidates]
    parts: list[tuple[str, Part]] = [("pruner", plan.pruner), *quantizers, ("encoder", plan.encoder)]
    unable = dict.fromkeys((kind, part.name) for kind, part in parts if not streams(part))
    found += [f"{kind} {name!r} with these settings needs all weights in memory" for kind, name in unable]
    if any(checkpoint[name].dtype == "float64" for name in checkpoint.compressible):
        found.append("there are compressible tensors of type float64")
    return found
