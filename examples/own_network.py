"""Compress a PyTorch module of your own: python examples/own_network.py [URL].

Without a URL everything runs on this machine. The server never sees the code of the network: it gets its graph.
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

import cnet


class Network(nn.Module):
    """A network that cnet does not know."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.1))
        self.classes = nn.Linear(16 * 4 * 4, 10)

    def forward(self, images):
        """Logits, shape (n, 10), of images, shape (n, 1, 8, 8)."""
        return self.classes(self.features(images).flatten(1))


def accuracy(network):
    """Percent of the last images that the network classifies rightly."""
    with torch.inference_mode():
        return (network.eval()(images[1500:]).argmax(1) == labels[1500:]).float().mean().item() * 100


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)

network = Network()
optimizer = torch.optim.Adam(network.parameters(), 0.01)
for _ in range(60):  # your own training
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(images[:1500]), labels[:1500]).backward()
    optimizer.step()
print(f"trained: {accuracy(network):.1f} %")

data = {
    "x_train": images[:1500].numpy(),
    "y_train": labels[:1500].numpy(),
    "x_test": images[1500:].numpy(),
    "y_test": labels[1500:].numpy(),
}
spec = {"prune": {"name": "magnitude", "sparsity": 0.8}, "training": {"epochs": 3}, "recover": {"epochs": 3}}
if len(sys.argv) > 1:
    with cnet.Client(sys.argv[1]) as client:
        result = client.compress(network, data, spec=spec, out="digits.cnet.npz")
else:
    result = cnet.compress(network, data, spec=spec, out="digits.cnet.npz")
print(f"compressed: {result.point['ratio']:.1f} times smaller, {accuracy(network):.1f} %")

elsewhere = Network()  # where the bundle is used
cnet.load_into(elsewhere, "digits.cnet.npz")
assert accuracy(elsewhere) == accuracy(network)
