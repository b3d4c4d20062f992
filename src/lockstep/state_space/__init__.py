"""State-space models: particle filters, and the kernels that are made of them.

- `model`: `ls.models.StateSpace`; `functions`: users' functions for all particles; `series`: data, times, inputs;
- `filter`: clouds of particles from one observation to the next; `resampling`, `hilbert`: who has offspring, in which
  order; `paths`: whole paths; `filtered`, `figure`: what a filter says; `simulate`, `forecast`: draws of the process;
- `estimate`, `particle_marginal`: the likelihood estimated; `conditional`, `particle_gibbs`: paths in turn.
"""

from lockstep.state_space.filtered import Filtered
from lockstep.state_space.model import StateSpace
from lockstep.state_space.particle_gibbs import ParticleGibbs, particle_gibbs
from lockstep.state_space.particle_marginal import particle_marginal

__all__ = ["Filtered", "ParticleGibbs", "StateSpace", "particle_gibbs", "particle_marginal"]
