"""``cnet up``: the whole service in one command, on one machine, with its state in one folder."""
