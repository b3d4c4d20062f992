"""The code of the README runs, and prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import lockstep as ls

TEXT = (Path(__file__).parents[2] / "README.md").read_text()
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.study)])
def test_the_example_of_the_readme(tmp_path, monkeypatch, is_whole):
    """The advice, which takes half a minute, is asked for in the studies."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert "ls.advise" in blocks[1]
    blocks = blocks if is_whole else [blocks[0], *blocks[2:]]
    expected = re.search(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)[1]
    names, printed = {}, []
    for block in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(block, names)
        printed.append(out.getvalue())
    # On another machine chains are equal up to rounding: the words are the same, the numbers within Monte Carlo error.
    assert NUMBER.sub("#", printed[0]).split() == NUMBER.sub("#", expected).split()
    found, told = ([float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in (printed[0], expected))
    assert found[:3] == pytest.approx(told[:3], abs=0.02)
    assert sum(abs(a - b) > 0.2 * b for a, b in zip(found, told, strict=True)) <= 3
    assert not is_whole or "corrected" in printed[1]
    runs = [value for value in names.values() if isinstance(value, ls.Run)]
    assert runs and all(0.05 < run.acceptance < 0.95 for run in runs)


def test_pictures_and_links_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert "://" in target or (Path(__file__).parents[2] / target).exists(), target
