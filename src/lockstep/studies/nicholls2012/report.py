"""One page that holds everything: findings, table and figures, with nothing to load."""

from __future__ import annotations

import base64
import html
import math
from importlib import resources
from pathlib import Path
from string import Template
from typing import NamedTuple

from lockstep.results.report.html import base_style, definitions, items
from lockstep.studies.nicholls2012.expected import CAVEAT
from lockstep.studies.nicholls2012.table import COLUMNS, NEAR, Row


class Illustration(NamedTuple):
    """A figure that was written: its title, its caption, and the file of its vector drawing."""

    title: str
    caption: str
    svg: Path


def write_report(
    path: Path, findings: list[str], rows: list[Row], illustrations: list[Illustration], facts: dict[str, str]
) -> None:
    """Write the page."""
    template = Template(resources.files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    page = template.substitute(
        version=html.escape(facts["version"]),
        size=html.escape(facts["size"]),
        style=base_style(),
        findings=items(findings),
        caveat=html.escape(CAVEAT),
        heads="".join(f"<th>{html.escape(name)}</th>" for name in COLUMNS),
        rows="\n".join(_rows(rows)),
        figures="\n".join(_figure(number, one) for number, one in enumerate(illustrations, 1)),
        facts=definitions(facts),
    )
    path.write_text(page, encoding="utf-8")


def _rows(rows: list[Row]) -> list[str]:
    lines, section = [], ""
    for row in rows:
        if row.section != section:
            section = row.section
            lines.append(f'<tr class="section"><th colspan="5">{html.escape(section)}</th></tr>')
        quantity, *cells = (html.escape(cell) for cell in row.cells())
        is_far = not math.isnan(row.deviation) and abs(row.deviation) > NEAR
        kinds = ["", "", "", ' class="far"' if is_far else ""]
        data = (f'<td data-name="{n}"{k}>{cell}</td>' for n, k, cell in zip(COLUMNS, kinds, cells, strict=True))
        lines.append(f"<tr><td>{quantity}</td>{''.join(data)}</tr>")
    return lines


def _figure(number: int, illustration: Illustration) -> str:
    title, caption = html.escape(illustration.title), html.escape(illustration.caption)
    data = base64.b64encode(illustration.svg.read_bytes()).decode("ascii")
    return (
        f'<figure><img alt="{title}" src="data:image/svg+xml;base64,{data}">\n'
        f"<figcaption><strong>Figure {number}. {title}.</strong> {caption}</figcaption></figure>"
    )
