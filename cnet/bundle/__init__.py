"""The bundle: one compressed network in one ``.npz`` file."""

from cnet.bundle.reader import Bundle, open_bundle
from cnet.bundle.writer import BundleSizes, add_notes, write_bundle

__all__ = ["Bundle", "BundleSizes", "add_notes", "open_bundle", "write_bundle"]
