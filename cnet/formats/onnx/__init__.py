"""ONNX models: read as checkpoints, written from weights."""
