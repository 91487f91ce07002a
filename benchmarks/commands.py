"""Every command for local files on real files: ``python -m benchmarks.commands [--files FOLDER] [--write]``.

Each file of ``checkpoints`` and ``programs`` in the folder is compressed with default settings, inspected, unpacked,
verified and compared with what it was unpacked to. It is evaluated where there is data for it: the digit classifier
with images and labels, the two programs with inputs, by how often the compressed network agrees with the original.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.programs import DIGITS, PIXELS, digit_network
from cnet import export_program

ROOT = Path(__file__).resolve().parents[1]
_COLUMNS = [
    *("file", "bytes", "bundle", "ratio", "snr, dB", "unpacked", "score", "original", "bundle's"),
    *("compress, s", "inspect, s", "unpack, s", "verify, s", "diff, s", "evaluate, s"),
]


@dataclass(frozen=True)
class Evaluation:
    """How a file is evaluated.

    Attributes:
        arguments: of ``cnet evaluate``, beside the file.
        score: the name of the score to show.
    """

    arguments: list[str]
    score: str


@dataclass
class Commands:
    """Runs ``cnet`` and keeps the time of each command.

    Attributes:
        seconds: of processor time, by command; other work on the machine hardly changes it.
    """

    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, *arguments: str | Path) -> Any:
        """The JSON that a command prints. It has to succeed."""
        started = _processor_seconds()
        words = [sys.executable, "-P", "-m", "app.cli", *map(str, arguments), "--json"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        self.seconds[str(arguments[0])] = _processor_seconds() - started
        return json.loads(done.stdout)


def _processor_seconds() -> float:
    """Processor time that ended child processes of this one have taken, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run all commands on all files and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--only", nargs="*", help="names of files; default: all")
    parser.add_argument("--write", action="store_true", help="write docs/results/commands.md")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        evaluations = _evaluations(options.files, Path(folder))
        for file in _models(options.files):
            if not options.only or file.name in options.only:
                rows.append(_row(file, Path(folder), evaluations.get(file.name)))
                print(" | ".join(rows[-1]), flush=True)
    if options.write:
        _write(rows)


def _models(files: Path) -> list[Path]:
    """All checkpoints and programs, the smallest first."""
    found = [path for path in (files / "checkpoints").iterdir() if path.suffix not in (".md", ".txt")]
    return sorted([*found, *(files / "programs").glob("*.pt2")], key=lambda path: path.stat().st_size)


def _evaluations(files: Path, folder: Path) -> Mapping[str, Evaluation]:
    """How to evaluate the files for which there is data, by their names."""
    lines, photos = folder / "lines.npz", folder / "photos.npz"
    for inputs, path in (("ocr_english_g2", lines), ("efficientnet_lite0", photos)):
        np.savez(path, x_train=(x := np.load(files / "programs" / f"{inputs}_inputs.npz")["x"])[:2], x_test=x)
    digits = _digits(files, folder)
    scaled = {name: f"preprocess={json.dumps(value)}" for name, value in {**PIXELS, "digits": DIGITS}.items()}
    by_agreement = ["--set", "architecture.task=distill", "--dataset"]
    return {
        "handwriting_model.pth": Evaluation([*digits, "--set", scaled["digits"]], "accuracy"),
        "ocr_english_g2.pt2": Evaluation([*by_agreement, str(lines), "--set", scaled["ocr"]], "agreement"),
        "efficientnet_lite0.pt2": Evaluation(
            [*by_agreement, str(photos), "--set", scaled["efficientnet"]], "agreement"
        ),
    }


def _digits(files: Path, folder: Path) -> list[str]:
    """The digit classifier as a program, and its images as a data set, all of them for testing."""
    program, data = folder / "digits.pt2", folder / "digits.npz"
    export_program(digit_network(), torch.zeros(2, 1, 28, 28), program)
    table = np.loadtxt(files / "data" / "mnist_5k.csv.gz", delimiter=",")
    images, labels = table[:, :-1].reshape(-1, 1, 28, 28).astype(np.uint8), table[:, -1].astype(np.int64)
    np.savez(data, x_train=images[:100], y_train=labels[:100], x_test=images, y_test=labels)
    return ["--program", str(program), "--dataset", str(data)]


def _row(file: Path, folder: Path, evaluation: Evaluation | None) -> list[str]:
    commands, bundle, unpacked = Commands(), folder / "bundle.npz", folder / "unpacked.safetensors"
    point = commands.run("compress", file, "-o", bundle)["points"][0]
    inspected = commands.run("inspect", bundle)
    assert inspected["kind"] == "bundle"
    commands.run("unpack", bundle, "-o", unpacked)
    assert commands.run("verify", bundle)["valid"]
    exact = commands.run("diff", bundle, unpacked)
    error = commands.run("diff", file, bundle)
    scores = _scores(commands, file, bundle, evaluation) if evaluation else ["-", "-", "-"]
    return [
        file.name,
        f"{file.stat().st_size:,}",
        f"{bundle.stat().st_size:,}",
        f"{point['ratio']:.2f}",
        "-" if error["total"]["snr_db"] is None else f"{error['total']['snr_db']:.1f}",
        "equal" if exact["equal"] else "DIFFERENT",
        *scores,
        *(f"{commands.seconds[name]:.1f}" for name in ("compress", "inspect", "unpack", "verify", "diff")),
        f"{commands.seconds['evaluate']:.1f}" if evaluation else "-",
    ]


def _scores(commands: Commands, file: Path, bundle: Path, evaluation: Evaluation) -> list[str]:
    """The name of the score, and its value for the file and for the bundle."""
    own = ["--program", str(file)] if file.suffix == ".pt2" else []
    values = [
        commands.run("evaluate", *(() if own and model == file else (model,)), *own, *evaluation.arguments)
        for model in (file, bundle)
    ]
    return [evaluation.score, *(f"{found[evaluation.score]:.2f} %" for found in values)]


def _write(rows: list[list[str]]) -> None:
    """Replace the table of the page."""
    page = ROOT / "docs" / "results" / "commands.md"
    text = page.read_text()
    start, end = "<!-- the table -->\n", "<!-- the end of the table -->"
    table = ["| " + " | ".join(row) + " |" for row in (_COLUMNS, ["---"] * len(_COLUMNS), *rows)]
    before, after = text[: text.index(start) + len(start)], text[text.index(end) :]
    page.write_text(before + "\n".join(["", *table, "", ""]) + after)


if __name__ == "__main__":
    main()
