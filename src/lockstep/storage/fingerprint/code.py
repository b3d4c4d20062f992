"""What a function's code is, what it uses, and what it changes by itself, read from its byte code."""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import NamedTuple


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
# Methods that change what they belong to.
CHANGING = words(
    "append appendleft extend extendleft insert add update setdefault pop popleft popitem remove discard clear "
    "sort reverse fill put resize move_to_end subtract intersection_update difference_update __setitem__ "
    "__setattr__"
)
# What code calls to read something that no description of it holds.
READING = words(
    "open load read_text read_bytes loadtxt genfromtxt fromfile memmap read_csv read_parquet read_table "
    "read_excel read_json open_dataset open_dataarray urlopen getenv environ"
)
# Instructions that leave nothing on the stack in the place of what they take.
CONSUMING = ("STORE_", "DELETE_", "POP_", "RETURN_", "LIST_", "SET_", "MAP_", "DICT_", "RAISE_", "END_", "CLEANUP_")
WITHOUT_EFFECT = ("NOP", "RESUME", "CACHE", "PRECALL", "KW_NAMES", "JUMP", "MAKE_CELL", "COPY_FREE", "EXTENDED", "NOT_")


class Place(NamedTuple):
    """Where a value that code handles comes from: a global, free or local name, and attributes of it."""

    scope: str
    name: str
    attributes: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """How the attributes are written."""
        return "".join(f".{name}" for name in self.attributes)


class Uses(NamedTuple):
    """What code uses from outside of itself.

    Attributes
    ----------
    globals
        Global names, each with the chains of attributes that are taken from it at once (empty: it is used as a whole).
    imports
        Modules that the code imports when it runs, with the names that it may use of each.
    changes
        What the code stores into, appends to, or counts up.
    reads
        Names by which it reads from files or from the environment.
    """

    globals: dict[str, set[tuple[str, ...]]]
    imports: list[tuple[str, int]]
    changes: set[Place]
    reads: set[str]


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


def uses_of(code: types.CodeType) -> Uses:
    """What code, and the code that is written within it, uses and changes."""
    uses = Uses({}, [], set(), set())
    _read(code, uses, {})
    return uses


def _read(code: types.CodeType, uses: Uses, outer: dict[str, Place]) -> None:
    """Follow values through the instructions, one after the other, as far as they can be followed without jumps."""
    stack: list[Place | None] = []
    own: dict[str, Place] = {}  # local names, for what stands behind them
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    free = {name: outer.get(name, Place("free", name)) for name in code.co_freevars}
    instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]

    def place_of(name: str) -> Place | None:
        if name in own:
            return own[name]
        return free.get(name) or (Place("argument", name) if name in arguments else None)

    def top(depth: int) -> Place | None:
        return stack[-depth] if len(stack) >= depth else None

    def change(place: Place | None, *attributes: str) -> None:
        if place is not None:
            uses.changes.add(place._replace(attributes=(*place.attributes, *attributes)))

    for index, instruction in enumerate(instructions):
        name, value = instruction.opname, instruction.argval
        effect = _effect(instruction)
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain = tuple(_attributes_after(instructions, index))
            uses.globals.setdefault(value, set()).add(chain)
            stack += [Place("global", value)] * effect
            if value in READING:
                uses.reads.add(value)
        elif name.startswith("LOAD_FAST"):
            stack += [place_of(one) for one in (value if isinstance(value, tuple) else (value,))]
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            stack.append(place_of(value))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            place = top(1)
            if value in CHANGING:
                change(place)
            if value in READING:
                uses.reads.add(value)
            found = None if place is None else place._replace(attributes=(*place.attributes, value))
            del stack[-1:]
            stack += [found] * (1 + effect)
        elif name == "BINARY_SUBSCR":
            container = top(2)
            del stack[-2:]
            stack.append(container)
        elif name == "COPY":
            stack.append(top(instruction.arg or 1))
        elif name == "SWAP" and len(stack) >= (instruction.arg or 2):
            depth = instruction.arg or 2
            stack[-1], stack[-depth] = stack[-depth], stack[-1]
        else:
            if name in ("STORE_SUBSCR", "DELETE_SUBSCR"):
                change(top(2))
            elif name == "STORE_SLICE":
                change(top(3))
            elif name in ("STORE_ATTR", "DELETE_ATTR"):
                change(top(1), value)
            elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                change(Place("global", value))
            elif name in ("STORE_DEREF", "DELETE_DEREF") and value in free:
                change(free[value])
            elif name == "STORE_FAST" and isinstance(value, str):
                place = top(1)
                own.pop(value, None)
                if place is not None:
                    own[value] = place
            elif name == "IMPORT_NAME":
                uses.imports.append((value, _level(instructions, index)))
            _settle(stack, name, effect)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            inner = {name: place for name in const.co_freevars if (place := place_of(name)) is not None}
            _read(const, uses, inner)


def _settle(stack: list[Place | None], name: str, effect: int) -> None:
    """Take from the stack, or put on it, what an instruction does of which no more is known."""
    if effect > 0:
        stack += [None] * effect
        return
    if effect < 0:
        del stack[effect:]
    if stack and not name.startswith((*CONSUMING, *WITHOUT_EFFECT)):
        stack[-1] = None


def _effect(instruction: dis.Instruction) -> int:
    argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
    try:
        return dis.stack_effect(instruction.opcode, argument, jump=False)
    except ValueError:
        return 0


def _attributes_after(instructions: list[dis.Instruction], index: int) -> Iterator[str]:
    """The attributes that are taken from a value as soon as it is loaded."""
    for instruction in instructions[index + 1 :]:
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return
        yield str(instruction.argval)


def _level(instructions: list[dis.Instruction], index: int) -> int:
    """How many dots an import has; they are loaded before it, and before its names."""
    value = instructions[index - 2].argval if index >= 2 else 0
    return value if isinstance(value, int) else 0


def all_names(code: types.CodeType) -> set[str]:
    """All names of code and of the code within it."""
    inner = (name for const in code.co_consts if isinstance(const, types.CodeType) for name in all_names(const))
    return {*code.co_names, *inner}


def digest(data: bytes) -> str:
    """A short digest."""
    return hashlib.sha256(data).hexdigest()[:16]
