"""What a run has measured: metrics, the values that carry them, and reports for people and programs."""
