"""What the figures in docs/ come from: each module one command."""
