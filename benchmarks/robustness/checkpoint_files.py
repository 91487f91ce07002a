"""Good and hostile checkpoints of every format, to be damaged."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.robustness.packing import RunsACommand, gzipped, hostile_pickle, tarred, zipped
from cnet.formats.canonical_file import write_canonical
from cnet.weights import Tensor, Weights


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of several element types and shapes."""
    random = np.random.default_rng(1)
    return {
        "features.weight": random.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "features.bias": random.standard_normal(8).astype(np.float16),
        "steps": np.array(7),
        "head.weight": random.standard_normal((5, 8)),
    }


def weights() -> Weights:
    """The arrays as weights."""
    return Weights.select([Tensor(name, array.dtype.name, array) for name, array in arrays().items()])


def safetensors(folder: Path) -> list[bytes]:
    """One file, and the same compressed."""
    content = _safetensors(folder, weights())
    return [content, gzipped(content)]


def torch_files(folder: Path) -> list[bytes]:
    """Both formats of PyTorch, whole training states too, and pickles that would run a command."""
    import torch

    state = {name: torch.from_numpy(array) for name, array in arrays().items()}
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2, 3))])
    values = [
        {"state_dict": state, "epoch": 3, "optimizer": optimizer.state_dict()},
        {"module." + name: torch.nn.Parameter(value.float()) for name, value in state.items()},
        {"model": state, "callback": RunsACommand()},
    ]
    files = []
    for value in values:
        for new in (True, False):
            torch.save(value, folder / "seed", _use_new_zipfile_serialization=new)
            files.append(_taken(folder / "seed"))
    return [*files, hostile_pickle(), hostile_pickle(4), zipped({"archive/data.pkl": hostile_pickle()}, deflated=False)]


def npz(folder: Path) -> list[bytes]:
    """Stored and deflated archives, and one with an array of objects."""
    del folder
    files = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, **arrays())  # type: ignore[operator]
        files.append(stream.getvalue())
    stream = io.BytesIO()
    np.savez(stream, weight=np.array([RunsACommand(), 1], dtype=object))
    return [*files, stream.getvalue()]


def onnx(folder: Path) -> list[bytes]:
    """A model, and one with its values in a second file."""
    import torch

    from cnet.formats.onnx.writer import write_onnx
    from cnet.formats.writing import TensorsToWrite

    write_onnx(folder / "seed", TensorsToWrite.of(weights()))
    model = _taken(folder / "seed")
    external = _with_external_data(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()))
    return [model, zipped(external), tarred(external)]


def sharded(folder: Path) -> list[bytes]:
    """An index and two shards, of safetensors and of PyTorch."""
    import torch

    first, second = list(arrays().items())[:2], list(arrays().items())[2:]
    files: dict[str, dict[str, bytes]] = {"model.safetensors": {}, "pytorch_model.bin": {}}
    for number, shard in enumerate((first, second), 1):
        tensors = [Tensor(name, array.dtype.name, array) for name, array in shard]
        content = _safetensors(folder, Weights.select(tensors))
        files["model.safetensors"][f"model-{number:05d}-of-00002.safetensors"] = content
        torch.save({name: torch.from_numpy(array) for name, array in shard}, folder / "seed")
        files["pytorch_model.bin"][f"pytorch_model-{number:05d}-of-00002.bin"] = _taken(folder / "seed")
    for name, shards in files.items():
        places = {name: shard for shard, part in zip(shards, (first, second), strict=True) for name, _ in part}
        shards[f"{name}.index.json"] = json.dumps({"metadata": {"total_size": 1}, "weight_map": places}).encode()
    return [pack(shards) for shards in files.values() for pack in (zipped, tarred)]


def _with_external_data(module: Any) -> dict[str, bytes]:
    """An ONNX model whose tensors are in ``model.onnx.data``, put together by hand."""
    proto = b""
    data = b""
    for name, value in module.state_dict().items():
        content = value.numpy().tobytes()
        entries = {"location": "model.onnx.data", "offset": str(len(data)), "length": str(len(content))}
        tensor = (
            b"".join(_varint_field(1, size) for size in value.shape) + _varint_field(2, 1) + _field(8, name.encode())
        )
        for key, text in entries.items():
            tensor += _field(13, _field(1, key.encode()) + _field(2, text.encode()))
        proto += _field(5, tensor + _varint_field(14, 1))
        data += content
    return {"model.onnx": _varint_field(1, 10) + _field(7, proto), "model.onnx.data": data}


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes in a protocol buffer; fewer than 2^14 of them."""
    return bytes([*_varint(number << 3 | 2), *_varint(len(content))]) + content


def _varint_field(number: int, value: int) -> bytes:
    return bytes([*_varint(number << 3), *_varint(value)])


def _varint(value: int) -> list[int]:
    digits = []
    while value >= 128:
        digits.append(value % 128 + 128)
        value //= 128
    return [*digits, value]


def _safetensors(folder: Path, tensors: Weights) -> bytes:
    write_canonical(folder / "seed", tensors)
    return _taken(folder / "seed")


def _taken(path: Path) -> bytes:
    content = path.read_bytes()
    path.unlink()
    return content
