"""What comes into compiled code: double precision, in memory of its own, without a program for each shape."""

import jax
import numpy as np

from lockstep.core.precision import canonical, double_precision


def aligned(count: int) -> np.ndarray:
    """Numbers that begin where JAX would take memory over as it is."""
    memory = np.zeros(count + 8)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + count]


def test_an_array_of_the_users_is_copied():
    for count in (3, 1000):
        given = aligned(count)
        with double_precision():
            taken = canonical({"x": given}, "initial")
        given[:] = 5.0
        assert np.all(np.asarray(taken["x"]) == 0.0)


def test_numbers_become_doubles_without_a_program(caplog):
    given = {"a": np.ones((3, 41), np.float32), "b": 2.5, "c": np.arange(43), "d": np.array(True)}
    with double_precision(), jax.log_compiles():
        taken = canonical(given, "initial")
    assert "Compiling" not in caplog.text
    assert {name: leaf.dtype for name, leaf in taken.items()} == {
        "a": np.float64,
        "b": np.float64,
        "c": np.int64,
        "d": np.bool_,
    }
    assert not any(leaf.weak_type for leaf in taken.values())
