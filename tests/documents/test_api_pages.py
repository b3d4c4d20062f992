"""Every public name stands on a page of docs/api, and no page has a name that there is not."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import lockstep

HERE = Path(__file__).parents[2]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("docs/api/*.md")}
TEXTS = [HERE / name for name in ("README.md", "CONTRIBUTING.md", "CITATION.cff")]
TEXTS += [path for path in HERE.glob("docs/**/*.md") if "_build" not in path.parts]
# What the pages on how to add an algorithm add.
ADDED = ("ratios/barker", "kernels/barker", "kernels/third_order")
EXAMPLES = {"ls.barker", *(f"src/lockstep/{name}.py" for name in ADDED)}


def public(room, path):
    """All public names of a module and of its public modules, with what they are."""
    for name in room.__all__:
        value = getattr(room, name)
        yield f"{path}.{name}", value
        if isinstance(value, ModuleType):
            yield from public(value, f"{path}.{name}")


def named(path):
    """What a dotted name means: parts that are not attributes yet are modules."""
    value = lockstep
    for name in path.split(".")[1:]:
        if not hasattr(value, name):
            import_module(f"{value.__name__}.{name}")
        value = getattr(value, name)
    return value


def documented():
    """Names of the directives, and names as users write them in the text."""
    text = "\n".join(PAGES.values())
    directives = re.findall(r"^\.\. auto(?:function|class|exception):: ([\w.]+)$", text, flags=re.MULTILINE)
    return directives, [name.replace("ls.", "lockstep.", 1) for name in re.findall(r"`(ls(?:\.\w+)+)", text)]


def test_every_public_name_is_on_a_page():
    directives, mentioned = documented()
    known = {id(named(path)) for path in (*directives, *mentioned)}
    missing = [path for path, value in public(lockstep, "ls") if id(value) not in known]
    assert not missing, f"put these on a page of docs/api: {missing}"
    # Functions and classes need more than a mention: their docstrings.
    shown = {id(named(path)) for path in directives}
    callables = [(p, v) for p, v in public(lockstep, "ls") if isinstance(v, type) or hasattr(v, "__code__")]
    assert len(callables) > 100 and not [path for path, value in callables if id(value) not in shown]


PLACES = {"log_prior": 0, "log_likelihood": 1, "model": 1, "data": 2}


def places(function):
    """Where prior, likelihood (or a model, which has one) and data stand in the order of all functions."""
    return [PLACES[name] for name in inspect.signature(function).parameters if name in PLACES]


def test_prior_likelihood_and_data_are_everywhere_given_in_this_order():
    found = {path: value for path, value in public(lockstep, "ls") if callable(value)}
    kinds = {path: value for path, value in found.items() if isinstance(value, type)}
    for path, kind in kinds.items():
        methods = inspect.getmembers(kind, inspect.isfunction)
        found |= {f"{path}.{name}": method for name, method in methods if not name.startswith("_")}
        if issubclass(kind, BaseException):  # whose arguments Python does not tell
            del found[path]
    ordered = {path: places(function) for path, function in found.items()}
    assert sum(len(given) > 1 for given in ordered.values()) >= 10
    assert [path for path, given in ordered.items() if given != sorted(given)] == []
    assert places(lambda run, model, data, log_prior: None) == [1, 2, 0]


def test_no_name_is_on_two_pages():
    directives, _ = documented()
    values = [id(named(path)) for path in directives]
    assert len(values) == len(set(values))


def test_all_pages_are_in_the_index():
    listed = set(re.findall(r"^(\w+)$", PAGES["index.md"], flags=re.MULTILINE))
    assert listed == {name.removesuffix(".md") for name in PAGES} - {"index"}


@pytest.mark.parametrize("path", TEXTS, ids=[path.name for path in TEXTS])
def test_what_the_documentation_names_exists(path):
    """Names as users write them, and files of the repository."""
    text = path.read_text(encoding="utf-8")
    for name in set(re.findall(r"(?<![\w./])((?:ls|lockstep)(?:\.[A-Za-z_]\w*)+)", text)) - EXAMPLES:
        named(re.sub(r"^ls\.", "lockstep.", name))
    for file in set(re.findall(r"(?<![\w./-])((?:src|tests|examples|benchmarks)/[\w/.-]*\w)", text)) - EXAMPLES:
        assert (HERE / file).exists(), file


ROOMS = ["ratios", "involutions", "rules", "models.terms"]


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_public_modules_list_what_is_public(room):
    module = named(f"lockstep.{room}".rstrip("."))
    assert module.__doc__ and len(set(module.__all__)) == len(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)


def test_ratios_and_involutions_are_the_names_at_the_top():
    for name in ("Carried", "Estimated", "Randomized", "Universal", "Density", "tempering"):
        assert getattr(lockstep.ratios, name) is getattr(lockstep, name)
    for name in ("Identity", "Mobius", "Reflection", "Transform"):
        assert getattr(lockstep.involutions, name) is getattr(lockstep, name)
