"""The house: rooms in layers. A room imports from rooms above it, never from one below, wherever the import stands."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import lockstep

HOUSE = Path(lockstep.__file__).parent

# From the top to the bottom of the house; what a room needs lies above it.
ROOMS = (
    "core",
    "host",
    "proposals",
    "subsampling",
    "estimators",
    "ratios",
    "kernels",
    "state_space",
    "coupling",
    "parameters",
    "engine",
    "storage",
    "starts",
    "workers",
    "chains",
    "separation",
    "results",
    "lagged",
    "sampling",
    "surrogates",
    "watch",
    "advice",
    "check",
    "perfect",
    "models",
    "interop",
    "studies",
    "model_file",
    "cli",
)
FILES = sorted(path for path in HOUSE.rglob("*.py") if path != HOUSE / "__init__.py")


def room_of(module: str) -> str:
    return module.split(".")[1]


def imported_modules(path: Path) -> set[str]:
    """Every module of the package that a file imports, at its top or inside of a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "lockstep":
                found |= {f"lockstep.{alias.name}" for alias in node.names}
            elif node.module.startswith("lockstep."):
                found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("lockstep.")}
    return found


def test_one_way_leads_out_of_compiled_code():
    """Whatever compiled code asks of the host goes through `lockstep.host.callback`."""
    way = re.compile(r"\b(pure_callback|io_callback|buffer_callback|debug\.(callback|print))\(")
    found = [path.relative_to(HOUSE).as_posix() for path in FILES if way.search(path.read_text(encoding="utf-8"))]
    assert found == ["host/callback.py"]


def looks_down(path: Path, imported: set[str]) -> list[str]:
    here = ROOMS.index(path.relative_to(HOUSE).with_suffix("").parts[0])
    return sorted(module for module in imported if ROOMS.index(room_of(module)) > here)


def test_every_file_has_a_room():
    assert {path.relative_to(HOUSE).with_suffix("").parts[0] for path in FILES} == set(ROOMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_no_room_looks_down(path):
    assert looks_down(path, imported_modules(path)) == []


def test_an_import_from_below_is_found(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("def f():\n    from lockstep.cli import main\n    import lockstep.core.parts\n")
    assert looks_down(HOUSE / "core" / "parts.py", imported_modules(file)) == ["lockstep.cli"]


def module_of(path: Path) -> str:
    parts = path.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_first(path: Path) -> set[str]:
    """The modules of the package that must be there before a file begins, also those that only its types need."""
    found = set()
    at_top = ast.parse(path.read_text(encoding="utf-8")).body
    for node in [inner for outer in at_top for inner in (outer.body if isinstance(outer, ast.If) else [outer])]:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lockstep."):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & MODULES or {node.module}
    return found


MODULES = {module_of(path) for path in FILES}


def test_modules_do_not_import_each_other_in_a_circle():
    """Whichever is imported first, nothing is there by half."""
    graph = {module_of(path): imported_first(path) - {module_of(path)} for path in FILES}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(FILES)
    graph["lockstep.core.types"] = {"lockstep.core.kernel"}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def test_an_import_for_types_alone_counts(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("if TYPE_CHECKING:\n    from lockstep.cli import main\nfrom lockstep.core import parts\n")
    assert imported_first(file) == {"lockstep.cli", "lockstep.core.parts"}


def test_tests_live_in_the_same_rooms():
    tests = Path(__file__).parent
    rooms = {path.parent.name for path in tests.glob("*/test_*.py")}
    assert rooms <= {*ROOMS, "documents", "command_line"}


def test_no_two_files_of_tests_share_a_name():
    """Modules of tests are imported by their names alone: with two of one name no session begins."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
