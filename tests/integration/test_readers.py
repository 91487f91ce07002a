"""The readers of ``examples/readers`` decode bundles to the bits that the library decodes them to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet import dtypes
from cnet.bundle import open_bundle
from cnet.formats import Checkpoint
from cnet.pipeline.local.compress_file import compress_file
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights
from tests.golden.write import FOLDER as GOLDEN

READERS = Path(__file__).resolve().parents[2] / "examples" / "readers"
LANGUAGES = ("JavaScript", "C")

SPECS: dict[str, dict[str, Any]] = {
    "default": {},
    "npz": {"encode": {"name": "npz"}, "quantize": {"name": "kmeans", "clusters": 300}},
    "huffman": {"encode": {"name": "huffman"}, "quantize": {"name": "none"}},
    "rows": {
        "quantize": {"name": "uniform", "bits": 4, "scope": "channel"},
        "encode": {"name": "compact", "other": "float16"},
    },
    "layers": {"quantize": {"name": "kmeans", "clusters": 5, "scope": "layer"}},
    "dither": {"quantize": {"name": "universal", "step": 0.3}},
    "low rank": {"transform": {"name": "low_rank", "rank": 0.3}, "quantize": {"name": "kmeans", "clusters": 40}},
}
"""Jobs whose bundles use what the golden ones do not."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """How each reader is called, where its language is installed."""
    found: dict[str, list[str]] = {}
    node, compiler = shutil.which("node"), shutil.which("gcc")
    if node:
        found["JavaScript"] = [node, str(READERS / "decode.mjs")]
    if compiler:
        program = tmp_path_factory.mktemp("reader") / "decode"
        sources = sorted(map(str, READERS.glob("*.c")))
        options = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
        subprocess.run([compiler, *options, *sources, "-o", str(program), "-lm"], check=True)
        found["C"] = [str(program)]
    return found


def _expected(path: Path) -> list[str]:
    """The lines that a reader prints for a bundle."""
    lines = []
    for tensor in open_bundle(path).weights():
        numbers = dtypes.by_name(tensor.dtype).floating and tensor.dtype != "float64"
        data = tensor.values().astype("<f4") if numbers else tensor.data
        shape = "x".join(map(str, tensor.shape))
        lines.append("\t".join([tensor.name, tensor.dtype, shape, data.tobytes().hex()]))
    return lines


def _check(command: list[str] | None, path: Path) -> None:
    if command is None:
        pytest.skip("node or gcc is not installed")
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == _expected(path)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.npz")))
def test_golden_bundles(commands: dict[str, list[str]], language: str, name: str) -> None:
    """Of all encoders and forms, bit for bit."""
    _check(commands.get(language), GOLDEN / f"{name}.npz")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Bundles of a network of several element types, by the name of their job."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("bundles")

    def tensor(name: str, dtype: str, *shape: int) -> Tensor:
        return Tensor(name, dtype, dtypes.narrow(rng.standard_normal(shape), dtype))

    types = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    tensors = [tensor(f"layer.{index}.weight", dtype, 24, 31) for index, dtype in enumerate(types)]
    tensors += [tensor("conv.weight", "float32", 9, 5, 3, 3), tensor("conv.bias", "float64", 9)]
    tensors += [tensor("norm.weight", "bfloat16", 31), Tensor("steps", "int64", np.array([7, -1]))]
    for name, spec in SPECS.items():
        job = JobSpec.parse({"checkpoint": "net", "prune": {"name": "magnitude", "sparsity": 0.4}} | spec)
        checkpoint = Checkpoint(Weights.select(tensors), "safetensors", None, None, ())
        compress_file(checkpoint, job, folder / f"{name}.npz")
    return {name: folder / f"{name}.npz" for name in SPECS}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SPECS)
def test_bundles_with_types_and_packings_that_no_golden_bundle_has(
    commands: dict[str, list[str]], made: dict[str, Path], language: str, name: str
) -> None:
    """Element types, factors, products and packings that no golden bundle has."""
    _check(commands.get(language), made[name])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_damaged_bundle_is_an_error(commands: dict[str, list[str]], tmp_path: Path, language: str) -> None:
    """A cut file ends the reader with a message, and does not crash it."""
    command = commands.get(language)
    if command is None:
        pytest.skip("node or gcc is not installed")
    (tmp_path / "cut.npz").write_bytes((GOLDEN / "v1-npz.npz").read_bytes()[:-100])
    done = subprocess.run([*command, str(tmp_path / "cut.npz")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "this is no zip archive" in done.stderr
