"""Delayed acceptance: a cheap screen before a dear ratio."""

from __future__ import annotations

from typing import Any

from lockstep.core.kernel import Kernel
from lockstep.kernels.metropolis_hastings import MetropolisHastings
from lockstep.ratios.screened import Screened


def screened(kernel: Kernel, surrogate: Any) -> MetropolisHastings:
    """A kernel whose candidates are first screened by a cheap surrogate of its log density (delayed acceptance).

    With ``r₁ = log q(θ', θ)/q(θ, θ') + s(θ') - s(θ)`` and the kernel's own log ratio r₂: a candidate passes the screen
    with probability ``min(1, e^{r₁})``, and is then accepted with probability ``min(1, e^{r₂ - r₁})``.

    *Exact when* the kernel is, for every surrogate s that is finite wherever the target is positive. How much is gained
    depends on s: a good one lets pass what will be accepted.

    What the screen rejects is not evaluated where the kernel has black boxes (`ls.blackbox`), whose updates are taken
    one by one. Compiled code moves all chains at once and evaluates all the same: a density that is dear though
    compiled can be a black box too, ``ls.blackbox(jax.jit(log_density))``.

    Parameters
    ----------
    kernel
        A kernel of one accept/reject: standard, pseudo-marginal, exchange, or any other. (Of a `Cycle` or a `Mixture`
        screen the kernels one by one.)
    surrogate
        ``surrogate(position)``: a cheap approximation s of the log density, up to a constant. `surrogates.quadratic`
        fits one to a pilot run. Around a kernel of `ls.Parameters` it is given what chains walk on, where every
        parameter is any real number; inside, ``parameters.posterior(ls.screened(kernel, surrogate))``, the values by
        name, and stands for the likelihood.

    Examples
    --------
    >>> import numpy as np, lockstep as ls
    >>> calls = []
    >>> def dear(theta):
    ...     calls.append(1)
    ...     return -0.5 * theta**2 - 0.1 * theta**4
    >>> kernel = ls.standard(ls.blackbox(dear), ls.RandomWalk(4.0))
    >>> run = ls.sample(ls.screened(kernel, lambda theta: -0.9 * theta**2), 0.0, draws=500, chains=1)
    >>> len(calls) < 250
    True

    See Also
    --------
    surrogates.quadratic : a surrogate from a pilot run.

    References
    ----------
    Christen and Fox (2005), Journal of Computational and Graphical Statistics 14.
    """
    if not isinstance(kernel, MetropolisHastings):
        raise TypeError(
            f"kernel of screened must be of one accept/reject, such as ls.standard gives; got {kernel!r}. Of a Cycle "
            f"or a Mixture screen the kernels one by one"
        )
    return MetropolisHastings(kernel.proposal, Screened(kernel.ratio, surrogate))
