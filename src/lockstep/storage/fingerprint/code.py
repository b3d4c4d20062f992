"""What a function's code is: digests of its byte code and of its source."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import textwrap
import types

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def code_text(function: types.FunctionType) -> str:
    """The digest of a function's byte code, and that of its source, by which another Python can compare it."""
    source = _source_digest(function)
    code = digest(code_bytes(function.__code__, function.__doc__))
    return f"{PYTHON}:{code}" + ("" if source is None else f", source {source}")


def code_bytes(code: types.CodeType, documentation: str | None = None) -> bytes:
    """What code does, whatever its file, its lines and its docstring."""

    def constant(value: object) -> bytes:
        if isinstance(value, types.CodeType):
            return code_bytes(value)
        return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value).encode()

    # Without a docstring its place holds None.
    is_documented = documentation is not None and code.co_consts[:1] == (documentation,)
    constants = [constant(const) for const in ((None, *code.co_consts[1:]) if is_documented else code.co_consts)]
    counts = f"{code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount}".encode()
    names = [name.encode() for name in (*code.co_names, *code.co_freevars)]
    return b"\0".join([code.co_code, code.co_exceptiontable, counts, *names, *constants])


def _source_digest(function: types.FunctionType) -> str | None:
    """The digest of what a function's source says; None where there is no source that stands by itself."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None  # a lambda, within a line of other code
    return digest(_meaning(tree.body[0]).encode())


def _meaning(node: object) -> str:
    """A syntax tree as text, the same for all Pythons: no places, no docstrings, no fields that are empty."""
    if isinstance(node, list):
        return f"[{','.join(map(_meaning, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    body = fields.get("body")
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
        fields["body"] = body[1:]  # type: ignore[index]
    shown = [f"{name}={_meaning(value)}" for name, value in fields.items() if value not in (None, [], ())]
    return f"{type(node).__name__}({','.join(shown)})"


def digest(data: bytes) -> str:
    """A short digest."""
    return hashlib.sha256(data).hexdigest()[:16]
