"""Training and evaluation of networks in PyTorch.

``config`` and ``stage`` describe trainings without PyTorch, so that job specifications and plans can be checked where
it is not installed. ``trainer`` is the only way in to everything else.
"""
