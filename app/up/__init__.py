"""``cnet up``: the whole service in one command, on one machine, in one folder."""
