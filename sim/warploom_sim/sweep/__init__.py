"""Many replays beside each other: which runs, where they run, what is kept, table and plot."""
