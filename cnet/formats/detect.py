"""What kind of file it is, by its first bytes; a file name says nothing."""

from __future__ import annotations

import json
from typing import NoReturn

from cnet.errors import CheckpointError
from cnet.formats.base import Source
from cnet.formats.onnx.reader import is_onnx

_HEAD = 1024
_MAX_JSON = 64 * 2**20
_MAX_SAFETENSORS_HEADER = 100_000_000

_FOREIGN = (  # formats that users mistake for ours: first bytes, what it is, what to do
    (b"\x89HDF\r\n\x1a\n", "a Keras/HDF5 file", "save the weights as npz or safetensors"),
    (b"GGUF", "a GGUF file", "upload the checkpoint that it was made from"),
    (b"\x93NUMPY", "a single NumPy array", "save all arrays by name with numpy.savez"),
    (b"\x1f\x8b", "a gzip file", "unpack it first"),
    (b"BZh", "a bzip2 file", "unpack it first"),
    (b"\xfd7zXZ\x00", "an xz file", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z file", "unpack it first"),
    (b"Rar!", "a rar file", "unpack it first"),
    (b"%PDF", "a PDF document", "upload the checkpoint itself"),
)


def detect(source: Source) -> str:
    """``safetensors``, ``zip``, ``onnx`` or ``pickle``. What is none is tried as a pickle, whose reader refuses it.

    Raises:
        CheckpointError: ``lfs_pointer``, ``html_page``, ``missing_shard``, ``not_a_state_dict``, ``truncated``.
    """
    head = bytes(source.mapped[:_HEAD])
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if _is_safetensors(head, source.size):
        return "safetensors"
    _refuse_text(head)
    if head.lstrip()[:1] == b"{":
        _refuse_json(source)
    if head[257:262] == b"ustar" or _is_old_tar(head):
        raise CheckpointError(
            "this is the tar format of PyTorch before 0.2: load it with PyTorch and save the state_dict again",
            code="not_a_state_dict",
        )
    for magic, what, remedy in _FOREIGN:
        if head.startswith(magic):
            raise CheckpointError(f"this is {what}, not a checkpoint: {remedy}", code="not_a_state_dict")
    return "onnx" if is_onnx(source) else "pickle"


def _is_safetensors(head: bytes, size: int) -> bool:
    length = int.from_bytes(head[:8], "little")
    if len(head) < 9 or head[8:9] != b"{" or length > _MAX_SAFETENSORS_HEADER:
        return False
    if length > size - 8:
        raise CheckpointError(
            "the safetensors header is longer than the file: it was cut off; upload it again", code="truncated"
        )
    return True


def _refuse_text(head: bytes) -> None:
    if head.startswith(b"version https://git-lfs"):
        raise CheckpointError(
            "this is a Git LFS pointer, not the file it points to: run `git lfs pull` and upload the real file",
            code="lfs_pointer",
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        raise CheckpointError(
            "this is a web page, not a checkpoint: the download answered with HTML; download the file itself",
            code="html_page",
        )


def _refuse_json(source: Source) -> NoReturn:
    try:
        document = json.loads(bytes(source.mapped[:_MAX_JSON]))
    except (ValueError, RecursionError) as error:
        raise CheckpointError("the file looks like JSON, not like a checkpoint", code="corrupt") from error
    shards = document.get("weight_map") if isinstance(document, dict) else None
    if isinstance(shards, dict):
        count = len({str(shard) for shard in shards.values()})
        raise CheckpointError(
            f"this is the index of a checkpoint in {count} {'shard' if count == 1 else 'shards'}, without any: "
            "join them in one file",
            code="missing_shard",
        )
    raise CheckpointError(
        "this is a JSON document, not a checkpoint: upload the file with the weights", code="not_a_state_dict"
    )


def _is_old_tar(head: bytes) -> bool:
    """A tar header without the later ``ustar`` mark: a name, then octal fields with a checksum at 148."""
    if len(head) < 512 or not head[:1].isalpha() or not head[100:107].strip(b" \0").isdigit():
        return False
    total = sum(head[:148]) + 8 * ord(" ") + sum(head[156:512])
    stated = head[148:156].strip(b" \0")
    return stated.isdigit() and all(digit in b"01234567" for digit in stated) and int(stated, 8) == total
