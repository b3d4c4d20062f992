"""Which rule, and how many samples, for the paper's estimator: makes the figure of an advice in docs/prediction.md.

python examples/advice.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

from prediction import inverse_gamma

import lockstep as ls
from lockstep.studies.nicholls2012.model import RANDOM_WALK, draw_target


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    advice = ls.advise(inverse_gamma(16), RANDOM_WALK, draw_target, updates=20_000, separations=20, seed=1)
    print(advice)
    advice.figure(directory / "advice.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/examples"))
