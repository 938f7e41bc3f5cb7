"""What is raised when a program that the tool runs fails: neither bad input nor a mismatch."""


class ProgramError(RuntimeError):
    """A simulator, a compiler, a prover failed, or gave what cannot be right.

    The text says which, and ends with what it said or names the file that holds it.
    """
