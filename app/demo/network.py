"""The part of the demo that needs PyTorch, run in a process of its own: training and evaluation of the network.

``python -P -m app.demo.network train OUT.pth`` trains the baseline and writes it, ``... evaluate FILE`` evaluates a
checkpoint. Both print one JSON object a line; the last one has ``accuracy`` in percent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from app.demo import recipe
from cnet.data import DATASETS
from cnet.formats import read_checkpoint, write_checkpoint
from cnet.models import ARCHITECTURES
from cnet.observer import SilentObserver
from cnet.training.config import Training
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.stage import TrainingStage
from cnet.training.trainer import Trainer


def main(arguments: list[str]) -> None:
    """Train or evaluate, as the arguments say."""
    action, file = arguments[0], Path(arguments[1])
    trainer = _trainer()
    if action == "train":
        stage = TrainingStage("baseline", trainer.training)
        weights = trainer.train(
            trainer.initial(trainer.training.seed), stage, lambda done: _print_json({"progress": done})
        )
        write_checkpoint(weights, file, "torch")
    else:
        weights = read_checkpoint(file).weights
    _print_json({"accuracy": trainer.evaluate(weights).accuracy})


class _MetricPrinter(SilentObserver):
    """Prints the numbers of each epoch."""

    def metric(self, values: dict[str, Any]) -> None:
        """Print the numbers of one epoch."""
        _print_json({"metric": values})


def _trainer() -> Trainer:
    training = Training.model_validate_json(json.dumps(recipe.BASELINE))
    dataset = DATASETS.create(recipe.DATASET).load()
    network = ArchitectureBuilder.for_dataset(ARCHITECTURES.create(recipe.ARCHITECTURE), dataset)
    return Trainer(network, dataset, training, observer=_MetricPrinter())


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
