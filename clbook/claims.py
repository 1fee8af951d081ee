"""What the papers say and what was measured: claims stated once (a chapter's claims.yaml), measured by a function each
(its claims.py), judged here. `python -m clbook.claims --shake 1e-6` lists the verdicts that hang by a thread.
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

    source: paper and item, "LS Theorem 4.3"; "; " parts several, the first has the claim. says: the statement, no
        stronger than the paper's. theirs, here: the paper's setting, ours. bar: what it takes, fixed before the run.
        evidence: seeds, sizes, precision. anchor: the id of its place in the chapter.
    ours: the paper does not say it; "code": it checks the book's functions. shown: its row stands in the chapter.
    verdicts: the words for a bar that is met, and for one that is not. condition: what follows "holds when".
    measure: some of the chapter's named runs, which its parameters name -> Finding.
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
        if not set(self.verdicts) <= set(VERDICTS) or ("holds when" in self.verdicts) != bool(
            self.condition
        ):
            raise ValueError(
                f"verdicts={self.verdicts} of {self.id}: allowed are {', '.join(VERDICTS)}; 'holds when' "
                f"goes with a condition, and only it (condition={self.condition!r})"
            )

    def record(self, runs: dict) -> dict:
        """The claim's row of the ledger, from the chapter's named `runs`."""
        finding = self.measure(*(runs[name] for name in inspect.signature(self.measure).parameters))
        judged = [judge(condition) for condition in finding.conditions]
        verdict, margin, spread = min(
            judged,
            key=lambda found: (VERDICTS.index(found[0]), found[1]),
            default=(finding.verdict, None, None),
        )
        verdict = finding.verdict or {"holds": self.verdicts[0], "fails": self.verdicts[1]}.get(
            verdict, verdict
        )
        if verdict not in VERDICTS:
            raise ValueError(f"verdict={verdict!r} of {self.id}: allowed are {', '.join(VERDICTS)}")
        paper, item = self.source.split("; ")[0].split(" ", 1)
        fields = {
            name: value for name, value in vars(self).items() if name not in ("measure", "verdicts")
        }
        return fields | {
            "paper": paper,
            "item": item,
            "measured": finding.text,
            "value": finding.value,
            "verdict": verdict,
            "margin": margin,
            "spread": spread,
        }


@dataclasses.dataclass
class Finding:
    """What a measure found.

    text: what was measured, for a reader. value: the number in question, None where there is none.
    conditions: how far each of the claim's conditions is past its bar (positive: it is met), as a number where no
        chance enters, else one a seed; True and False count as 1 and -1. The least favourable one decides.
    verdict: in place of a margin, where there can be none: "undecided" for runs cut before the event.
    """

    text: str
    value: float | None
    conditions: tuple = ()
    verdict: str | None = None


def judge(condition) -> tuple[str, float, float]:
    """("holds", "fails" or "undecided", mean margin, its spread over seeds) of one condition of a Finding.

    Seeds decide if they are three or more and their mean is at least twice their standard deviation.
    """
    margins = np.asarray(condition)
    margins = 2.0 * margins - 1 if margins.dtype == bool else margins.astype(float)
    if not np.isfinite(margins).all():
        return "undecided", 0.0, 0.0
    margin, spread = float(margins.mean()), float(margins.std(ddof=1)) if margins.size > 1 else 0.0
    decided = (margins.ndim == 0 or margins.size >= 3) and abs(margin) >= 2 * spread and margin != 0
    return ("holds" if margin > 0 else "fails") if decided else "undecided", margin, spread


class Chapter(dict):
    """{id: claim}, as the `claims.yaml` beside the file `path` states them."""

    def __init__(self, path: str):
        stated = yaml.load(
            Path(path).with_suffix(".yaml").read_bytes(),
            getattr(yaml, "CSafeLoader", yaml.SafeLoader),
        )
        super().__init__({id: Claim(id, **fields) for id, fields in stated.items()})

    def measure(self, id: str, *fixed) -> Callable:
        """Decorator: the function below measures the claim `id`, with `fixed` as its first arguments."""

        def register(function):
            self[id].measure = functools.partial(function, *fixed)
            return function

        return register

    def judge(self, *ids: str, **runs) -> Judged:
        """These claims, or where none is named all that the chapter's named runs are enough for."""
        enough = [
            id for id in self if set(inspect.signature(self[id].measure).parameters) <= set(runs)
        ]
        return Judged(self[id].record(runs) for id in ids or enough)


class Judged(list):
    """Rows of the ledger; as a picture, the table of those that stand in the chapter."""

    def __repr__(self):
        return "\n".join(f"{row['verdict']:14} {row['id']}" for row in self)

    def _repr_html_(self):
        shown = [row for row in self if row["shown"]]
        data = '<script type="application/json" class="clbook-claims-data">' + json.dumps(
            self
        ).replace("<", "\\u003c")
        return (table(shown) if shown else "") + data + "</script>"


def words(text: str) -> str:
    """Text with $formulas$ and `code`, as HTML; MathJax reads the formulas, the rest is `style.typeset`."""

    def shown(part):
        if part.startswith("$"):
            return rf"\({escape(part[1:-1])}\)"
        return f"<code>{escape(part[1:-1])}</code>" if part.startswith("`") else typeset(part)

    return "".join(map(shown, re.split(r"(\$.+?\$|`.+?`)", text)))


def table(records: list[dict], page: Callable[[dict], str] = lambda record: "") -> str:
    """HTML of a table of claims; `page` gives the address of a record's chapter."""
    template, css = ((HERE / file).read_text() for file in ("claims.html", "claims.css"))
    return jinja2.Template(template).render(records=records, page=page, words=words, css=css)


def span(values, form: str = ".2f") -> str:
    """The range of some numbers, or the one number that all are, for a Finding's text."""
    return " to ".join(dict.fromkeys(f"{end:{form}}" for end in (np.min(values), np.max(values))))


def listed(values, form: str = ".2f") -> str:
    """Some numbers one after the other, for a Finding's text."""
    return ", ".join(format(value, form) for value in values)


def verdicts(notebook) -> dict[str, str]:
    """{id: verdict} as a chapter's notebook prints them."""
    printed = [
        output.text
        for cell in notebook.cells
        if "print(judged)" in cell.source
        for output in cell.outputs
    ]
    return {line[15:]: line[:14].strip() for line in "".join(printed).splitlines()}


def changed(path: Path, shake: str, threads: str) -> list[str]:
    """The verdicts of a chapter's notebook that change with starts shaken by `shake` on so many threads."""
    import nbclient
    import nbformat

    stored = verdicts(notebook := nbformat.read(path, as_version=4))
    nbclient.NotebookClient(
        notebook, timeout=None, resources={"metadata": {"path": str(path.parent)}}
    ).execute(
        env=os.environ
        | {
            "CLBOOK_SHAKE": shake,
            "OMP_NUM_THREADS": threads,
            "CLBOOK_CACHE": str(cache_folder() / f"threads-{threads}"),
        }
    )  # no run of the other's is taken
    found = verdicts(notebook)
    return [
        f"{id}: {stored[id]} -> {found.get(id)}" for id in stored if stored[id] != found.get(id)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m clbook.claims", description=changed.__doc__)
    parser.add_argument(
        "--shake", default="1e-6", help="relative size of the perturbation of every start"
    )
    parser.add_argument("pages", nargs="*", help="names of notebooks; none: all that judge claims")
    asked, lines = parser.parse_args(), []
    for path in sorted((HERE.parent / "book").rglob("*.ipynb")):
        if (
            path.stem in asked.pages
            or not asked.pages
            and "print(judged)" in path.read_text(encoding="utf-8")
        ):
            for threads in "12":
                lines += (found := changed(path, asked.shake, threads))
                print(
                    f"{path.stem}, threads {threads}: {len(found)} verdicts changed",
                    *found,
                    sep="\n  ",
                    flush=True,
                )
    raise SystemExit(bool(lines))
