"""The example of pairs on a Dask cluster."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster" / "pairs.py"


@pytest.mark.study
def test_pairs_on_dask_with_a_worker_killed_have_the_same_numbers(tmp_path):
    pytest.importorskip("distributed")
    done = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "the same numbers in this process: True" in done.stdout
