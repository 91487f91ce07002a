"""All tables of the database. A change here needs a migration in ``migrations/versions``; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    false,
    text,
)

from app.core.db.types import UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

ID = String(40)
OWNER = String(200)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ID, primary_key=True),
    Column("owner", OWNER, nullable=False),
    Column("scopes", JSON, nullable=False),
    # SHA-256 of the key: it has 256 random bits, so no slow hash is needed
    Column("digest", String(64), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
)


def _uploads(name: str) -> Table:
    """The table of one kind of uploaded file: what was sent, what it contains, and where its canonical form is."""
    return Table(
        name,
        metadata,
        Column("id", ID, primary_key=True),
        Column("owner", OWNER, nullable=False),
        Column("filename", String(255)),
        Column("sha256", String(64), nullable=False),  # of the uploaded file
        Column("size_bytes", BigInteger, nullable=False),  # of the uploaded file
        Column("manifest", JSON, nullable=False),
        Column("options", JSON),  # of the request, as the file was read with them; null: of an earlier release
        Column("blob", String(64), nullable=False),  # the canonical form, safetensors
        Column("created_at", UtcDateTime, nullable=False),
        Column("expires_at", UtcDateTime),
        Column("deleted_at", UtcDateTime),
        Index(None, "owner", "id"),
        Index(None, "owner", "sha256"),
    )


checkpoints = _uploads("checkpoints")
datasets = _uploads("datasets")
programs = _uploads("programs")

studies = Table(
    "studies",
    metadata,
    Column("id", ID, primary_key=True),
    Column("owner", OWNER, nullable=False),
    Column("name", String(200)),
    Column("labels", JSON, nullable=False),
    Column("spec", JSON, nullable=False),  # as the user wrote it
    Column("grid", JSON, nullable=False),  # values by path, in the order of the axes
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("deleted_at", UtcDateTime),
    Index(None, "owner", "id"),
)

uploads = Table(
    "uploads",
    metadata,
    Column("id", ID, primary_key=True),
    Column("owner", OWNER, nullable=False),
    Column("filename", String(255)),
    Column("purpose", String(20)),
    Column("upload_metadata", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("received_bytes", BigInteger, nullable=False),
    Column("sha256", String(64)),
    Column("writer", String(40)),
    Column("interrupted", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("active_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    Index(None, "owner", "id"),
)

upload_parts = Table(
    "upload_parts",
    metadata,
    Column("upload_id", ID, ForeignKey("uploads.id"), primary_key=True),
    Column("start", BigInteger, primary_key=True),  # offset of the first byte
    Column("stop", BigInteger, nullable=False),
    Column("name", String(80), nullable=False),  # of the object that has the bytes
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", ID, primary_key=True),
    Column("owner", OWNER, nullable=False),
    Column("name", String(200)),
    Column("labels", JSON, nullable=False),
    Column("status", String(20), nullable=False),
    Column("phase", String(40)),
    Column("progress", Float, nullable=False, default=0.0),
    Column("spec", JSON, nullable=False),
    Column("checkpoint_id", ID, ForeignKey("checkpoints.id")),
    Column("dataset_id", ID, ForeignKey("datasets.id")),
    Column("program_id", ID, ForeignKey("programs.id")),
    Column("calibration_id", ID, ForeignKey("datasets.id")),
    Column("time_limit", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("queued_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    Column("deleted_at", UtcDateTime),
    Column("attempt", Integer, nullable=False, default=0),
    Column("lost_attempts", Integer, nullable=False, default=0),
    Column("lost_progress", Float, nullable=False, default=0.0),
    Column("ran_seconds", Float, nullable=False, default=0.0),  # of attempts that were lost
    Column("lease_until", UtcDateTime),
    Column("worker", String(200)),
    Column("cancel_requested", Boolean, nullable=False, default=False, server_default=false()),
    Column("error_code", String(64)),
    Column("error_detail", Text),
    Column("baseline", JSON),
    Column("selected", Integer),
    Column("versions", JSON),
    Column("event_seq", Integer, nullable=False, default=0),
    Column("study_id", ID, ForeignKey("studies.id")),
    Column("study_index", Integer),  # place in the grid of the study; null: none, or a retry has taken the place
    Column("queue", String(40), nullable=False, default="cpu", server_default=text("'cpu'")),
    Column("memory", BigInteger, nullable=False, default=0, server_default=text("0")),  # bytes that it needs
    Column("turn", BigInteger, nullable=False, default=0, server_default=text("0")),  # see app.core.jobs.waiting
    Column("origin", JSON),  # see app.core.telemetry.origin; null: of an earlier release
    Index(None, "owner", "id"),
    Index(None, "status", "queue", "turn", "id", "deleted_at"),
    Index(None, "study_id", "study_index"),
)

shared_trainings = Table(
    "shared_trainings",
    metadata,
    Column("study_id", ID, ForeignKey("studies.id"), primary_key=True),
    Column("key", String(140), primary_key=True),  # digest of everything that decides the weights
    Column("job_id", ID, ForeignKey("jobs.id"), nullable=False),  # that trains, in this attempt
    Column("attempt", Integer, nullable=False),
    Column("blob", String(64)),  # the weights; null while they are trained
    Column("created_at", UtcDateTime, nullable=False),
)

points = Table(
    "points",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("data", JSON, nullable=False),
    Column("layers", JSON, nullable=False),
    Column("histogram", JSON),
    Column("blob", String(64), nullable=False),  # the bundle
)

events = Table(
    "events",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("type", String(20), nullable=False),
    Column("data", JSON, nullable=False),
)

job_logs = Table(
    "job_logs",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("start", BigInteger, primary_key=True),  # of the chunk, in bytes from the beginning of the job's log
    Column("stop", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("attempt", Integer),  # that wrote it; null: not an attempt
    Column("sent", BigInteger),  # bytes of the attempt's log up to the end of this chunk or of those sent with it
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("job_id", ID, ForeignKey("jobs.id"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "job_id"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", ID, primary_key=True),
    Column("job_id", ID, ForeignKey("jobs.id"), nullable=False),
    Column("url", Text, nullable=False),
    Column("host", String(255), nullable=False),  # of the URL
    Column("type", String(40), nullable=False),
    Column("body", Text, nullable=False),  # what is sent and signed
    Column("state", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("next_at", UtcDateTime),  # null: it is not sent again
    Column("last_at", UtcDateTime),
    Column("response_status", Integer),
    Column("error", Text),
    Index(None, "job_id"),
    Index(None, "state", "next_at"),
)

webhook_secrets = Table(
    "webhook_secrets",
    metadata,
    Column("owner", OWNER, primary_key=True),
    Column("secret", String(100), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("previous", String(100)),
    Column("previous_until", UtcDateTime),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("owner", OWNER, primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),  # of method, path, query and body
    Column("created_at", UtcDateTime, nullable=False),
    Column("status", Integer),  # null while the first request is in flight
    Column("headers", JSON),
    Column("body", Text),
    Column("alive_at", UtcDateTime),  # when the server that answers the first request last said that it does
)

workers = Table(
    "workers",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("started_at", UtcDateTime, nullable=False),
    Column("last_seen", UtcDateTime, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("host", String(255), nullable=False, server_default=text("''")),
    Column("queues", JSON, nullable=False, server_default=text("'[]'")),
    Column("gpus", JSON, nullable=False, server_default=text("'[]'")),  # name and memory_bytes of each
    Column("memory_bytes", BigInteger, nullable=False, server_default=text("0")),
)
