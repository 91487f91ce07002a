"""Transforms: what is done to a net before all else, and undone when it is decoded. One transform, one file."""

from cnet.transform._base import TRANSFORMS, Transform

__all__ = ["TRANSFORMS", "Transform"]
