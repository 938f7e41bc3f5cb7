"""What the dispatcher's model knows of one SM."""
