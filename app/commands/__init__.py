"""The subcommands of ``cnet``, one module for each group of them."""
