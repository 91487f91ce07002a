"""Reading checkpoints of untrusted origin: one reader a file format, no code of the file is ever run."""

from cnet.formats.base import Checkpoint, Limits, Notice
from cnet.formats.reader import read_checkpoint

__all__ = ["Checkpoint", "Limits", "Notice", "read_checkpoint"]
