"""Where chains begin, and the parts of kernels that are fitted first."""
