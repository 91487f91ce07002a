"""Resumable uploads by the tus 1.0.0 protocol (https://tus.io/protocols/resumable-upload)."""
