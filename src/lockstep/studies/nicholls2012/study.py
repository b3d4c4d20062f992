"""The whole study: measure, draw, compare, and write it down."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.trees import is_named
from lockstep.studies.nicholls2012.bias import RULES, measure_bias
from lockstep.studies.nicholls2012.coupled import measure_coupled
from lockstep.studies.nicholls2012.efficiency import ALGORITHMS, VARIANCES, measure_efficiency
from lockstep.studies.nicholls2012.expected import CAVEAT
from lockstep.studies.nicholls2012.figures import bias, densities, efficiency, gaps, style, times, trajectories
from lockstep.studies.nicholls2012.findings import findings
from lockstep.studies.nicholls2012.model import PROPOSALS
from lockstep.studies.nicholls2012.pairs import PAIRS
from lockstep.studies.nicholls2012.progress import Jobs
from lockstep.studies.nicholls2012.report import Illustration, write_report
from lockstep.studies.nicholls2012.settings import Settings
from lockstep.studies.nicholls2012.table import Row, rows
from lockstep.studies.nicholls2012.times import measure_times

MOST_WORKERS = 4
FIGURES = (
    (trajectories, "coupled"),
    (densities, "coupled"),
    (times, "times"),
    (gaps, "times"),
    (bias, "bias"),
    (efficiency, "efficiency"),
)


class Group(NamedTuple):
    """Measurements that share a compiled program, where they go in the results, and how many there are."""

    path: tuple[str, ...]
    measure: Callable[..., Any]
    arguments: tuple[str, ...]
    jobs: int


class Outcome(NamedTuple):
    """What a study leaves: all results, the rows of the table, and findings in plain words."""

    results: dict[str, Any]
    rows: list[Row]
    findings: list[str]


def run_study(settings: Settings, directory: Path, jobs: Jobs) -> Outcome:
    """Measure everything and write figures, ``results.json`` and ``report.html`` into a directory."""
    _require_matplotlib()
    directory.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    results = measure(settings, jobs)
    table = rows(results)
    said = findings(results, table)
    illustrations = []
    for module, part in FIGURES:
        if results.get(part):
            svg = style.write(module.draw, results[part], directory, module.NAME)
            illustrations.append(Illustration(module.TITLE, module.CAPTION, svg))
    facts = _facts(settings, time.perf_counter() - began)
    _write_json(directory / "results.json", facts, said, table, results)
    write_report(directory / "report.html", said, table, illustrations, facts)
    return Outcome(results, table, said)


def groups(settings: Settings) -> list[Group]:
    """All measurements, the longest first."""
    counts = len(settings.counts)
    every = [
        Group(("times", pair, proposal), measure_times, (pair, proposal), counts)
        for pair in ("penalty_estimate", "naive", "standard")
        for proposal in PROPOSALS
    ]
    if settings.bias_counts:
        every.insert(2, Group(("bias",), measure_bias, (), len(RULES) * len(settings.bias_counts)))
    every += [Group(("coupled", proposal), measure_coupled, (proposal,), 2) for proposal in PROPOSALS]
    if settings.is_full:
        every += [
            Group(
                ("efficiency", proposal, algorithm),
                measure_efficiency,
                (algorithm, proposal),
                1 if algorithm == "standard" else len(VARIANCES),
            )
            for proposal in PROPOSALS
            for algorithm in ALGORITHMS
        ]
    return every


def measure(settings: Settings, jobs: Jobs) -> dict[str, Any]:
    """Run all groups, several at once: XLA compiles and runs without Python's lock."""
    every = groups(settings)
    workers = min(MOST_WORKERS, os.cpu_count() or 1)
    with jobs.of(sum(group.jobs for group in every)), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(group.measure, settings, *group.arguments, jobs.done) for group in every]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        finally:
            jobs.is_stopped = True  # after an error or an interruption the others end with their next measurement
            pool.shutdown(wait=False, cancel_futures=True)
    found = {group.path: future.result() for group, future in zip(every, futures, strict=True)}
    return _nested(found)


def _nested(found: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    """The results as a tree, in the order in which proposals and pairs are listed."""
    order = [*PAIRS, *PROPOSALS, *ALGORITHMS]
    tree: dict[str, Any] = {}
    for path in sorted(found, key=lambda path: [order.index(word) if word in order else -1 for word in path]):
        branch = tree
        for word in path[:-1]:
            branch = branch.setdefault(word, {})
        branch[path[-1]] = found[path]
    return tree


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(
            "the figures need matplotlib, which is not installed: pip install 'lockstep-mcmc[plots]'"
        ) from None


def _facts(settings: Settings, seconds: float) -> dict[str, str]:
    from importlib.metadata import version

    import jax

    return {
        "version": version("lockstep-mcmc"),
        "size": "full" if settings.is_full else "quick",
        "target": "equal mixture of N((3, 3), [1, .5; .5, 1]) and N((6, 6), [1, -.5; -.5, 1])",
        "proposals": ", ".join(f"{name}: {proposal!r}" for name, proposal in PROPOSALS.items()) + " (ours)",
        "estimators": "D - 1 + m/ΣW with W ~ Exp(1); for Penalty Estimate D + W̄ with W ~ N(0, 1) and s²/m",
        "samples m": ", ".join(map(str, settings.counts)),
        "updates a run": f"{settings.updates:,} in {settings.chains} chains that start in equilibrium, and more where "
        f"separations are rare",
        "seed": str(settings.seed),
        "software": f"JAX {jax.__version__}, NumPy {np.__version__}, double precision",
        "time": f"{seconds:.0f} s on {os.cpu_count()} cores, compilation included",
    }


def _write_json(path: Path, facts: dict[str, str], said: list[str], table: list[Row], results: dict[str, Any]) -> None:
    content = {
        "settings": facts,
        "caveat": CAVEAT,
        "findings": said,
        "table": table,
        "results": results,
    }
    path.write_text(json.dumps(_plain(content), ensure_ascii=False, indent=1, allow_nan=False), encoding="utf-8")


def _plain(value: object) -> Any:
    """What JSON can hold: lists for arrays, null for numbers that are not finite, names for what has names."""
    if is_named(value):
        return _plain(value._asdict())  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
