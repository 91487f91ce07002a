"""The subcommands of ``cnet``, one module a family."""
