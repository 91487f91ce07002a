"""Files of ``torch.save``: read without running any code of theirs, and written."""

from cnet.formats.torch.torch_format import Torch

__all__ = ["Torch"]
