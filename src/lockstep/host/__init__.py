"""Black boxes: plain Python functions as parts of kernels, and everything that crosses from compiled code to Python.

- `function`: a user's function, where it takes its generator, and the one way in which it is called;
- `black_box`: `ls.blackbox`, such a function as a part of a kernel;
- `boxes`: the black boxes in a kernel;
- `generator`: NumPy's generators from JAX's keys;
- `scope`: what belongs to a thread while an interpreted kernel runs;
- `callback`: the one call out of compiled code;
- `failures`: evaluations that raise, and candidates that are rejected for it;
- `interpreted`: a kernel as it runs interpreted;
- `moments`: moments of few numbers.
"""
