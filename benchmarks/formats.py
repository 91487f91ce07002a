"""What each checkpoint format keeps of real checkpoints: ``python -m benchmarks.formats [--files DIR] [--write]``.

Every checkpoint of ``DIR/checkpoints`` is written in each format by the format's own library, read, compressed without
loss, unpacked in the same format, and loaded into a module with the checkpoint's tensors. ``--write`` makes the tables
of docs/formats.md; a test compares the page with what it measures.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn

from cnet.bundle import open_bundle
from cnet.bundle.unpack import unpack
from cnet.formats import Checkpoint, read_checkpoint, write_checkpoint
from cnet.pipeline.local.compress_file import compress_file
from cnet.spec import JobSpec
from cnet.weights import Weights

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "formats.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

State = dict[str, Tensor]


@dataclass(frozen=True)
class Row:
    """A format, or a variant of one.

    Attributes:
        title: in the table.
        write: writes a file of the format as other programs do.
        format: the format's name.
        load: reads what was unpacked, without this library where there is another one; None for a format that is only
            read, which is unpacked as ``torch``.
    """

    title: str
    write: Callable[[State, Path], None]
    format: str
    load: Callable[[Path], State] | None = None


def _torch_zip(state: State, path: Path) -> None:
    torch.save(state, path)


def _torch_legacy(state: State, path: Path) -> None:
    torch.save(state, path, _use_new_zipfile_serialization=False)


def _load_torch(path: Path) -> State:
    loaded: State = torch.load(path, weights_only=True)
    return loaded


def _safetensors(state: State, path: Path) -> None:
    safetensors.torch.save_file({name: value.contiguous() for name, value in state.items()}, path)


def _npz(state: State, path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, **{name: value.numpy() for name, value in state.items()})  # type: ignore[arg-type]


def _load_npz(path: Path) -> State:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def _onnx(state: State, path: Path) -> None:
    plain = path.with_suffix(".npz")
    _npz(state, plain)
    write_checkpoint(read_checkpoint(plain).weights, path, "onnx")


def _load_onnx(path: Path) -> State:
    return {one.name: torch.from_numpy(np.array(one.data)) for one in read_checkpoint(path).weights}


def _sharded(state: State, kind: str) -> dict[str, bytes]:
    """An index and two shards, by the names of their files, as Hugging Face's ``save_pretrained`` writes them."""
    stem, names = ("model" if kind == "safetensors" else "pytorch_model"), list(state)
    half, shards, places = len(names) // 2, {}, {}
    for number, part in enumerate((names[:half], names[half:]), 1):
        shard = f"{stem}-{number:05d}-of-00002.{kind}"
        values = {name: state[name].contiguous() for name in part}
        buffer = io.BytesIO()
        if kind == "safetensors":
            buffer.write(safetensors.torch.save(values, {"format": "pt"}))
        else:
            torch.save(values, buffer)
        shards[shard] = buffer.getvalue()
        places |= dict.fromkeys(part, shard)
    return {f"{stem}.{kind}.index.json": json.dumps({"metadata": {}, "weight_map": places}).encode(), **shards}


def _sharded_zip(state: State, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in _sharded(state, "safetensors").items():
            archive.writestr(name, content)


def _sharded_tar(state: State, path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        for name, content in _sharded(state, "bin").items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


ROWS = (
    Row("`torch`, zip", _torch_zip, "torch", _load_torch),
    Row("`torch`, before 1.6", _torch_legacy, "torch"),
    Row("`safetensors`", _safetensors, "safetensors", safetensors.torch.load_file),
    Row("`npz`", _npz, "npz", _load_npz),
    Row("`onnx`", _onnx, "onnx", _load_onnx),
    Row("`hf_sharded`, safetensors in a zip", _sharded_zip, "hf_sharded"),
    Row("`hf_sharded`, torch in a tar", _sharded_tar, "hf_sharded"),
)
"""The rows of the first table."""


@dataclass(frozen=True)
class Measurement:
    """Measures formats in a folder. Files of equal tensors, in whatever order, are compressed once."""

    folder: Path
    bundles: dict[str, Path] = field(default_factory=dict)

    def of(self, row: Row, state: State) -> tuple[bool, bool | None, bool, bool]:
        """Whether a format is read, written, passed through and loaded exactly; None where it is not written."""
        source, target = self.folder / "source", self.folder / "target"
        row.write(state, source)
        checkpoint = read_checkpoint(source)
        read = checkpoint.format == row.format and _equal(
            {one.name: _tensor(one.data) for one in checkpoint.weights}, state
        )
        written = None
        if row.load is not None:
            write_checkpoint(checkpoint.weights, target, row.format)
            written = _equal(row.load(target), state)
        unpack(open_bundle(self._bundle(checkpoint)), target, row.format if row.load else "torch")
        found = (row.load or _load_torch)(target)
        module = _module(state)
        module.load_state_dict(found, strict=True)
        return read, written, _equal(found, state), _equal(dict(module.state_dict()), state)

    def _bundle(self, checkpoint: Checkpoint) -> Path:
        """The bundle of a checkpoint, compressed without loss."""
        tensors = sorted(checkpoint.weights, key=lambda tensor: tensor.name)  # a safetensors file has its own order
        key = Weights.select(tensors, tied=checkpoint.weights.tied).digest()
        if key not in self.bundles:
            path = self.folder / f"{len(self.bundles)}.cnet.npz"
            document = {"checkpoint": "c", "prune": {"name": "magnitude", "sparsity": 0}, "quantize": {"name": "none"}}
            compress_file(checkpoint, JobSpec.parse(document), path)
            self.bundles[key] = path
        return self.bundles[key]


def tables(checkpoints: Path) -> str:
    """Both tables as Markdown, of the files in a folder."""
    files = sorted(path for path in checkpoints.iterdir() if path.suffix in (".pth", ".pt", ".th", ".safetensors"))
    return "\n".join([*_formats(files), "", *_files(files)])


def _formats(files: list[Path]) -> Iterator[str]:
    yield f"On the {len(files)} real checkpoints of the second table:"
    yield ""
    yield "| format | in | out | exact pass-through | strict reload |"
    yield "|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(Path(folder))
        states = [_state(path) for path in files]
        measured = [[measurement.of(row, state) for state in states] for row in ROWS]
    for row, found in zip(ROWS, measured, strict=True):
        cells = [
            "read only" if None in column else f"{sum(map(bool, column))} of {len(files)}"
            for column in zip(*found, strict=True)
        ]
        yield f"| {row.title} | {' | '.join(cells)} |"


def _files(files: list[Path]) -> Iterator[str]:
    yield "| checkpoint | format | entry | prefix | tensors | values | element types |"
    yield "|---|---|---|---|---:|---:|---|"
    for path in files:
        one = read_checkpoint(path)
        types = ", ".join(sorted({tensor.dtype for tensor in one.weights}))
        entry, prefix = (f"`{text}`" if text else "-" for text in (one.weights_key, one.stripped_prefix))
        counts = f"{len(one.weights.tensors)} | {one.weights.parameters:,}"
        yield f"| `{path.name}` | `{one.format}` | {entry} | {prefix} | {counts} | {types} |"


def _state(path: Path) -> State:
    """The tensors of a checkpoint under the names that the library gives them, read by their own library."""
    if path.suffix == ".safetensors":
        return safetensors.torch.load_file(path)
    value = torch.load(path, map_location="cpu", weights_only=True)
    state = value.get("state_dict", value)
    return {name.removeprefix("module."): tensor.detach() for name, tensor in state.items()}


def _tensor(array: np.ndarray) -> Tensor:  # type: ignore[type-arg]
    return torch.from_numpy(np.array(array))


def _equal(found: State, expected: State) -> bool:
    """Whether names, element types, shapes and bits are equal."""
    return found.keys() == expected.keys() and all(
        (one.dtype, one.shape) == (found[name].dtype, found[name].shape)
        and one.contiguous().numpy().tobytes() == found[name].contiguous().numpy().tobytes()
        for name, one in expected.items()
    )


def _module(state: State) -> nn.Module:
    """A module with tensors of these names and shapes, all zero."""
    top = nn.Module()
    for name, value in state.items():
        *levels, last = name.split(".")
        owner = top
        for level in levels:
            if level not in owner._modules:
                owner.add_module(level, nn.Module())
            owner = owner.get_submodule(level)
        owner.register_buffer(last, torch.zeros_like(value))
    return top


def page(measured: str) -> str:
    """The page with these tables in place of its own."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{measured}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=Path, default=ROOT.parent / "shared", help="folder with checkpoints/")
    parser.add_argument("--write", action="store_true", help="write docs/formats.md")
    options = parser.parse_args()
    measured = tables(options.files / "checkpoints")
    if options.write:
        PAGE.write_text(page(measured))
    else:
        print(measured)


if __name__ == "__main__":
    main()
