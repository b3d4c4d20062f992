"""Write the page of a run."""

from __future__ import annotations

import html
import json
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

from lockstep.core.arguments import path_of, require_run
from lockstep.core.parts import show
from lockstep.core.sampled import Sampled
from lockstep.core.version import __version__
from lockstep.coupling.infos import kind_of
from lockstep.coupling.names import components
from lockstep.coupling.pair import legs
from lockstep.results.convergence import is_suspicious
from lockstep.results.report.content import MOST_COMPONENTS, plots
from lockstep.results.report.html import base_style, definitions, items, resource
from lockstep.results.table import number
from lockstep.storage.archive import commit, make_directory

MOST_ROWS = 200
TITLES = {
    "single": "A run",
    "coupled": "Two coupled chains",
    "shadowed": "An exact chain and its shadow",
    "lagged": "Lagged pairs of chains",
}


def write_report(run: Sampled, path: str | PathLike[str]) -> Path:
    """Write a self-contained HTML page about a run, and return where it is.

    Findings in plain words come first; then traces with linked zoom, densities, ranks, acceptance, separations and
    coalescences of coupled chains, and the table of diagnostics. The page needs no network.

    Parameters
    ----------
    run
        What `ls.sample` or `ls.load` returned.
    path
        The file to write; in a directory, ``report.html``.
    """
    require_run(run)
    path = path_of(path, "path")
    path = path / "report.html" if path.is_dir() else path
    shown = texts(run)
    page = Template(resource("page.html")).substitute(
        style=report_style(),
        title=shown["title"],
        lead=shown["lead"],
        main=main_of(shown),
        # Nothing in the data can end the script, or begin another.
        data=json.dumps(plots(run), allow_nan=False).replace("<", r"\u003c"),
        script=resource("plots.js"),
    )
    make_directory(path.parent, "the directory of path")
    commit(path, lambda file: file.write(page.encode()))  # a link is replaced, never followed
    return path


def report_style() -> str:
    """The style sheet of the page of a run."""
    return base_style() + resource("page.css")


def main_of(shown: dict[str, str]) -> str:
    """The body of the page: findings, places for plots, the table, and how the run was made."""
    return Template(resource("main.html")).substitute({name: shown[name] for name in ("findings", "table", "facts")})


def texts(run: Any) -> dict[str, str]:
    """What a page says of a run, each piece as HTML in which names are text."""
    summary = run.summary()
    return {
        "title": html.escape(_title(run)),
        "lead": html.escape(_lead(run)),
        "findings": items(map(_sentence, summary.findings)),
        "table": _table(summary.table),
        "facts": definitions(_facts(run)),
    }


def _title(run: Sampled) -> str:
    return TITLES[kind_of(run.info)] + " in Lockstep"


def _lead(run: Sampled) -> str:
    thinned = f", thinned by {run.thin}" if run.thin > 1 else ""
    one, several = ("pair of chains", "pairs of chains") if len(legs(run.walked)) > 1 else ("chain", "chains")
    many = f"{run.chains} {one if run.chains == 1 else several}"
    return f"{many} × {run.draws:,} draws{thinned}; acceptance {run.acceptance:.2f}."


def _table(table: Any) -> str:
    """The diagnostics, a row for each component; numbers that need attention stand out."""
    heads = "".join(f"<th scope='col'>{html.escape(str(name))}</th>" for name in table.columns)
    rows = []
    for label, row in table.head(MOST_ROWS).iterrows():
        cells = "".join(
            f'<td data-name="{html.escape(name)}"{_kind(name, value)}>{html.escape(number(name, value, row))}</td>'
            for name, value in row.items()
        )
        rows.append(f"<tr><th scope='row'>{html.escape(str(label))}</th>{cells}</tr>")
    more = f"<p>{len(table) - MOST_ROWS:,} more rows are left out.</p>" if len(table) > MOST_ROWS else ""
    body = "\n".join(rows)
    return f"<table><thead><tr><th></th>{heads}</tr></thead>\n<tbody>{body}</tbody></table>{more}"


def _kind(column: Any, value: object) -> str:
    return ' class="far"' if is_suspicious(str(column), value) else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _facts(run: Sampled) -> dict[str, str]:
    count = len(components(run))
    facts = {
        "kernel": run.about["kernel"] if run.kernel is None else show(run.kernel),
        "chains": f"{run.chains}, of {run.draws:,} draws each",
        "warm-up": f"{run.warmup:,} updates",
        "thinning": f"{run.thin} update{'s' * (run.thin > 1)} a draw",
        "seed": str(run.seed),
        "time": f"{run.seconds:,.1f} s",
        "version": f"Lockstep {__version__}",
    }
    if count > MOST_COMPONENTS:
        facts["plots"] = f"of the first {MOST_COMPONENTS} of {count} components"
    return facts
