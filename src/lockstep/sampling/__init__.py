"""What users call: sample, load, sweep."""

from lockstep.chains import until
from lockstep.chains.interrupt import Interrupted
from lockstep.results.run import Run
from lockstep.sampling.compare import Comparison, compare
from lockstep.sampling.load import load
from lockstep.sampling.sample import sample
from lockstep.sampling.sweep import Sweep, sweep
from lockstep.starts.start import Starts
from lockstep.storage.errors import RunDirectoryError

__all__ = [
    "Comparison",
    "Interrupted",
    "Run",
    "RunDirectoryError",
    "Starts",
    "Sweep",
    "compare",
    "load",
    "sample",
    "sweep",
    "until",
]
