"""The pages, one module each: their routes, and what they show."""
