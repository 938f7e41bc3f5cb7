"""Shows a replay in one HTML file: figures, charts, tables, and the command that repeats it."""
