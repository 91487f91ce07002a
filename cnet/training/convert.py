"""Between ``Weights`` (NumPy, any element type) and a module (torch, float32)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.utils.parametrize import register_parametrization

from cnet import dtypes
from cnet.models import Architecture
from cnet.models.match import check_match, mismatch, output_count
from cnet.products import shape_of
from cnet.training.assemble import assemble
from cnet.weights import Selection, Tensor, Weights

Array = npt.NDArray[np.generic]


def fresh(architecture: Architecture, input_shape: tuple[int, int, int], classes: int, seed: int) -> nn.Module:
    """A module with random weights from ``seed``. Raises SpecError where the images are too small."""
    return assemble(architecture.layers(input_shape, classes), input_shape, seed)


def to_module(
    architecture: Architecture, input_shape: tuple[int, int, int], classes: int, weights: Weights
) -> nn.Module:
    """A float32 module on the CPU that holds ``weights``; tied tensors share one parameter.

    Of tensors that are kept as factors the factors are its parameters, and the net computes with their product.

    Raises:
        ArchitectureMismatchError: names, shapes or kinds of numbers are not the architecture's.
        DatasetError: the net has fewer outputs than the data set has classes.
        SpecError: the images are too small.

    """
    shapes = _shapes(weights)
    check_match(architecture, input_shape, classes, shapes)
    outputs = output_count(architecture, input_shape, shapes) or classes
    module = fresh(architecture, input_shape, outputs, seed=0)
    _factor(module, weights)
    state = module.state_dict()
    _check_kinds(architecture, weights, state)
    _tie(module, weights)
    values = {t.name: torch.from_numpy(_like(t, state[t.name])) for t in weights}
    module.load_state_dict(values, strict=False)
    return module


def from_module(module: nn.Module, like: Weights) -> Weights:
    """The module's tensors in the order, the element types and with the compressible tensors of ``like``."""
    state = module.state_dict()
    return like.with_arrays({t.name: _storage(state[t.name], t.dtype) for t in like})


def initial(module: nn.Module, selection: Selection) -> Weights:
    """A fresh module's tensors as ``Weights``."""
    tensors = [
        Tensor(name, str(value.dtype).removeprefix("torch."), value.detach().cpu().numpy().copy())
        for name, value in module.state_dict().items()
    ]
    return Weights.select(tensors, selection)


def _check_kinds(architecture: Architecture, weights: Weights, state: Mapping[str, torch.Tensor]) -> None:
    wrong = [
        f"{t.name} holds {t.dtype} in the checkpoint and real numbers in {architecture.name}"
        for t in weights
        if state[t.name].is_floating_point() and not dtypes.by_name(t.dtype).floating
    ]
    if wrong:
        raise mismatch(architecture.name, (), (), wrong)


def _shapes(weights: Weights) -> dict[str, tuple[int, ...]]:
    """The tensors of the net, products in place of their factors."""
    shapes = {tensor.name: tensor.shape for tensor in weights}
    for product in weights.products:
        shapes[product.name] = shape_of(shapes.pop(product.left), shapes.pop(product.right))
    return shapes


def _factor(module: nn.Module, weights: Weights) -> None:
    """Put factors in place of the parameters that ``weights`` have as products."""
    for product in weights.products:
        owner, _, attribute = product.name.rpartition(".")
        parametrization = _Product(weights[product.left].shape[1])
        register_parametrization(module.get_submodule(owner), attribute, parametrization)


class _Product(nn.Module):
    """``left`` times ``right``, whose first dimension is the rank."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self._rank = rank

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return (left @ right.flatten(1)).reshape(left.shape[0], *right.shape[1:])

    def right_inverse(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Room for the factors, which are filled in afterwards."""
        return weight.new_zeros(weight.shape[0], self._rank), weight.new_zeros(self._rank, *weight.shape[1:])


def _tie(module: nn.Module, weights: Weights) -> None:
    """Let tied names share the parameter of the first, so that training cannot part them."""
    parameters = dict(module.named_parameters())
    for name, first in weights.copies.items():
        if name in parameters and first in parameters:
            owner, _, attribute = name.rpartition(".")
            module.get_submodule(owner).register_parameter(attribute, parameters[first])


def _like(tensor: Tensor, target: torch.Tensor) -> Array:
    dtype: npt.DTypeLike = np.float32 if target.is_floating_point() else np.int64
    with np.errstate(over="ignore"):  # a float64 beyond float32 is infinity, and the loss will say so
        return tensor.values().astype(dtype)


def _storage(value: torch.Tensor, dtype: str) -> Array:
    array = value.detach().cpu().contiguous().numpy()  # on a GPU kernels may lie channels last
    if value.is_floating_point():
        return dtypes.narrow(array, dtype)
    return array.astype(dtypes.by_name(dtype).numpy)
