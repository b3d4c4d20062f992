"""The whole study at publication precision; its report stays in results/full."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

DIRECTORY = Path(__file__).parents[2] / "results" / "full"


@pytest.mark.study
def test_every_number_of_the_full_study_agrees_with_its_reference():
    program = "from lockstep.cli import main; main()"
    subprocess.run([sys.executable, "-c", program, "paper", "--full", "--out", str(DIRECTORY)], check=True)
    table = json.loads((DIRECTORY / "results.json").read_text(encoding="utf-8"))["table"]
    compared = [row for row in table if row["reference"] and row["measured"]["se"]]
    assert len(compared) >= 25
    for row in compared:
        reference, measured = row["reference"], row["measured"]
        error = math.hypot(measured["se"], reference["se"] or 0.0)
        assert abs(measured["value"] - reference["value"]) < 4 * error, row
