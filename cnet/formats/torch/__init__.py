"""Files of ``torch.save``: reading them, without running any code of theirs, and writing them."""

from cnet.formats.torch.torch_format import Torch

__all__ = ["Torch"]
