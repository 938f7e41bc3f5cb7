"""SimtCore stays small: lines of code, without blank lines, comments and docstrings."""

import ast
import io
import tokenize
from pathlib import Path

CORE = Path(__file__).parents[2] / "examples" / "simt_core"
MOST = 900
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Count the lines on which a part of the code stands."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            documented |= {*range(text.lineno, text.end_lineno + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - documented)


def test_lines_of_code_are_counted() -> None:
    source = (
        '"""A file."""\n\n# Why.\nx = (\n    1\n)\n\n\ndef f():\n    """Do.\n\n    It.\n    """\n'
    )
    assert code_lines(source + "    return '''a\n\nb'''  # so\n") == 7


def test_simt_core_is_small() -> None:
    sizes = {path.name: code_lines(path.read_text()) for path in CORE.glob("*.py")}
    assert len(sizes) > 5
    assert sum(sizes.values()) <= MOST, sizes
