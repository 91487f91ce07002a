"""The PyTorch side of the training methods: loss terms and hooks. Imported only where a network is trained."""
