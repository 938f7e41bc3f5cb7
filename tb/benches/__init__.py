"""Lists of the benches of all blocks: what is counted, and what mutants run against."""
