"""The code of the page about adaptation runs as it stands, and does what the page says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adaptation.md"


# The page begins with steps that are too large, and the run says so.
@pytest.mark.filterwarnings("ignore:.*stood in one state:lockstep.LockstepWarning")
def test_the_page_runs():
    names = {}
    for block in re.findall(r"```\{code-cell\} python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(block, names)
    assert names["plain"].acceptance < 0.1 < 0.2 < names["run"].acceptance < 0.5
    first, again, longer = names["counts"]
    assert first > 2 * 400 and again < 10 and 2 * 50 <= longer < 2 * 60
