"""The catalogue, spelled out: a part that is lost, or registered by accident, shows here."""

from __future__ import annotations

import cnet
from cnet.coding import ENCODERS
from cnet.data import DATASET_FORMATS, DATASETS
from cnet.formats import FORMATS
from cnet.methods import METHODS
from cnet.models import ARCHITECTURES
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.training.tasks import TASKS
from cnet.transform import TRANSFORMS

PARTS = {
    "transform": (TRANSFORMS, ("low_rank",)),
    "methods": (
        METHODS,
        (
            *("binary", "cnet", "group_lasso", "hoyer_square", "l1", "l2", "none"),
            "rate",
            "smallify",
            "targeted_dropout",
        ),
    ),
    "prune": (PRUNERS, ("lamp", "magnitude", "obd")),
    "quantize": (QUANTIZERS, ("auto", "binary", "calibrated", "ecsq", "kmeans", "none", "uniform", "universal")),
    "coding": (ENCODERS, ("compact", "huffman", "npz")),
    "models": (
        ARCHITECTURES,
        (
            *("lenet300_100", "lenet5"),
            *("resnet110", "resnet20", "resnet32", "resnet44", "resnet56", "resnet8"),
            "vgg16_cifar",
        ),
    ),
    "training.tasks": (
        TASKS,
        ("binary", "classification", "ctc", "distill", "distill_binary", "distill_regression", "regression"),
    ),
    "data": (DATASETS, ("digits",)),
    "formats": (FORMATS, ("hf_sharded", "npz", "onnx", "safetensors", "torch")),
    "data.formats": (DATASET_FORMATS, ("cifar_binary", "csv", "idx", "image_folder", "npz")),
}


def test_the_registries_hold_exactly_these_parts() -> None:
    """Every part that the documentation names, and no other."""
    found = {folder: registry.names() for folder, (registry, _) in PARTS.items()}

    assert found == {folder: names for folder, (_, names) in PARTS.items()}


def test_every_part_says_what_it_is_and_where_it_comes_from() -> None:
    """A summary of one sentence, a source, and a schema with a description for each unobvious parameter."""
    for registry, _ in PARTS.values():
        for row in registry.describe():
            assert row["summary"].endswith("."), row["name"]
            assert row["source"], row["name"]
            assert row["parameters"]["type"] == "object", row["name"]


def test_a_part_lives_in_its_folder() -> None:
    """Registered classes come from one module each, in the folder of their kind."""
    for folder, (registry, names) in PARTS.items():
        for name in names:
            module = registry.get(name).__module__
            assert module.startswith(f"cnet.{folder}."), name


def test_the_public_names_of_the_library() -> None:
    """What ``from cnet import *`` gives is a promise."""
    expected = {
        *(
            "AsyncClient",
            "Bundle",
            "Client",
            "compress",
            "export_program",
            "load_into",
            "load_state_dict",
            "open_bundle",
        ),
        *("ArchitectureMismatchError", "BundleError", "CheckpointError", "CnetError", "ConstraintNotMetError"),
        *("DatasetError", "ProgramError", "SpecError", "StoppedError", "TrainingError"),
    }

    assert set(cnet.__all__) == expected
    assert all(hasattr(cnet, name) for name in expected)
    assert cnet.__version__
