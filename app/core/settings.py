"""The settings of the service. Only this module reads the environment.

Each field is read from the variable ``CNET_<FIELD>``, such as ``CNET_DATA_DIR``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

GIB = 2**30
_DATABASES = re.compile(r"(sqlite|postgres(ql)?|postgresql\+psycopg)://\S*")
_WITHOUT_DRIVER = re.compile(r"^postgres(ql)?://")
_BROKERS = re.compile(r"(rediss?|redis\+socket|sentinel)://\S+")


class Settings(BaseSettings):
    """The settings that the API, the workers and the command line share."""

    model_config = SettingsConfigDict(env_prefix="CNET_", frozen=True, extra="ignore", populate_by_name=True)

    data_dir: Path = Field(
        default=Path("data"), description="Folder for the database, stored files, job folders and the private Valkey."
    )
    database_url: str = Field(
        default="", description="SQLAlchemy URL of the database; empty: SQLite in the data folder."
    )
    broker_url: str = Field(
        default="", description="URL of Redis or Valkey; empty: a private Valkey in the data folder."
    )
    blobs_url: str = Field(
        default="",
        pattern=r"^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._/-]*)?)?$",
        description="Where files are stored: `s3://BUCKET/PREFIX`; empty: in the data folder.",
    )
    blobs_endpoint: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        validation_alias=AliasChoices("CNET_BLOBS_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        description="URL of the S3 server; empty: that of AWS.",
    )
    blobs_public_endpoint: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="URL of the S3 server for clients, in links to downloads; empty: `blobs_endpoint`.",
    )
    blobs_region: str = Field(
        default="us-east-1",
        validation_alias=AliasChoices("CNET_BLOBS_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"),
        description="Region of the bucket.",
    )
    blobs_path_style: bool = Field(
        default=True, description="Whether the bucket is in the path of S3 requests and not in the host name."
    )
    blobs_retry_seconds: float = Field(
        default=10.0, ge=0, description="Seconds for which a request to S3 that failed is repeated."
    )
    blobs_link_seconds: int = Field(
        default=0,
        ge=0,
        le=604800,
        description="Seconds for which a link to a download in S3 is valid, to which clients are redirected (302); "
        "0: the server sends the files itself.",
    )
    cache_bytes: int = Field(
        default=20 * GIB, ge=0, description="Size in bytes of the folder with copies of files that are stored in S3."
    )
    state_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Seconds between two copies of a running job's state to S3; so much work is lost with a machine.",
    )
    host: str = Field(default="127.0.0.1", description="Address on which the API listens.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port on which the API listens.")
    max_upload_bytes: int = Field(
        default=64 * GIB, ge=1, description="Largest upload in bytes; a larger one is refused (413)."
    )
    max_owner_bytes: int = Field(
        default=0,
        ge=0,
        description="Bytes that the uploads and uploaded files of one owner may take; more are refused (507). 0: any.",
    )
    max_open_uploads: int = Field(
        default=100, ge=1, description="Unfinished uploads of one owner at once; more are refused (429)."
    )
    upload_expiry_seconds: float = Field(
        default=86400.0, gt=0, description="Seconds without a new byte after which a resumable upload is removed."
    )
    max_json_bytes: int = Field(
        default=2**20, ge=1024, description="Largest JSON body in bytes; a larger one is refused (413)."
    )
    min_free_bytes: int = Field(
        default=256 * 2**20,
        ge=0,
        description="Disk space in bytes that uploads must leave free; others are refused (507).",
    )
    body_timeout_seconds: float = Field(
        default=60.0, gt=0, description="Seconds without a byte after which a request body is refused (408)."
    )
    linger_seconds: float = Field(
        default=5.0,
        ge=0,
        description="Seconds without a byte for which the rest of a refused request's body is awaited and dropped.",
    )
    box_timeout_seconds: float = Field(
        default=600.0, gt=0, description="Seconds of processor time for reading one uploaded file."
    )
    box_memory_bytes: int = Field(
        default=2 * GIB,
        ge=2**28,
        description="Bytes of memory for reading one uploaded file, in addition to a multiple of its size.",
    )
    retention_days: float = Field(
        default=0.0, ge=0, description="Days after which checkpoints, data sets and jobs are deleted; 0: never."
    )
    lease_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds after which a job's worker counts as lost if it does not renew its lease.",
    )
    max_lost_attempts: int = Field(
        default=2, ge=1, description="Number of workers lost in a row, without progress, after which a job fails."
    )
    stop_grace_seconds: float = Field(
        default=5.0, gt=0, description="Seconds between SIGTERM and SIGKILL when a run is stopped."
    )
    reap_seconds: float = Field(
        default=5.0, gt=0, description="Seconds between two searches for lost jobs, unsent messages and waiting jobs."
    )
    queues: str = Field(
        default="",
        pattern=r"^([a-z][a-z0-9-]{0,30}(,[a-z][a-z0-9-]{0,30})*)?$",
        description="Queues whose jobs a worker takes, in order of preference, such as `gpu,cpu`; empty: these two "
        "with a GPU, otherwise `cpu`. With `cpu` alone it uses no GPU.",
    )
    threads: int = Field(default=0, ge=0, description="CPU threads of one job; 0: as many as its worker may use.")
    time_limit_seconds: int = Field(default=7 * 86400, ge=1, description="Longest running time of one job, in seconds.")
    program_memory_bytes: int = Field(
        default=0, ge=0, description="Memory of a job that runs a user's program, in bytes; 0: that of the machine."
    )
    max_active_jobs: int = Field(
        default=1000, ge=1, description="Jobs of one owner that have not ended; more are refused (429)."
    )

    auth_cache_seconds: float = Field(
        default=2.0,
        ge=0,
        le=300,
        description="Seconds for which the check of an API key is remembered; a key that is revoked works that long.",
    )
    log_format: Literal["auto", "json", "text"] = Field(
        default="auto", description="Format of the log: `json`, `text`, or `auto`: text on a terminal, otherwise JSON."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe lines of the log that are written."
    )
    otlp_endpoint: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        validation_alias=AliasChoices("CNET_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="URL of the OpenTelemetry collector that traces are sent to by HTTP; empty: no traces are sent. "
        "`OTEL_EXPORTER_OTLP_ENDPOINT` is read as well.",
    )
    traceparent: str = Field(
        default="", description="Parent of the spans of this process, as W3C `traceparent`; the service sets it."
    )
    log_descriptor: int = Field(
        default=2,
        ge=1,
        description="File descriptor that the log is written to; 2: standard error. The service sets it.",
    )
    max_study_jobs: int = Field(default=1000, ge=1, description="Jobs of one study; a larger one is refused (422).")

    requests_per_minute: int = Field(
        default=0,
        ge=0,
        description="Requests of one API key in a minute, over all API processes; more are refused (429). Parts of "
        "uploads do not count, a stream of events counts once. 0: any number.",
    )
    address_requests_per_minute: int = Field(
        default=0,
        ge=0,
        description="Requests without a valid key, and logins, of one address in a minute; more are refused (429). "
        "0: any number.",
    )
    webhook_attempts: int = Field(
        default=10,
        ge=1,
        le=100,
        description="Number of attempts to send a message to a webhook, after which it counts as failed.",
    )
    webhook_retry_seconds: float = Field(
        default=5.0,
        gt=0,
        description="Longest pause in seconds before a message to a webhook is sent again; it is four times as long "
        "after each attempt, up to 12 hours.",
    )
    webhook_timeout_seconds: float = Field(
        default=10.0, gt=0, description="Seconds in which the receiver of a webhook must answer."
    )
    webhook_send: bool = Field(
        default=True,
        description="Whether the workers of this machine send the messages to webhooks; false where the receivers "
        "cannot be reached from. At least one machine must send them.",
    )
    webhook_allow_private: bool = Field(
        default=False, description="Whether webhooks may go to addresses that are not public, and use http."
    )

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: str) -> str:
        if url and not _DATABASES.fullmatch(url):
            raise ValueError("it must be the URL of a database, such as postgresql://USER:PASSWORD@HOST/NAME")
        return _WITHOUT_DRIVER.sub("postgresql+psycopg://", url)  # the driver that the extra ``server`` installs

    @field_validator("broker_url")
    @classmethod
    def _check_broker_url(cls, url: str) -> str:
        if url and not _BROKERS.fullmatch(url):
            raise ValueError("it must be the URL of Redis or Valkey, such as redis://:PASSWORD@HOST:6379/0")
        return url

    @field_validator("log_descriptor")
    @classmethod
    def _check_log_descriptor(cls, descriptor: int) -> int:
        try:
            os.fstat(descriptor)
        except OSError:
            raise ValueError("it must be a file descriptor that is open in this process") from None
        return descriptor

    @property
    def database(self) -> str:
        """SQLAlchemy URL of the database."""
        return self.database_url or f"sqlite:///{self.database_file}"

    @property
    def database_file(self) -> Path:
        """The file of the database where no other is named."""
        return self.data_dir.absolute() / "cnet.db"

    @property
    def valkey_socket(self) -> Path:
        """Path of the Unix socket of the private Valkey."""
        return self.data_dir.absolute() / "valkey" / "valkey.sock"

    @property
    def broker(self) -> str:
        """URL of the broker, in the form that Celery expects."""
        return self.broker_url or f"redis+socket://{self.valkey_socket}"

    @property
    def uploads_dir(self) -> Path:
        """Folder with the bytes of resumable uploads, unless they are in S3."""
        return self.data_dir.absolute() / "uploads"

    @property
    def jobs_dir(self) -> Path:
        """Folder with the working folders of all jobs, which hold logs and the state to resume from."""
        return self.data_dir.absolute() / "jobs"

    @property
    def scratch_dir(self) -> Path:
        """Folder for temporary files of requests."""
        return self.data_dir.absolute() / "scratch"

    @property
    def visible_gpus(self) -> str | None:
        """The value of ``CUDA_VISIBLE_DEVICES``; None where it is not set."""
        return os.environ.get("CUDA_VISIBLE_DEVICES")

    @property
    def queue_names(self) -> tuple[str, ...]:
        """The queues whose jobs a worker takes, in order of preference; empty: as its machine says."""
        return tuple(self.queues.split(",")) if self.queues else ()

    @property
    def job_threads(self) -> int:
        """Number of CPU threads of one job."""
        return self.threads or len(os.sched_getaffinity(0))

    def environment(self) -> dict[str, str]:
        """The environment variables for a child process that must have the same settings."""
        own = {f"CNET_{name.upper()}": str(value) for name, value in self.model_dump().items()}
        return {**os.environ, **own, "CNET_DATA_DIR": str(self.data_dir.absolute())}
