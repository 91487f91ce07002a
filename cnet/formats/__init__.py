"""Readers of untrusted checkpoint files: one file for each format (``FORMATS``). Reading runs no code of a file."""

from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat, writable_formats
from cnet.formats.checkpoint_reader import Checkpoint, read_checkpoint
from cnet.formats.checkpoint_writer import format_by_suffix, write_checkpoint
from cnet.formats.npz import is_bundle
from cnet.formats.parsing.contents import CheckpointContents, Notice, StoredArray, StoredTensor
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.refusals import refuse_lone_shard
from cnet.formats.writing import TensorDescription, TensorsToWrite

__all__ = [
    "FORMATS",
    "Checkpoint",
    "CheckpointContents",
    "CheckpointFormat",
    "Limits",
    "MappedFile",
    "Notice",
    "StoredArray",
    "StoredTensor",
    "TensorDescription",
    "TensorsToWrite",
    "format_by_suffix",
    "is_bundle",
    "read_checkpoint",
    "refuse_lone_shard",
    "writable_formats",
    "write_checkpoint",
]
