"""``warploom steal``: work stealing in front of execution units."""
