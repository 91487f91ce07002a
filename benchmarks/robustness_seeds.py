"""Good files of every format, to be damaged, and how each is read."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Seeds = Callable[[Path], list[bytes]]


def _arrays() -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(1)
    return {
        "features.weight": random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "features.bias": random.standard_normal(8).astype(np.float16),
        "steps": np.array(7),
        "head.weight": random.standard_normal((5, 8)),
    }


def _safetensors(folder: Path) -> list[bytes]:
    from cnet.formats.canonical_file import write_canonical
    from cnet.weights import Tensor, Weights

    tensors = tuple(Tensor(name, array.dtype.name, array) for name, array in _arrays().items())
    write_canonical(folder / "seed", Weights.select(tensors))
    return [_taken(folder / "seed")]


def _torch_files(folder: Path) -> list[bytes]:
    import torch

    state = {name: torch.from_numpy(array) for name, array in _arrays().items()}
    files = []
    for new in (True, False):
        torch.save({"state_dict": state, "epoch": 3}, folder / "seed", _use_new_zipfile_serialization=new)
        files.append(_taken(folder / "seed"))
    return files


def _npz(_: Path) -> list[bytes]:
    files = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **_arrays())  # type: ignore[operator]
        files.append(buffer.getvalue())
    return files


def _onnx(folder: Path) -> list[bytes]:
    from cnet.formats.onnx.writer import write_onnx
    from cnet.formats.writing import TensorsToWrite
    from cnet.weights import Tensor, Weights

    tensors = tuple(Tensor(name, array.dtype.name, array) for name, array in _arrays().items())
    write_onnx(folder / "seed", TensorsToWrite.of(Weights.select(tensors)))
    return [_taken(folder / "seed")]


def _dataset(_: Path) -> list[bytes]:
    random = np.random.default_rng(2)
    images, labels = random.integers(0, 256, (20, 3, 6, 6), dtype=np.uint8), np.arange(20) % 4
    files = []
    for arrays in (
        {"x": images, "y": labels},
        {"x_train": images, "y_train": labels, "x_test": images[:5], "y_test": labels[:5]},
    ):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        files.append(buffer.getvalue())
    return files


def _bundles(folder: Path) -> list[bytes]:
    from cnet.bundle import write_bundle
    from cnet.coding import ENCODERS
    from cnet.prune import PRUNERS
    from cnet.quantize import QUANTIZERS
    from cnet.weights import Tensor, Weights

    tensors = tuple(Tensor(name, array.dtype.name, array) for name, array in _arrays().items())
    weights = Weights.select(tensors)
    vector = weights.vector()
    keep = np.abs(vector) > 0.5
    shapes = [weights[name].shape for name in weights.compressible]
    symbols = QUANTIZERS.create("kmeans").symbols(vector * keep, keep, 8, shapes)
    assert PRUNERS
    files = []
    for name in ENCODERS.names():
        write_bundle(folder / "seed", weights, symbols, ENCODERS.create(name), {"note": 1})
        files.append(_taken(folder / "seed"))
    return files


def _programs(folder: Path) -> list[bytes]:
    import torch
    from torch import nn

    from cnet.training.programs import export_program

    class Sequence(nn.Module):
        """Embedding, LSTM, attention and a weight-normed layer."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.layers = nn.Embedding(11, 8), nn.LSTM(8, 6, bidirectional=True, batch_first=True)
            self.attention = nn.MultiheadAttention(12, 2, batch_first=True)
            self.head = nn.utils.parametrizations.weight_norm(nn.Linear(12, 3))

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            states, _ = self.layers(self.embedding(tokens))
            mixed, _ = self.attention(states, states, states, need_weights=False)
            return self.head(mixed.mean(1))  # type: ignore[no-any-return]

    images = nn.Sequential(
        *(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)),
    )
    files = []
    for module, inputs in ((Sequence(), torch.randint(0, 11, (3, 5))), (images, torch.randn(3, 3, 8, 8))):
        export_program(module, inputs, folder / "seed")
        files.append(_taken(folder / "seed"))
    return files


def _taken(path: Path) -> bytes:
    content = path.read_bytes()
    path.unlink()
    return content


def _read_checkpoint(path: Path) -> None:
    from cnet.formats.checkpoint_reader import read_checkpoint

    read_checkpoint(path)


def _read_dataset(path: Path) -> None:
    from cnet.data.dataset_reader import read_dataset_file

    read_dataset_file(path)


def _read_bundle(path: Path) -> None:
    from cnet.bundle import open_bundle

    bundle = open_bundle(path)
    bundle.verify()
    bundle.weights()


def _run_program(path: Path) -> None:
    import torch

    from cnet.errors import ProgramError
    from cnet.models.programs import Program, read_program
    from cnet.training.programs import ProgramModule

    archive = read_program(path)
    program = Program.from_json(archive.program.to_json())
    try:
        module = ProgramModule.of(program, archive.weights)
        inputs = [_example(one.dtype, one.shape) for one in program.inputs]
        module.eval()(*inputs)
        outputs = module.train()(*inputs)
        loss = sum(one.float().sum() for one in (outputs if isinstance(outputs, tuple) else (outputs,)))
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            loss.backward()
    except (
        KeyError,
        RuntimeError,
        ValueError,
        TypeError,
        IndexError,
        NotImplementedError,
        AttributeError,
        OverflowError,
        ZeroDivisionError,
        AssertionError,
    ) as error:
        raise ProgramError(
            f"program: it cannot be run: {error}. Export the module again.", code="program_shape"
        ) from error


def _example(dtype: str, shape: tuple[int | str | None, ...]) -> Any:
    import torch

    sizes = [min(one, 64) if isinstance(one, int) else 3 for one in shape]
    return torch.zeros(sizes, dtype=getattr(torch, dtype))


SEEDS: dict[str, Seeds] = {
    "programs": _programs,
    "safetensors": _safetensors,
    "torch": _torch_files,
    "npz": _npz,
    "onnx": _onnx,
    "datasets": _dataset,
    "bundles": _bundles,
}
"""For each kind, what makes the good files, in a folder of its own."""

RUN: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(["safetensors", "torch", "npz", "onnx"], _read_checkpoint),
    "programs": _run_program,
    "datasets": _read_dataset,
    "bundles": _read_bundle,
}
"""For each kind, how a file of it is read."""
