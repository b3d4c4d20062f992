"""What the code says of itself: parameters have types, and attributes are declared, not probed for."""

import ast
from collections.abc import Iterator
from pathlib import Path

import lockstep

HOUSE = Path(lockstep.__file__).parent
SOURCES = [path.read_text(encoding="utf-8") for path in sorted(HOUSE.rglob("*.py"))]


def parameters(source: str) -> Iterator[str]:
    """The annotations of all parameters."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            yield from (ast.unparse(one.annotation) if one.annotation else "" for one in given if one.arg != "self")


def probes(source: str) -> int:
    """How often an attribute is looked for that may not be there."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = [(node.func.id, len(node.args)) for node in calls if isinstance(node.func, ast.Name)]
    return sum(name == "hasattr" or (name, count) == ("getattr", 3) for name, count in names)


def test_at_most_a_tenth_of_the_parameters_may_be_anything():
    found = [annotation for source in SOURCES for annotation in parameters(source)]
    assert found.count("Any") <= 0.1 * len(found)


def test_attributes_are_declared():
    lines = sum(source.count("\n") for source in SOURCES)
    assert sum(map(probes, SOURCES)) <= lines / 1000


def test_what_is_counted():
    source = "def f(self, a: Any, b: int = 1, *, c: Any): hasattr(a, 'x'); getattr(a, 'x', None); getattr(a, 'x')"
    assert list(parameters(source)) == ["Any", "int", "Any"]
    assert probes(source) == 2
