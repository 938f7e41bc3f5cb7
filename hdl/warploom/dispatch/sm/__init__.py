"""What the dispatcher knows of one SM: its port, its slots, its counts."""
