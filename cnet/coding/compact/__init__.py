"""The encoder ``compact``: symbols entropy-coded in contexts of layer, row, column and neighbouring weights.

From the network down to the bits: ``encoder`` and ``decoder`` handle the streams of a network (``stream_layout``);
``segment_symbols`` one segment, which ``adaptive_segment`` or ``huffman_segment`` codes; ``codebooks`` the centroids.
An adaptive segment's parameters (``segment_parameters``) are the level of each weight (``magnitude_levels``, chosen by
``fit_levels``) and how its neighbours shift it (``context_model``); ``magnitude_coder`` codes the weights in these
contexts, in parallel ``lanes``.
"""

from cnet.coding.compact.encoder import Compact

__all__ = ["Compact"]
