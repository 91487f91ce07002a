"""Compression calibrated on a few unlabelled inputs: labels chosen by what their errors do to the outputs.

``calibration.Calibration`` is the interface. It measures once how sensitive the outputs are to each tensor, and to its
rows and columns (``sensitivity``), from which step sizes follow (``axis_steps``). For each point it then sends the
inputs through the original and the quantized network side by side (``lockstep``), layer by layer: the second moments of
a layer's inputs (``second_moments``) say which rounding errors cancel, and the error feedback (``trellis_feedback``)
chooses labels by their error and by the bits that they cost.
"""
