"""All tests: unit, integration, acceptance, golden bundles, architecture."""
