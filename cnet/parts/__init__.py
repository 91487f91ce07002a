"""How parts of a job are registered, validated, found in other packages, and asked what they can do."""
