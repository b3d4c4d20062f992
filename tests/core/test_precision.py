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


def test_arrays_of_jax_are_not_copied_unless_they_must_be():
    """Data may be large, and a kernel is made canonical with each run of it."""
    with double_precision():
        here = jax.devices()[0]
        fits = {"x": jax.numpy.ones(3), "n": jax.numpy.arange(3)}
        other = {"weak": jax.numpy.asarray(2.5), "single": jax.numpy.ones(3, np.float32)}
        bound = jax.device_put(np.ones(3), here)
        assert other["weak"].weak_type and bound.committed
        taken = canonical({**fits, **other, "bound": bound}, "kernel")
    assert all(taken[name] is leaf for name, leaf in fits.items())
    assert taken["weak"].dtype == taken["single"].dtype == np.float64 and not taken["weak"].weak_type
    assert not taken["bound"].committed  # which would not go to several devices
