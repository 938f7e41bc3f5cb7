"""What is raised when a program that the tool runs fails: neither bad input nor a mismatch."""


class ProgramError(RuntimeError):
    """A simulator, a compiler or another child process failed; the text ends with what it said."""
