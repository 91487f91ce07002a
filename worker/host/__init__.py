"""The worker process itself: its signals, its presence, the machine it runs on."""
