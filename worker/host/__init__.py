"""The worker process itself: its signals, its presence, and the machine it runs on."""
