"""Small parts that several blocks use."""
