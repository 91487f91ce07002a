"""The form for a new job."""

from __future__ import annotations

import html
import json

import pytest

from tests.api_bench import Bench, lenet, small_weights
from tests.html_page import HtmlPage
from tests.unit.app.web.test_pages import finished_job, page_of

SAME = {"Sec-Fetch-Site": "same-origin"}


def checkpoint(bench: Bench) -> str:
    """The id of an uploaded checkpoint."""
    made = bench.client.post("/v1/checkpoints?filename=mine.npz", content=small_weights())
    identity: str = made.json()["id"]
    return identity


def preview(bench: Bench, **form: str) -> str:
    """The text of the preview of a form."""
    answer = bench.client.post("/new/preview", data=form, headers=SAME)
    assert answer.status_code == 200
    return HtmlPage(answer.text).text


def test_the_form_offers_what_the_visitor_has(bench: Bench) -> None:
    """Uploaded files by their names, built-in networks and data, and the presets."""
    uploaded = checkpoint(bench)

    page = page_of(bench, f"/new?checkpoint={uploaded}")

    assert "mine.npz" in page.text
    assert {"lenet5", "digits"} <= set(page.attributes("option", "value"))
    assert page.attributes("input", "value").count("safe") == 1
    chosen = [values for tag, values in page.elements if tag == "option" and "selected" in values]
    assert uploaded in [values.get("value") for values in chosen]


def test_the_preview_estimates_the_job(bench: Bench) -> None:
    """Size, points, epochs and warnings, and the same job as JSON."""
    text = preview(bench, checkpoint=checkpoint(bench), preset="safe")

    assert "Estimate" in text
    assert "12 of 15 parameters and values of buffers" in text
    assert "of uncompressed values" in text
    assert "Accuracy unknown" in text
    assert '"quality": "safe"' in text


def test_the_preview_says_what_is_wrong(bench: Bench) -> None:
    """With a link to the field; an empty form is no mistake yet."""
    form = {"checkpoint": checkpoint(bench), "quantize.name": "kmeans", "quantize.clusters": "many"}
    answer = bench.client.post("/new/preview", data=form, headers=SAME)
    page = HtmlPage(answer.text)

    assert any(link.startswith("#field-quantize.clusters") for link in page.attributes("a", "href"))
    assert '"many"' in html.unescape(page.text)
    assert "Choose or upload" in preview(bench, preset="safe")


def test_warnings_are_shown_with_their_codes_as_words(bench: Bench) -> None:
    """As on the page of a job."""
    form = {"architecture": "lenet300_100", "dataset": "digits", "preset": "drop", "max_drop": "0.5"}

    text = preview(bench, **form)

    assert "Small validation: the target allows a loss of 0.5 percentage points" in " ".join(text.split())


def test_a_job_is_submitted(bench: Bench) -> None:
    """The page of the job is shown; what was entered is its specification."""
    form = {"checkpoint": checkpoint(bench), "preset": "size", "max_megabytes": "2", "name": "mine", "labels": "a: b"}

    answer = bench.client.post("/new", data=form, headers=SAME)

    job = bench.client.get(f"/v1{answer.url.path}").json()
    assert answer.status_code == 200
    assert job["name"] == "mine"
    assert job["labels"] == {"a": "b"}
    assert job["spec"]["target"] == {"max_bytes": 2_000_000}
    assert bench.queue.sent == [job["queue"]]


def test_a_refused_job_keeps_what_was_entered(bench: Bench) -> None:
    """The form is shown again, with the reasons."""
    form = {"checkpoint": "ckpt_nowhere", "preset": "safe", "name": "mine"}

    answer = bench.client.post("/new", data=form, headers=SAME)

    page = HtmlPage(answer.text)
    assert answer.status_code == 422
    assert "List your checkpoints" in page.text
    assert "mine" in page.attributes("input", "value")


def test_a_job_is_cloned(bench: Bench) -> None:
    """An unchanged form submits the same specification."""
    spec = {"checkpoint": lenet(bench), "quantize": {"name": "kmeans", "clusters": [8]}, "labels": {"a": "b"}}
    first = bench.client.post("/v1/jobs", json=spec).json()

    page = page_of(bench, f"/new?clone={first['id']}")
    assert "clone" in page.attributes("input", "value")
    form = {"clone": first["id"], "preset": "clone", "checkpoint": spec["checkpoint"], "labels": "a: b"}
    again = bench.client.get(f"/v1{bench.client.post('/new', data=form, headers=SAME).url.path}").json()

    assert again["id"] != first["id"]
    assert json.dumps(again["spec"], sort_keys=True) == json.dumps(first["spec"], sort_keys=True)


def test_another_owners_job_is_not_cloned(bench: Bench) -> None:
    """It does not exist for the visitor."""
    job = finished_job(bench, owner="bob")

    assert bench.client.get(f"/new?clone={job}").status_code == 404


@pytest.mark.parametrize(("part", "field"), [("kmeans", "quantize.clusters"), ("auto", "quantize.quality")])
def test_the_settings_follow_the_chosen_part(bench: Bench, part: str, field: str) -> None:
    """They come from the catalogue."""
    answer = bench.client.post("/new/settings", data={"quantize.name": part}, headers=SAME)

    page = HtmlPage(answer.text)
    assert field in page.attributes("input", "name") + page.attributes("select", "name")


def test_empty_fields_show_what_they_stand_for(bench: Bench) -> None:
    """The values of the chosen preset, and the defaults of the rest."""
    answer = bench.client.post("/new/settings", data={"preset": "paper", "dataset": "digits"}, headers=SAME)

    shown = HtmlPage(answer.text).attributes("input", "placeholder")
    assert "0.5, 0.7, 0.9" in shown
    assert "0.045" in shown
    assert "30" in shown


def test_too_many_fields_are_refused(bench: Bench) -> None:
    """A form has a few hundred at most."""
    form = {f"field{number}": "x" for number in range(600)}

    assert bench.client.post("/new/preview", data=form, headers=SAME).status_code == 400


def test_a_preset_leaves_the_choice_of_parts_empty(bench: Bench) -> None:
    """What a preset names stands in the first option, so that another preset or other data replace it."""
    form = {"preset": "safe", "architecture": "lenet5", "dataset": "digits"}
    page = HtmlPage(bench.client.post("/new/settings", data=form, headers=SAME).text)

    chosen = [values for tag, values in page.elements if tag == "option" and "selected" in values]
    assert chosen == []
    assert "none" in " ".join(page.text.split()).partition("Training method")[2][:200]
    kept = bench.client.post("/new/settings", data={**form, "method.name": "l1"}, headers=SAME).text
    assert [v.get("value") for t, v in HtmlPage(kept).elements if t == "option" and "selected" in v] == ["l1"]


def test_unlabelled_inputs_are_chosen_with_the_data(bench: Bench) -> None:
    """There is one field for them; a clone shows those of the job."""
    spec = {"checkpoint": lenet(bench), "architecture": "lenet300_100", "calibrate": {"inputs": "digits"}}
    job = bench.client.post("/v1/jobs", json=spec).json()["id"]

    page = page_of(bench, f"/new?clone={job}")

    named = [v for _, v in page.elements if v.get("name") == "calibrate.inputs"]
    assert [v.get("id") for v in named] == ["field-calibrate.inputs"]
    chosen = [v.get("value") for t, v in page.elements if t == "option" and "selected" in v]
    assert "digits" in chosen


def test_equal_uploads_are_one_choice(bench: Bench) -> None:
    """The newest; another content or another name is a choice of its own, and a cloned job keeps the older upload."""
    older, newer = checkpoint(bench), checkpoint(bench)
    named = bench.client.post("/v1/checkpoints?filename=other.npz", content=small_weights()).json()["id"]

    offered = page_of(bench, "/new").attributes("option", "value")

    assert newer in offered
    assert named in offered
    assert older not in offered
    assert older in page_of(bench, f"/new?checkpoint={older}").attributes("option", "value")


@pytest.mark.parametrize("field", ["architecture", "dataset"])
def test_a_choice_that_is_not_offered_stays_chosen(bench: Bench, field: str) -> None:
    """Such as the older of two equal uploads, of a job that is cloned."""
    page = page_of(bench, f"/new?{field}=ds_elsewhere")

    chosen = [values.get("value") for tag, values in page.elements if tag == "option" and "selected" in values]
    assert "ds_elsewhere" in chosen
