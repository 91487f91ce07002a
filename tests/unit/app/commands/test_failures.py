"""From exceptions to sentences and exit codes."""

from __future__ import annotations

import pytest
import typer
from pydantic import ValidationError

from app.commands.failures import describe
from app.core.errors import NotFoundError
from app.core.settings import Settings
from cnet.client import ApiError, UnreachableError, WaitTimeoutError
from cnet.errors import BundleError, Issue, SpecError, StoppedError


@pytest.mark.parametrize(
    ("error", "exit_code", "code"),
    [
        (typer.BadParameter("no such thing"), 2, "usage"),
        (typer.Abort(), 3, "cancelled"),
        (StoppedError(), 3, "stopped"),
        (WaitTimeoutError("late"), 4, "wait_timeout"),
        (BundleError("damaged"), 1, "bundle_damaged"),
        (SpecError("wrong"), 2, "invalid_spec"),
        (UnreachableError("away"), 1, "unreachable"),
        (ApiError(404, {"code": "not_found", "detail": "no such job"}), 1, "not_found"),
        (ApiError(422, {"code": "invalid_spec", "detail": "sparsity"}), 2, "invalid_spec"),
        (NotFoundError("no such key"), 1, "not_found"),
        (FileNotFoundError(2, "No such file or directory", "x"), 1, "file_error"),
        (KeyError("x"), 1, "defect"),
    ],
)
def test_every_error_has_its_exit_code(error: Exception, exit_code: int, code: str) -> None:
    """And a code that a program can rely on; the document is a problem."""
    failure = describe(error)

    assert (failure.exit_code, failure.code) == (exit_code, code)
    assert failure.document()["detail"] == failure.detail


@pytest.mark.parametrize(
    ("module", "extra"),
    [("torch", "train"), ("sklearn.datasets", "train"), ("celery", "server"), ("fastapi", "server")],
)
def test_a_missing_package_is_named_with_its_extra(module: str, extra: str) -> None:
    """The message has the pip command that installs it."""
    failure = describe(ModuleNotFoundError(f"No module named {module!r}", name=module))

    assert (failure.exit_code, failure.code) == (1, "not_installed")
    assert f"pip install 'cnet[{extra}]'" in failure.detail


def test_issues_of_a_specification_are_listed() -> None:
    """Each with its place."""
    failure = describe(SpecError("wrong", issues=[Issue(("prune", "sparsity"), "too large")]))

    assert failure.document()["errors"] == [{"loc": ["prune", "sparsity"], "msg": "too large"}]


def test_an_invalid_setting_is_named_as_its_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names CNET_PORT and says what is wrong with its value."""
    monkeypatch.setenv("CNET_PORT", "many")
    with pytest.raises(ValidationError) as caught:
        Settings()

    failure = describe(caught.value)

    assert failure.exit_code == 2
    assert failure.detail.startswith("environment: CNET_PORT: Input should be a valid integer")
    assert "not 'many'. Correct the variable." in failure.detail


@pytest.mark.parametrize("variable", ["CNET_DATABASE_URL", "CNET_BROKER_URL"])
@pytest.mark.parametrize("url", ["nonsense", "nosuch://host/name"])
def test_an_address_of_no_known_server_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, url: str) -> None:
    """With an example of one that is."""
    monkeypatch.setenv(variable, url)
    with pytest.raises(ValidationError) as caught:
        Settings()

    assert describe(caught.value).detail.startswith(f"environment: {variable}: it must be the URL of ")
    assert describe(caught.value).detail.endswith(f", not {url!r}. Correct the variable.")


@pytest.mark.parametrize("variable", ["CNET_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"])
def test_a_setting_with_two_variables_is_named_by_both(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """The error does not tell which of the two was set."""
    monkeypatch.setenv(variable, "collector")
    with pytest.raises(ValidationError) as caught:
        Settings()

    assert "environment: CNET_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT: " in describe(caught.value).detail


def test_an_invalid_address_with_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message goes to terminals and logs."""
    monkeypatch.setenv("CNET_BLOBS_ENDPOINT", "ann:secret@s3.example")
    with pytest.raises(ValidationError) as caught:
        Settings()

    assert "secret" not in describe(caught.value).detail
