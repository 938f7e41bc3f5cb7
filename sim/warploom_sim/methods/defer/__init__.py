"""``warploom defer``: deferred submission, of a trace or of a program."""
