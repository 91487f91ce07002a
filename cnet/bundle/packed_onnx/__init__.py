"""ONNX models whose weights stay packed: codes of a few bits, and nodes that decode them when a session is made."""

from cnet.bundle.packed_onnx.writer import PACKED_ONNX, PackedReport, write_packed_onnx

__all__ = ["PACKED_ONNX", "PackedReport", "write_packed_onnx"]
