"""Networks that are not built in, as jobs of a service: ``python -m benchmarks.programs --server URL [--write]``.

The service is ``cnet up``. The files are those of ``--files``: two programs with inputs (``programs``), and the weights
of a digit classifier with images (``checkpoints``, ``data``). Each job goes through HTTP; the digits go through the
command line, the Python client and curl as well, and the three bundles have to be equal but for the ids of uploads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from cnet import export_program, open_bundle
from cnet.client import Client

ROOT = Path(__file__).resolve().parents[1]
PIXELS = {"ocr": {"mean": [0.5], "std": [0.5]}, "efficientnet": {"mean": [127 / 255], "std": [128 / 255]}}
DIGITS = {"mean": [0.1307], "std": [0.3081]}

_NOTES = """
Made by `cnet up` and, beside it, `python -m benchmarks.programs --files FOLDER --write`. Every job goes through HTTP.
"before" and "after" are the task's metric, in percent, on samples that no training saw; "after" is measured on the
weights decoded from the bundle. "s" is the time from the first upload to the last byte of the download, on a machine
with other work.

- digits: `handwriting_model.pth`, rebuilt from its description, on nine tenths of `mnist_5k.csv.gz`; measured on the
  other tenth, 500 images. The three bundles decode to the same bits and load strictly into the module.
- ocr: a reader of text lines (convolutions, two LSTMs, CTC) on 700 lines, one epoch of each training; measured on 300
  others. `distill` sees no labels: agreement is the share of the 63 steps with the original's class.
- efficientnet: an image classifier without labels, on 40 crops of 12 photographs; measured on 24 crops of 4 others. It
  is trained gently: with the default learning rate of 0.003 and the default method, an epoch on so few images destroyed
  the network (agreement 0).
"""

_CURL = shutil.which("curl") or "curl"

Row = list[str]

_COLUMNS = ["network", "job", "door", "metric", "before", "after", "ratio", "bytes", "s"]


def main() -> None:
    """Run all jobs and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="http://127.0.0.1:8000")
    parser.add_argument("--files", type=Path, default=ROOT.parent / "shared")
    parser.add_argument(
        "--only", nargs="*", choices=["digits", "ocr", "efficientnet"], default=["digits", "ocr", "efficientnet"]
    )
    parser.add_argument("--state", type=Path, help="file of the rows so far; the networks in it are not run again")
    parser.add_argument("--write", action="store_true", help="write docs/results/programs.md")
    options = parser.parse_args()
    done: dict[str, list[Row]] = (
        json.loads(options.state.read_text()) if options.state and options.state.exists() else {}
    )
    with tempfile.TemporaryDirectory() as folder, Client(options.server) as client:
        jobs = {"digits": digits, "ocr": ocr, "efficientnet": efficientnet}
        for name in options.only:
            done[name] = done.get(name) or jobs[name](client, options.files, Path(folder), options.server)
            print("\n".join(" | ".join(row) for row in done[name]), flush=True)
            if options.state:
                options.state.write_text(json.dumps(done))
    if options.write:
        _write([row for name in options.only for row in done[name]])


def digits(client: Client, files: Path, folder: Path, server: str) -> list[Row]:
    """Pruned by 95 % and recovered on nine tenths of the images; measured on the held-out tenth."""
    module = digit_network()
    module.load_state_dict(torch.load(files / "checkpoints" / "handwriting_model.pth", weights_only=True))
    program, data = folder / "digits.pt2", folder / "digits.npz"
    export_program(module, torch.zeros(2, 1, 28, 28), program)
    table = np.loadtxt(files / "data" / "mnist_5k.csv.gz", delimiter=",")
    images, labels = table[:, :-1].reshape(-1, 1, 28, 28).astype(np.uint8), table[:, -1].astype(np.int64)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[500:], order[:500]
    np.savez_compressed(data, x_train=images[train], y_train=labels[train], x_test=images[test], y_test=labels[test])
    spec = {
        "preprocess": DIGITS,
        "training": {"epochs": 4},
        "prune": {"name": "magnitude", "sparsity": 0.95},
        "recover": {"epochs": 8},
    }
    rows = [
        _row("digits", "prune 95 %, recover", "Python", *_submitted(client, spec, program, data, folder / "python.npz"))
    ]
    rows.append(_by_command(spec, program, data, folder, server, client))
    rows.append(_by_curl(spec, client, folder, server, program, data))
    bundles = [open_bundle(folder / f"{door}.npz").state_dict() for door in ("python", "cli", "curl")]
    assert all(torch.equal(one[name], bundles[0][name]) for one in bundles[1:] for name in one), "the doors differ"
    module.load_state_dict(bundles[0], strict=True)
    return rows


def digit_network() -> nn.Module:
    """A classifier of digits: three convolutions and two linear layers, with the names of the checkpoint's tensors."""
    module = nn.Module()
    pool = nn.MaxPool2d(2)
    layers = [nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), pool, nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), pool]
    module.conv_layers = nn.Sequential(*layers, nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), pool)
    module.fc_layers = nn.Sequential(nn.Linear(1152, 256), nn.ReLU(), nn.Linear(256, 10))
    module.forward = lambda images: module.fc_layers(module.conv_layers(images).flatten(1))  # type: ignore[method-assign]
    return module


def ocr(client: Client, files: Path, folder: Path, server: str) -> list[Row]:
    """A reader of text lines: weights alone, learning from itself without labels, and fine-tuning with labels."""
    del server
    program, arrays = (
        files / "programs" / "ocr_english_g2.pt2",
        np.load(files / "programs" / "ocr_english_g2_inputs.npz"),
    )
    data, unlabelled = folder / "lines.npz", folder / "lines_unlabelled.npz"
    x, y = arrays["x"], arrays["y"].astype(np.int64)
    np.savez(data, x_train=x[:700], y_train=y[:700], x_test=x[700:], y_test=y[700:])
    np.savez(unlabelled, x_train=x[:700], x_test=x[700:])
    short = {"training": {"epochs": 1, "batch_size": 20}, "recover": {"epochs": 1}}
    pruned = {"preprocess": PIXELS["ocr"], "prune": {"name": "magnitude", "sparsity": 0.5}, **short}
    rows = [_row("ocr", "weights alone", "Python", *_submitted(client, {}, program, None, folder / "a.npz"))]
    distill = {**pruned, "architecture": {"task": "distill"}}
    rows.append(
        _row(
            "ocr", "distill, prune 50 %", "Python", *_submitted(client, distill, program, unlabelled, folder / "b.npz")
        )
    )
    tuned = {**pruned, "architecture": {"task": "ctc"}}
    rows.append(
        _row("ocr", "fine-tune, prune 50 %", "Python", *_submitted(client, tuned, program, data, folder / "c.npz"))
    )
    return rows


def efficientnet(client: Client, files: Path, folder: Path, server: str) -> list[Row]:
    """An image classifier without labels: weights alone, and learning from itself; whole photographs kept apart."""
    del server
    program = files / "programs" / "efficientnet_lite0.pt2"
    arrays = np.load(files / "programs" / "efficientnet_lite0_inputs.npz")
    held = arrays["photo"] >= 12
    data = folder / "photos.npz"
    np.savez(data, x_train=arrays["x"][~held][:40], x_test=arrays["x"][held][:24])
    distill = {
        "architecture": {"task": "distill"},
        "preprocess": PIXELS["efficientnet"],
        "prune": {"name": "magnitude", "sparsity": 0.3},
        "method": {"name": "none"},  # its loss is 0 at first, beside which the penalty of any method is large
        "training": {"epochs": 1, "batch_size": 8, "optimizer": {"learning_rate": 0.0001}},
        "recover": {"epochs": 1},
    }
    rows = [_row("efficientnet", "weights alone", "Python", *_submitted(client, {}, program, None, folder / "d.npz"))]
    rows.append(
        _row(
            "efficientnet",
            "distill, prune 30 %",
            "Python",
            *_submitted(client, distill, program, data, folder / "e.npz"),
        )
    )
    return rows


def _submitted(
    client: Client, spec: dict[str, Any], program: Path, data: Path | None, out: Path
) -> tuple[dict[str, Any], Path, float]:
    """Upload, submit, wait and download; the results, the bundle, and the seconds."""
    start = time.monotonic()
    spec = {**spec, "architecture": {**spec.get("architecture", {}), "program": client.upload_program(program)["id"]}}
    if data is not None:
        spec["dataset"] = client.upload_dataset(data)["id"]
    job = client.wait(client.submit(spec)["id"])
    if job["status"] != "succeeded":
        raise SystemExit(f"{spec}: {job['error']}")
    client.download(job["id"], out)
    return client.results(job["id"]), out, time.monotonic() - start


def _by_command(spec: dict[str, Any], program: Path, data: Path, folder: Path, server: str, client: Client) -> Row:
    """The same job by ``cnet submit`` and ``cnet download``."""
    start = time.monotonic()
    (folder / "spec.json").write_text(json.dumps(spec))
    cnet = Path(sys.executable).with_name("cnet")
    command = [
        cnet,
        "submit",
        "--spec",
        folder / "spec.json",
        "--program",
        program,
        "--dataset",
        data,
        "--wait",
        "--json",
    ]
    answer = subprocess.run([*map(str, command), "--server", server], check=True, capture_output=True, text=True).stdout
    job = json.loads(answer)["id"]
    out = folder / "cli.npz"
    subprocess.run([str(cnet), "download", job, "-o", str(out), "--server", server], check=True, capture_output=True)
    return _row("digits", "prune 95 %, recover", "command line", client.results(job), out, time.monotonic() - start)


def _by_curl(spec: dict[str, Any], client: Client, folder: Path, server: str, program: Path, data: Path) -> Row:
    """The same job by curl alone."""
    start = time.monotonic()
    ids = {}
    for noun, path in (("programs", program), ("datasets", data)):
        ids[noun] = _curl("-X", "POST", "-T", str(path), f"{server}/v1/{noun}?filename={path.name}")["id"]
    body = {**spec, "architecture": {"program": ids["programs"]}, "dataset": ids["datasets"]}
    job = _curl("--json", json.dumps(body), f"{server}/v1/jobs")
    while job["status"] not in {"succeeded", "failed", "cancelled"}:
        job = _curl(f"{server}/v1/jobs/{job['id']}?wait=60")
    out = folder / "curl.npz"
    subprocess.run([_CURL, "-fsSL", "-o", str(out), f"{server}/v1/jobs/{job['id']}/bundle"], check=True)
    return _row("digits", "prune 95 %, recover", "curl", client.results(job["id"]), out, time.monotonic() - start)


def _curl(*arguments: str) -> dict[str, Any]:
    answer = subprocess.run([_CURL, "-fsS", *arguments], check=True, capture_output=True, text=True).stdout
    document: dict[str, Any] = json.loads(answer)
    return document


def _row(network: str, job: str, door: str, results: dict[str, Any], bundle: Path, seconds: float) -> Row:
    points = results["points"]
    selected = results.get("selected")
    point = points[selected if isinstance(selected, int) else 0]
    metric = point.get("metric") or {}
    before = (results["baseline"].get("metric") or {}).get("value")
    values = ["-" if value is None else f"{value:.4g}" for value in (before, metric.get("value"))]
    size = bundle.stat().st_size
    return [
        network,
        job,
        door,
        metric.get("name", "-"),
        *values,
        f"{point['ratio']:.2f}",
        f"{size:,}",
        f"{seconds:.0f}",
    ]


def _write(rows: list[Row]) -> None:
    lines = ["# Networks that are not built in", "", *_NOTES.strip().splitlines(), ""]
    lines += [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    (ROOT / "docs" / "results" / "programs.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
