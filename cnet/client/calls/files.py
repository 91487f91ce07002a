"""Calls for what is uploaded: checkpoints, data sets and programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnet.client.calls.base import Calls, owned_by, path_of
from cnet.client.documents import Checkpoint, Dataset, Program, Tensor, Upload
from cnet.client.http import tus
from cnet.client.http.call import Call
from cnet.client.http.download import OnBytes, download_file
from cnet.client.http.upload import upload_file


class FileCalls(Calls):
    """Checkpoints, data sets and programs of this owner.

    Uploads raise OSError where the file cannot be read. Deleting raises ConflictError while a job needs the object.
    """

    async def upload_checkpoint(
        self,
        path: str | Path,
        *,
        weights_key: str | None = None,
        strip_prefix: bool = True,
        on_progress: OnBytes | None = None,
    ) -> Checkpoint:
        """Upload a checkpoint file.

        Args:
            path: the file.
            weights_key: the entry that holds the weights; None: the server finds it.
            strip_prefix: whether to remove a prefix that all names share, such as ``module.``.
            on_progress: called with the bytes that are sent and all bytes.
        """
        options: dict[str, Any] = {"strip_prefix": strip_prefix}
        if weights_key is not None:
            options["weights_key"] = weights_key
        return Checkpoint(await upload_file(self._transport, "/v1/checkpoints", Path(path), options, on_progress))

    async def checkpoint(self, checkpoint_id: str) -> Checkpoint:
        """The description of a checkpoint."""
        return Checkpoint(await self._get(path_of("checkpoints", checkpoint_id)))

    async def checkpoints(self, *, owner: str | None = None, limit: int = 50) -> list[Checkpoint]:
        """The newest ``limit`` checkpoints (of an owner), the newest first."""
        return [Checkpoint(each) for each in await self._list("/v1/checkpoints", owned_by(owner), limit)]

    async def tensors(self, checkpoint_id: str) -> list[Tensor]:
        """All tensors of a checkpoint, with statistics of their values."""
        document = await self._get(f"{path_of('checkpoints', checkpoint_id)}/tensors")
        return [Tensor(each) for each in document["data"]]

    async def download_checkpoint(self, checkpoint_id: str, path: str | Path) -> str:
        """Write a checkpoint as a safetensors file, completely or not at all, and return its SHA-256 in hex."""
        call = Call("GET", f"{path_of('checkpoints', checkpoint_id)}/content", timeout=300.0)
        return await download_file(self._transport, call, Path(path))

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Delete a checkpoint."""
        await self._delete(path_of("checkpoints", checkpoint_id))

    async def upload_dataset(self, path: str | Path, *, on_progress: OnBytes | None = None) -> Dataset:
        """Upload a data set file; ``on_progress`` as in ``upload_checkpoint``."""
        return Dataset(await upload_file(self._transport, "/v1/datasets", Path(path), {}, on_progress))

    async def dataset(self, dataset_id: str) -> Dataset:
        """The description of a data set."""
        return Dataset(await self._get(path_of("datasets", dataset_id)))

    async def datasets(self, *, owner: str | None = None, limit: int = 50) -> list[Dataset]:
        """The newest ``limit`` data sets, the newest first, without those that are built in."""
        return [Dataset(each) for each in await self._list("/v1/datasets", owned_by(owner), limit)]

    async def delete_dataset(self, dataset_id: str) -> None:
        """Delete a data set."""
        await self._delete(path_of("datasets", dataset_id))

    async def upload_program(self, path: str | Path, *, on_progress: OnBytes | None = None) -> Program:
        """Upload a ``torch.export`` archive; ``on_progress`` as in ``upload_checkpoint``."""
        return Program(await upload_file(self._transport, "/v1/programs", Path(path), {}, on_progress))

    async def program(self, program_id: str) -> Program:
        """The description of a program."""
        return Program(await self._get(path_of("programs", program_id)))

    async def programs(self, *, owner: str | None = None, limit: int = 50) -> list[Program]:
        """The newest ``limit`` programs (of an owner), the newest first."""
        return [Program(each) for each in await self._list("/v1/programs", owned_by(owner), limit)]

    async def delete_program(self, program_id: str) -> None:
        """Delete a program."""
        await self._delete(path_of("programs", program_id))

    async def upload(self, upload_id: str) -> Upload:
        """A resumable upload: how many bytes of the file have arrived."""
        return Upload(await self._get(path_of("uploads", upload_id)))

    async def uploads(self, *, owner: str | None = None, limit: int = 50) -> list[Upload]:
        """The newest ``limit`` resumable uploads of which no object was made yet, the newest first."""
        return [Upload(each) for each in await self._list("/v1/uploads", owned_by(owner), limit)]

    async def delete_upload(self, upload_id: str) -> None:
        """Delete a resumable upload and its bytes; objects that were made from it stay."""
        await self._transport.send(tus.deletion(upload_id))
