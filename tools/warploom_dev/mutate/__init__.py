"""Mutation of the blocks' netlists: whether a bench notices a wrong gate."""
