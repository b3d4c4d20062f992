"""Faults of random numbers."""

RANDOM = "core/test_random.py"

FAULTS = {
    ("core/random.py", f"{RANDOM}::test_words_are_those_of_jax"): [
        ("((13, 15, 26, 6), (17, 29, 16, 24))", "((13, 15, 26, 6), (17, 29, 16, 23))"),
        ("keys[(group + 2) % 3] + np.uint32(group + 1)", "keys[(group + 2) % 3] + np.uint32(group)"),
        ("for group in range(5):", "for group in range(4):"),
        ("_threefry(first, second, which, counter)", "_threefry(first, second, jnp.uint32(0), counter)"),
        ("(high.astype(jnp.uint64) << np.uint64(32)) | low", "(low.astype(jnp.uint64) << np.uint64(32)) | high"),
    ],
    ("core/random.py", f"{RANDOM}::test_transforms_are_right_to_the_last_digit"): [
        ("for n in range(9)]  # of (2 atanh", "for n in range(8)]  # of (2 atanh"),
        ("s = (m - 1) * (1 / (m + 1))", "s = 1 - 2 / (m + 1)"),
        ("(2.0**52 + 1023)", "(2.0**52 + 1022)"),
        ("(bits & _MANTISSA) + _ROOT_HALF", "(bits & _MANTISSA) + _ONE"),
        ("(math.pi / 2)", "(math.pi / 2.02)"),
        ("jnp.sqrt(2 * _minus_log(", "jnp.sqrt(1.98 * _minus_log("),
    ],
    ("core/random.py", f"{RANDOM}::test_laws"): [
        ("^ (bits & _SIGN)", "^ (bits & np.uint64(0))"),
        ("-(-count // 4)", "-(-count // 8)"),
        ("jnp.where(is_first, plane.real, plane.imag)", "jnp.where(is_first, plane.real, plane.real)"),
    ],
    ("core/random.py", f"{RANDOM}::test_points_have_no_direction"): [
        ("_SIGN, _AXIS = np.uint64(2**63), np.uint64(2**62)", "_SIGN, _AXIS = np.uint64(2**63), np.uint64(2**63)"),
    ],
    ("core/random.py", f"{RANDOM}::test_derived_keys_are_those_of_jax"): [
        (
            "words = _threefry(first, second, jnp.zeros_like(counter), counter)",
            "words = _threefry(first, second, counter, counter)",
        ),
        (
            "lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)",
            "1 + lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)",
        ),
        ("settings.jax_threefry_partitionable)", "True)"),
        ("jnp.stack([pairs.real, pairs.imag], axis=-1)", "jnp.stack([pairs.imag, pairs.real], axis=-1)"),
    ],
    ("core/random.py", f"{RANDOM}::test_numbers_of_rows_are_the_first_bits_times_the_size"): [
        ("((_from_one_to_two(bits) - 1.0) * size)", "((_from_one_to_two(bits) - 1.0) * (size - 1))"),
        ("(_from_one_to_two(bits) - 1.0)", "(2.0 - _from_one_to_two(bits))"),
        ("_pair(*_threefry(first, second, jnp.zeros_like(counter),", "_pair(*_threefry(first, second, counter,"),
    ],
    ("core/random.py", f"{RANDOM}::test_what_is_farthest_out"): [
        ("return 2.0 - _from_one_to_two", "return _from_one_to_two"),
    ],
    ("core/random.py", f"{RANDOM}::test_other_generators_and_other_precisions_are_jax_s"): [
        ("return jnp.result_type(float) == np.float64 and", "return"),
    ],
}
