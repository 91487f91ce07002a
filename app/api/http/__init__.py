"""HTTP itself: bodies, files, problems, pages of lists."""
