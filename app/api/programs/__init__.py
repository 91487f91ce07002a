"""Programs: the architectures of users' own networks, as ``torch.export`` archives."""
