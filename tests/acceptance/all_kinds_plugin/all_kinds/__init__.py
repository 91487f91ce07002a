"""A plug-in with one part of each kind. Importing it registers them all."""

from all_kinds import compression, files, training

__all__ = ["compression", "files", "training"]
