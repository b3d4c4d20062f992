"""Black boxes: plain Python functions as parts of kernels, and everything that crosses from compiled code to Python.

- `function`: a user's function, and where it takes its generator;
- `call`: the one way in which it is called on the host;
- `black_box`: `ls.blackbox`, such a function as a part of a kernel; `boxes`: the black boxes in a kernel;
- `generator`: NumPy's generators from JAX's keys; `scope`: what NumPy does with errors around users' functions;
- `callback`: the one call out of compiled code;
- `failures`, `reject`: evaluations that raise, and candidates that are rejected for it;
- `interpreted`: a kernel as it runs interpreted; `moments`: moments of few numbers.
"""
