"""How to use a downloaded bundle: short programs for PyTorch, ONNX Runtime and NumPy, to copy."""

from __future__ import annotations

_TORCH = """\
import cnet
import torch

bundle = cnet.open_bundle("{file}")
bundle.verify()                      # raises where a byte was damaged
model = MyNetwork()                  # your own class
model.load_state_dict(bundle.state_dict())
model.eval()
"""

_ONNX = """\
import cnet
import onnx
import onnxruntime

bundle = cnet.open_bundle("{file}")
model = onnx.load("original.onnx")   # the graph that the weights belong to
for tensor in model.graph.initializer:
    if tensor.name in bundle:
        tensor.CopyFrom(onnx.numpy_helper.from_array(bundle[tensor.name], tensor.name))
onnx.save(model, "compressed.onnx")
session = onnxruntime.InferenceSession("compressed.onnx")
"""

_NUMPY = """\
import cnet

bundle = cnet.open_bundle("{file}")
for name in bundle:                  # a mapping from names to arrays
    print(name, bundle[name].shape, bundle[name].dtype)
"""


def snippets(file: str) -> dict[str, str]:
    """A program for each library, by its name.

    Args:
        file: name of the downloaded bundle.
    """
    name = file.replace("\\", "\\\\").replace('"', '\\"')
    return {"torch": _TORCH.format(file=name), "onnx": _ONNX.format(file=name), "numpy": _NUMPY.format(file=name)}
