"""A replay as one HTML file: figures, charts, tables, and how to repeat it."""
