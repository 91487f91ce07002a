"""How to use a downloaded bundle: short programs for PyTorch, ONNX Runtime and NumPy, to copy."""

from __future__ import annotations

import shlex

_TORCH = """\
import cnet

model = MyNetwork()                  # your own class, the network that was compressed
cnet.open_bundle({file}).verify()    # raises where a byte was damaged
cnet.load_into(model, {file})
model.eval()
"""

_ONNX = """\
# First, in a shell; original.onnx is your own export of the network:
# cnet unpack {shell_file} -o compressed.onnx --like original.onnx
import onnxruntime

session = onnxruntime.InferenceSession("compressed.onnx")
print([(each.name, each.shape) for each in session.get_inputs()])
"""

_NUMPY = """\
import cnet

bundle = cnet.open_bundle({file})
for name in bundle:                  # a mapping from names to arrays, which are decoded when asked for
    print(name, bundle[name].shape, bundle[name].dtype)
"""


def snippets(file: str) -> dict[str, str]:
    """A program for each library, by its name.

    Args:
        file: name of the downloaded bundle.
    """
    names = {"file": _quoted(file), "shell_file": shlex.quote(file)}
    return {"torch": _TORCH.format(**names), "onnx": _ONNX.format(**names), "numpy": _NUMPY.format(**names)}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
