"""What code uses from outside of itself, and what it changes there, read from its byte code."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import NamedTuple


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


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


def uses_of(code: types.CodeType) -> Uses:
    """What code, and the code that is written within it, uses and changes."""
    uses = Uses({}, [], set(), set())
    Reader(code, uses, {}).read()
    return uses


class Reader:
    """Follows values through the instructions of code, one after the other, as far as they can be without jumps."""

    def __init__(self, code: types.CodeType, uses: Uses, outer: dict[str, Place]) -> None:
        self.code, self.uses = code, uses
        self.stack: list[Place | None] = []
        self.own: dict[str, Place] = {}  # local names, for what stands behind them
        self.arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.free = {name: outer.get(name, Place("free", name)) for name in code.co_freevars}
        self.instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]

    def read(self) -> None:
        """Note what the code uses and changes, then what the code within it does."""
        for index, instruction in enumerate(self.instructions):
            effect = _effect(instruction)
            if not self._is_followed(index, instruction, effect):
                self._note_change(index, instruction)
                self._settle(instruction.opname, effect)
        for const in self.code.co_consts:
            if isinstance(const, types.CodeType):
                inner = {name: place for name in const.co_freevars if (place := self._place_of(name)) is not None}
                Reader(const, self.uses, inner).read()

    def _is_followed(self, index: int, instruction: dis.Instruction, effect: int) -> bool:
        """Whether it is known what an instruction leaves on the stack; it is put there."""
        value, stack = instruction.argval, self.stack
        match instruction.opname:
            case "LOAD_GLOBAL" | "LOAD_NAME":
                self.uses.globals.setdefault(value, set()).add(tuple(self._attributes_after(index)))
                stack += [Place("global", value)] * effect
                self._note_reading(value)
            case name if name.startswith("LOAD_FAST"):
                stack += [self._place_of(one) for one in (value if isinstance(value, tuple) else (value,))]
            case "LOAD_DEREF" | "LOAD_CLASSDEREF" | "LOAD_FROM_DICT_OR_DEREF":
                stack.append(self._place_of(value))
            case "LOAD_ATTR" | "LOAD_METHOD":
                place = self._top(1)
                if value in CHANGING:
                    self._change(place)
                self._note_reading(value)
                found = None if place is None else place._replace(attributes=(*place.attributes, value))
                stack[-1:] = [found] * (1 + effect)
            case "BINARY_SUBSCR":
                stack[-2:] = [self._top(2)]
            case "COPY":
                stack.append(self._top(instruction.arg or 1))
            case "SWAP" if len(stack) >= (depth := instruction.arg or 2):
                stack[-1], stack[-depth] = stack[-depth], stack[-1]
            case _:
                return False
        return True

    def _note_change(self, index: int, instruction: dis.Instruction) -> None:
        """What an instruction stores, deletes or imports."""
        value = instruction.argval
        match instruction.opname:
            case "STORE_SUBSCR" | "DELETE_SUBSCR":
                self._change(self._top(2))
            case "STORE_SLICE":
                self._change(self._top(3))
            case "STORE_ATTR" | "DELETE_ATTR":
                self._change(self._top(1), value)
            case "STORE_GLOBAL" | "DELETE_GLOBAL":
                self._change(Place("global", value))
            case "STORE_DEREF" | "DELETE_DEREF" if value in self.free:
                self._change(self.free[value])
            case "STORE_FAST" if isinstance(value, str):
                place = self._top(1)
                self.own.pop(value, None)
                if place is not None:
                    self.own[value] = place
            case "IMPORT_NAME":
                self.uses.imports.append((value, self._level(index)))

    def _settle(self, name: str, effect: int) -> None:
        """Take from the stack, or put on it, what an instruction does of which no more is known."""
        if effect > 0:
            self.stack += [None] * effect
            return
        if effect < 0:
            del self.stack[effect:]
        if self.stack and not name.startswith((*CONSUMING, *WITHOUT_EFFECT)):
            self.stack[-1] = None

    def _top(self, depth: int) -> Place | None:
        return self.stack[-depth] if len(self.stack) >= depth else None

    def _place_of(self, name: str) -> Place | None:
        if name in self.own:
            return self.own[name]
        return self.free.get(name) or (Place("argument", name) if name in self.arguments else None)

    def _change(self, place: Place | None, *attributes: str) -> None:
        if place is not None:
            self.uses.changes.add(place._replace(attributes=(*place.attributes, *attributes)))

    def _note_reading(self, name: str) -> None:
        if name in READING:
            self.uses.reads.add(name)

    def _attributes_after(self, index: int) -> Iterator[str]:
        """The attributes that are taken from a value as soon as it is loaded."""
        for instruction in self.instructions[index + 1 :]:
            if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                return
            yield str(instruction.argval)

    def _level(self, index: int) -> int:
        """How many dots an import has; they are loaded before it, and before its names."""
        value = self.instructions[index - 2].argval if index >= 2 else 0
        return value if isinstance(value, int) else 0


def _effect(instruction: dis.Instruction) -> int:
    argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
    try:
        return dis.stack_effect(instruction.opcode, argument, jump=False)
    except ValueError:
        return 0


def all_names(code: types.CodeType) -> set[str]:
    """All names of code and of the code within it."""
    inner = (name for const in code.co_consts if isinstance(const, types.CodeType) for name in all_names(const))
    return {*code.co_names, *inner}
