"""The bundle: one compressed network in one ``.npz`` file. docs/bundle-format.md specifies the format."""

from cnet.bundle.reader import Bundle, open_bundle
from cnet.bundle.sizes import BundleSizes
from cnet.bundle.writer import add_notes, write_bundle

__all__ = ["Bundle", "BundleSizes", "add_notes", "open_bundle", "write_bundle"]
