"""What ``cnet doctor`` finds about the service of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.commands.service_findings import data_folder, service_findings
from app.console.health import Finding, State
from app.core.db.engine import Database
from app.core.settings import Settings
from tests.databases import add_tables


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The settings are those of a test alone, in a data folder of its own."""
    monkeypatch.setenv("CNET_DATA_DIR", str(tmp_path))


def found(data: Path | None = None) -> dict[str, Finding]:
    """All findings by name."""
    return {each.name: each for each in service_findings(data)}


def test_where_no_service_is_set_up_only_the_settings_are_checked() -> None:
    """Most users of the command run no server."""
    assert {name: each.state for name, each in found().items()} == {"settings": State.OK}


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("CNET_DATABASE_URL", "mysql://host/name", "the URL of a database"),
        ("CNET_BROKER_URL", "amqp://host", "the URL of Redis or Valkey"),
        ("CNET_LOG_DESCRIPTOR", "987654", "a file descriptor that is open"),
        ("CNET_LEASE_SECONDS", "soon", "a valid number"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    """It would end every process of the service."""
    monkeypatch.setenv(variable, value)

    [finding] = found().values()

    assert finding.state is State.PROBLEM
    assert variable in finding.detail
    assert words in finding.detail
    assert finding.remedy == "Correct the variable."


def test_a_database_and_a_broker_that_do_not_answer_are_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are in the data folder, which answers."""
    monkeypatch.setenv("CNET_DATABASE_URL", "postgresql://u:secret@127.0.0.1:9/x")
    monkeypatch.setenv("CNET_BROKER_URL", "redis://127.0.0.1:9/0")

    rows = found()

    assert {name for name, each in rows.items() if each.state is State.PROBLEM} == {"database", "broker"}
    assert all(rows[name].remedy for name in ("database", "broker"))
    assert not any("secret" in str(each.document()) for each in rows.values())


def test_the_data_folder_of_a_service_is_checked(tmp_path: Path) -> None:
    """Its tables; the private broker runs only while the service does."""
    folder = tmp_path / "service"
    folder.mkdir()
    database = Database(Settings(data_dir=folder).database)
    add_tables(database)
    database.close()

    rows = found(folder)

    assert {name: each.state for name, each in rows.items()} == dict.fromkeys(
        ("settings", "disk", "database", "blobs"), State.OK
    )
    assert rows["database"].detail == "its tables are those of this release"


def test_the_data_folder_is_that_of_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unless another is named, and unless the settings cannot be read."""
    assert data_folder(None) == tmp_path
    assert data_folder(Path("x")) == Path("x")
    monkeypatch.setenv("CNET_PORT", "many")
    assert data_folder(None) == Path("data")


def test_a_database_may_be_named_without_its_driver() -> None:
    """As other programs write it."""
    for url in ("postgres://u@h/n", "postgresql://u@h/n", "postgresql+psycopg://u@h/n"):
        assert Settings(database_url=url).database == "postgresql+psycopg://u@h/n"
