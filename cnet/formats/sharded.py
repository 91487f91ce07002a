"""Checkpoints in several files, as Hugging Face saves them: an index and its shards, in one zip or tar archive."""

from __future__ import annotations

import json
import posixpath
import re
import tempfile
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from cnet.errors import CheckpointError
from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.parsing.archive import Archive
from cnet.formats.parsing.contents import CheckpointContents, StoredTensor, damaged
from cnet.formats.parsing.mapped_file import FilePart, Limits, MappedFile
from cnet.formats.parsing.member_files import find_beside, member_names, open_archive, open_member
from cnet.formats.parsing.quoting import quoted, quoted_list
from cnet.formats.parsing.weights_entry import choose_entry
from cnet.formats.safetensors import Safetensors
from cnet.formats.torch import Torch
from cnet.weights import Tensor

_INDEX = re.compile(r"(^|/)[^/]*\.index(\.[\w-]+)?\.json$")
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.(safetensors|bin|pt|pth)$")
_LONGEST_INDEX = 64 * 2**20  # bytes


@FORMATS.register("hf_sharded")
class HuggingFaceSharded(CheckpointFormat):
    """A zip or tar of ``model.safetensors.index.json`` (or that of ``pytorch_model.bin``) and all its shards."""

    summary: ClassVar[str] = "Hugging Face's sharded checkpoints: a zip or tar of the index and all shards."
    source: ClassVar[str] = "https://huggingface.co/docs/transformers/big_models"

    name: Literal["hf_sharded"] = "hf_sharded"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether an archive has an index or a shard among its members, whatever else it has."""
        return any(_INDEX.search(name) or _SHARD.search(name) for name in member_names(file))

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The tensors that the index lists, in its order, then those of the shards that it does not list.

        Raises:
            CheckpointError: ``missing_shard`` where the index or a shard is missing; ``ambiguous_weights`` for two
                indexes; ``corrupt`` where the index and a shard contradict each other; what reading a shard raises.
        """
        archive = open_archive(file, limits)
        if archive is None:
            raise damaged("the archive", "it cannot be read")
        index = _index(archive)
        shards: dict[str, dict[str, StoredTensor]] = {}
        tensors: dict[str, StoredTensor] = {}
        metadata: dict[str, str] = {}
        for name, shard in _weight_map(archive, index).items():
            if shard not in shards:
                contents = _read_shard(file, archive, index, shard, limits)
                shards[shard] = _tensors_of(contents, shard)
                metadata |= contents.metadata
            if name not in shards[shard]:
                raise damaged(
                    f"tensor {quoted(name)}", f"the index names shard {quoted(shard)}, which does not have it"
                )
            tensors[name] = shards[shard][name]
        for found in shards.values():
            tensors |= {name: tensor for name, tensor in found.items() if name not in tensors}
        return CheckpointContents(tensors, metadata=metadata)


def _index(archive: Archive) -> str:
    """The name of the only index of an archive."""
    found = [name for name in archive.names if _INDEX.search(name)]
    if not found:
        raise CheckpointError(
            "the archive has shards and no index. Pack model.safetensors.index.json together with all shards.",
            code="missing_shard",
        )
    if len(found) > 1:
        raise CheckpointError(
            f"the archive has several indexes: {quoted_list(found)}. Pack one checkpoint alone.",
            code="ambiguous_weights",
        )
    return found[0]


def _weight_map(archive: Archive, index: str) -> dict[str, str]:
    """The name of each tensor and that of its shard, as the index states them."""
    if archive.size(index) > _LONGEST_INDEX:
        raise CheckpointError("the index has more than 64 MiB. Save fewer tensors.", code="too_many_elements")
    try:
        document = json.loads(archive.read(index).tobytes(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise damaged(f"index {quoted(index)}", "it is not JSON, or names a tensor twice") from error
    shards = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(shards, dict) or not shards or not all(isinstance(shard, str) for shard in shards.values()):
        raise damaged(f"index {quoted(index)}", "it has no map from tensors to shards")
    missing = sorted({shard for shard in shards.values() if find_beside(archive, index, shard) is None})
    if missing:
        raise CheckpointError(
            f"the archive lacks {len(missing)} of {len(set(shards.values()))} shards: {quoted_list(missing)}. "
            "Pack all shards beside the index.",
            code="missing_shard",
        )
    return shards


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)


def _read_shard(file: MappedFile, archive: Archive, index: str, shard: str, limits: Limits) -> CheckpointContents:
    part = open_member(file, archive, find_beside(archive, index, shard) or shard)
    formats: tuple[CheckpointFormat, ...] = (Safetensors(), Torch())
    for each in formats:
        if each.recognizes(part):
            return each.read(part, limits) if each.name == "safetensors" else _read_torch(each, part, limits)
    raise damaged(f"shard {quoted(posixpath.basename(shard))}", "it is neither a safetensors nor a torch file")


def _read_torch(torch_format: CheckpointFormat, part: FilePart, limits: Limits) -> CheckpointContents:
    """Read a shard of PyTorch from a nameless copy: the readers of zip archives and pickles need a file."""
    with tempfile.TemporaryDirectory(prefix="shard-") as folder:
        copy = Path(folder) / "shard"
        copy.write_bytes(part.view)
        return torch_format.read(MappedFile.open(copy), limits)


def _tensors_of(contents: CheckpointContents, shard: str) -> dict[str, StoredTensor]:
    entry, _ = choose_entry(contents.root, None)
    return {str(key): _TensorOfShard(tensor, shard) for key, tensor in entry.tensors.items()}


@dataclass(frozen=True, eq=False)
class _TensorOfShard(StoredTensor):
    """A tensor of one of several files, whose storages may have the same names."""

    tensor: StoredTensor
    shard: str

    @property
    def elements(self) -> int:
        return self.tensor.elements

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    @property
    def identity(self) -> Hashable | None:
        return None if self.tensor.identity is None else (self.shard, self.tensor.identity)

    def load(self, name: str) -> Tensor:
        return self.tensor.load(name)
