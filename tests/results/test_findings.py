"""What a summary tells: numbers with the digits that count, and chains that stick or disagree, with a remedy."""

import dataclasses
import math

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas
import pytest

import lockstep as ls
from lockstep.results.convergence import Stay, _is_stuck, _least, _longest, longest_stays, problems, stuck
from lockstep.results.table import number

WALK = ls.RandomWalk(1.0)


@pytest.fixture(scope="module")
def small():
    """A rate of 4e-4 beside a count of 10⁴."""

    def log_density(p):
        return -0.5 * ((p["mu"] - 4e-4) / 1e-5) ** 2 - 0.5 * ((p["N"] - 1e4) / 1e2) ** 2

    walk = ls.RandomWalk({"mu": 2e-5, "N": 2e2})
    return ls.sample(ls.standard(log_density, walk), {"mu": 4e-4, "N": 1e4}, draws=2000, chains=4, seed=1)


def test_small_numbers_survive(small, tmp_path):
    summary = small.summary()
    assert summary.table.loc["mu", "mean"] == pytest.approx(small.positions["mu"].mean(), rel=1e-12)
    assert summary.table.loc["mu", "sd"] == pytest.approx(1e-5, rel=0.2)
    row = next(line for line in repr(summary).splitlines() if line.startswith("mu"))
    mean, sd, low, high = map(float, row.split()[1:5])
    assert mean == pytest.approx(4e-4, abs=2e-6) and sd == pytest.approx(1e-5, rel=0.2)
    assert low == pytest.approx(4e-4 - 1.6e-5, abs=3e-6) and high == pytest.approx(4e-4 + 1.6e-5, abs=3e-6)
    page = small.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert row.split()[1] in page


@pytest.mark.parametrize(
    ("column", "value", "row", "text"),
    [
        ("mean", 4.03217e-4, {"sd": 1e-4, "mcse_mean": 2e-6}, "0.000403"),
        ("mean", 4.03217e-9, {"sd": 1e-10, "mcse_mean": 2e-12}, "4.032e-09"),
        ("mean", 9998.826, {"sd": 95.0, "mcse_mean": 4.3}, "9999"),
        ("mean", 1234.5678, {"sd": 1e-3, "mcse_mean": 1e-5}, "1234.56780"),
        ("mean", -0.0321, {"sd": 0.96, "mcse_mean": 0.04}, "-0.03"),
        ("mean", 3.2e9, {"sd": 1e8, "mcse_mean": 2e6}, "3.200e+09"),
        ("mean", 0.0, {"sd": 0.0, "mcse_mean": math.nan}, "0"),
        ("eti89_lb", 4.03217e-4, {"sd": 1e-4, "mcse_mean": math.nan}, "0.00040"),
        ("sd", 1.0e-4, {"sd": 1e-4, "mcse_sd": 2e-6}, "0.000100"),
        ("r_hat", 1.4142, {}, "1.414"),
        ("ess_bulk", 1234.6, {}, "1235"),
        ("ess_bulk", math.nan, {}, "-"),
        ("mcse_mean", 2.345e-6, {}, "2.3e-06"),
    ],
)
def test_digits_follow_the_error(column, value, row, text):
    assert number(column, value, row) == text


def test_users_choose_the_digits_that_are_printed(small):
    table = small.summary().table

    def shown(round_to):
        summary = small.summary(round_to=round_to)
        assert summary.table.equals(table)  # in full, whatever is printed
        row = next(line for line in repr(summary).splitlines() if line.startswith("mu"))
        return row.split()[1:3]

    mean, sd = table.loc["mu", ["mean", "sd"]]
    assert shown(7) == [f"{mean:.7f}", f"{sd:.7f}"] and shown("3g") == [f"{mean:.3g}", f"{sd:.3g}"]
    assert [float(text) for text in shown("none")] == [mean, sd]
    assert shown("auto") != shown("none") and 0.0 not in map(float, shown("auto"))
    for bad in (-1, "3f", "0g", 2.5, None, True):
        with pytest.raises(ValueError, match=r'round_to is .*it must be "auto", a number of decimals'):
            small.summary(round_to=bad)


def test_a_healthy_run_says_so_and_nothing_else(small):
    findings = small.summary().findings
    assert len(findings) == 3
    assert findings[0] == "exact kernel"
    assert findings[1].startswith("R-hat is at most 1.00") and "acceptance" in findings[2]


def test_a_chain_that_never_moved_has_no_effective_sample_size(recwarn):
    stuck = ls.standard(lambda theta: jnp.where(theta == 0, 0.0, -jnp.inf), WALK)
    summary = ls.sample(stuck, 0.0, draws=500, chains=2).summary()
    assert summary.table[["ess_bulk", "ess_tail", "r_hat", "mcse_mean"]].isna().all(axis=None)
    assert summary.findings[0].startswith("chain 0 never moved in 500 updates (2 chains stick): take smaller steps")
    assert "position never moved: an effective sample size" in summary.findings[1]
    # One component of several that is never moved.
    cycle = ls.standard(lambda p: -0.5 * p["a"] ** 2, ls.Component("a", WALK))
    summary = ls.sample(cycle, {"a": 0.0, "b": np.full((2, 2), 0.3)}, draws=200, chains=2).summary()
    assert summary.table["ess_bulk"].isna().tolist() == [False, True, True, True, True]
    # The mean of many times 0.3 is rounded: all its digits would be printed if the deviation from it counted.
    assert summary.table["sd"].iloc[1:].tolist() == [0.0] * 4
    assert str(summary).count(" 0.3 ") == 12


def test_sticking_is_named_with_the_remedy_of_the_kernel():
    """A log estimate with standard deviation 3."""
    noisy = ls.pseudo_marginal(lambda key, theta: -0.5 * theta**2 + 3 * jr.normal(key), WALK)
    with pytest.warns(ls.LockstepWarning, match=r"chain \d stood in one state for .* more particles or samples"):
        run = ls.sample(noisy, 0.0, draws=1500, chains=4, seed=0)
    longest = max(longest_stays(run), key=lambda stay: stay.draws)
    positions = run.positions[longest.chain]
    changes = np.flatnonzero(np.diff(positions, prepend=np.nan, append=np.nan) != 0)
    assert longest.draws == np.diff(changes).max() and longest.share == longest.draws / 1500
    first, second, *_ = run.summary().findings
    assert f"chain {longest.chain} stood in one state for {longest.draws} of 1,500 draws" in first
    assert "more particles or samples" in first and "correlation" in first
    assert "R-hat is 1." in second and "the effective sample size is only" in second and "see above" in second


def table_of(bulk, tail):
    return pandas.DataFrame({"r_hat": [1.0], "ess_bulk": [bulk], "ess_tail": [tail]}, index=["theta"])


def made_of(counts, thin):
    """A run of which only the number of moves in each draw is known."""
    shape = np.shape(counts)
    info = ls.Info(np.asarray(counts), np.zeros(shape), np.full(shape, thin))
    return ls.Run(np.zeros(shape), info, None, 0, 0, thin, 0.0, None, {"kernel": "", "exact_when": "always"})


def test_a_stay_lasts_to_the_end_of_the_run():
    (stay,) = longest_stays(made_of([[1] * 300 + [0] * 100], 1))
    assert stay == (0, 101, 101 / 400, False)


@pytest.mark.parametrize("thin", [1, 7])
@pytest.mark.parametrize("draws", [60, 400, 2048, 30_000])
def test_no_stay_that_is_worth_a_word_is_overlooked(draws, thin):
    run = made_of(np.ones((1, draws)), thin)
    told = 0
    for acceptance in (0.0, 1e-3, 0.02, 0.12, 0.5, 0.97, 1.0):
        least = _least(run, acceptance)
        for stay in (Stay(0, length, length / draws, False) for length in range(1, min(draws, 3000))):
            if _is_stuck(stay, run, acceptance):
                assert stay.draws >= least
                told += 1
    assert told


def test_a_stay_is_strange_by_the_updates_that_it_took():
    """52 draws of 10 updates each in one state, at an acceptance of 5 %."""
    counts = np.tile([1, 0], 2500)[None]
    counts[0, 2001:2052] = 0
    (told,) = problems(made_of(counts, 10), table_of(1000.0, 1000.0))
    assert told.startswith("chain 0 stood in one state for 52 of 5,000 draws (1.0%")


def test_the_smaller_effective_sample_size_counts():
    (told,) = problems(made_of(np.ones((1, 100), int), 1), table_of(1000.0, 100.0))
    assert told.startswith("the effective sample size is only 100 (of theta)")


def test_chains_in_different_modes_are_named(tmp_path):
    def two(theta):
        return jnp.logaddexp(-0.5 * (theta - 20) ** 2, -0.5 * (theta + 20) ** 2)

    starts = ls.Starts(np.array([-20.0, 20.0]))
    run = ls.sample(ls.standard(two, ls.RandomWalk(2.0)), starts, draws=500, chains=2, seed=1)
    finding = run.summary().findings[0]
    assert finding.startswith("R-hat is ") and "run longer" in finding and "different modes" in finding
    page = run.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert finding[:40] in page


def test_remedies_come_from_the_parts_of_a_kernel():
    def sample(noise, position, candidate):
        return noise

    noisy = ls.estimators.mean(sample, 4, draw=lambda key, count: jr.normal(key, (count,)))
    exact = ls.standard(lambda theta: -0.5 * theta**2, WALK)
    assert exact.when_stuck.startswith("take smaller steps") and "adapt=True" in exact.when_stuck
    assert "more samples" in ls.corrected(noisy, WALK).when_stuck
    assert "closer to the target" in ls.standard(lambda t: -(t**2), ls.IndependentNormal(0.0, 1.0)).when_stuck
    draw = lambda key: jr.normal(key, (3,))  # noqa: E731
    correlated = ls.pseudo_marginal(lambda u, t: u.sum() - t**2, WALK, correlation=0.9, draw=draw)
    assert "a correlation nearer to 1" in correlated.when_stuck
    assert ls.Cycle([exact, exact]).when_stuck == exact.when_stuck
    assert "; or " in ls.Coupled(exact, ls.corrected(noisy, WALK)).when_stuck


def test_what_is_loaded_says_the_same(tmp_path):
    noisy = ls.pseudo_marginal(lambda key, theta: -0.5 * theta**2 + 3 * jr.normal(key), WALK)
    with pytest.warns(ls.LockstepWarning, match="stood in one state"):
        run = ls.sample(noisy, 0.0, draws=500, chains=2, seed=0, directory=tmp_path / "run")
    assert ls.load(tmp_path / "run").summary().findings == run.summary().findings


def test_progress_says_compiling_before_anything_is_done(capsys):
    def log_density(theta):
        print("traced", end=" ", file=__import__("sys").stderr)
        return -0.5 * theta**2

    ls.sample(ls.standard(log_density, WALK), 0.0, draws=70, chains=2, progress=True)
    said = capsys.readouterr().err
    assert said.startswith("sampling: compiling\n") and said.index("compiling") < said.index("traced")
    ls.sample(ls.standard(log_density, WALK), 0.0, draws=70, chains=2, progress=False)
    assert "compiling" not in capsys.readouterr().err


def test_a_few_of_many_chains_are_worth_a_finding_and_no_warning():
    kernel = ls.standard(lambda theta: -0.5 * jnp.sum(theta**2), WALK)
    run = ls.sample(kernel, np.zeros(1), draws=400, chains=40)
    assert stuck(run) is None
    moves = run.info.is_accepted.copy()
    moves[7, 100:200] = False
    held = dataclasses.replace(run, info=run.info._replace(is_accepted=moves))
    assert stuck(held).startswith("chain 7 stood in one state")
    assert stuck(held, 0.05) is None
    assert stuck(held, 0.02) is not None


def test_the_longest_stays_of_many_chains_are_those_of_each_alone():
    generator = np.random.default_rng(1)
    for draws in (1, 2, 7, 60):
        moves = generator.random((40, draws)) < generator.random((40, 1)) ** 2
        alone = [np.diff(np.concatenate([[0], np.flatnonzero(row), [draws]])).max() for row in moves]
        longest, arrivals = _longest(moves)
        assert longest.tolist() == alone
        assert arrivals.tolist() == moves.sum(axis=1).tolist()
