"""Training and evaluation of networks in PyTorch.

``config`` and ``stage`` describe trainings without PyTorch, so that job specifications and plans can be checked where
it is not installed. Other packages use everything else through ``trainer``.
"""
