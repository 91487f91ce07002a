"""Help that lists the parts which are installed."""

from __future__ import annotations

import pytest

from app.cli import run


@pytest.mark.parametrize("command", ["compress", "submit"])
def test_help_lists_every_part(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that an option names beside the option, the others below."""
    monkeypatch.setenv("COLUMNS", "200")

    assert run([command, "--help"]) == 0

    words = capsys.readouterr().out
    for name in ("smallify", "huffman", "vgg16_cifar", "digits", "lamp", "ecsq", "low_rank", "--set", "safetensors"):
        assert name in words


def test_help_of_unpack_lists_the_suffixes_of_all_formats(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of plug-ins too, since they are looked up in the registry."""
    monkeypatch.setenv("COLUMNS", "200")

    assert run(["unpack", "--help"]) == 0

    assert "One of: .npz .onnx .pt .pth .safetensors." in capsys.readouterr().out
