"""Transforms: changes of a model's form, undone when it is decoded. Each transform is one file, named after it."""

from cnet.transform.transform import TRANSFORMS, Transform

__all__ = ["TRANSFORMS", "Transform"]
