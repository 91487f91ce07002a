"""Specifications from files and options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from app.commands.jobspec import Naming, SpecOptions


def test_options_alone_make_a_specification() -> None:
    """Slots by their defaults' names."""
    choices = SpecOptions(sparsity=[0.9], clusters=[16, 256], encode="npz", method="none")

    assert choices.document() == {
        "prune": {"name": "magnitude", "sparsity": [0.9]},
        "quantize": {"name": "kmeans", "clusters": [16, 256]},
        "encode": {"name": "npz"},
        "method": {"name": "none"},
    }


def test_an_option_wins_over_the_file(tmp_path: Path) -> None:
    """Of a part that is named anew, the old one's parameters go; others stay."""
    file = tmp_path / "job.json"
    document = {
        "method": {"name": "cnet", "lambda": 0.1},
        "prune": {"name": "magnitude", "sparsity": 0.5},
        "training": {"epochs": 3},
    }
    file.write_text(json.dumps(document))

    same = SpecOptions(spec=file, sparsity=[0.7], method="cnet").document()
    other = SpecOptions(spec=file, method="none", dataset="digits").document()

    assert same == {**document, "prune": {"name": "magnitude", "sparsity": [0.7]}}
    assert other == {**document, "method": {"name": "none"}, "dataset": "digits"}


def test_a_target_is_given_by_options(tmp_path: Path) -> None:
    """They take the place of the file's target; two of them are both passed on, and refused with the job."""
    file = tmp_path / "job.json"
    file.write_text('{"target": {"min_ratio": 20}}')

    assert SpecOptions(spec=file, max_accuracy_drop=0.5).document() == {"target": {"max_accuracy_drop": 0.5}}
    assert SpecOptions(max_kl=0.1).document() == {"target": {"max_kl": 0.1}}
    assert SpecOptions(min_agreement=98.0).document() == {"target": {"min_agreement": 98.0}}
    assert SpecOptions(max_error_rise=5.0).document() == {"target": {"max_error_rise": 5.0}}
    assert SpecOptions(min_output_snr=30.0).document() == {"target": {"min_output_snr": 30.0}}
    assert SpecOptions(min_snr=30.0).document() == {"target": {"min_snr": 30.0}}
    assert SpecOptions(max_bytes=1000, min_ratio=2.5).document() == {"target": {"max_bytes": 1000, "min_ratio": 2.5}}


def test_a_quality_is_that_of_the_quantizer_auto(tmp_path: Path) -> None:
    """Another quantizer of the file loses its parameters; clusters contradict a quality."""
    file = tmp_path / "job.json"
    file.write_text('{"quantize": {"name": "kmeans", "clusters": 4}}')

    assert SpecOptions(spec=file, quality="small").document() == {"quantize": {"name": "auto", "quality": "small"}}
    with pytest.raises(typer.BadParameter, match="clusters"):
        SpecOptions(quality="small", clusters=[16]).document()


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "[" * 100_000])
def test_a_file_without_a_json_object_is_a_usage_error(tmp_path: Path, text: str) -> None:
    """The file's name is in the message."""
    file = tmp_path / "job.json"
    file.write_text(text)

    with pytest.raises(typer.BadParameter, match=r"job\.json"):
        SpecOptions(spec=file).document()


def test_set_wins_over_options_and_options_win_over_the_file(tmp_path: Path) -> None:
    """Three values for each field; the one of --set is left where it gives one, else the option's."""
    file = tmp_path / "job.json"
    document = {
        "encode": {"name": "npz"},
        "prune": {"name": "magnitude", "sparsity": 0.5, "scope": "tensor"},
        "quantize": {"name": "kmeans", "clusters": 4},
        "training": {"epochs": 3, "batch_size": 16},
    }
    file.write_text(json.dumps(document))

    made = SpecOptions(
        spec=file,
        encode="huffman",
        sparsity=[0.6],
        clusters=[8],
        assignments=["encode.name=compact", "prune.sparsity=[0.7, 0.8]", "training.epochs=9", "training.epochs=10"],
    ).document()

    assert made == {
        "encode": {"name": "compact"},
        "prune": {"name": "magnitude", "sparsity": [0.7, 0.8], "scope": "tensor"},
        "quantize": {"name": "kmeans", "clusters": [8]},
        "training": {"epochs": 10, "batch_size": 16},
    }


def test_a_part_named_by_set_keeps_what_the_options_say(tmp_path: Path) -> None:
    """The file's parameters are those of another pruner; the option's sparsity is meant for this one."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"prune": {"name": "magnitude", "sparsity": 0.5, "floor": 0.1}}))

    made = SpecOptions(spec=file, sparsity=[0.9], assignments=["prune.name=lamp"]).document()

    assert made == {"prune": {"name": "lamp", "sparsity": [0.9]}}


@pytest.mark.parametrize(
    ("assignments", "expected"),
    [
        (["quantize.clusters=16"], {"quantize": {"name": "kmeans", "clusters": 16}}),
        (["quantize.step=0.1"], {"quantize": {"name": "ecsq", "step": 0.1}}),
        (
            ["quantize.step=0.1", "quantize.dither=false"],
            {"quantize": {"name": "universal", "step": 0.1, "dither": False}},
        ),
        (["quantize.nothing=1"], {"quantize": {"name": "kmeans", "nothing": 1}}),
        (["transform.rank=0.5"], {"transform": {"name": "low_rank", "rank": 0.5}}),
        (["training.epochs=5"], {"training": {"epochs": 5}}),
        (["quantize=null"], {"quantize": None}),
    ],
)
def test_a_part_without_a_name_is_the_default_or_the_first_that_has_the_fields(
    assignments: list[str], expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Which one is said on standard error."""
    assert SpecOptions(assignments=assignments).document() == expected

    named = [part["name"] for part in expected.values() if part and "name" in part]
    assert capsys.readouterr().err.split()[-1:] == named


@pytest.mark.parametrize("path", ["checkpoint=other.npz", "checkpoint=null"])
def test_a_checkpoint_is_named_once(path: str) -> None:
    """The argument of the command names it already."""
    with pytest.raises(typer.BadParameter, match=r"net\.npz"):
        SpecOptions(assignments=[path]).document("net.npz")

    assert SpecOptions(assignments=["checkpoint=ckpt_1"]).document() == {"checkpoint": "ckpt_1"}


def test_a_program_takes_the_place_of_an_architecture(tmp_path: Path) -> None:
    """The file's task stays, its built-in architecture goes; both options at once are refused."""
    file = tmp_path / "job.json"
    for given, expected in (
        ({"name": "lenet5"}, {"program": "net.pt2"}),
        ({"program": "prog_1", "task": "ctc"}, {"program": "net.pt2", "task": "ctc"}),
    ):
        file.write_text(json.dumps({"architecture": given}))
        assert SpecOptions(spec=file, program="net.pt2").document()["architecture"] == expected
    options = SpecOptions(program="net.pt2", assignments=["architecture.task=regression"])
    assert options.document() == {"architecture": {"program": "net.pt2", "task": "regression"}}
    with pytest.raises(typer.BadParameter, match="twice"):
        SpecOptions(program="net.pt2", architecture="lenet5").document()


def test_a_job_gets_a_name_and_labels() -> None:
    """Beside the labels of the specification; a value may have colons, a key without a value is refused."""
    document = {"name": "old", "labels": {"team": "audio"}}

    assert Naming().added_to(document) is document
    assert Naming("new", ["team:vision", "url:http://x"]).added_to(document) == {
        "name": "new",
        "labels": {"team": "vision", "url": "http://x"},
    }
    with pytest.raises(typer.BadParameter, match="'team' is not of the form KEY:VALUE"):
        Naming(label=["team"]).added_to(document)


def test_no_training_leaves_every_training_out() -> None:
    """It overrides the epochs of a file of the same job, and keeps the rest of it."""
    found = SpecOptions(dataset="digits", no_training=True).document(base={"training": {"epochs": 5, "batch_size": 8}})

    assert found["training"] == {"epochs": 0, "batch_size": 8}
    assert found["recover"] == {"epochs": 0, "centroid_epochs": 0}
    assert found["method"] == {"name": "none"}


@pytest.mark.parametrize("options", [{}, {"dataset": "digits", "method": "l1"}])
def test_no_training_is_refused_where_it_means_nothing(options: dict[str, str]) -> None:
    """Without a data set, and with a method to train with."""
    with pytest.raises(typer.BadParameter, match="Leave"):
        SpecOptions(no_training=True, **options).document()
