"""A service on several machines whose processes die again and again while clients use it."""
