"""Compress a module on a server, from its exported files to the weights that are loaded back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cnet.client.errors import ClientError
from cnet.pipeline.local.compress_module import CompressedModule, ExportedJob, load_bundle

if TYPE_CHECKING:
    from torch import nn

    from cnet.client.client import Client


def compress_module(
    client: Client, module: nn.Module, job: ExportedJob, out: Path | None, timeout: float | None
) -> CompressedModule:
    """Upload the files of a job, submit it, wait for its end, and load its selected point into the module.

    Args:
        client: of the server.
        module: the module that was exported.
        job: its files.
        out: where to write the bundle; None: it is not kept.
        timeout: how many seconds to wait; None: until the job has ended.

    Raises:
        ClientError: the job did not succeed.
        WaitTimeoutError: it has not ended in time. It goes on.
        OSError: a file cannot be written.
    """
    spec = {
        **job.spec,
        "architecture": {**job.spec["architecture"], "program": client.upload_program(job.program)["id"]},
    }
    if spec["dataset"] is not None and Path(spec["dataset"]).is_file():
        spec["dataset"] = client.upload_dataset(Path(spec["dataset"]))["id"]
    submitted = client.wait(client.submit(spec)["id"], timeout=timeout)
    if submitted["status"] != "succeeded":
        error = submitted["error"] or {"code": submitted["status"], "detail": "it was ended before it was done."}
        raise ClientError(
            f"job {submitted['id']} has {submitted['status'].replace('_', ' ')}: {error['detail'].rstrip('.')}. "
            "Read its log with Client.logs.",
            code=error["code"],
        )
    bundle = out or job.folder / "bundle.npz"
    client.download(submitted["id"], bundle)
    load_bundle(module, bundle)
    return CompressedModule(client.results(submitted["id"]), out, job.warnings)
