"""The code of the documentation of long runs runs as it stands."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "long-runs.md").read_text(), flags=re.DOTALL):
        exec(block, names)
    shown = capsys.readouterr().out
    assert "seed: 1 there, 2 here" in shown and "changed at draw 800" in shown
    assert (tmp_path / "a.nc").exists()
