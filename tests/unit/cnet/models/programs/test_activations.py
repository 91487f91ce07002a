"""Outputs that end in a softmax or a sigmoid are found, and computed without it where logits are wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from cnet.models.programs import ProgramArchive, StoredProgram, read_program
from cnet.models.programs.activations import without_activation
from cnet.models.programs.document import Activation
from cnet.training.programs import ProgramModule, export_program
from cnet.training.programs.builder import ProgramBuilder


class ManyEndings(nn.Module):
    """One output for each way to end a network; ``logits`` has what goes into the activation of each."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.conv = nn.Linear(6, 5), nn.Conv2d(1, 3, 1)

    def forward(self, values: Tensor) -> dict[str, Tensor]:
        """Many outputs of values of shape (n, 6)."""
        logits = self.layer(values)
        maps = self.conv(values.reshape(-1, 1, 2, 3))
        steps = logits.reshape(-1, 1, 5) * values[:, :, None]
        half = logits.sigmoid()
        return {
            "softmax": logits.softmax(1),
            "of its own type": logits.softmax(-1, dtype=torch.float64).to(torch.float32).clone(),
            "squeezed": logits[:, None, :].softmax(2).squeeze(1),
            "flattened": logits[:, :, None, None].softmax(1).flatten(1),
            "viewed": steps.softmax(-1).view(-1, 2, 3, 5),
            "transposed": steps.softmax(2).transpose(1, 2),
            "permuted": maps.softmax(1).permute(0, 2, 3, 1),
            "map": maps.softmax(1),
            "detached": logits.softmax(1).detach(),
            "sigmoid": half.squeeze(-1),
            "sigmoid used twice": half * 1.0 + half,
            "other axis": steps.softmax(1),
            "lost axis": maps.softmax(1).flatten(1),
            "scaled": logits.softmax(1) * 2,
            "written to": logits.softmax(1).mul_(1.0),
            "rounded": logits.softmax(1).to(torch.int64).to(torch.float32),
            "log_softmax": logits.log_softmax(1),
            "logits": logits,
        }


SOFTMAX = {
    **dict.fromkeys(("softmax", "of its own type", "squeezed", "flattened", "transposed", "map", "detached"), 1),
    "viewed": 3,
    "permuted": 3,
    "other axis": 1,
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> ProgramArchive:
    """The program of ``ManyEndings``."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("programs") / "net.pt2"
    export_program(ManyEndings(), torch.randn(4, 6), path)
    return read_program(path)


def test_endings_are_found_with_their_axis(archive: ProgramArchive) -> None:
    """Through operators that move the numbers, as far as the axis can be followed."""
    found = {one.name: one.activation for one in archive.program.outputs if one.activation is not None}

    assert found.pop("sigmoid") == Activation(name="sigmoid")
    assert {name: one.axis for name, one in found.items()} == SOFTMAX
    assert {one.name for one in found.values()} == {"softmax"}


def test_outputs_without_the_ending_are_its_logits(archive: ProgramArchive) -> None:
    """The same numbers as before after a softmax or a sigmoid; the other outputs do not change."""
    values = torch.randn(7, 6, generator=torch.Generator().manual_seed(1))
    given = ProgramModule.of(archive.program, archive.weights).eval()(values)

    for number, output in enumerate(archive.program.outputs):
        module = ProgramModule.of(without_activation(archive.program, number), archive.weights).eval()
        found = module(values)
        for position, (before, after) in enumerate(zip(given, found, strict=True)):
            same = position != number or output.activation is None
            assert torch.equal(before, after) == same, output.name
        if output.activation is not None:
            axis = output.activation.axis
            activated = found[number].sigmoid() if axis is None else found[number].softmax(axis)
            assert torch.allclose(activated, given[number], atol=1e-6), output.name
            assert found[number].shape == given[number].shape


class WithoutGradient(nn.Module):
    """A network whose forward, or only its softmax, is for inference alone."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.layer, self.whole = nn.Linear(6, 3), whole

    def forward(self, values: Tensor) -> Tensor:
        """Shape (n, 3), of values of shape (n, 6)."""
        with torch.set_grad_enabled(not self.whole):
            logits = self.layer(values)
        with torch.no_grad():
            found: Tensor = logits.softmax(1).squeeze(-1)
        return found


@pytest.mark.parametrize("whole", [True, False])
def test_outputs_without_a_gradient_get_one(whole: bool, tmp_path: Path) -> None:
    """The job trains and calibrates by it; numbers do not change."""
    torch.manual_seed(0)
    net, values = WithoutGradient(whole), torch.randn(4, 6)
    export_program(net, values, tmp_path / "net.pt2")
    read = read_program(tmp_path / "net.pt2")
    stored = StoredProgram(read.program, read.weights)
    module = ProgramBuilder(stored, 0).build().eval()

    outputs = module(values)
    outputs.square().sum().backward()

    assert torch.allclose(outputs, net(values))
    assert all(one.grad is not None and one.grad.abs().sum() > 0 for one in module.parameters())


class InPlace(nn.Module):
    """A network that overwrites its logits, and trains on them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, values: Tensor) -> Tensor:
        """Shape (n, 3), of values of shape (n, 6)."""
        logits: Tensor = self.layer(values)
        return logits if self.training else logits.sigmoid_()


def test_both_graphs_give_logits_and_confident_outputs_stay_finite(tmp_path: Path) -> None:
    """A network that trains on logits itself gives them still; probabilities of exactly 0 and 1 have finite ones."""
    torch.manual_seed(0)
    net = InPlace()
    export_program(net, torch.randn(4, 6), tmp_path / "net.pt2")
    read = read_program(tmp_path / "net.pt2")
    assert read.program.outputs[0].activation == Activation(name="sigmoid")
    builder = ProgramBuilder(StoredProgram(read.program, read.weights), 0, gives_logits=True)
    module, values = builder.build(), 1e4 * torch.randn(4, 6)

    for training in (True, False):
        outputs = module.train(training)(values)
        assert torch.allclose(outputs, net.layer(values))
    assert outputs.abs().max() > 1000
    assert builder.identity != ProgramBuilder(builder.stored, 0).identity
