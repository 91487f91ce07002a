"""Results: the points of a job, their bundles, decoded models and metrics."""
