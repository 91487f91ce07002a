"""The names of classes and functions that a torch file may use, and what stands for each of them here.

The list has what ``torch.save`` writes for dicts of tensors, from PyTorch 0.1 to 2.x. All other names are foreign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pickle import UnpicklingError
from types import MappingProxyType

from cnet.formats.torch.safe_unpickler import AllowedCall
from cnet.formats.torch.tensors import TorchStorage, TorchTensor, UnreadableTensor


@dataclass(frozen=True)
class DTypeName:
    """A ``torch.dtype``, by its name."""

    name: str


@dataclass(frozen=True)
class StorageType:
    """A storage class, by the element type of its elements; ``uint8`` for ``UntypedStorage``."""

    dtype: str


_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "QUInt8Storage": "quint8",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4",
    "UntypedStorage": "uint8",
    "_UntypedStorage": "uint8",
}
_DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "complex32", "complex64", "complex128", "bool"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"),
    *("quint8", "qint8", "qint32", "quint4x2", "quint2x4"),
)
_OTHER_LAYOUTS = {
    "_rebuild_sparse_tensor": "sparse",
    "_rebuild_sparse_csr_tensor": "sparse",
    "_rebuild_nested_tensor": "nested",
    "_rebuild_qtensor": "quantized",
    "_rebuild_meta_tensor_no_storage": "on the meta device, without values",
    "_rebuild_wrapper_subclass": "of a wrapper class",
}

_INERT = (
    *("torch.device", "torch.serialization._get_layout", "_codecs.encode", "torch.Tensor", "torch._tensor.Tensor"),
    *("torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"),
    *("torch.per_tensor_affine", "torch.per_channel_affine", "torch.per_tensor_symmetric"),
    *("torch.per_channel_symmetric", "torch.per_channel_affine_float_qparams"),
)


def find_global(module: str, name: str) -> object | None:
    """What stands for the name ``module.name``; None where the name is not on the list."""
    return _GLOBALS.get(f"{module}.{name}")


def _tensor_v2(storage: object, offset: object, shape: object, strides: object, *rest: object) -> TorchTensor:
    """``_rebuild_tensor`` (no rest) and ``_rebuild_tensor_v2`` (requires_grad, hooks, metadata)."""
    return TorchTensor.build(_storage(storage), offset, shape, strides, _metadata(rest[2:]))


def _tensor_v3(
    storage: object, offset: object, shape: object, strides: object, *rest: object
) -> TorchTensor | UnreadableTensor:
    """``_rebuild_tensor_v3``: requires_grad, hooks, dtype, metadata. The storage holds plain bytes."""
    if len(rest) < 3 or not isinstance(rest[2], DTypeName):
        raise UnpicklingError("a tensor without an element type")
    typed = _storage(storage).with_dtype(rest[2].name)
    return TorchTensor.build(typed, offset, shape, strides, _metadata(rest[3:]))


def _storage(value: object) -> TorchStorage:
    if not isinstance(value, TorchStorage):
        raise UnpicklingError("a tensor without a storage")
    return value


def _metadata(rest: tuple[object, ...]) -> Mapping[object, object]:
    """The metadata of a tensor: the conjugate and negative bits."""
    return rest[0] if rest and isinstance(rest[0], dict) else {}


def _first(value: object, *_: object) -> object:
    """The tensor of a parameter; whether it requires a gradient, its hooks and its attributes are dropped."""
    return value


def _from_type(function: object, _type: object, arguments: object, _state: object) -> object:
    """``_rebuild_from_type_v2``: a tensor with Python attributes, which are dropped."""
    if not isinstance(function, AllowedCall) or not isinstance(arguments, tuple):
        raise UnpicklingError("a tensor subclass without a function that builds it")
    return function.build(*arguments)


def _ordered_dict(pairs: object = ()) -> dict[object, object]:
    """A dict: empty, or of the list of pairs that Python 2 wrote."""
    if isinstance(pairs, dict):
        return dict(pairs)
    if not isinstance(pairs, list | tuple):
        raise UnpicklingError("an ordered dict that is not made of pairs")
    return {key: value for key, value in pairs if isinstance(key, str | int)}


def _drop(*_: object) -> None:
    """None, in place of a value that is not needed: a device, a layout, bytes."""


def _size(dimensions: object = ()) -> tuple[object, ...]:
    if not isinstance(dimensions, list | tuple):
        raise UnpicklingError("a size without dimensions")
    return tuple(dimensions)


def _unreadable(layout: str) -> AllowedCall:
    return AllowedCall(layout, lambda *_: UnreadableTensor(layout))


def _items(items: object = ()) -> list[object]:
    return list(items) if isinstance(items, list | tuple) else []


def _all_globals() -> dict[str, object]:
    table: dict[str, object] = {f"torch.{name}": DTypeName(name) for name in _DTYPES}
    for name, dtype in _STORAGES.items():
        for module in ("torch", "torch.cuda", "torch.storage"):
            table[f"{module}.{name}"] = StorageType(dtype)
    for name, layout in _OTHER_LAYOUTS.items():
        table[f"torch._utils.{name}"] = _unreadable(layout)
    rebuild: dict[str, AllowedCall] = {
        "torch._utils._rebuild_tensor": AllowedCall("_rebuild_tensor", _tensor_v2),
        "torch._utils._rebuild_tensor_v2": AllowedCall("_rebuild_tensor_v2", _tensor_v2),
        "torch._utils._rebuild_tensor_v3": AllowedCall("_rebuild_tensor_v3", _tensor_v3),
        "torch._utils._rebuild_parameter": AllowedCall("_rebuild_parameter", _first),
        "torch._utils._rebuild_parameter_with_state": AllowedCall("_rebuild_parameter_with_state", _first),
        "torch._utils._rebuild_device_tensor_from_cpu_tensor": AllowedCall("_rebuild_device_tensor", _first),
        "torch._tensor._rebuild_from_type_v2": AllowedCall("_rebuild_from_type_v2", _from_type),
        "torch.Size": AllowedCall("Size", _size),
        "collections.OrderedDict": AllowedCall("OrderedDict", _ordered_dict),
        "collections.Counter": AllowedCall("Counter", _ordered_dict),
    }
    for module in ("builtins", "__builtin__"):
        rebuild |= {f"{module}.{name}": AllowedCall(name, _items) for name in ("set", "frozenset")}
        rebuild |= {f"{module}.{name}": AllowedCall(name, _drop) for name in ("bytearray", "complex")}
    rebuild |= {name: AllowedCall(name, _drop) for name in _INERT}
    return table | rebuild


_GLOBALS: Mapping[str, object] = MappingProxyType(_all_globals())
