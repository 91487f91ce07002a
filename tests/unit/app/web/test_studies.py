"""The pages of studies."""

from __future__ import annotations

from tests.api_bench import Bench, add_baseline, add_point, finish, lenet
from tests.unit.app.web.test_pages import page_of

SAME = {"Sec-Fetch-Site": "same-origin"}
GRID = "quantize.clusters: 4, 16\nprune.sparsity: 0.5, 0.9"


def submitted(bench: Bench) -> str:
    """The path of the page of a study that was asked for by the form."""
    form = {"checkpoint": lenet(bench), "preset": "own", "name": "mine", "grid": GRID}
    answer = bench.client.post("/new", data=form, headers=SAME)
    assert answer.status_code == 200
    return answer.url.path


def test_a_grid_makes_a_study(bench: Bench) -> None:
    """One job for each combination; all are queued."""
    path = submitted(bench)

    page = page_of(bench, path)

    assert path.startswith("/studies/study_")
    assert "quantize.clusters 16, prune.sparsity 0.9" in page.text
    assert "4 wait" in page.text
    assert len(bench.queue.sent) == 4
    assert "mine" in page_of(bench, "/studies").text


def test_the_preview_counts_the_jobs(bench: Bench) -> None:
    """And says what is wrong with the grid."""
    form = {"checkpoint": lenet(bench), "preset": "own", "grid": GRID}

    right = bench.client.post("/new/preview", data=form, headers=SAME).text
    wrong = bench.client.post("/new/preview", data={**form, "grid": "nowhere.at.all: 1"}, headers=SAME).text

    assert "A study of 4 jobs" in right
    assert "/v1/studies" in right
    assert "cannot be submitted" in wrong


def test_the_points_of_all_jobs_are_in_one_plot(bench: Bench) -> None:
    """Each leads to its job."""
    path = submitted(bench)
    members = bench.client.get(f"/v1{path}").json()["members"]
    for member in members[:2]:
        job = bench.backend.lifecycle.claim(member["job"], "test:1:worker", 60)
        assert job is not None
        add_baseline(bench, job)
        add_point(bench, job)
        finish(bench, job, selected=0)

    page = page_of(bench, f"{path}/jobs")

    links = page.attributes("a", "href")
    assert {f"/jobs/{member['job']}?point=0#point" for member in members[:2]} <= set(links)
    assert "2 of 4 jobs have succeeded" in page.text


def test_a_study_is_cancelled_retried_and_deleted(bench: Bench) -> None:
    """Deleting asks first."""
    path = submitted(bench)

    bench.client.post(f"{path}/cancel", headers=SAME)
    assert bench.client.get(f"/v1{path}").json()["status"] == "cancelled"
    bench.client.post(f"{path}/retry", headers=SAME)
    assert bench.client.get(f"/v1{path}").json()["status"] == "queued"
    assert "4 jobs are removed" in page_of(bench, f"{path}/delete").text
    bench.client.post(f"{path}/delete", headers=SAME)
    assert bench.client.get(path).status_code == 404


def test_without_studies_the_list_says_so(bench: Bench) -> None:
    """There is no empty table."""
    assert "There is no study yet" in page_of(bench, "/studies").text


def test_without_data_the_score_is_the_noise_in_the_weights(bench: Bench) -> None:
    """As in the plot; the head of the column says so. The list of jobs shows the same number."""
    path = submitted(bench)
    member = bench.client.get(f"/v1{path}").json()["members"][0]
    job = bench.backend.lifecycle.claim(member["job"], "test:1:worker", 60)
    assert job is not None
    add_point(bench, job, accuracy=None, snr_db=27.04)
    finish(bench, job, selected=0)

    for page in (page_of(bench, path), page_of(bench, "/"), page_of(bench, f"/compare?job={job.id}")):
        assert "SNR 27.0 dB" in page.text
        assert "signal-to-noise ratio (SNR)" in page.text
