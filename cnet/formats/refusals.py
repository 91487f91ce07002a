"""Files that users mistake for checkpoints: what they are, and what to do instead."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.mapped_file import MappedFile
from cnet.formats.parsing.tar_archive import TarArchive, is_tar
from cnet.formats.parsing.weights_entry import DISTRIBUTED
from cnet.formats.parsing.zip_archive import is_zip

_HEAD = 1024  # bytes that are looked at
_LONGEST_JSON = 64 * 2**20  # bytes
_SHARD_NAME = re.compile(r"-(\d{5})-of-(\d{5})\.\w+$")

_OTHER_FORMATS = (  # first bytes, what the file is, what to do
    (b"\x89HDF\r\n\x1a\n", "a Keras/HDF5 file", "Save the weights as npz or safetensors."),
    (b"GGUF", "a GGUF file", "Upload the checkpoint that it was made from."),
    (b"\x93NUMPY", "a single NumPy array", "Save all arrays by name with numpy.savez."),
    (b"\x1f\x8b", "a gzip file", "Unpack it first."),
    (b"BZh", "a bzip2 file", "Unpack it first."),
    (b"\xfd7zXZ\x00", "an xz file", "Unpack it first."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z file", "Unpack it first."),
    (b"Rar!", "a rar file", "Unpack it first."),
    (b"%PDF", "a PDF document", "Upload the checkpoint itself."),
)


def refuse_other_files(file: MappedFile) -> None:
    """Refuse a file that no format recognizes, where its first bytes tell what it is. Pass all others.

    Raises:
        CheckpointError: ``lfs_pointer``, ``html_page``, ``missing_shard``, ``not_a_state_dict``, ``corrupt``.
    """
    if is_zip(file):
        return
    head = file.head(_HEAD)
    _refuse_text(head)
    if head.lstrip()[:1] == b"{":
        _refuse_json(file)
    if is_tar(file):
        if head.startswith((b"sys_info\0", b"pickle\0", b"storages\0", b"tensors\0")):
            raise CheckpointError(
                "this file is of the tar format of PyTorch before 0.2. Load it with PyTorch and save the state_dict "
                "again.",
                code="not_a_state_dict",
            )
        TarArchive(file)  # raises where it is damaged or unsafe
        raise CheckpointError(
            "this file is a tar archive, such as a .nemo file. Unpack it and name the checkpoint in it.",
            code="not_a_state_dict",
        )
    for magic, what, remedy in _OTHER_FORMATS:
        if head.startswith(magic):
            raise CheckpointError(f"this file is {what}, not a checkpoint. {remedy}", code="not_a_state_dict")


def refuse_lone_shard(filename: str) -> None:
    """Refuse one shard of a checkpoint in several files, by its name (``model-00001-of-00003.safetensors``).

    The content of a shard is a sound checkpoint; only its name tells that most of the network is missing.

    Raises:
        CheckpointError: ``missing_shard``.
    """
    if filename.endswith(".distcp") or filename == ".metadata":
        raise CheckpointError(
            f"this file is a part of a distributed checkpoint and not the whole. To have it whole, {DISTRIBUTED}. "
            "Name that file.",
            code="missing_shard",
        )
    found = _SHARD_NAME.search(filename)
    if found and int(found[2]) > 1:
        raise CheckpointError(
            f"this file is shard {int(found[1])} of {int(found[2])}. Put all shards and their index into one zip or "
            "tar.",
            code="missing_shard",
        )


def _refuse_text(head: bytes) -> None:
    if head.startswith(b"version https://git-lfs"):
        raise CheckpointError(
            "this file is a Git LFS pointer, not the file it points to. Run `git lfs pull` and use the real file.",
            code="lfs_pointer",
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        raise CheckpointError(
            "this file is a web page: the download answered with HTML, not with the checkpoint. "
            "Download the checkpoint itself.",
            code="html_page",
        )


def _refuse_json(file: MappedFile) -> NoReturn:
    try:
        document = json.loads(file.head(_LONGEST_JSON))
    except (ValueError, RecursionError) as error:
        raise damaged("the file", "it begins as JSON and is not JSON") from error
    shards = document.get("weight_map") if isinstance(document, dict) else None
    if isinstance(shards, dict):
        count = len({str(shard) for shard in shards.values()})
        raise CheckpointError(
            f"this file is the index of a checkpoint in {count} {'shard' if count == 1 else 'shards'} and holds no "
            "weights. Put it into one zip or tar with all shards.",
            code="missing_shard",
        )
    raise CheckpointError(
        "this file is a JSON document, not a checkpoint. Use the file with the weights.", code="not_a_state_dict"
    )
