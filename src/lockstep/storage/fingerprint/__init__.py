"""Fingerprints of models: what a run is a function of, so that a resume can tell what has changed."""
