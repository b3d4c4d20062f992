"""Published numbers beside ours, entered into the field book: Onsager's energy, marriages of Florence, the Nile."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import networkx
import numpy as np
import pytest
from field_book import DOCS, Book, page_of
from scipy.special import ellipk

import lockstep as ls

FLORENCE = "Networks: the marriages of Florence"
COMMAND = "pytest -m study tests/studies/test_field_book.py"
FAR = 3.5


@pytest.mark.study
def test_the_energy_of_the_ising_model_is_onsagers(field_book):
    """Perfect draws; at these temperatures a torus of 32 × 32 differs from the infinite lattice by less than 1e-6."""
    model = ls.models.Ising((32, 32), periodic=True)
    for theta in (0.2, 0.3):
        x = 2 * theta
        modulus = 2 * np.sinh(x) / np.cosh(x) ** 2
        exact = 1 / np.tanh(x) * (1 + 2 / np.pi * (2 * np.tanh(x) ** 2 - 1) * ellipk(modulus**2))
        draws = jax.vmap(lambda key, theta=theta: model.statistic(model.simulate(key, theta)))(jr.split(jr.key(1), 400))
        values = np.asarray(draws, float).reshape(400) / 32**2
        ours = values.mean(), values.std(ddof=1) / 20
        source = (
            "L. Onsager (1944), Crystal statistics I, Physical Review 65, 117–149: the energy of the infinite square "
            "lattice, a formula, evaluated here."
        )
        quantity = f"Ising, θ = {theta}: products of neighbours, a site"
        apart = field_book.enter("Lattices: perfect simulation", quantity, (exact, 0.0), ours, source, COMMAND)
        assert abs(apart) < FAR


@pytest.mark.study
def test_the_marriages_of_florence(field_book):
    """Edges alone: the maximum of the likelihood is the logit of the density, which ergm prints as -1.609."""
    graph = networkx.florentine_families_graph()
    graph.add_node("Pucci")  # who had no marriage with the others
    model = ls.models.ERGM(["edges"], graph, toggles=2000)
    published = -1.6094
    s = np.asarray(
        jax.vmap(lambda key: model.statistic(model.simulate(key, jnp.array([published]))))(jr.split(jr.key(2), 3000))
    )
    values = np.asarray(s, float).reshape(3000)
    ours = values.mean(), values.std(ddof=1) / np.sqrt(3000)
    source = (
        "statnet's ergm, whose summary of `ergm(flomarriage ~ edges)` prints -1.6094 with a standard error of 0.2449 "
        "(D. R. Hunter et al. (2008), Journal of Statistical Software 24(3), is the package); at a maximum of the "
        "likelihood the expected number of edges is the observed one, 20, and the standard error is one over the root "
        "of their variance."
    )
    # The published digits are good to 0.00003 (a uniform error), which moves the expected number of edges by 0.0005.
    expected = "expected edges at the published estimate"
    apart = [field_book.enter(FLORENCE, expected, (20.0, 0.0005), ours, source, COMMAND)]
    spread = values.std(ddof=1)
    error = 1 / spread, 1 / spread / np.sqrt(2 * 3000)
    quantity = "standard error of the estimate, edges alone"
    apart.append(field_book.enter(FLORENCE, quantity, (0.2449, 0.00003), error, source, COMMAND))
    assert max(map(abs, apart)) < FAR


# Of `ergm(flomarriage ~ edges + triangle)`, as four people have printed them, each by a simulation of ergm's own; and
# the standard errors that three of them print.
WITH_TRIANGLES = np.array([(-1.6773, 0.1574), (-1.6737, 0.1595), (-1.6900, 0.1901), (-1.6507, 0.1082)])
THEIR_ERRORS = np.array([(0.3499, 0.5831), (0.3620, 0.5982), (0.3179, 0.5184)])


@pytest.mark.study
def test_marriages_with_triangles(field_book):
    """At the published estimates edges and triangles are expected to be as many as there are, 20 and 3."""
    graph = networkx.florentine_families_graph()
    graph.add_node("Pucci")
    model = ls.models.ERGM(["edges", "triangles"], graph, toggles=4000)
    theta = jnp.asarray(WITH_TRIANGLES.mean(axis=0))
    draws = jax.vmap(lambda key: model.statistic(model.simulate(key, theta)))(jr.split(jr.key(3), 4000))
    values = np.asarray(draws, float).reshape(4000, 2)
    information = np.cov(values.T)
    # How far simulations of their own move the published estimates, in terms of the two numbers.
    moved = (information @ (WITH_TRIANGLES - WITH_TRIANGLES.mean(axis=0)).T).std(axis=1, ddof=1) / np.sqrt(4)
    source = (
        "statnet's ergm, `ergm(flomarriage ~ edges + triangle)`: four published summaries between "
        "(-1.6507, 0.1082) and (-1.6900, 0.1901), which differ by ergm's own simulations; here at their mean. Three "
        "print standard errors, of which the mean is given: the roots of the inverse covariance of the two numbers."
    )
    apart = []
    for i, (name, observed) in enumerate((("edges", 20.0), ("triangles", 3.0))):
        ours = values[:, i].mean(), values[:, i].std(ddof=1) / np.sqrt(4000)
        quantity = f"expected {name} at the published estimates with triangles"
        apart.append(field_book.enter(FLORENCE, quantity, (observed, moved[i]), ours, source, COMMAND))
    batches = [np.sqrt(np.diag(np.linalg.inv(np.cov(batch.T)))) for batch in np.split(values, 20)]
    errors = np.sqrt(np.diag(np.linalg.inv(information))), np.std(batches, axis=0, ddof=1) / np.sqrt(20)
    for i, name in enumerate(("edges", "triangles")):
        published = THEIR_ERRORS[:, i].mean(), THEIR_ERRORS[:, i].std(ddof=1) / np.sqrt(3)
        quantity = f"standard error of the estimate of {name}, with triangles"
        apart.append(field_book.enter(FLORENCE, quantity, published, (errors[0][i], errors[1][i]), source, COMMAND))
    assert max(map(abs, apart)) < FAR


NILE = """
1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100 1210 1150 1250
1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824 702 1120 1100 832 764 821 768
845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010 771 676 649 846 812 742 801 1040 860 874 848
890 744 749 838 1050 918 986 797 923 975 815 1020 906 901 1170 912 746 919 718 714 740
"""


def log_likelihood_of_the_nile(rng, particles=2000, noise=15099.0, step=1469.1):
    """A bootstrap filter of a level that walks, from the first observation on: the log of an unbiased estimate."""
    flow = np.array(NILE.split(), float)
    level, total = flow[0] + np.sqrt(noise) * rng.normal(size=particles), 0.0
    for value in flow[1:]:
        level = level + np.sqrt(step) * rng.normal(size=particles)
        log_weights = -0.5 * ((value - level) ** 2 / noise + np.log(2 * np.pi * noise))
        largest = log_weights.max()
        weights = np.exp(log_weights - largest)
        total += largest + np.log(weights.mean())
        positions = (rng.random() + np.arange(particles)) / particles
        level = level[np.minimum(np.searchsorted(np.cumsum(weights) / weights.sum(), positions), particles - 1)]
    return total


def exact_of_the_nile(noise=15099.0, step=1469.1):
    """The Kalman filter."""
    flow = np.array(NILE.split(), float)
    mean, variance, total = flow[0], noise, 0.0
    for value in flow[1:]:
        variance += step
        spread, error = variance + noise, value - mean
        total -= 0.5 * (np.log(2 * np.pi * spread) + error**2 / spread)
        mean, variance = mean + variance / spread * error, variance * noise / spread
    return total


@pytest.mark.study
def test_the_likelihood_of_the_nile(field_book):
    rng = np.random.default_rng(1)
    estimates = np.array([log_likelihood_of_the_nile(rng) for _ in range(200)])
    weights = np.exp(estimates - estimates.max())
    value = estimates.max() + np.log(weights.mean())
    ours = value, weights.std(ddof=1) / weights.mean() / np.sqrt(len(weights))
    source = (
        "J. Durbin and S. J. Koopman (2012), Time Series Analysis by State Space Methods, chapter 2, for data, model "
        "and the variances 15099 and 1469.1; their likelihood, given the first flow, by the Kalman filter."
    )
    chapter = "Filters: the flow of the Nile"
    apart = field_book.enter(chapter, "log likelihood, by particles", (exact_of_the_nile(), 0.0), ours, source, COMMAND)
    assert abs(apart) < FAR


def test_rows_are_renewed_and_the_page_says_what_was_entered(tmp_path):
    book = Book(tmp_path / "book.json")
    row = ("Chapter", "quantity", (10.0, 0.3), (10.8, 0.4), "A source.", "a command")
    assert book.enter(*row) == pytest.approx(1.6)
    book.write()
    again = Book(tmp_path / "book.json")
    again.enter("Other", "second", (1.0, 0.0), (1.0004, 0.0002), "B", "c", said="about 1")
    again.enter(*row[:3], (10.3, 0.4), *row[4:])
    page = page_of(again.rows)
    assert "| quantity | 10.00 ± 0.30 | 10.30 ± 0.40 | +0.6 |" in page and page.count("| quantity | 10") == 1
    assert "| second | about 1 | 1.00040 ± 0.00020 | +2.0 |" in page and "A source." in page and "`a command`" in page


def test_the_page_that_is_kept_has_all_rows_with_source_command_and_deviation():
    book = Book()
    assert DOCS.joinpath("field-book.md").read_text(encoding="utf-8") == page_of(book.rows)
    told = " ".join(row["source"] for row in book.rows)
    assert all(name in told for name in ("arXiv:1205.6857", "Biswas", "Onsager", "ergm", "Durbin"))
    for row in book.rows:
        assert all(row[name] for name in ("published", "ours", "source", "command", "date", "machine"))
        assert math.isfinite(row["apart"]) and (abs(row["apart"]) < FAR or (row["is_bound"] and row["apart"] > 0))
