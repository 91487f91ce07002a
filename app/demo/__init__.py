"""``cnet demo``: the whole way on real data, from training to a bundle that is proved."""
