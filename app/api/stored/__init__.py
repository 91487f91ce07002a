"""Files that an owner stores already, by their digest."""
