"""A fault of XLA that is kept away: sums that are wrong without a word.

XLA of jaxlib 0.10 hands sums behind products with a matrix, such as those of ``jnp.sum((y - X @ theta) ** 2)`` at the
positions of several chains, to a library that reads a matrix wrongly which is a constant of the program, as data in a
closure are. Seen on the processor with jaxlib 0.10.2, for 3 and for 5 to 7 columns and from 16,385 up to at least
40,000 rows: a log density was off by a few parts in a thousand, lengths of rows by factors of hundreds.

A flag turns that library off; XLA reads flags once, before its first program. (Of other versions of jaxlib it may not
know the flag, and would end the process.)
"""

from __future__ import annotations

import os
import sys

from jaxlib.version import __version__ as installed

FLAG = "xla_cpu_experimental_ynn_fusion_type"
VERSIONS = "0.10."
ROWS, COLUMNS = 20_000, 3


def keep_away() -> None:
    """Turn the library off for this process, and for those that it starts; if it is too late for that, say so."""
    given = os.environ.get("XLA_FLAGS", "")
    if not installed.startswith(VERSIONS) or FLAG in given:
        return
    os.environ["XLA_FLAGS"] = f"{given} --{FLAG}=".strip()
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge.backends_are_initialized() and are_wrong():
        from lockstep.core.warnings import warn

        warn(
            "JAX has computed before lockstep was imported, with a version of XLA that adds up some products with "
            "large matrices wrongly, and can no longer be told not to: log densities of regressions may be off. Import "
            f"lockstep before the first computation, or set the environment variable XLA_FLAGS=--{FLAG}="
        )


def are_wrong() -> bool:
    """Whether programs of this process have the fault."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    matrix = np.linspace(-1, 1, ROWS * COLUMNS).reshape(ROWS, COLUMNS) ** 3
    thetas = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(lambda theta: jnp.sum((matrix @ theta) ** 2)))(thetas)
    return not np.allclose(found, np.sum((matrix @ thetas.T) ** 2, axis=0), rtol=1e-9)
