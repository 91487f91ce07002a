"""The subcommands that work on local files."""
