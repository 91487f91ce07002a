"""The kinds of files, one for each reader: what makes good ones, and what is done with what was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.robustness import checkpoint_files, dataset_files, other_files
from cnet.sandbox import DATASET_FILE, PROGRAM_FILE, WEIGHTS_FILE
from cnet.sandbox import Kind as RequestKind

_GIB = 2**30


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Attributes:
        good: makes the files to be damaged, with the use of an empty folder.
        use: what is done after the sandbox has read a file, with the folder it wrote to; without a request, with the
            file itself.
        request: how the sandbox reads the file; None for a file that it does not read.
        memory: bytes of address space that the child may use.
    """

    good: Callable[[Path], list[bytes]]
    use: Callable[[Path], None]
    request: RequestKind | None = None
    memory: int = 4 * _GIB  # what the sandbox allows for a small file


def _use_checkpoint(target: Path) -> None:
    """Read the canonical form back, each tensor of it."""
    from cnet.formats.canonical_file import read_canonical

    read_canonical(target / WEIGHTS_FILE).digest()


def _use_dataset(target: Path) -> None:
    """Read the canonical form back."""
    from cnet.data.canonical_dataset import read_dataset

    read_dataset(target / DATASET_FILE)


def _use_bundle(path: Path) -> None:
    """Verify a bundle and decode it."""
    from cnet.bundle import open_bundle

    bundle = open_bundle(path)
    bundle.verify()
    bundle.weights()


def _use_program(target: Path) -> None:
    """Build the network that the canonical form states, and run it."""
    from benchmarks.robustness.running import run_program
    from cnet.models.programs import read_canonical_program

    run_program(read_canonical_program(target / PROGRAM_FILE))


def _checkpoint(good: Callable[[Path], list[bytes]]) -> Kind:
    return Kind(good, _use_checkpoint, "checkpoint")


def _dataset(good: Callable[[Path], list[bytes]]) -> Kind:
    return Kind(good, _use_dataset, "dataset")


KINDS: dict[str, Kind] = {
    "program": Kind(other_files.programs, _use_program, "program", 8 * _GIB),  # PyTorch itself takes some
    "safetensors": _checkpoint(checkpoint_files.safetensors),
    "torch": _checkpoint(checkpoint_files.torch_files),
    "npz": _checkpoint(checkpoint_files.npz),
    "onnx": _checkpoint(checkpoint_files.onnx),
    "hf_sharded": _checkpoint(checkpoint_files.sharded),
    "dataset npz": _dataset(dataset_files.npz),
    "dataset csv": _dataset(dataset_files.csv),
    "dataset idx": _dataset(dataset_files.idx),
    "dataset cifar_binary": _dataset(dataset_files.cifar_binary),
    "dataset image_folder": _dataset(dataset_files.image_folder),
    "bundle": Kind(other_files.bundles, _use_bundle),
}
"""Every kind, with the name of its format."""


def write_good_files(kind: str, folder: Path) -> None:
    """Write the good files of a kind to ``folder``, unless that was done before."""
    if folder.exists():
        return
    with TemporaryDirectory() as name:
        contents = KINDS[kind].good(Path(name))
    draft = folder.with_name(f"{folder.name}.draft")
    draft.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents):
        (draft / f"{number:03d}").write_bytes(content)
    draft.rename(folder)
