"""What the papers say and what was measured.

A claim is stated once, in a chapter's claims.yaml. A function of the chapter's claims.py measures it, and it is judged
here. `python -m clbook.claims --shake 1e-6` lists the verdicts that hang by a thread.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import json
import os
import re
from collections.abc import Callable
from html import escape
from pathlib import Path

import jinja2
import numpy as np
import yaml

from clbook.data import cache_folder
from clbook.style import typeset

VERDICTS = (
    "fails",
    "undecided",
    "holds",
    "holds when",
    "misprinted",
    "not seen here",
    "not tested",
)
HERE = Path(__file__).parent


@dataclasses.dataclass
class Claim:
    """One statement, and how it is judged.

    Attributes:
        id: its name, as "ls-prop-4-1".
        source: paper and item, "LS Theorem 4.3". "; " parts several; the first has the claim.
        says: the statement, no stronger than the paper's.
        theirs: the paper's setting.
        here: our setting.
        bar: what it takes to hold, fixed before the run.
        evidence: seeds, sizes, precision.
        anchor: the id of its place in the chapter.
        ours: True for what the paper does not say; "code" for a check of the book's functions.
        shown: whether its row stands in the chapter.
        verdicts: the words for a bar that is met, and for one that is not.
        condition: what follows "holds when".
        measure: takes some of the chapter's named runs, which its parameters name, and gives a Finding.
    """

    id: str
    source: str
    says: str
    theirs: str
    here: str
    bar: str
    evidence: str
    anchor: str
    ours: bool | str = False
    shown: bool = False
    verdicts: tuple[str, str] = ("holds", "fails")
    condition: str = ""
    measure: Callable | None = None

    def __post_init__(self):
        known = set(self.verdicts) <= set(VERDICTS)
        conditional = "holds when" in self.verdicts
        if not known or conditional != bool(self.condition):
            raise ValueError(
                f"verdicts={self.verdicts} of {self.id}: allowed are {', '.join(VERDICTS)}; 'holds when' "
                f"goes with a condition, and only it (condition={self.condition!r})"
            )

    def record(self, runs: dict) -> dict:
        """The claim's row of the ledger, from the chapter's named `runs`."""
        needed = inspect.signature(self.measure).parameters
        finding = self.measure(*(runs[name] for name in needed))
        judged = [judge(condition) for condition in finding.conditions]
        # The least favourable condition decides; of equal verdicts, the one with the smaller margin.
        verdict, margin, spread = min(
            judged,
            key=lambda found: (VERDICTS.index(found[0]), found[1]),
            default=(finding.verdict, None, None),
        )
        met, missed = self.verdicts
        own_words = {"holds": met, "fails": missed}
        verdict = finding.verdict or own_words.get(verdict, verdict)
        if verdict not in VERDICTS:
            raise ValueError(f"verdict={verdict!r} of {self.id}: allowed are {', '.join(VERDICTS)}")
        first_source = self.source.split("; ")[0]
        paper, item = first_source.split(" ", 1)
        row = dict(vars(self))
        del row["measure"], row["verdicts"]
        row |= {"paper": paper, "item": item, "measured": finding.text, "value": finding.value}
        return row | {"verdict": verdict, "margin": margin, "spread": spread}


@dataclasses.dataclass
class Finding:
    """What a measure found.

    Attributes:
        text: what was measured, for a reader.
        value: the number in question, None where there is none.
        conditions: how far each of the claim's conditions is past its bar; positive is met. A number where no chance
            enters, else one a seed. True and False count as 1 and -1. The least favourable one decides.
        verdict: in place of a margin, where there can be none: "undecided" for runs cut before the event.
    """

    text: str
    value: float | None
    conditions: tuple = ()
    verdict: str | None = None


def judge(condition) -> tuple[str, float, float]:
    """Judge one condition of a Finding.

    Seeds decide if they are three or more and their mean is at least twice their standard deviation.

    Returns:
        "holds", "fails" or "undecided"; the mean margin; its standard deviation over seeds.
    """
    margins = np.asarray(condition)
    if margins.dtype == bool:
        margins = 2 * margins - 1
    margins = margins.astype(float)
    if not np.isfinite(margins).all():
        return "undecided", 0.0, 0.0
    margin = float(margins.mean())
    spread = float(margins.std(ddof=1)) if margins.size > 1 else 0.0
    enough = margins.ndim == 0 or margins.size >= 3
    if not enough or abs(margin) < 2 * spread or margin == 0:
        return "undecided", margin, spread
    return "holds" if margin > 0 else "fails", margin, spread


class Chapter(dict):
    """{id: claim}, as the `claims.yaml` beside the file `path` states them."""

    def __init__(self, path: str):
        text = Path(path).with_suffix(".yaml").read_bytes()
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is much faster
        for id, fields in yaml.load(text, loader).items():
            self[id] = Claim(id, **fields)

    def measure(self, id: str, *fixed) -> Callable:
        """Decorator: the function below measures the claim `id`, with `fixed` as its first arguments."""

        def register(function):
            self[id].measure = functools.partial(function, *fixed)
            return function

        return register

    def judge(self, *ids: str, **runs) -> Judged:
        """These claims, or where none is named all that the chapter's named runs are enough for."""
        enough = []
        for id, claim in self.items():
            needed = inspect.signature(claim.measure).parameters
            if set(needed) <= set(runs):
                enough.append(id)
        return Judged(self[id].record(runs) for id in ids or enough)


class Judged(list):
    """Rows of the ledger; as a picture, the table of those that stand in the chapter."""

    def __repr__(self):
        return "\n".join(f"{row['verdict']:14} {row['id']}" for row in self)

    def _repr_html_(self):
        shown = [row for row in self if row["shown"]]
        data = json.dumps(self).replace("<", "\\u003c")  # nothing in it may end the script
        script = f'<script type="application/json" class="clbook-claims-data">{data}</script>'
        return table(shown) + script if shown else script


def words(text: str) -> str:
    """Text with $formulas$ and `code`, as HTML. MathJax reads the formulas, the rest is `style.typeset`."""
    found = []
    for part in re.split(r"(\$.+?\$|`.+?`)", text):
        inner = escape(part[1:-1])
        if part.startswith("$"):
            found.append(rf"\({inner}\)")
        elif part.startswith("`"):
            found.append(f"<code>{inner}</code>")
        else:
            found.append(typeset(part))
    return "".join(found)


def table(records: list[dict], page: Callable[[dict], str] = lambda record: "") -> str:
    """HTML of a table of claims; `page` gives the address of a record's chapter."""
    css = (HERE / "claims.css").read_text()
    template = jinja2.Template((HERE / "claims.html").read_text())
    return template.render(records=records, page=page, words=words, css=css)


def span(values, form: str = ".2f") -> str:
    """The range of some numbers, or the one number that all are, for a Finding's text."""
    least = format(np.min(values), form)
    largest = format(np.max(values), form)
    return least if least == largest else f"{least} to {largest}"


def listed(values, form: str = ".2f") -> str:
    """Some numbers one after the other, for a Finding's text."""
    return ", ".join(format(value, form) for value in np.asarray(values))


def verdicts(notebook) -> dict[str, str]:
    """{id: verdict} as a chapter's notebook prints them."""
    found = {}
    for cell in notebook.cells:
        if "print(judged)" in cell.source:
            printed = "".join(output.text for output in cell.outputs)
            for line in printed.splitlines():
                found[line[15:]] = line[:14].strip()  # as Judged.__repr__ writes it
    return found


def changed(path: Path, shake: str, threads: str) -> list[str]:
    """The verdicts of a chapter's notebook that change with starts shaken by `shake` on so many threads."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    stored = verdicts(notebook)
    # A cache of its own, so that no run of another number of threads is taken.
    cache = str(cache_folder() / f"threads-{threads}")
    env = {"CLBOOK_SHAKE": shake, "OMP_NUM_THREADS": threads, "CLBOOK_CACHE": cache}
    folder = {"metadata": {"path": str(path.parent)}}
    client = nbclient.NotebookClient(notebook, timeout=None, resources=folder)
    client.execute(env=os.environ | env)
    found = verdicts(notebook)
    lines = []
    for id, verdict in stored.items():
        if found.get(id) != verdict:
            lines.append(f"{id}: {verdict} -> {found.get(id)}")
    return lines


def main() -> list[str]:
    """The command line: all verdicts that changed, printed page by page."""
    parser = argparse.ArgumentParser(prog="python -m clbook.claims", description=changed.__doc__)
    parser.add_argument(
        "--shake", default="1e-6", help="relative size of the perturbation of every start"
    )
    parser.add_argument("pages", nargs="*", help="names of notebooks; none: all that judge claims")
    asked = parser.parse_args()
    found = []
    for path in sorted((HERE.parent / "book").rglob("*.ipynb")):
        judges = "print(judged)" in path.read_text(encoding="utf-8")
        if path.stem not in asked.pages and (asked.pages or not judges):
            continue
        for threads in ("1", "2"):
            lines = changed(path, asked.shake, threads)
            head = f"{path.stem}, threads {threads}: {len(lines)} verdicts changed"
            print(head, *lines, sep="\n  ", flush=True)
            found += lines
    return found


if __name__ == "__main__":
    raise SystemExit(bool(main()))
