"""The call that compresses a module of the user's on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnet.client.calls.files import FileCalls
from cnet.client.calls.jobs import JobCalls

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cnet.pipeline.local.compress_module import CompressedModule, ExportedJob
    from cnet.pipeline.local.data_files import Arrays, Data


class ModuleCalls(FileCalls, JobCalls):
    """Compression of a module, from its export to the weights that are loaded back."""

    async def compress(  # noqa: PLR0913 - as cnet.compress
        self,
        module: nn.Module,
        data: Data | None = None,
        *,
        inputs: Arrays | None = None,
        spec: Mapping[str, Any] | None = None,
        task: str | Mapping[str, Any] = "classification",
        output: int | str | None = None,
        example_inputs: Sequence[Tensor] | Tensor | None = None,
        out: str | Path | None = None,
        timeout: float | None = None,
    ) -> CompressedModule:
        """Compress a module on the server and load the result into it: export, upload, submit, wait, download.

        The arguments are those of ``cnet.compress`` (``example_inputs``: tensors of any shape whose first axis counts
        samples); ``timeout`` is how many seconds to wait for the job. Imports PyTorch.

        Raises:
            ProgramError: the module cannot be exported.
            DatasetError: the data do not fit the module; nothing is uploaded then.
            JobFailedError: the job did not succeed, with its code and its words.
            WaitTimeoutError: it has not ended in time. It goes on.
            OSError: a file cannot be written.
        """
        from cnet.pipeline.local.compress_module import check_writable, exported_job

        check_writable(out)
        exported = exported_job(
            module, data, inputs, spec or {}, task=task, output=output, example_inputs=example_inputs
        )
        job = await self._transport.work(exported.__enter__)
        try:
            return await self._compress(module, job, Path(out) if out is not None else None, timeout)
        finally:
            await self._transport.work(partial(exported.__exit__, None, None, None))

    async def _compress(
        self, module: nn.Module, exported: ExportedJob, out: Path | None, timeout: float | None
    ) -> CompressedModule:
        """Upload the files of a job, submit it, wait for its end, and load its selected point into the module.

        Args:
            module: the module that was exported.
            exported: its files.
            out: where to write the bundle; None: it is not kept.
            timeout: how many seconds to wait; None: until the job has ended.
        """
        from cnet.bundle.loading import load_into
        from cnet.pipeline.local.compress_module import CompressedModule, check_dataset_fits

        await self._transport.work(partial(check_dataset_fits, exported))
        program = await self.upload_program(exported.program)
        spec = {**exported.spec, "architecture": {**exported.spec["architecture"], "program": program["id"]}}
        if spec["dataset"] is not None and Path(spec["dataset"]).is_file():
            spec["dataset"] = (await self.upload_dataset(spec["dataset"]))["id"]
        calibrate = spec.get("calibrate") or {}
        if calibrate.get("inputs") is not None and Path(calibrate["inputs"]).is_file():
            stored = await self.upload_dataset(calibrate["inputs"])
            spec["calibrate"] = {**calibrate, "inputs": stored["id"]}
        job = (await (await self.submit(spec)).wait(timeout=timeout)).check()
        bundle = out or exported.folder / "bundle.npz"
        await job.download(bundle)
        await self._transport.work(partial(load_into, module, bundle))
        return CompressedModule.of(await job.results(), out, exported.warnings)
