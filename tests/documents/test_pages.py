"""Pages for newcomers: their code runs as it stands, and what they name is there."""

import re
import tomllib
from pathlib import Path

import pytest

import lockstep as ls

ROOT = Path(__file__).parents[2]


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def run(name):
    """The names that the cells of a page leave."""
    names = {}
    for block in re.findall(r"```\{code-cell\} python\n(.*?)```", page(name), flags=re.DOTALL):
        exec(block, names)
    return names


def listed(name):
    """The pages of the tables of contents of a page, as paths from the folder of the documentation."""
    found = re.findall(r"```\{toctree\}\n(.*?)```", page(name), flags=re.DOTALL)
    entries = [line for block in found for line in block.splitlines() if line and not line.startswith(":")]
    return [f"{(Path(name).parent / entry).as_posix()}.md" for entry in entries]


def test_every_page_is_reached_from_the_first():
    reached, ahead = set(), ["index.md"]
    while ahead:
        name = ahead.pop()
        reached.add(name)
        ahead += set(listed(name)) - reached
    folder = ROOT / "docs"
    paths = (path.relative_to(folder) for path in folder.rglob("*.md"))
    there = {path.as_posix() for path in paths if path.parts[0] not in ("_build", "jupyter_execute")}
    assert reached == there and len(reached) > 50


def test_the_landing_page_has_an_install_line_and_ten_lines_that_run(capsys):
    text = page("index.md")
    assert "pip install lockstep-mcmc" in text
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip() and "import" not in line]) <= 10
    names = {}
    exec(block, names)
    assert "exact kernel" in capsys.readouterr().out and names["run"].positions.shape == (4, 1000)


def test_the_page_on_installation_names_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| `(\w+)` \|", page("install.md"), flags=re.MULTILINE)
    assert set(rows) == set(extras) - {"bench", "docs", "test"}
    assert "run.to_inferencedata()" in page("install.md") and hasattr(ls.Run, "to_inferencedata")


@pytest.mark.study  # `make docs` runs the page as well
def test_kernels_are_composed_as_the_page_says():
    names = run("composing.md")
    shares = [(names["run"].positions["level"] == level).mean() for level in range(3)]
    assert shares == pytest.approx([0.2, 0.5, 0.3], abs=0.05)


@pytest.mark.study  # `make docs` runs the page as well
def test_what_others_do_is_translated():
    names = run("coming-from.md")
    assert names["flat"].shape == (4000, 2) and names["flat"].std(axis=0)[1] == pytest.approx(1.02, abs=0.15)


def test_code_is_wrapped_and_formulas_have_a_font():
    style = page("_static/pages.css")
    assert "pre-wrap" in style and "pages.css" in page("conf.py")
    for font in re.findall(r'url\("([^"]+)"\)', style):
        path = ROOT / "docs" / "_static" / font
        # A font without the table MATH sets subscripts on the baseline.
        assert path.stat().st_size > 1e5 and b"MATH" in path.read_bytes()[:2000]
        assert path.with_suffix(".txt").exists()
    for name in ("index.md", "install.md", "composing.md", "coming-from.md"):
        blocks = re.findall(r"```(?:\{code-cell\} )?\w+\n(.*?)```", page(name), flags=re.DOTALL)
        assert all(len(line) <= 85 for block in blocks for line in block.splitlines())
