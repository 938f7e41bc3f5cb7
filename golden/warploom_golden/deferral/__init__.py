"""Deferred submission: a loop's calls are cached, sent once, and run where the GPU is."""
