"""The jobs of the study fit together and are fair."""

from __future__ import annotations

from benchmarks.paper import nncodec, study
from benchmarks.paper.jobs import digests
from cnet.spec import JobSpec

JOBS = study.jobs(study.Settings(epochs=4, seeds=2))


def test_every_job_starts_from_an_earlier_job() -> None:
    """Only the baselines start from scratch, and all names are distinct."""
    seen: set[str | None] = {None}
    for job in JOBS:
        assert job.start in seen
        assert job.name not in seen
        seen.add(job.name)
    assert [job.name for job in JOBS if job.start is None] == ["0/base", "1/base"]


def test_every_job_is_one_that_the_service_would_take() -> None:
    """Each document is a valid JobSpec."""
    for job in JOBS:
        whole = {**job.spec, "checkpoint": job.start, "architecture": {"name": "lenet5"}, "dataset": "digits"}
        assert JobSpec.parse(whole).trains


def test_compared_methods_have_the_same_epochs() -> None:
    """Fine-tuning and recovery, or the same number in one: 4 + 2, and one of the centroids where there are any."""
    for job in JOBS:
        if job.group in ("rivals", "ours"):
            assert job.epochs == 4 + 2 + job.spec["recover"]["centroid_epochs"]


def test_rows_of_the_paper_follow_its_procedure() -> None:
    """Nothing is trained after pruning, batch norm is not measured again, and the encoder is npz."""
    paper = [job for job in JOBS if job.group and job.group not in ("rivals", "ours")]
    assert {job.group for job in paper} == {"quantized", "sparsity", "clusters", "ramp", "high", "rivals-one-shot"}
    for job in paper:
        assert job.spec["recover"] == {"epochs": 0, "centroid_epochs": 0, "reestimate_batch_norm": False}
        assert job.spec["training"]["epochs"] == 0
        assert job.spec["encode"] == {"name": "npz"}
        assert job.spec["prune"]["gradual"] == {"epochs": 0}


def test_a_digest_depends_on_the_job_and_all_jobs_it_starts_from() -> None:
    """Another number of epochs of the baseline changes every job's; another recovery only what has one."""
    first, second = (digests(study.jobs(study.Settings(epochs=epochs)), {}) for epochs in (4, 5))
    assert not set(first.values()) & set(second.values())
    assert len(set(first.values())) == len(first)
    assert digests(JOBS, {"dataset": "a"})["0/base"] != digests(JOBS, {"dataset": "b"})["0/base"]


def test_chosen_jobs_include_the_jobs_they_start_from() -> None:
    """And with nothing else."""
    found = study.chosen(JOBS, ["1/code/L1/0.95/kmeans"])
    assert [job.name for job in found] == ["1/base", "1/tune/L1", "1/cut/L1/0.95", "1/code/L1/0.95/kmeans"]
    assert study.chosen(JOBS, None) == JOBS


def test_nncodec_gets_the_nets_that_cnet_made() -> None:
    """The paper's and ours: one measurement for each sparsity and seed."""
    nets = nncodec.jobs(JOBS)
    labels = {job.name.split("/")[2] for job in nets}
    assert len(nets) == len(labels) * 2 * len(study.Settings().cuts)
    assert {"CNET 0.045", "CNET gradual, the default", "OBD, CNET, taught"} < labels
    assert all("CNET" in label for label in labels)
    assert {job.start for job in nets} < {job.name for job in JOBS}
