"""Jobs: a compression that is asked for, watched, stopped."""
