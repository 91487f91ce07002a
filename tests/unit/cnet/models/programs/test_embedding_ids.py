"""Which ids a program takes is read off its graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cnet.data import Dataset
from cnet.errors import DatasetError
from cnet.models.programs import StoredProgram, read_program
from cnet.models.programs.embedding_ids import embedding_rows
from cnet.pipeline import Inputs, run
from cnet.spec import JobSpec
from cnet.training.programs import export_program
from tests.unit.cnet.pipeline.small_jobs import Recorder


class Embedded(nn.Module):
    """Two embeddings, of 30 and of 20 rows, that look up what a function makes of the ids."""

    def __init__(self, tables: tuple[str, ...], looked_up: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.tables, self.looked_up = tables, looked_up
        self.large, self.small, self.last = nn.Embedding(30, 8), nn.Embedding(20, 8), nn.Linear(8, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, shape (n, 4), of ids of shape (n, 6), int64."""
        ids = self.looked_up(tokens)
        vectors = sum(self.get_submodule(name)(ids) for name in self.tables)
        logits: Tensor = self.last(vectors.flatten(1, -2).mean(1))  # type: ignore[attr-defined] # a tensor, not 0
        return logits


def exported(folder: Path, tables: tuple[str, ...], looked_up: Callable[[Tensor], Tensor]) -> StoredProgram:
    """The program of a module with embeddings."""
    export_program(Embedded(tables, looked_up), torch.randint(0, 20, (4, 6)), folder / "net.pt2")
    archive = read_program(folder / "net.pt2")
    return StoredProgram(archive.program, archive.weights)


@pytest.mark.parametrize(
    ("tables", "looked_up", "rows"),
    [
        (("large",), lambda ids: ids, {"tokens": 30}),
        (("large", "small"), lambda ids: ids, {"tokens": 20}),
        (("large",), lambda ids: ids.reshape(-1, 3, 2).transpose(1, 2), {"tokens": 30}),
        (("large",), lambda ids: ids[:, 1:], {}),
        (("large",), lambda ids: ids + 1, {}),
        (("large",), lambda ids: ids.clamp(0, 29), {}),
    ],
)
def test_the_rows_of_the_smallest_table_that_looks_up_all_values(
    tables: tuple[str, ...], looked_up: Callable[[Tensor], Tensor], rows: dict[str, int], tmp_path: Path
) -> None:
    """Other axes change no value; of a part of the values, or others made of them, nothing is known."""
    assert embedding_rows(exported(tmp_path, tables, looked_up).program) == rows


@pytest.mark.parametrize(
    ("looked_up", "wrong", "says"),
    [
        (lambda ids: ids, 99, "ids: it holds the id 99, and the network's embedding takes 0 to 29. Correct the ids."),
        (lambda ids: ids, -1, "ids: it holds the id -1, and the network's embedding takes 0 to 29. Correct the ids."),
        (lambda ids: ids + 1, 99, "an id for which a table of the network has no row"),
    ],
)
@pytest.mark.parametrize("use", ["calibrate", "dataset"])
def test_ids_without_a_row_are_a_fault_of_the_data(
    looked_up: Callable[[Tensor], Tensor], wrong: int, says: str, use: str, tmp_path: Path
) -> None:
    """Before the run where the graph tells, in the run where it does not."""
    program = exported(tmp_path, ("large",), looked_up)
    ids = np.arange(40 * 6).reshape(40, 6) % 20
    ids[:, 3] = wrong
    data = Dataset.of_arrays(ids[:32], np.arange(32) % 4, ids[32:], np.arange(8) % 4)
    data = Dataset(*(type(one)({"ids": one.input}, one.targets) for one in (data.train, data.test)))
    document = {"architecture": {"program": "prog_1"}}
    own = {"dataset": "ds_1"} if use == "dataset" else {"calibrate": {"inputs": "ds_1"}}
    given = (data, None) if use == "dataset" else (None, data)
    inputs = Inputs(program.state_dict, given[0], tmp_path / "run", program=program, calibration=given[1])

    with pytest.raises(DatasetError) as caught:
        run(JobSpec.parse({**document, **own}), inputs, Recorder())

    assert says in caught.value.detail
    assert caught.value.code == "ids_out_of_range"
