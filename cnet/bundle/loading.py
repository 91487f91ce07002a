"""A bundle in PyTorch: as a state dict, or loaded into a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cnet.bundle.container import Source
from cnet.bundle.reader import Bundle, open_bundle
from cnet.models.match import MismatchWords
from cnet.models.programs import TensorType, match_names

if TYPE_CHECKING:
    from torch import Tensor, nn

_WORDS = MismatchWords("module", "bundle", "Load it into a module of the network that was compressed.")


def load_state_dict(bundle: Source | Bundle) -> dict[str, Tensor]:
    """The decoded tensors of a bundle by name, of any shape, in their own element types; tied ones are one tensor.

    Args:
        bundle: a path, the file's bytes, a binary file, or an opened bundle.

    Raises:
        BundleError: the bundle is damaged, or is none.
        CnetError: (``torch_missing``) PyTorch is not installed.
        OSError: the file cannot be read.
    """
    opened = bundle if isinstance(bundle, Bundle) else open_bundle(bundle)
    return opened.state_dict()


def load_into(module: nn.Module, bundle: Source | Bundle) -> None:
    """Load the decoded tensors of a bundle into a module of the same network; nothing is loaded where one misses.

    Prefixes that wrappers add to all names (``module.``, ``_orig_mod.``) may differ. The module keeps its device and
    its element types.

    Args:
        module: of the network that was compressed.
        bundle: as in ``load_state_dict``.

    Raises:
        ArchitectureMismatchError: names or shapes differ; all of them are in the error.
        BundleError, CnetError, OSError: as ``load_state_dict``.
    """
    decoded, own = load_state_dict(bundle), module.state_dict()
    names = match_names(_types(own), _types(decoded), _WORDS)
    module.load_state_dict({name: decoded[found] for name, found in names.items()}, strict=False)


def _types(state: dict[str, Any]) -> dict[str, TensorType]:
    """Shapes, and whether a tensor is floating point: values of other element types are converted when they load."""
    return {
        name: TensorType("float32" if tensor.is_floating_point() else "int64", tuple(tensor.shape))
        for name, tensor in state.items()
    }
