"""Numbers of the fields of ONNX messages, and of the element types.

Source: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from __future__ import annotations

TYPE_NUMBERS = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8_e4m3fn": 17, "float8_e5m2": 19,
}  # fmt: skip
"""The numbers of the element types that are supported here too, by their names (``cnet.dtypes``)."""

UNSUPPORTED_TYPES = {
    8: "string", 18: "float8e4m3fnuz", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip
"""The names of the other element types, by their numbers."""

MODEL_IR, MODEL_PRODUCER, MODEL_GRAPH, MODEL_OPSETS = 1, 2, 7, 8
OPSET_DOMAIN, OPSET_VERSION = 1, 2
GRAPH_NODE, GRAPH_NAME, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_SPARSE = 1, 2, 5, 11, 12, 15
GRAPH_VALUES = 13  # shapes of intermediate values
NODE_ATTRIBUTE = 5
NODE_COMMENTS = (6, 9)  # a text, and text by key
ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS = 5, 6, 10, 11
SPARSE_VALUES = 1

TENSOR_DIMS, TENSOR_TYPE, TENSOR_SEGMENT, TENSOR_NAME = 1, 2, 3, 8
TENSOR_FLOATS, TENSOR_INT32S, TENSOR_STRINGS, TENSOR_INT64S, TENSOR_DOUBLES, TENSOR_UINT64S = 4, 5, 6, 7, 10, 11
TENSOR_RAW, TENSOR_EXTERNAL, TENSOR_LOCATION = 9, 13, 14
ENTRY_KEY, ENTRY_VALUE = 1, 2
