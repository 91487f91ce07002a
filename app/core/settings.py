"""Every setting of the service: the one place where the environment is read.

Each field is the variable ``CNET_<FIELD>``, such as ``CNET_DATA_DIR``.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

GIB = 2**30


class Settings(BaseSettings):
    """Settings that API, workers and the command line share."""

    model_config = SettingsConfigDict(env_prefix="CNET_", frozen=True, extra="ignore")

    data_dir: Path = Field(default=Path("data"), description="Where all state lives that is not in a server by URL.")
    database_url: str = Field(default="", description="SQLAlchemy URL; empty: SQLite in data_dir.")
    broker_url: str = Field(default="", description="Redis or Valkey; empty: the private one's socket in data_dir.")
    host: str = Field(default="127.0.0.1", description="Address that the API listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port that the API listens on.")
    max_upload_bytes: int = Field(default=64 * GIB, ge=1, description="Largest upload; beyond it 413.")
    max_json_bytes: int = Field(default=2**20, ge=1024, description="Largest JSON body; beyond it 413.")
    min_free_bytes: int = Field(default=256 * 2**20, ge=0, description="Uploads are refused (507) that leave less.")
    body_timeout_seconds: float = Field(default=60.0, gt=0, description="Longest silence within an upload.")
    box_timeout_seconds: float = Field(default=600.0, gt=0, description="Time to read one untrusted file.")
    box_memory_bytes: int = Field(default=2 * GIB, ge=2**28, description="Memory to read one, on top of its size.")
    retention_days: float = Field(default=0.0, ge=0, description="Delete objects so many days after; 0: never.")
    lease_seconds: float = Field(default=60.0, gt=0, description="A job whose lease is older lost its worker.")
    max_lost_attempts: int = Field(default=2, ge=1, description="A job that lost so many workers has failed.")
    stop_grace_seconds: float = Field(default=5.0, gt=0, description="From SIGTERM to SIGKILL of a runner.")
    reap_seconds: float = Field(default=5.0, gt=0, description="Between two rounds of the reaper.")
    republish_seconds: float = Field(default=30.0, gt=0, description="A queued job not taken is sent again.")
    threads: int = Field(default=0, ge=0, description="CPU threads of one job; 0: all that its worker may use.")
    time_limit_seconds: int = Field(default=7 * 86400, ge=1, description="Longest run of one job.")
    max_active_jobs: int = Field(default=1000, ge=1, description="Active jobs of one owner; beyond it 429.")

    @property
    def database(self) -> str:
        """SQLAlchemy URL of the database."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / 'cnet.db'}"

    @property
    def valkey_socket(self) -> Path:
        """Unix socket of the private Valkey."""
        return self.data_dir.absolute() / "valkey" / "valkey.sock"

    @property
    def broker(self) -> str:
        """Broker URL, as Celery takes it."""
        return self.broker_url or f"redis+socket://{self.valkey_socket}"

    @property
    def blobs_dir(self) -> Path:
        """Content-addressed files."""
        return self.data_dir.absolute() / "blobs"

    @property
    def jobs_dir(self) -> Path:
        """Working folders of jobs: state to resume from, logs."""
        return self.data_dir.absolute() / "jobs"

    @property
    def scratch_dir(self) -> Path:
        """Uploads under way and the box's folders; on one file system with the blobs."""
        return self.data_dir.absolute() / "scratch"

    @property
    def job_threads(self) -> int:
        """CPU threads of one job."""
        return self.threads or len(os.sched_getaffinity(0))

    def environment(self) -> dict[str, str]:
        """The environment for a child process that must see these settings."""
        own = {f"CNET_{name.upper()}": str(value) for name, value in self.model_dump().items()}
        return {**os.environ, **own, "CNET_DATA_DIR": str(self.data_dir.absolute())}
