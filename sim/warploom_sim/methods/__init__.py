"""The published methods, each behind a command."""
