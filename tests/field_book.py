"""The field book: one page of the documentation that sets published numbers beside ours.

Studies enter rows; what other studies entered before stays, so that the page may be renewed piece by piece. The rows
are kept as JSON beside the page.
"""

import datetime
import fcntl
import json
import math
from pathlib import Path

from lockstep.storage.archive import write_json
from lockstep.storage.versions import processor

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# Field book

Numbers that others have published, or that are known exactly, beside what Lockstep finds. `make study` enters them
here, and says by which command, when and where. *Apart* is the distance in standard errors of the two together: most
should be below 2, and hardly any above 3; bounds may be above by more.
"""


class Book:
    """Rows by chapter and quantity."""

    def __init__(self, path=DOCS / "field-book.json"):
        self.path = path
        self.entered = {}  # rows by chapter and quantity

    @property
    def rows(self):
        """The rows of the file, with those that were entered in their places."""
        kept = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []
        rows = {(row["chapter"], row["quantity"]): row for row in kept}
        return list((rows | self.entered).values())

    def enter(self, chapter, quantity, published, ours, source, command, said=None, is_bound=False):
        """Enter a number; ``published`` and ``ours`` are (value, standard error), ``said`` the published text.

        Where ours ``is_bound`` it may be above the published number by any amount. Returns how many standard errors
        the two are apart.
        """
        published, ours = ((float(value), float(error)) for value, error in (published, ours))
        error = math.hypot(published[1], ours[1])
        apart = (ours[0] - published[0]) / error
        row = {
            "chapter": chapter,
            "quantity": quantity,
            "published": said or written(*published),
            "ours": written(*ours),
            "apart": round(apart, 1) + 0.0,
            "is_bound": is_bound,
            "source": source,
            "command": command,
            "date": datetime.date.today().isoformat(),
            "machine": processor(),
        }
        self.entered[chapter, quantity] = row
        return apart

    def write(self):
        """Write the rows and their page, and print it; processes that write one book wait for each other."""
        text = self.path.with_suffix(".md")
        with open(text, "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            rows = self.rows
            write_json(self.path, rows)
            page = page_of(rows)
            text.write_text(page, encoding="utf-8")
        print(f"\n{page}")


def written(value, error):
    """A number with the digits that its error gives a meaning to."""
    if not error > 0:
        return f"{value:.6g}"
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{places}f} ± {error:.{places}f}"


def apart_of(row):
    """How far apart a row's numbers are; a bound that is above is where it should be."""
    return "above" if row.get("is_bound") and row["apart"] > 2 else f"{row['apart']:+.1f}"


def page_of(rows):
    """The page, a table for each chapter."""
    lines = [HEAD]
    for chapter in dict.fromkeys(row["chapter"] for row in rows):
        inner = [row for row in rows if row["chapter"] == chapter]
        lines += [f"## {chapter}", "", "| quantity | published | ours | apart |", "|---|---|---|---|"]
        lines += [f"| {row['quantity']} | {row['published']} | {row['ours']} | {apart_of(row)} |" for row in inner]
        lines.append("")
        for source in dict.fromkeys(row["source"] for row in inner):
            lines += [f"Source: {source}", ""]
        for how in dict.fromkeys((row["command"], row["date"], row["machine"]) for row in inner):
            lines += [f"By `{how[0]}`, {how[1]}, on {how[2]}.", ""]
    return "\n".join(lines)
