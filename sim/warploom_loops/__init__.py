"""LoopFinder: loops of a CUDA program that can be deferred."""
