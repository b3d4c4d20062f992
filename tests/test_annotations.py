"""What the code says of itself: parameters have types, attributes are declared, and no part is asked for its class."""

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import lockstep
from lockstep.core.declared import Part

HOUSE = Path(lockstep.__file__).parent
PATHS = sorted(HOUSE.rglob("*.py"))
SOURCES = [path.read_text(encoding="utf-8") for path in PATHS]


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


def classes_asked_for(source: str, class_of: Callable[[str], object]) -> Iterator[str]:
    """The final classes of parts that values are tested for, but to refuse an argument (an `if` that raises)."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            statement: ast.AST = node
            while not isinstance(statement, ast.stmt):
                statement = parents[statement]
            if isinstance(statement, ast.If) and isinstance(statement.body[0], ast.Raise):
                continue
            for name in ast.walk(node.args[1]):
                kind = class_of(name.id) if isinstance(name, ast.Name) else None
                if inspect.isclass(kind) and issubclass(kind, Part) and not (inspect.isabstract(kind) or kind is Part):
                    yield kind.__name__


def module_of(path: Path) -> str:
    return ".".join(("lockstep", *path.relative_to(HOUSE).with_suffix("").parts))


def test_at_most_a_tenth_of_the_parameters_may_be_anything():
    found = [annotation for source in SOURCES for annotation in parameters(source)]
    assert found.count("Any") <= 0.1 * len(found)


def test_attributes_are_declared():
    lines = sum(source.count("\n") for source in SOURCES)
    assert sum(map(probes, SOURCES)) <= lines / 1000


def test_parts_are_asked_what_they_do_and_not_for_their_class():
    """Advice about particles is about one kind of estimate, and asks for it."""
    asked = set()
    for path, source in zip(PATHS, SOURCES, strict=True):
        if "isinstance(" in source and path.parent.name not in ("interop", HOUSE.name):
            found = vars(importlib.import_module(module_of(path))).get
            asked |= {(path.relative_to(HOUSE).as_posix(), name) for name in classes_asked_for(source, found)}
    assert asked == {("advice/particles.py", "ParticleEstimate")}


def test_a_ladder_of_classes_is_seen_and_a_refusal_is_none():
    names = {"RandomWalk": lockstep.RandomWalk, "Finite": lockstep.Finite, "Proposal": lockstep.Proposal}
    ladder = "if isinstance(p, RandomWalk):\n    q = 1\nelse:\n    q = isinstance(p, (Finite, int))"
    refusal = "if not isinstance(p, Finite):\n    raise TypeError(p)\nq = isinstance(p, Proposal)"
    assert list(classes_asked_for(ladder, names.get)) == ["RandomWalk", "Finite"]
    assert not list(classes_asked_for(refusal, names.get))


def test_what_is_counted():
    source = "def f(self, a: Any, b: int = 1, *, c: Any): hasattr(a, 'x'); getattr(a, 'x', None); getattr(a, 'x')"
    assert list(parameters(source)) == ["Any", "int", "Any"]
    assert probes(source) == 2
