"""What the OpenAPI document says beyond what FastAPI finds out: units, plain names of schemas, examples."""
