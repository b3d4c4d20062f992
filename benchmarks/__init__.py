"""Benchmarks: Lockstep beside its peers, in one process; ``python -m benchmarks`` runs them."""
