"""Weights in a module and out again: from NumPy arrays of any element type to float32 tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import Parameter
from torch.nn.utils.parametrize import register_parametrization

from cnet import dtypes
from cnet.models.match import mismatch
from cnet.products import product_shape
from cnet.training.device import CPU, place_module
from cnet.training.networks.builder import NetworkBuilder, Shape
from cnet.weights import Selection, Tensor, Weights

Array = npt.NDArray[np.generic]


class LoadedNetwork:
    """A float32 module on a device that holds the values of one set of weights at a time.

    Tied tensors share one parameter. Where ``Weights`` hold a tensor as two factors, the factors are the module's
    parameters and the network computes with their product. Building takes longer than loading: whoever needs the values
    of several weights of one network one after the other builds it once and calls ``load`` for each.

    Args:
        builder: the network.
        weights: the weights to load first.
        device: where the module lies.
        precision: precision of the computation, ``float32`` or ``bfloat16``; it decides the order in memory.

    Raises:
        ArchitectureMismatchError: names, shapes or kinds of numbers are not the network's.
        DatasetError, SpecError: as ``NetworkBuilder.build``.

    """

    def __init__(
        self, builder: NetworkBuilder, weights: Weights, device: torch.device = CPU, precision: str = "float32"
    ) -> None:
        module = build_for(builder, weights)
        state = module.state_dict()
        _check_kinds(builder.name, weights, state)
        _tie(module, weights)
        names = {tensor.name for tensor in weights}
        self._initial = {name: value.clone() for name, value in state.items() if name not in names}
        self._compressible = weights.compressible
        self.module = place_module(module, device, precision)
        self.load(weights)

    def load(self, weights: Weights) -> None:
        """Replace all values of the module by those of ``weights``, and drop its gradients.

        Args:
            weights: weights with the names, shapes, ties and products of those that the network was built for.

        """
        state = self.module.state_dict()
        values = {tensor.name: torch.from_numpy(_as_loaded(tensor, state[tensor.name])) for tensor in weights}
        self.module.load_state_dict(self._initial | values)
        self.module.zero_grad(set_to_none=True)

    def to_weights(self, like: Weights) -> Weights:
        """The module's present values in the order, element types and roles of ``like``."""
        state = self.module.state_dict()
        return like.with_arrays({tensor.name: _as_stored(state[tensor.name], tensor.dtype) for tensor in like})

    def compressible_tensors(self) -> list[torch.Tensor]:
        """The compressible tensors in the order of w_net, any shape: parameters, and buffers that a user selected."""
        state = self.module.state_dict(keep_vars=True)
        return [state[name] for name in self._compressible]

    def compressible_parameters(self) -> dict[str, Parameter]:
        """The compressible tensors that are parameters, by name."""
        parameters = dict(self.module.named_parameters(remove_duplicate=False))
        return {name: parameters[name] for name in self._compressible if name in parameters}


def build_for(builder: NetworkBuilder, weights: Weights) -> nn.Module:
    """Build the module for ``weights`` on the CPU, factors in place of products, without loading any value.

    Raises:
        ArchitectureMismatchError, DatasetError, SpecError: as ``NetworkBuilder.build``.

    """
    module = builder.build(_shapes(weights))
    for product in weights.products:
        owner, _, attribute = product.name.rpartition(".")
        factored = _FactoredTensor(weights[product.left].shape[1])
        register_parametrization(module.get_submodule(owner), attribute, factored)
    return module


def fresh_weights(builder: NetworkBuilder, seed: int, selection: Selection) -> Weights:
    """Initial values of all tensors of a network that is trained from scratch, float32.

    Raises:
        SpecError: as ``NetworkBuilder.build``.

    """
    module = builder.build()
    builder.initialize(module, seed)
    tensors = [
        Tensor(name, str(value.dtype).removeprefix("torch."), value.detach().numpy().copy())
        for name, value in module.state_dict().items()
    ]
    return Weights.select(tensors, selection)


class _FactoredTensor(nn.Module):
    """Parametrization of a tensor as the product of ``left``, shape (m, rank), and ``right``, shape (rank, ...)."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self._rank = rank

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return (left @ right.flatten(1)).reshape(left.shape[0], *right.shape[1:])

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Factors of the right shapes; their values are loaded afterwards."""
        return weight.new_zeros(weight.shape[0], self._rank), weight.new_zeros(self._rank, *weight.shape[1:])


def _shapes(weights: Weights) -> dict[str, Shape]:
    """Shapes of the network's tensors by name, products in place of their factors."""
    shapes = {tensor.name: tensor.shape for tensor in weights}
    for product in weights.products:
        shapes[product.name] = product_shape(shapes.pop(product.left), shapes.pop(product.right))
    return shapes


def _check_kinds(network: str, weights: Weights, state: Mapping[str, torch.Tensor]) -> None:
    wrong = [
        f"{tensor.name} holds {tensor.dtype} in the checkpoint and real numbers in {network}"
        for tensor in weights
        if state[tensor.name].is_floating_point() and not dtypes.by_name(tensor.dtype).floating
    ]
    if wrong:
        raise mismatch(network, (), (), wrong)


def _tie(module: nn.Module, weights: Weights) -> None:
    """Let tied names share the parameter of the first name, so that training moves them together."""
    parameters = dict(module.named_parameters())
    for name, first in weights.copies.items():
        if name in parameters and first in parameters:
            owner, _, attribute = name.rpartition(".")
            module.get_submodule(owner).register_parameter(attribute, parameters[first])


def _as_loaded(tensor: Tensor, target: torch.Tensor) -> Array:
    """The values in the type of the module's tensor: float32 (float64 where it is that), or int64 for integers."""
    floating: npt.DTypeLike = np.float64 if target.dtype == torch.float64 else np.float32
    dtype: npt.DTypeLike = floating if target.is_floating_point() else np.int64
    with np.errstate(over="ignore"):  # a float64 value beyond float32 becomes infinity, which the loss then reports
        return tensor.values().astype(dtype)


def _as_stored(value: torch.Tensor, dtype: str) -> Array:
    """The values in the storage type of the element type ``dtype``."""
    if value.dtype in (torch.float16, torch.bfloat16):
        value = value.float()
    array = value.detach().cpu().contiguous().numpy()  # on a GPU, kernels may lie in the order channels last
    if value.is_floating_point():
        return dtypes.narrow(array, dtype)
    return array.astype(dtypes.by_name(dtype).numpy)
