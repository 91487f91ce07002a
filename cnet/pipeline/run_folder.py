"""The folder of a run: its results, and the state from which it can be resumed.

    run.json                 the key of the run that the folder belongs to
    records/NAME.json        results of finished steps
    weights/NAME.safetensors weights of finished steps, canonical form; NAME.json names products of two factors
    training/NAME/           state of a training under way, written by the trainer
    bundles/NAME.npz         bundles; the bundle of a finished point has a record of the same name

Every file is complete or absent: it is written under another name, flushed to the disk, and renamed. At most the
weights of four steps are here at once, in a search also those of every sparsity so far. They are removed when the run
ends; bundles and records stay.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cnet.files import atomic_path, atomic_write, remove_drafts
from cnet.formats.canonical_file import read_canonical, write_canonical
from cnet.products import with_products
from cnet.weights import Product, Selection, Weights

_PARTS = ("records", "weights", "training", "bundles")


class RunFolder:
    """The folder of one run.

    Args:
        folder: made where it does not exist. Files of another run (another ``key``) are removed.
        key: digest of everything that decides the results of the run.
        selection: which tensors are compressible, for weights that are read back.

    Attributes:
        resumed: whether an earlier attempt at the same run left its files.
    """

    def __init__(self, folder: Path, key: str, selection: Selection) -> None:
        self._folder = folder
        self._selection = selection
        folder.mkdir(parents=True, exist_ok=True)
        self.resumed = self._read(folder / "run.json") == {"key": key}
        if not self.resumed:
            (folder / "run.json").unlink(missing_ok=True)
            self._clear(*_PARTS)
        for part in _PARTS:
            (folder / part).mkdir(exist_ok=True)
            remove_drafts(folder / part)
        if not self.resumed:
            self._write(folder / "run.json", {"key": key})

    def record(self, name: str) -> dict[str, Any] | None:
        """The result recorded as ``name``, or None."""
        return self._read(self._folder / "records" / f"{name}.json")

    def set_record(self, name: str, document: dict[str, Any]) -> None:
        """Record a result."""
        self._write(self._folder / "records" / f"{name}.json", document)

    def weights(self, name: str) -> Weights | None:
        """The weights saved as ``name``, or None."""
        path = self.weights_file(name)
        if not path.exists():
            return None
        form = self._read(path.with_suffix(".json")) or {"products": []}
        products = [Product(**product) for product in form["products"]]
        return with_products(read_canonical(path, self._selection), products)

    def set_weights(self, name: str, weights: Weights) -> Weights:
        """Save weights, and return what a resumed run would read."""
        path = self.weights_file(name)
        if weights.products:
            self._write(path.with_suffix(".json"), {"products": [asdict(product) for product in weights.products]})
        with atomic_path(path) as draft:
            write_canonical(draft, weights)
        return with_products(read_canonical(path, self._selection), weights.products)

    def weights_file(self, name: str) -> Path:
        """The path of saved weights."""
        return self._folder / "weights" / f"{name}.safetensors"

    def drop_weights(self, name: str) -> None:
        """Remove saved weights, where there are any of that name."""
        for suffix in (".safetensors", ".json"):
            self.weights_file(name).with_suffix(suffix).unlink(missing_ok=True)

    def training(self, name: str) -> Path:
        """The path of the state of the training ``name``. The trainer may write other files beside it."""
        folder = self._folder / "training" / name
        folder.mkdir(exist_ok=True)
        return folder / "state"

    def drop_training(self, name: str) -> None:
        """Remove the state of a training."""
        self._clear(f"training/{name}")

    def bundle(self, name: str) -> Path:
        """The path of a final bundle."""
        return self._folder / "bundles" / f"{name}.npz"

    def draft(self, name: str) -> Path:
        """The path of a bundle that is not final."""
        return self._folder / "bundles" / f"{name}.draft"

    def labels(self, name: str) -> Path:
        """The path of labels of a network that is not in memory."""
        return self._folder / "bundles" / f"{name}.labels.draft"

    def drop_labels(self, name: str) -> None:
        """Remove such labels, where there are any."""
        self.labels(name).unlink(missing_ok=True)

    def finish(self) -> None:
        """Remove everything but records and bundles."""
        self._clear("weights", "training")
        for draft in (self._folder / "bundles").glob("*.draft"):
            draft.unlink()

    def _clear(self, *parts: str) -> None:
        for part in parts:
            if (self._folder / part).exists():
                shutil.rmtree(self._folder / part)

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        try:
            document = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return document if isinstance(document, dict) else None

    @staticmethod
    def _write(path: Path, document: dict[str, Any]) -> None:
        with atomic_write(path) as file:
            file.write(json.dumps(document, allow_nan=False).encode())
