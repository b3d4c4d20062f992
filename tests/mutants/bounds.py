"""Faults of bounds on rows."""

BEST = "subsampling/test_bounds.py::test_no_smaller_bounds_hold"

FAULTS = {
    ("subsampling/bounds.py", BEST): [
        ("self.third / 2 * norm**3", "self.third * norm**3"),
        ("self.third / 2 * norm**3", "self.third / 2 * norm**2"),
        ("else self.first * norm", "else self.first * norm**2"),
        ("self.factor * x if np.ndim", "x if np.ndim"),
        ("else self.factor.T @ x)", "else self.factor @ x)"),
        ("jnp.linalg.norm(unstretch(self.factor, new - old))", "jnp.linalg.norm(new - old)"),
        ("(old @ old + old @ new + new @ new) / 3", "old @ old + old @ new + new @ new"),
        ("(old @ old + old @ new + new @ new) / 3", "(old @ old + new @ new) / 3"),
        ("(unstretch(self.factor, theta - center) for", "(unstretch(self.factor, theta) for"),
        ("LinearBound(self.features, self.first, self.third, factor)", "self"),
        ('"features of logistic"), 1.0,', '"features of logistic"), 0.5,'),
        ("1 / (6 * math.sqrt(3)))", "1 / (4 * math.sqrt(3)))"),
        ("first = (degrees + 1) / 2 / unit", "first = (degrees + 1) / unit"),
        ("first = (degrees + 1) / 2 / unit", "first = degrees / 2 / unit"),
        ("u, unit = math.sqrt(2) - 1, scale", "u, unit = math.sqrt(2), scale"),
        ("4 * u * (3 - u**2)", "2 * u * (3 - u**2)"),
        ("(1 + u**2) ** 3 / unit**3", "(1 + u**2) ** 3 / unit"),
        ("unit = math.sqrt(2) - 1, scale * math.sqrt(degrees)", "unit = math.sqrt(2) - 1, scale * degrees"),
    ],
}
