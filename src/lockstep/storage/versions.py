"""What the results of a run depend on, beside its configuration: versions, and the kind of machine."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

import jax
import numpy as np

from lockstep.core.foreign import processors
from lockstep.core.version import __version__


def versions() -> dict[str, str]:
    """What the results of a run depend on, beside its configuration."""
    return {
        "lockstep": __version__,
        "jax": jax.__version__,
        "jaxlib": importlib.metadata.version("jaxlib"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def processor() -> str:
    """The kind and number of processors, by which results may differ in their last digits."""
    name = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{processors()} × {name or platform.machine()}"
