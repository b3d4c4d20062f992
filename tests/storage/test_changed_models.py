"""A resume notices whatever changed in a model: by what it is made of, or by what it computes."""

import concurrent.futures
import dataclasses
import importlib
import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import lockstep as ls
from lockstep.storage import configuration
from lockstep.storage.errors import DamagedError, MismatchError

CHAINS, SHORT, LONG = 2, 12, 18

# Each source defines `factor()`; @ is the number that changes.
HEAD = """
import collections, dataclasses, enum, functools, sys
import numpy as np
import helpers
"""
TAIL = """
def log_density(theta):
    return -0.5 * float(np.sum(theta**2)) * float(factor())
"""
HELPERS = """
SCALE = 1.0
TABLE = {"scale": SCALE}
def core():
    return SCALE
def other():
    return TABLE["scale"]
class Base:
    scale = SCALE
    def of_base(self):
        return SCALE
"""
SOURCES = {
    "constant": "def factor(): return @",
    "global number": "S = @\ndef factor(): return S",
    "global list": "S = [1.0, @]\ndef factor(): return S[1]",
    "global dict": "S = {'a': @}\ndef factor(): return S['a']",
    "global tuple": "S = (1.0, (2.0, @))\ndef factor(): return S[1][1]",
    "global set": "S = {'x', 'y', @}\ndef factor(): return max(s for s in S if not isinstance(s, str))",
    "global array": "S = np.full(20, @)\ndef factor(): return S[7]",
    "global array of objects": "S = np.array(['a', @], dtype=object)\ndef factor(): return S[1]",
    "global dataclass": "@dataclasses.dataclass\nclass S:\n    a: float\nS = S(@)\ndef factor(): return S.a",
    "default of a dataclass": "@dataclasses.dataclass\nclass S:\n    a: float = @\ndef factor(): return S().a",
    "named tuple": "S = collections.namedtuple('S', 'a')(@)\ndef factor(): return S.a",
    "enum": "class S(enum.Enum):\n    A = @\ndef factor(): return S.A.value",
    "function in a list": "def g(): return @\nS = [g]\ndef factor(): return S[0]()",
    "function in a dict": "S = {'g': lambda: @}\ndef factor(): return S['g']()",
    "behind jax.jit": "import jax\n@jax.jit\ndef g(x): return x * @\ndef factor(): return g(1.0)",
    "behind lru_cache": "@functools.lru_cache\ndef g(): return @\ndef factor(): return g()",
    "behind partial": "def g(x): return x * @\nh = functools.partial(g, 1.0)\ndef factor(): return h()",
    "argument of partial": "def g(x): return x\nh = functools.partial(g, @)\ndef factor(): return h()",
    "behind vectorize": "g = np.vectorize(lambda x: x * @)\ndef factor(): return g(1.0)",
    "behind a decorator": (
        "def twice(g):\n    @functools.wraps(g)\n    def h(): return 2 * g()\n    return h\n"
        "@twice\ndef g(): return @\ndef factor(): return g()"
    ),
    "in the decorator": (
        "def times(n):\n    def twice(g):\n        return lambda: n * g()\n    return twice\n"
        "@times(@)\ndef g(): return 1.0\ndef factor(): return g()"
    ),
    "base class": "class A:\n    def g(self): return @\nclass B(A): pass\ndef factor(): return B().g()",
    "static method": "class A:\n    @staticmethod\n    def g(): return @\ndef factor(): return A.g()",
    "class method": "class A:\n    @classmethod\n    def g(cls): return @\ndef factor(): return A.g()",
    "property": "class A:\n    @property\n    def g(self): return @\na = A()\ndef factor(): return a.g",
    "class attribute": "class A:\n    s = @\ndef factor(): return A.s",
    "class attribute of an object": (
        "class A:\n    s = @\n    def g(self): return self.s\na = A()\ndef factor(): return a.g()"
    ),
    "default": "def g(x=@): return x\ndef factor(): return g()",
    "default by a name": "c = @\ndef g(x=c): return x\ndef factor(): return g()",
    "keyword default": "def g(*, x=@): return x\ndef factor(): return g()",
    "default of a method": "class A:\n    def g(self, x=[@]): return x[0]\ndef factor(): return A().g()",
    "global in a method": "S = [@]\nclass A:\n    def g(self): return S[0]\ndef factor(): return A().g()",
    "private attribute": "class A:\n    def __init__(self): self._s = @\na = A()\ndef factor(): return a._s",
    "mangled attribute": (
        "class A:\n    def __init__(self): self.__s = @\n    def g(self): return self.__s\na = A()\n"
        "def factor(): return a.g()"
    ),
    "slots": "class A:\n    __slots__ = ('s',)\na = A()\na.s = @\ndef factor(): return a.s",
    "attribute of a function": "def g(): return g.s\ng.s = @\ndef factor(): return g()",
    "lambda": "factor = lambda: @",
    "nested function": "def factor():\n    def inner():\n        return @\n    return inner()",
    "global in a nested function": "S = [@]\ndef factor():\n    return (lambda: S[0])()",
    "closure": "def make(s):\n    return lambda: s[0]\nfactor = make([@])",
    "closure over a frame": (
        "import pandas\ndef make(s):\n    return lambda: s['a'].iloc[1]\n"
        "factor = make(pandas.DataFrame({'a': [1.0, @], 'b': ['x', 'y']}))"
    ),
    "closure over xarray": (
        "import xarray\ndef make(s):\n    return lambda: s[1]\nfactor = make(xarray.DataArray([1.0, @], dims='x'))"
    ),
    "closure over a deque": "def make(s):\n    return lambda: s[0]\nfactor = make(collections.deque([@]))",
    "closure over a mask": (
        "def make(s):\n    return lambda: s.sum()\n"
        "factor = make(np.ma.array([1.0, 2.0, 3.0], mask=[False, False, @ > 2]))"
    ),
    "long list": "S = [0.5] * 2500\nS[2400] = @\ndef factor(): return S[2400]",
    "long list of whole numbers": "S = list(range(2500))\nS[2400] = int(@)\ndef factor(): return S[2400]",
    "long list of lists": "S = [[0.5, 'a'] for _ in range(2500)]\nS[2400][0] = @\ndef factor(): return S[2400][0]",
    "long dict": "S = {i: 0.5 for i in range(2500)}\nS[2400] = @\ndef factor(): return S[2400]",
    "many globals": (
        "S = {i: {'a': [i]} for i in range(60)}\nT = {i: S[i % 60] for i in range(64)}\nS[59]['a'] = [@]\n"
        "def factor(): return T[59]['a'][0]"
    ),
    "import in a function": "def factor():\n    import helpers as h\n    return h.core()",
    "name imported in a function": "def factor():\n    from helpers import core\n    return core()",
    "name of another module": "from helpers import core\ndef factor(): return core()",
    "constant of another module": "from helpers import SCALE\ndef factor(): return SCALE",
    "attribute of another module": "def factor(): return helpers.SCALE",
    "function of another module": "def factor(): return helpers.core()",
    "data of another module": "def factor(): return helpers.other()",
    "class of another module": "def factor(): return helpers.Base().of_base()",
    "base class of another module": "class A(helpers.Base): pass\ndef factor(): return A().of_base()",
    "another module as a whole": "def factor(): return getattr(helpers, 'SC' + 'ALE')",
    "data read at import": "S = np.loadtxt(sys.argv_of_test)\ndef factor(): return S[1]",
}
# What cannot be followed, or not be trusted, and is found by the repeated update.
OPAQUE = {
    "data read by the function": ("def factor(): return np.loadtxt(sys.argv_of_test)[1]", "reads with loadtxt"),
    "spline": (
        "from scipy.interpolate import UnivariateSpline\n"
        "S = UnivariateSpline(np.arange(6.0), np.full(6, @))\ndef factor(): return S(2.0)",
        "model_of_test.S._data",
    ),
    "object without a look inside": (
        "import threading\nS = threading.local()\nS.s = @\ndef factor(): return S.s",
        "model_of_test.S (a _local)",
    ),
    "generator": (
        "import itertools\ndef numbers():\n    while True: yield SHOWN[0]\nSHOWN = sys.list_of_test\nS = numbers()\n"
        "def factor(): return next(S)",
        "model_of_test.S (a generator)",
    ),
}


class Program:
    """A user's program, as each process reads it anew."""

    def __init__(self, path, monkeypatch):
        self.path = path
        monkeypatch.syspath_prepend(path)
        monkeypatch.setattr(sys, "argv_of_test", path / "data.txt", raising=False)
        monkeypatch.setattr(sys, "list_of_test", None, raising=False)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(self, source, number="1.0", tail=TAIL):
        """The model with a number in the places of @, in all files."""
        helpers = HELPERS.replace("SCALE = 1.0", f"SCALE = {number}")
        # A docstring, a comment and another line are no changes of a model.
        for name, text in (("helpers", helpers), ("model_of_test", HEAD + put(source, number) + tail)):
            (self.path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        (self.path / "data.txt").write_text(f"0.0\n{number}\n")
        sys.list_of_test = [float(number)]
        importlib.invalidate_caches()
        return importlib.import_module("model_of_test")


def put(source, number):
    """The number in the places of @, other than decorators."""
    return "\n".join(
        line
        if line.lstrip().startswith("@") and "@)" not in line
        else line.replace("times(@)", f"times({number})")
        if line.startswith("@")
        else line.replace("@", number)
        for line in source.split("\n")
    )


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "program"
    path.mkdir()
    yield Program(path, monkeypatch)
    for name in ("model_of_test", "helpers"):
        sys.modules.pop(name, None)


def kernel_of(module):
    return ls.standard(ls.blackbox(module.log_density), ls.RandomWalk(1.0))


def sample(kernel, draws, directory=None, **options):
    settings = {"chains": CHAINS, "seed": 3, "progress": False, **options}
    return ls.sample(kernel, np.zeros(2), draws, directory=directory, **settings)


def assert_same(first, second):
    for a, b in zip(*(jax.tree.leaves((run.positions, run.info)) for run in (first, second)), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


@pytest.mark.parametrize("name", SOURCES)
def test_a_changed_model_is_refused_and_the_same_one_goes_on(name, program, tmp_path):
    source, path = SOURCES[name], tmp_path / "run"
    sample(kernel_of(program.load(source)), SHORT, path)
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.name != "lock"}
    changed = program.load(source, "5.0")
    for draws in (LONG, SHORT):  # also if there is nothing to compute
        with pytest.raises(MismatchError, match="with other settings") as caught:
            sample(kernel_of(changed), draws, path)
    assert 'changed="accept"' in str(caught.value)
    assert before == {file.name: file.read_bytes() for file in path.iterdir() if file.name != "lock"}
    same = kernel_of(program.load("# Read anew.\n\n" + source))
    assert_same(sample(same, LONG, path), sample(same, LONG))


@pytest.mark.parametrize("name", OPAQUE)
def test_what_cannot_be_followed_is_said_and_found_by_the_repeated_update(name, program, tmp_path):
    source, said = OPAQUE[name]
    path = tmp_path / "run"
    sample(kernel_of(program.load(source)), SHORT, path)
    with pytest.raises(MismatchError, match="computed again, and is not what it was") as caught:
        sample(kernel_of(program.load(source, "5.0")), LONG, path)
    assert said in str(caught.value) and "log_ratio of chain 0" in str(caught.value)
    same = kernel_of(program.load(source))
    assert_same(sample(same, LONG, path), sample(same, LONG))
    # What is finished is read without a look at what cannot be followed.
    assert sample(kernel_of(program.load(source, "5.0")), LONG, path).draws == LONG


def test_descriptions_are_the_same_in_another_process(program):
    """Whatever the seed of hashes, the addresses of objects, and what was used before."""
    child = (
        "import sys, json; sys.path[:0] = sys.argv[1:3]; sys.argv_of_test = sys.argv[3]; sys.list_of_test = [1.0]\n"
        "import test_changed_models as tests\n"
        "from lockstep.storage.configuration import describe\n"
        "found = {}\n"
        "for name, source in tests.SOURCES.items():\n"
        "    names = {'__name__': '__main__'}\n"
        "    exec(tests.HEAD + tests.put(source, '1.0') + tests.TAIL, names)\n"
        "    found[name] = describe(names['log_density'], 'f')\n"
        "print(json.dumps(found))\n"
    )
    program.load("def factor(): return 1.0")
    arguments = [sys.executable, "-c", child, str(program.path), str(Path(__file__).parent), str(sys.argv_of_test)]
    found = []
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "PATH": "", "JAX_PLATFORMS": "cpu"}
        found.append(
            json.loads(
                subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, check=True, timeout=120).stdout
            )
        )
    assert found[0] == found[1] and all(len(one) > 1 for one in found[0].values())


# --- functions that change what they use

MUTABLE = {
    "memo in a closure": (
        "def make():\n    memo = {}\n    def g(x):\n        if x not in memo:\n            memo[x] = x * @\n"
        "        return memo[x]\n    return g\ng = make()\ndef factor(): return g(len(str(SEEN)))\nSEEN = '1'"
    ),
    "counter in a closure": (
        "def make():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return @\n    return g\n"
        "factor = make()"
    ),
    "counter in a dict": "C = {'n': 0}\ndef factor():\n    C['n'] += 1\n    return @",
    "global counter": "N = 0\ndef factor():\n    global N\n    N += 1\n    return @",
    "log in a list": "LOG = []\ndef factor():\n    LOG.append(len(LOG))\n    return @",
    "log by another name": "LOG = []\ndef factor():\n    log = LOG\n    log.append(1)\n    return @",
    "memo in a default": (
        "def g(x, memo={}):\n    memo.setdefault(x, x * @)\n    return memo[x]\ndef factor(): return g(1.0)"
    ),
    "counter of an object": (
        "class A:\n    def __init__(self): self.calls, self._memo, self.s = 0, {}, @\n"
        "    def __call__(self):\n        self.calls += 1\n        self._memo[self.calls] = 1\n        return self.s\n"
        "factor = A()"
    ),
    "attribute that comes later": (
        "class A:\n    def __call__(self):\n        if not hasattr(self, 'kept'):\n            self.kept = @\n"
        "        return self.kept\nfactor = A()"
    ),
    "counter of a function": "def factor():\n    factor.calls = getattr(factor, 'calls', 0) + 1\n    return @",
    "counter of a class": "class A:\n    n = 0\ndef factor():\n    A.n += 1\n    return @",
    "cached property": (
        "class A:\n    @functools.cached_property\n    def s(self): return @\na = A()\ndef factor(): return a.s"
    ),
    "lru_cache": "@functools.lru_cache\ndef g(x): return x * @\ndef factor(): return g(1.0)",
    "changed by a helper": (
        "LOG = []\ndef note():\n    LOG.append(1)\ndef factor():\n    note()\n    return @ + 0 * len(LOG)"
    ),
}


@pytest.mark.parametrize("name", MUTABLE)
def test_a_function_may_change_what_it_uses(name, program, tmp_path):
    source, path = MUTABLE[name], tmp_path / "run"
    kernel = kernel_of(program.load(source))
    for draws in (SHORT, SHORT + 2):  # in one process, and
        sample(kernel, draws, path)
    with pytest.raises(MismatchError):
        sample(kernel_of(program.load(source, "5.0")), LONG, path)
    fresh = kernel_of(program.load(source))  # in another one
    assert_same(sample(fresh, LONG, path), sample(fresh, LONG))


def test_samples_that_are_vectors(tmp_path):
    def summaries(rng, position, candidate):
        return rng.normal(size=2) + candidate

    def combine(average, position, candidate):
        return -float(np.sum(average**2) - np.sum(position**2))

    def make():
        noisy = ls.estimators.smooth(ls.blackbox(summaries), ls.blackbox(combine), 6)
        return ls.penalty(noisy, ls.RandomWalk(0.5))

    kernel = make()
    for draws in (SHORT, LONG):
        run = sample(kernel, draws, tmp_path)
    assert_same(run, sample(make(), LONG))
    assert_same(sample(make(), LONG + 2, tmp_path), sample(make(), LONG + 2))


# --- the repeated update


def hidden():
    """A number that no description holds: it is an attribute of a module that is not the user's."""
    return sys.list_of_test[0]


def log_density(theta):
    return -0.5 * float(np.sum(theta**2)) * hidden()


def log_estimate(theta, rng):
    return log_density(theta) + float(np.log(np.mean(rng.exponential(size=5))))


def one_sample(rng, position, candidate):
    return log_density(candidate) - log_density(position) + rng.normal()


def noisy():
    return ls.estimators.mean(ls.blackbox(one_sample), 4)


def batch(theta):
    return -0.5 * np.sum(theta**2, axis=-1) * hidden()


def kernels():
    walk = ls.RandomWalk(1.0)
    return {
        "standard": ls.standard(ls.blackbox(log_density), walk),
        "pseudo-marginal": ls.pseudo_marginal(ls.blackbox(log_estimate), walk),
        "coupled": ls.Coupled(ls.penalty(ls.estimators.known_variance(noisy(), 1 / 4), walk), ls.naive(noisy(), walk)),
        "cycle": ls.Cycle([ls.naive(noisy(), walk), ls.standard(ls.blackbox(log_density), ls.RandomWalk(0.3))]),
        "batched": ls.standard(ls.blackbox(batch, batched=True), walk),
    }


@pytest.fixture
def secret(monkeypatch):
    """What `hidden` returns."""
    monkeypatch.setattr(sys, "list_of_test", [1.0], raising=False)
    return sys.list_of_test


WAYS = {"plain": {}, "thinned": {"thin": 3, "warmup": 4}, "threads": {"executor": "threads"}}
HERE = {("standard", "threads"), ("pseudo-marginal", "plain"), ("coupled", "thinned")}
HERE |= {("cycle", "threads"), ("batched", "thinned")}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        pytest.param(name, way, marks=() if (name, way) in HERE else pytest.mark.study)
        for name in kernels()
        for way in WAYS
    ],
)
def test_the_last_update_is_repeated(name, way, secret, tmp_path):
    kernel, options = kernels()[name], WAYS[way]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        options = {**options, "executor": threads} if "executor" in options else options
        sample(kernel, SHORT, tmp_path, **options)
        secret[0] = 1.001
        with pytest.raises(MismatchError, match="computed again, and is not what it was"):
            sample(kernel, LONG, tmp_path, **options)
        secret[0] = 1.0
        assert_same(sample(kernel, LONG, tmp_path, **options), sample(kernel, LONG, **options))


def test_compiled_kernels_repeat_too(tmp_path, secret):
    def opaque(theta):
        return -0.5 * jax.numpy.sum(theta**2) * sys.list_of_test[0]

    def make():
        return ls.standard(lambda theta: opaque(theta), ls.RandomWalk(1.0))

    sample(make(), SHORT, tmp_path, thin=2)
    secret[0] = 1.001
    with pytest.raises(MismatchError, match="computed again, and is not what it was"):
        sample(make(), LONG, tmp_path, thin=2)
    secret[0] = 1.0
    assert_same(sample(make(), LONG, tmp_path, thin=2), sample(make(), LONG, thin=2))


def test_one_update_of_each_chain_is_repeated_and_none_of_a_finished_run(tmp_path):
    calls = []

    def counted(theta):
        calls.append(1)
        return -0.5 * float(np.sum(theta**2))

    kernel = ls.standard(ls.blackbox(counted), ls.RandomWalk(1.0))

    def calls_of(draws):
        calls.clear()
        sample(kernel, draws, tmp_path)
        return len(calls)

    assert calls_of(SHORT) == CHAINS * (1 + SHORT)
    assert calls_of(SHORT) == 0
    assert calls_of(LONG) == CHAINS * (1 + LONG - SHORT)


def test_a_model_that_draws_by_itself_is_told(tmp_path):
    own = np.random.default_rng(1)

    def random_by_itself(theta):
        return -0.5 * float(np.sum(theta**2)) + own.normal()

    kernel = ls.standard(ls.blackbox(random_by_itself), ls.RandomWalk(1.0))
    sample(kernel, SHORT, tmp_path)
    with pytest.raises(MismatchError, match="draws random numbers of its own"):
        sample(kernel, LONG, tmp_path)


def test_an_error_in_the_model_leaves_what_can_be_repeated(tmp_path, secret):
    calls = []

    def failing(theta):
        calls.append(1)
        if len(calls) == 40:
            raise ZeroDivisionError("a bug of the user's")
        return log_density(theta)

    def repaired(theta):
        return log_density(theta)

    kernel = ls.standard(ls.blackbox(failing), ls.RandomWalk(1.0))
    with pytest.raises(ZeroDivisionError):
        sample(kernel, 100, tmp_path)
    secret[0] = 2.0
    with pytest.raises(MismatchError, match="computed again"):
        sample(kernel, 100, tmp_path)
    secret[0] = 1.0
    calls.clear()
    fixed = ls.standard(ls.blackbox(repaired), ls.RandomWalk(1.0))
    run = sample(fixed, 100, tmp_path, changed="accept")
    assert_same(run, sample(fixed, 100))
    assert any("failing" in text and "repaired" in text for text in run.changes)


# --- other versions, other noise


def edited(path, change):
    file = path / "run.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def perturbed(path, share):
    """The log ratio of the last update, off by a share."""
    file = sorted(path.glob("segment-*.npz"))[-1]
    with np.load(file) as held:
        arrays = dict(held)
    name = next(name for name, leaf in arrays.items() if name.startswith("after.") and leaf.dtype == float)
    arrays[name] = arrays[name] * (1 + share)
    with file.open("wb") as out:
        np.savez(out, **arrays)


def older(content):
    content["versions"]["jax"] = "0.9.0"


def elsewhere(content):
    content["versions"]["processor"] = "1 × abacus"


@pytest.mark.parametrize(("change", "word"), [(older, "jax 0.9.0 there"), (elsewhere, "abacus")])
def test_other_versions_may_differ_by_rounding(change, word, tmp_path, secret):
    kernel = kernels()["standard"]
    sample(kernel, SHORT, tmp_path)
    perturbed(tmp_path, 1e-12)
    with pytest.raises(MismatchError, match="last digits only, though versions and processor are the same"):
        sample(kernel, LONG, tmp_path)
    edited(tmp_path, change)
    with pytest.warns(ls.LockstepWarning) as caught:
        sample(kernel, LONG, tmp_path)
    texts = [str(one.message) for one in caught]
    assert any("differs by rounding" in text and word in text for text in texts)


def test_other_versions_may_not_differ_by_more(tmp_path, secret):
    kernel = kernels()["standard"]
    sample(kernel, SHORT, tmp_path)
    perturbed(tmp_path, 1e-3)
    edited(tmp_path, elsewhere)
    with pytest.raises(MismatchError, match="Versions differ as well: processor 1 × abacus there"):
        sample(kernel, LONG, tmp_path)


def test_the_versions_of_packages_are_recorded_and_told(program, tmp_path):
    kernel = kernel_of(program.load(OPAQUE["spline"][0]))
    sample(kernel, SHORT, tmp_path / "run")
    edited(tmp_path / "run", lambda content: content["configuration"]["packages"].update(scipy="0.1"))
    # The configuration is what segments belong to.
    for file in (tmp_path / "run").glob("segment-*"):
        file.unlink()
    with pytest.warns(ls.LockstepWarning, match=r"scipy 0\.1 there"):
        sample(kernel, SHORT, tmp_path / "run")


def other_python(content, is_other_source=False):
    (code,) = content["configuration"]["code"].values()
    for name, text in code.items():
        if " with code " in text:
            function, _, rest = text.partition(" with code ")
            source = rest.partition(", source ")[2]
            code[name] = f"{function} with code 3.2:0123, source {source[::-1] if is_other_source else source}"
    content["versions"]["python"] = "3.2.0"


def test_another_python_compares_sources(tmp_path, secret):
    kernel = kernels()["standard"]
    for is_other in (False, True):
        path = tmp_path / str(is_other)
        sample(kernel, SHORT, path)
        for file in path.glob("segment-*"):
            file.unlink()
        edited(path, lambda content: other_python(content, is_other))  # noqa: B023
        if is_other:
            with pytest.raises(MismatchError, match=r"3\.2:0123"):
                sample(kernel, SHORT, path)
        else:
            with pytest.warns(ls.LockstepWarning, match=r"python 3\.2\.0 there"):
                sample(kernel, SHORT, path)


@pytest.mark.parametrize("other", [lambda: jax.threefry_partitionable(False), lambda: jax.default_prng_impl("rbg")])
def test_other_noise_is_refused(other, tmp_path, secret):
    kernel = kernels()["standard"]
    sample(kernel, SHORT, tmp_path)
    with other(), pytest.raises(MismatchError, match="JAX_THREEFRY_PARTITIONABLE"):
        sample(kernel, LONG, tmp_path)


# --- accepted changes


def shifted(theta):
    return log_density(theta) + 1000.0


@pytest.mark.parametrize("executor", [None, "threads"])
def test_a_change_may_be_accepted_and_is_told(executor, secret, tmp_path):
    walk = ls.RandomWalk(1.0)
    first, second = (ls.standard(ls.blackbox(f), walk) for f in (log_density, shifted))
    path = tmp_path / "run"
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        options = {} if executor is None else {"executor": threads}
        begun = sample(first, SHORT, path, **options)
        with pytest.raises(MismatchError, match="shifted"):
            sample(second, LONG, path, **options)
        run = sample(second, LONG, path, changed="accept", **options)
        # What is there stays; what is remembered of a position is of the new model: no ratio of a thousand.
        assert np.array_equal(run.positions[:, :SHORT], begun.positions)
        assert np.abs(run.info.log_ratio[:, SHORT:]).max() < 100
        # From now on the new model is the run's; the old one is another.
        longer = sample(second, LONG + 3, path, **options)
        assert np.array_equal(longer.positions[:, :LONG], run.positions)
        with pytest.raises(MismatchError, match="log_density here"):
            sample(first, LONG + 6, path, **options)
    for one in (run, longer, ls.load(path)):
        told = [text for text in one.summary().findings if "changed" in text]
        assert told and all(f"changed at draw {SHORT}" in text and "shifted" in text for text in told)
    assert "The model was changed at draw" in ls.load(path).report(tmp_path / "report.html").read_text()


def test_an_accepted_change_survives_a_kill(secret, tmp_path):
    """Between the record of the change and the first draws of the new model."""
    walk = ls.RandomWalk(1.0)
    first, second = (
        ls.pseudo_marginal(ls.blackbox(f), walk) for f in (log_estimate, lambda t, rng: log_estimate(t, rng))
    )
    sample(first, SHORT, tmp_path / "a")
    sample(first, SHORT, tmp_path / "b")
    whole = sample(second, LONG, tmp_path / "a", changed="accept")
    sample(second, SHORT, tmp_path / "b", changed="accept")
    assert_same(sample(second, LONG, tmp_path / "b"), whole)


def test_only_another_model_can_be_accepted(secret, tmp_path):
    kernel = kernels()["standard"]
    sample(kernel, SHORT, tmp_path)
    with pytest.raises(MismatchError, match="not other settings: seed: 3 there, 4 here"):
        sample(kernel, SHORT, tmp_path, seed=4, changed="accept")
    with pytest.raises(ValueError, match="changed is 'yes'"):
        sample(kernel, SHORT, tmp_path, changed="yes")
    assert sample(kernel, LONG, tmp_path, changed="accept").changes == ()
    secret[0] = 2.0
    run = sample(kernel, LONG + 2, tmp_path, changed="accept")
    assert "what the model computes" in run.changes[0] and f"draw {LONG}" in run.changes[0]
    assert sample(kernel, LONG + 4, tmp_path).changes == run.changes
    edited(tmp_path, lambda content: content["changes"][0].update(step="x"))
    with pytest.raises(DamagedError, match="its changes"):
        ls.load(tmp_path)


# --- the command line

MODEL = """
import numpy as np
import lockstep as ls
import neighbour

DATA = np.loadtxt(neighbour.FILE)

def log_density(theta):
    return neighbour.SCALE * -0.5 * float(np.sum((theta - DATA) ** 2))

kernel = ls.standard(ls.blackbox(log_density), ls.RandomWalk(1.0))
initial = np.zeros(2)
"""


def test_the_command_line_notices_imported_modules_and_data(tmp_path):
    def write(scale, datum):
        text = f"from pathlib import Path\nFILE = Path(__file__).with_name('data.txt')\nSCALE = {scale}\n"
        (tmp_path / "neighbour.py").write_text(text)
        (tmp_path / "data.txt").write_text(f"0.0\n{datum}\n")
        (tmp_path / "model.py").write_text(MODEL)

    def run(draws, *options):
        command = [sys.executable, "-B", "-c", "from lockstep.cli import main; main()", "run", "model.py", "--quiet"]
        command += ["--out", "out", "--chains", "2", "--draws", str(draws), *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    write(1.0, 0.5)
    assert run(10).returncode == 0
    write(2.0, 0.7)
    refused = run(20)
    assert refused.returncode == 3 and "neighbour.SCALE: 1.0 there, 2.0 here" in refused.stderr
    assert "DATA: [0.0, 0.5] there, [0.0, 0.7] here" in refused.stderr
    accepted = run(20, "--changed", "accept")
    assert accepted.returncode == 0
    assert any("DATA" in text for text in ls.load(tmp_path / "out").changes)


def test_what_dataclass_makes_is_no_part_of_a_class():
    """Each Python makes other methods: a run of one could not go on with another."""

    @dataclasses.dataclass
    class Settings:
        scale: float = 2.0

        def scaled(self):
            return self.scale

    found = configuration.describe(Settings(), "it")
    members = {name.rpartition(".")[2] for name in found if name.startswith("it.class.")}
    assert {"scale", "scaled"} <= members and not members & {"__init__", "__repr__", "__replace__", "fillvalue"}
