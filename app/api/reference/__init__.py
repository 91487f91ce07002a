"""The reference page ``/docs``: the OpenAPI document as HTML without scripts."""
