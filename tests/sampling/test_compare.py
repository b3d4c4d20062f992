"""Many runs in one table, and a sweep as a Dataset with its settings as coordinates."""

import numpy as np
import pytest
from durable_models import shadowed, single

import lockstep as ls
from lockstep.engine import block as limits

SHAPE = (4, 400)


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_CELLS", 1)
        yield


def made(seed, shift=0.0, seconds=2.0, is_moving=True):
    """A run of independent draws, so that nothing is compiled."""
    rng = np.random.default_rng(seed)
    positions = {"a": rng.normal(size=SHAPE) * is_moving, "b": rng.normal(size=(*SHAPE, 1)) + shift}
    info = ls.Info(rng.random(SHAPE) < 0.4, rng.normal(size=SHAPE), np.ones(SHAPE, bool))
    return ls.Run(positions, info, single(), seed=seed, warmup=0, thin=1, seconds=seconds)


def test_means_errors_and_speed_stand_side_by_side():
    runs = {"first": made(0), "again": made(1, seconds=4.0), "off": made(2, shift=0.5)}
    found = ls.compare(runs)
    assert list(found.means.index) == [(name, run) for name in ("a", "b[0]") for run in runs]
    table = runs["again"].summary().table
    row = found.means.loc["b[0]", "again"]
    assert row["mean"] == table.loc["b[0]", "mean"] and row["mcse_mean"] == table.loc["b[0]", "mcse_mean"]
    assert row["ess_per_second"] == table.loc["b[0]", "ess_bulk"] / 4.0
    assert found.runs.loc["again", "ess_per_second"] == table[["ess_bulk", "ess_tail"]].min(axis=None) / 4.0
    # The deviation of the mean that is off by half a standard deviation, and of those that are not.
    expected = 0.5 / np.hypot(*(found.means.loc[("b[0]", name), "mcse_mean"] for name in ("first", "off")))
    assert found.means.loc[("b[0]", "off"), "deviation"] == pytest.approx(expected, abs=4)
    others = found.means.drop(index=("b[0]", "off"))["deviation"]
    assert others.abs().max() < 4 and (found.means.xs("first", level="run")["deviation"] == 0).all()
    far = [text for text in found.findings if "standard errors above that of first in off" in text]
    assert len(far) == 1 and far[0].startswith("the mean of b[0]")
    assert far[0] in repr(found) and "again" in repr(found)


def test_what_is_not_known_is_withheld():
    found = ls.compare([made(0), made(1, is_moving=False)])
    assert np.isnan(
        found.runs.loc["run 1", ["r_hat", "ess", "ess_per_second", "rho", "discrepancy"]].astype(float)
    ).all()
    assert np.isnan(found.means.loc[("a", "run 1"), "deviation"])
    assert "a never moved" in "".join(found.findings) and "nan" not in repr(found).lower()


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(TypeError, match=r"runs is \[\], without a run"):
        ls.compare([])
    with pytest.raises(TypeError, match="several runs"):
        ls.compare("runs/a")
    with pytest.raises(TypeError, match=r"what ls\.sample or ls\.load returned"):
        ls.compare([1])


def test_a_shadowed_run_has_its_measured_return_time():
    run = ls.sample(shadowed(), np.zeros(2), draws=300, chains=2)
    assert ls.compare([run]).runs.loc["run 0", "rho"] == ls.separation.summary(run).rho_1


def test_a_sweep_is_a_dataset_with_its_settings_as_coordinates():
    found = ls.sweep(single, {"scale": [0.5, 2.0], "seed": [3, 1]}, np.zeros(2), draws=60, chains=2)
    data = found.to_dataset()
    assert data["position"].dims == ("scale", "seed", "chain", "draw", "position_dim_0")
    assert data["scale"].values.tolist() == [0.5, 2.0] and data["seed"].values.tolist() == [3, 1]
    for scale in (0.5, 2.0):
        for seed in (1, 3):
            run, part = found.select(scale=scale, seed=seed), data.sel(scale=scale, seed=seed)
            np.testing.assert_array_equal(part["position"], run.positions)
            assert float(part["acceptance"]) == run.acceptance and int(part["draws"]) == 60
    assert list(ls.compare(found).runs.index) == [
        "scale=0.5,seed=3",
        "scale=0.5,seed=1",
        "scale=2.0,seed=3",
        "scale=2.0,seed=1",
    ]
    # Runs of other lengths end in NaN, and values that are no numbers are named.
    short = [run if i else ls.sample(single(0.5), np.zeros(2), draws=40, chains=2) for i, run in enumerate(found)]
    ragged = ls.Sweep(found.points, short).to_dataset()
    assert np.isnan(ragged["position"][0, 0, :, 40:]).all() and not np.isnan(ragged["position"][0, 0, :, :40]).any()
    named = ls.Sweep([{"law": "wide"}, {"law": single}], found.runs[:2]).to_dataset()
    assert named["law"].values[0] == "wide" and named["law"].values[1].startswith("function-")
    with pytest.raises(ValueError, match="called 'position'"):
        ls.Sweep([{"position": 1}], found.runs[:1]).to_dataset()
