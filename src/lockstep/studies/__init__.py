"""Studies that reproduce published results."""
