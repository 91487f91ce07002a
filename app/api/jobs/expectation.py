"""What a job can be expected to take, before it runs: time by earlier jobs of this server, bytes by entropies.

Both are rough. The time is the cost of the job's steps (``cnet.pipeline.progress``) times the seconds that a unit of
cost took in the owner's last jobs of the same network, or else of the same kind, all of them together: most of the time
of a job without training is its start, which says nothing about the pace. No job is expected to take less than the
shortest of them. The size is that of masks and labels
without any context, which the encoders beat by about a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from app.api.backend import Backend
from app.api.datasets import service as datasets
from app.api.jobs.checks import CheckedSpec, compressible_tensors
from app.api.jobs.schemas import Estimate
from app.core.errors import ServiceError
from app.core.jobs import Job
from app.core.jobs.store import JobFilter
from app.core.ownership import OwnerFilter
from app.core.states import Status
from cnet import dtypes
from cnet.errors import CnetError
from cnet.pipeline.progress import StepCosts
from cnet.search import Candidate, CandidateGrid
from cnet.spec import JobSpec

_EARLIER_JOBS = 20
_DEFLATED = 0.92  # size of trained float32 weights after deflate, relative to before
_CONTAINER_BYTES = 1500
_FLOAT_BITS = 32.0


def with_expectation(backend: Backend, checked: CheckedSpec, owner: OwnerFilter, estimate: Estimate) -> Estimate:
    """The estimate of a job, with the time and the size that can be expected.

    Args:
        backend: has the earlier jobs.
        checked: the specification.
        owner: whose earlier jobs are compared.
        estimate: what is known for certain.
    """
    low, high = expected_bytes(checked)
    seconds = expected_seconds(backend, checked.spec, estimate.parameters, owner)
    return estimate.model_copy(update={"seconds": seconds, "bundle_bytes_low": low, "bundle_bytes_high": high})


def expected_bytes(checked: CheckedSpec) -> tuple[int, int]:
    """Sizes in bytes of the smallest and of the largest bundle that the job can make."""
    tensors = compressible_tensors(checked)
    weights = sum(math.prod(tensor.shape) for tensor in tensors)
    names = {tensor.name for tensor in tensors}
    others = [tensor for tensor in checked.tensors if tensor.name not in names]
    exact = sum(math.prod(t.shape) * dtypes.by_name(t.dtype).numpy.itemsize for t in others)
    bits = [_bits_per_weight(candidate) for candidate in CandidateGrid.of(checked.spec).candidates]
    fixed = exact * _DEFLATED + _CONTAINER_BYTES
    low, high = (round(fixed + weights * each / 8) for each in (min(bits), max(bits)))
    most = checked.spec.target.max_bytes if checked.spec.target is not None else None
    return (min(low, most), min(high, most)) if most is not None else (low, high)


def expected_seconds(backend: Backend, spec: JobSpec, parameters: int, owner: OwnerFilter) -> float | None:
    """Running time in seconds; None where no comparable job has ended on this server.

    Args:
        backend: has the earlier jobs.
        spec: the specification.
        parameters: number of elements of all tensors.
        owner: whose earlier jobs are compared.
    """
    cost = _cost(backend, spec, parameters, owner)
    if cost is None:
        return None
    alike: list[tuple[float, float]] = []
    rest: list[tuple[float, float]] = []
    for job in backend.jobs.find(owner, JobFilter(status=Status.SUCCEEDED), _EARLIER_JOBS):
        ran = _seconds_and_cost(backend, job, owner)
        if ran is not None and (job.spec.get("dataset") is None) == (spec.dataset is None):
            (alike if job.spec.get("architecture") == _architecture(spec) else rest).append(ran)
    took = alike or rest
    if not took:
        return None
    pace = sum(seconds for seconds, _ in took) / sum(each for _, each in took)
    return round(max(cost * pace, min(seconds for seconds, _ in took)), 1)


def _bits_per_weight(candidate: Candidate) -> float:
    """Entropy of the mask and of the labels of a candidate, in bits per weight."""
    kept = 1 - candidate.sparsity
    mask = sum(-share * math.log2(share) for share in (kept, 1 - kept) if share > 0)
    label = (
        candidate.bits * _DEFLATED if candidate.bits >= dtypes.by_name("float32").numpy.itemsize * 8 else candidate.bits
    )
    return mask + kept * label


def _seconds_and_cost(backend: Backend, job: Job, owner: OwnerFilter) -> tuple[float, float] | None:
    """How long an ended job ran, and its cost; None where one of them is not known."""
    if job.started_at is None or job.ended_at is None or job.baseline is None:
        return None
    try:
        cost = _cost(backend, JobSpec.parse(job.spec), job.baseline["parameters"], owner)
    except CnetError:  # of a plug-in that is not installed any more
        return None
    seconds = job.ran_seconds + (job.ended_at - job.started_at).total_seconds()
    return (seconds, cost) if cost else None


def _cost(backend: Backend, spec: JobSpec, parameters: int, owner: OwnerFilter) -> float | None:
    """The cost of a job in its own unit; None where the number of samples is not known."""
    samples: Mapping[str, int] = {}
    if spec.dataset is not None:
        try:
            samples = datasets.resolve(backend, spec.dataset, owner).samples
        except ServiceError:  # of a job whose data set was deleted
            return None
        if not samples:
            return None
    return StepCosts.of_samples(spec, samples.get("train", 0), samples.get("test", 0)).total * parameters


def _architecture(spec: JobSpec) -> Any:
    return spec.to_json().get("architecture")
