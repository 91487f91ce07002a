"""A job's specification from a file and from options; what an option says wins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer


@dataclass(frozen=True)
class Choices:
    """The options that say what to do; None: not given."""

    spec: Path | None = None
    sparsity: Sequence[float] | None = None
    clusters: Sequence[int] | None = None
    encode: str | None = None
    method: str | None = None
    dataset: str | None = None
    architecture: str | None = None

    def document(self) -> dict[str, Any]:
        """The specification as a JSON object, not yet checked.

        Raises:
            typer.BadParameter: the file holds no JSON object.
            OSError: the file cannot be read.

        """
        found = self._from_file()
        if self.sparsity:
            found["prune"] = {"name": "magnitude", **_part(found, "prune"), "sparsity": list(self.sparsity)}
        if self.clusters:
            found["quantize"] = {"name": "kmeans", **_part(found, "quantize"), "clusters": list(self.clusters)}
        named = {"encode": self.encode, "method": self.method, "architecture": self.architecture}
        for slot, name in named.items():
            if name is not None and _part(found, slot).get("name") != name:
                found[slot] = {"name": name}  # another part: the parameters in the file are not its own
        if self.dataset is not None:
            found["dataset"] = self.dataset
        return found

    def _from_file(self) -> dict[str, Any]:
        if self.spec is None:
            return {}
        try:
            document = json.loads(self.spec.read_bytes())
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(f"{self.spec} holds no JSON: {error}", param_hint="--spec") from error
        if not isinstance(document, dict):
            raise typer.BadParameter(f"{self.spec} holds no JSON object", param_hint="--spec")
        return document


def _part(document: dict[str, Any], slot: str) -> dict[str, Any]:
    part = document.get(slot)
    return part if isinstance(part, dict) else {}
