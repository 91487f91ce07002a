"""The compact encoder: symbols entropy-coded under models of where zeros lie and which labels are near them."""

from cnet.coding.compact.encoder import Compact

__all__ = ["Compact"]
