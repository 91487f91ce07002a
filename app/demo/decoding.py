"""Decodes a bundle with NumPy alone: the ten lines of the README, run in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from app.core.launch import bound_command
from app.up.errors import StartError

TEN_LINES = """\
import json, numpy as np
z = np.load("model.npz", allow_pickle=False)
t = json.loads(bytes(z["manifest"]))["tensors"]
w = np.unpackbits(z["mask"]).astype(z["centroids"].dtype)
w[w == 1] = z["centroids"][z["labels"]]
parts, state = {"compressible": w.view(np.uint8), "other": z["other"]}, {}
for name, dtype, shape, role in zip(t["names"], t["dtypes"], t["shapes"], t["roles"]):
    kind = np.dtype(dtype if role == "other" else w.dtype)
    raw, parts[role] = np.split(parts[role], [int(np.prod(shape)) * kind.itemsize])
    state[name] = raw.view(kind).reshape(shape).astype(dtype)
"""
"""Python code that reads ``model.npz`` and makes ``state``, a dictionary from tensor names to arrays."""

_SAVE = """
import sys
assert not {"torch", "cnet"} & set(sys.modules)
np.savez("decoded.npz", **state)
"""


def decode(folder: Path) -> Path:
    """Decode ``folder/model.npz`` to ``folder/decoded.npz``.

    Returns:
        The path of the decoded file.

    Raises:
        StartError: the code failed.

    """
    done = subprocess.run(
        bound_command([sys.executable, "-I", "-c", TEN_LINES + _SAVE]),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise StartError(f"the bundle does not decode with NumPy alone: {last}. Report this.", code="demo_failed")
    return folder / "decoded.npz"
