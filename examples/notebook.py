# %% [markdown]
# # Compress a network without a server
# The cells of this file run in Jupyter and in editors that know `# %%`, and the whole file runs as a script.

# %%
from pathlib import Path

import numpy as np

import cnet
from cnet.pipeline.local.compress_file import compress_file
from cnet.spec import JobSpec

# %% A checkpoint: any safetensors, PyTorch, npz or ONNX file. Here, weights that are made up.
random = np.random.default_rng(0)
np.savez("model.npz", **{"fc1.weight": random.normal(size=(256, 64)), "fc2.weight": random.normal(size=(10, 256))})

# %% Three qualities of the default quantizer.
outcomes = {}
for quality in ("safe", "small", "smallest"):
    spec = JobSpec.parse({"checkpoint": "model.npz", "quantize": {"name": "auto", "quality": quality}})
    outcomes[quality] = compress_file(Path("model.npz"), spec, Path(f"{quality}.cnet.npz"))

# %% What they cost, and what they change.
for quality, outcome in outcomes.items():
    point = outcome.points[outcome.selected]
    print(f"{quality:>9}: {point.bytes.total:7,} bytes, {point.ratio:5.2f} times smaller, {point.snr_db:4.1f} dB")

# %% Layer by layer.
for layer in outcomes["small"].points[0].layers:
    print(f"{layer.name}: {layer.clusters} values, {layer.label_entropy:.2f} bits, {layer.snr_db:.1f} dB")

# %% A bundle is a mapping from names to arrays; `cnet.load_into(module, bundle)` loads it into PyTorch.
bundle = cnet.open_bundle("small.cnet.npz")
print({name: bundle[name].shape for name in bundle})
print("noise", np.std(bundle["fc1.weight"] - np.load("model.npz")["fc1.weight"]))
