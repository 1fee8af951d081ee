"""How a claim is judged.

A claim is a sentence of a paper, stated once, under its item in `<paper>/items.yaml`. A function of
`<paper>/measures.py` measures it. What the function takes are the names of functions of `<paper>/runs.py`, which
train, load or compute. From what is measured the verdict follows by the rules below; nobody types one.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import numpy as np
import yaml

from clbook.data import written
from clbook.metrics import mean_interval
from clbook.style import typeset

NAMES = ("LS", "VA", "SA", "SL", "CS")
VERDICTS = (
    "fails",
    "undecided",
    "holds",
    "holds when",
    "misprinted",
    "seen here",
    "not seen here",
    "identity",
    "not tested",
)
HERE = Path(__file__).parent
LIST = HERE / "verdicts.txt"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is much faster


@dataclasses.dataclass
class Claim:
    """One statement, and what it takes to hold.

    Attributes:
        id: its name, as "ls-prop-4-1".
        sources: paper and item, ("LS", "Theorem 4.3"), of each place where it stands. The first has the claim.
        says: the statement, no stronger than the paper's.
        theirs: the paper's setting.
        here: our setting.
        bar: what it takes to hold, fixed before the run.
        evidence: seeds, sizes, precision.
        page: the page of the book that has its evidence, as "separability" or "papers/ls".
        anchor: the id of its place on that page.
        ours: True for what the paper does not say.
        shown: whether that page, if it is a chapter, leads to its row on the paper's page.
        verdicts: the words for a bar that is met, and for one that is not.
        condition: what follows "holds when".
        seeds: how many runs decide, at least: five, or three where they take long (half a minute or more each, or many
            in one record).
    """

    id: str
    sources: tuple[tuple[str, str], ...]
    says: str
    theirs: str
    here: str
    bar: str
    evidence: str
    page: str
    anchor: str
    ours: bool = False
    shown: bool = False
    verdicts: tuple[str, str] = ("holds", "fails")
    condition: str = ""
    seeds: int = 5

    def __post_init__(self):
        known = set(self.verdicts) <= set(VERDICTS)
        conditional = "holds when" in self.verdicts
        if not known or conditional != bool(self.condition):
            raise ValueError(
                f"verdicts={self.verdicts} of {self.id}: allowed are {', '.join(VERDICTS)}; 'holds when' "
                f"goes with a condition, and only it (condition={self.condition!r})"
            )

    @property
    def source(self) -> str:
        """All places where it stands, as "LS Theorem 4.3; VA eq. 7"."""
        return "; ".join(f"{paper} {item}" for paper, item in self.sources)

    def row(self, finding: Finding) -> dict:
        """The claim's row of the ledger, with the verdict that follows from what was measured."""
        # The least favourable condition decides; of equal verdicts, the one with the smaller margin.
        verdict, margin, interval = min(
            [judge(condition, self.seeds) for condition in finding.conditions],
            key=lambda found: (VERDICTS.index(found[0]), found[1]),
            default=(finding.verdict, None, None),
        )
        met, missed = self.verdicts
        verdict = finding.verdict or {"holds": met, "fails": missed}.get(verdict, verdict)
        if verdict not in VERDICTS:
            raise ValueError(f"verdict={verdict!r} of {self.id}: allowed are {', '.join(VERDICTS)}")
        row = dict(vars(self))
        del row["sources"], row["verdicts"]
        paper, item = self.sources[0]
        row |= {"source": self.source, "paper": paper, "item": item}
        row |= {"measured": finding.text, "verdict": verdict}
        return row | {"margin": margin, "interval": interval}


class Finding:
    """What a measure found.

    Attributes:
        text: what was measured, for a reader.
        conditions: how far each of the claim's conditions is past its bar, one after the other; positive is met. A
            number where no chance enters; an array, one number a seed, of a statement about the mean; `Every(array)`,
            or an array of True and False, of a statement about every run. The least favourable condition decides.
        verdict: in place of a margin, where there can be none: "undecided" for runs cut before the event.
    """

    def __init__(self, text: str, *conditions, verdict: str | None = None):
        self.text = text
        self.conditions = conditions
        self.verdict = verdict


def misprint(text: str, off: float, right: float, bar: float) -> Finding:
    """Finding of a formula that is off as printed; it fails where its corrected form is not right."""
    return Finding(text, bar - off, verdict=None if right < bar else "fails")


@dataclasses.dataclass(frozen=True)
class Every:
    """How far each run is past the bar, where the statement is about every run and not about their mean."""

    margins: object


def judge(condition, least: int = 5) -> tuple[str, float, tuple[float, float] | None]:
    """Judge one condition of a Finding.

    A number decides by its sign. An array of numbers, one a seed, is about their mean: the 95 % t-interval of the mean
    decides, and more seeds make it narrower. `Every(margins)`, and an array of True and False, is about each run: one
    counter-example is enough for "fails", and at least `least` runs past the bar for "holds".

    Returns:
        "holds", "fails" or "undecided"; the margin that decides; the interval from which it does, None where a margin
        is no number. No margins at all leave it undecided.
    """
    each = isinstance(condition, Every)
    margins = np.asarray(condition.margins if each else condition)
    if margins.dtype == bool:
        each = each or margins.ndim > 0
        margins = 2 * margins - 1
    margins = margins.astype(float)
    if margins.size == 0 or not np.isfinite(margins).all():
        return "undecided", 0.0, None
    if margins.ndim == 0:
        margin = low = high = float(margins)
        enough = True
    elif each:
        margin = low = float(margins.min())
        high = low  # the worst run decides, whatever the others do
        enough = margin < 0 or margins.size >= least
    else:
        margin = float(margins.mean())
        enough = margins.size >= least
        half = mean_interval(margins)[1] if margins.size > 1 else 0.0
        low, high = margin - half, margin + half
    if enough and low > 0:
        return "holds", margin, (low, high)
    if enough and high < 0:
        return "fails", margin, (low, high)
    return "undecided", margin, (low, high)


def if_agreed(found: Finding, least: int = 5) -> Finding:
    """The finding; undecided where its conditions do not agree, which are settings, or readings, of one sentence.

    `least` as for `judge`.
    """
    if len({judge(condition, least)[0] for condition in found.conditions}) > 1:
        found.verdict = "undecided"
    return found


class Measures(dict):
    """{id of a claim: the function that measures it}, filled by a decorator.

    measures = Measures()

    @measures("ls-eq-14")
    def pairwise_forces(pairwise):
        return Finding(...)
    """

    def __call__(self, id: str, *fixed) -> Callable:
        """Decorator: the function below measures the claim `id`, with `fixed` as its first arguments."""

        def register(function):
            if id in self:
                raise ValueError(f"id={id!r}: it has a measure already, {self[id]}")
            self[id] = functools.partial(function, *fixed)
            return function

        return register


# What stands in a paper.


def needs(measure: Callable) -> list[str]:
    """The names of the evidence that a measure takes."""
    return list(inspect.signature(measure).parameters)


@dataclasses.dataclass
class Paper:
    """What stands in a paper: its items in their order, the claims under them, the errors found in it.

    Its three `headlines` are ids of the claims that weigh most; they stand on top of its page.
    """

    name: str
    title: str
    items: list[dict]
    claims: dict[str, Claim]
    errors: list[dict]
    headlines: tuple[str, ...] = ()

    @property
    def measures(self) -> Measures:
        """{id: measure} of `<paper>/measures.py`."""
        return importlib.import_module(f"clbook_book.audit.{self.name.lower()}.measures").measures

    def evidence(self, name: str):
        """What the function `name` of `<paper>/runs.py` gives; computed once in a process.

        Raises:
            ValueError: there is no such function.
        """
        module = importlib.import_module(f"clbook_book.audit.{self.name.lower()}.runs")
        if not callable(getattr(module, name, None)):
            raise ValueError(f"name={name!r}: {module.__name__} has no function of that name")
        return getattr(module, name)()

    def judge(self, *ids: str) -> Iterator[dict]:
        """The rows of these claims of the paper, or of all, one after the other."""
        measures = self.measures
        for id in ids or self.claims:
            measure = measures[id]
            yield self.claims[id].row(measure(*(self.evidence(name) for name in needs(measure))))


@functools.cache
def paper(name: str) -> Paper:
    """The paper of that name, "LS" for instance, as its `items.yaml` states it."""
    if name not in NAMES:
        raise ValueError(f"name={name!r}: allowed are {', '.join(NAMES)}")
    stated = yaml.load((HERE / name.lower() / "items.yaml").read_bytes(), LOADER)
    claims = {}
    for item in stated["items"]:
        item["id"] = slug(name, item["item"])
        for fields in item.pop("claims", []):
            also = [source.split(" ", 1) for source in fields.pop("also", [])]
            sources = ((name, item["item"]), *map(tuple, also))
            if fields["id"] in claims:
                raise ValueError(f"id={fields['id']!r}: two claims of {name} have it")
            claims[fields["id"]] = Claim(sources=sources, **fields)
    errors, headlines = stated.get("errors", []), tuple(stated["headlines"])
    return Paper(name, stated["title"], stated["items"], claims, errors, headlines)


# The committed list of verdicts.


def committed() -> dict[str, str]:
    """{id: verdict} of the committed list, verdicts.txt."""
    found = {}
    if LIST.exists():
        for line in LIST.read_text(encoding="utf-8").splitlines():
            id, verdict = line.split(maxsplit=1)
            found[id] = verdict
    return found


def write(rows: list[dict]):
    """Take the verdicts of these rows into the committed list."""
    found = committed()
    for row in rows:
        found[row["id"]] = row["verdict"]
    known = [id for name in NAMES for id in paper(name).claims]
    lines = [f"{id:42} {found[id]}\n" for id in known if id in found]
    with written(LIST) as file:
        file.write("".join(lines).encode())


# How claims are shown.


def slug(*words: str) -> str:
    """An id for a page, of a paper and an item."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


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


def span(values, form: str = ".2f") -> str:
    """The range of some numbers, or the one number that all are, for a Finding's text."""
    least = format(np.min(values), form)
    largest = format(np.max(values), form)
    return least if least == largest else f"{least} to {largest}"


def listed(values, form: str = ".2f") -> str:
    """Some numbers one after the other, for a Finding's text."""
    return ", ".join(format(value, form) for value in np.asarray(values))


def counted(found) -> str:
    """How many of some things are true, as "3 of 5", for a Finding's text."""
    found = np.asarray(found)
    return f"{found.sum()} of {found.size}"


# Findings of numbers alone.


def lists(numbers: dict, *conditions, form=".2f", before="", words=listed) -> Finding:
    """Finding with all numbers under each name, or with `words` for them."""
    texts = [f"{name} {words(values, form)}" for name, values in numbers.items()]
    return Finding(before + "; ".join(texts), *conditions)


ranges = functools.partial(lists, words=span)  # with the range of the numbers
