"""Layers as plain data: the vocabulary in which architectures are written. No torch here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Base of all layers."""
