"""ONNX models: read as checkpoints, written from weights."""

from cnet.formats.onnx.onnx_format import Onnx

__all__ = ["Onnx"]
