"""The code of the README runs, and prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import lockstep as ls

TEXT = (Path(__file__).parents[2] / "README.md").read_text()
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def test_the_example_of_the_readme():
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(block, names)
    printed = out.getvalue()
    # On another machine chains are equal up to rounding: the words are the same, the numbers within Monte Carlo error.
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", expected).split()
    found, told = ([float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in (printed, expected))
    assert found[:3] == pytest.approx(told[:3], abs=0.02)
    assert sum(abs(a - b) > 0.2 * b for a, b in zip(found, told, strict=True)) <= 3
    runs = [value for value in names.values() if isinstance(value, ls.Run)]
    assert runs and all(0.05 < run.acceptance < 0.95 for run in runs)


def test_pictures_and_links_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert "://" in target or (Path(__file__).parents[2] / target).exists(), target
