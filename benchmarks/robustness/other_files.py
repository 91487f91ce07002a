"""Good programs and bundles, to be damaged."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from benchmarks.robustness.checkpoint_files import weights
from benchmarks.robustness.packing import hostile_pickle


def programs(folder: Path) -> list[bytes]:
    """Programs of many operators, and one whose example inputs would run a command."""
    import torch

    from benchmarks.robustness.networks import NETWORKS
    from cnet.training.programs import export_program

    torch.manual_seed(0)
    files = []
    for build, inputs in NETWORKS:
        export_program(build(), inputs(), folder / "seed")
        files.append((folder / "seed").read_bytes())
    return [*files, _with_member(files[1], "data/sample_inputs/model.pt", hostile_pickle())]


def bundles(folder: Path) -> list[bytes]:
    """A bundle of each encoder."""
    from cnet.bundle import write_bundle
    from cnet.coding import ENCODERS
    from cnet.quantize import QUANTIZERS

    stored = weights()
    vector = stored.vector()
    keep = np.abs(vector) > 0.5
    shapes = [stored[name].shape for name in stored.compressible]
    symbols = QUANTIZERS.create("kmeans").symbols(vector * keep, keep, 8, shapes)
    files = []
    for name in ENCODERS.names():
        write_bundle(folder / "seed", stored, symbols, ENCODERS.create(name), {"note": 1})
        files.append((folder / "seed").read_bytes())
    return files


def _with_member(archive: bytes, name: str, content: bytes) -> bytes:
    """The archive with one more member, or another content of one, in the folder of the others."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(stream, "w") as target:
        top = source.namelist()[0].partition("/")[0]
        for info in source.infolist():
            if info.filename != f"{top}/{name}":
                target.writestr(info.filename, source.read(info))
        target.writestr(f"{top}/{name}", content)
    return stream.getvalue()
