"""Benchmarks: Lockstep beside its peers, by turns; ``python -m benchmarks`` runs them."""
