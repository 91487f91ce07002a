"""The reference page: the OpenAPI document for people, as HTML without scripts."""
