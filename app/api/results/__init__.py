"""Results: a job's points, bundles, decoded models, numbers."""
