"""Diagnosis in a reader's page: a block that takes a file with two views and shows their lines. No kernel, no network.

The numbers are those of `measures.two_views`, traced for files of any size (`sizes`); what is said is `words`. The
script of the page reads files and draws.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import io
import math
from collections.abc import Mapping

import numpy as np
from IPython.display import HTML

from clbook.diagnose.arrays import LARGEST
from clbook.diagnose.loss_scale import FACTORS
from clbook.diagnose.reporting import MOST, Report
from clbook.diagnose.wording import TWO_VIEWS
from clbook.explore.static import file, filled
from clbook.style import CLASS_COLOURS
from clbook_book.live import sizes
from clbook_book.live.kept import kept
from clbook_book.live.page import shared_code

# Sizes for which the functions are traced, with more points than dimensions; turned round for fewer.
TALL = ((31, 7), (47, 11), (101, 23), (67, 5), (59, 41), (43, 19), (97, 13))
WHERE = "what the loss compares"  # in names of lines
LEFT, RIGHT = -0.1, 1.3  # of the shares that are drawn; what is beyond stands at the end


def in_page(
    reports: dict[str, Report],
    examples: Mapping[str, tuple[np.ndarray, np.ndarray, dict[str, float]]] | None = None,
    name: str = "own",
) -> HTML:
    """A block that diagnoses a reader's file in the page: `in_page({"healthy": report, ...})`.

    It takes an .npz, .npy or CSV file with the embeddings of two views, or two files, and shows the lines about two
    views as `report` does. Nothing leaves the browser.

    Args:
        reports: {name: report} of runs, at most eight, that are drawn beside the reader's own.
        examples: {name: (z1, z2, what is written into the fields "tau" and "batch")} of views that buttons offer
            beside a file; they are kept in half precision.
        name: of the block, for `window.clbook.diagnoses[name]`.
    """
    lines = [line(key, reports) for key in TWO_VIEWS]
    setup = {
        "name": name,
        "examples": [example(*named) for named in (examples or {}).items()],
        "lines": lines,
        "factors": FACTORS,
        "most": MOST,
        "largest": LARGEST,
        "left": LEFT,
        "right": RIGHT,
    }
    worker = "\n".join([shared_code(), program(), file("clbook_book.live/diagnosis.worker.js")])
    page = filled(
        "clbook_book.live/diagnosis.html",
        setup,
        css=["clbook_book.live/diagnosis.css"],
        js=["clbook_book.live/diagnosis.js"],
        # The text stands in a <script>, which the first </ would end.
        worker=worker.replace("</", "<\\/"),
        lines=lines,
        runs=list(zip(reports, CLASS_COLOURS, strict=False)),
        zero=place(0),
        one=place(1),
        examples=examples,
        scales=FACTORS,
    )
    return HTML(page)


def example(name: str, given: tuple[np.ndarray, np.ndarray, dict[str, float]]) -> dict:
    """An example as the script reads it: the name of a file, the file in base64, and what its fields say."""
    z1, z2, fields = given
    written = io.BytesIO()
    np.savez_compressed(written, z1=z1.astype(np.float16), z2=z2.astype(np.float16))
    packed = base64.b64encode(written.getvalue()).decode("ascii")
    return {"name": f"{name.replace(' ', '-')}.npz", "file": packed, "fields": fields}


def line(key: str, reports: dict[str, Report]) -> dict:
    """A line as the script and the template read it."""
    about = TWO_VIEWS[key]
    # Without a zone: one of no width.
    low, high = about.zone or (0.0, 0.0)
    dots = [
        {"run": name, "share": share, "at": place(share)}
        for name, report in reports.items()
        if not math.isnan(share := report.numbers.get(about.share, math.nan))
    ]
    name = about.name.replace("{where}", WHERE)
    shown = {"key": key, "name": name, "zone": [place(low), place(high)], "dots": dots}
    return dataclasses.asdict(about) | shown


def place(share: float) -> float:
    """Where a share is drawn, in percent of the width."""
    inside = min(max(share, LEFT), RIGHT)
    return round(100 * (inside - LEFT) / (RIGHT - LEFT), 2)


@functools.cache
def program() -> str:
    """JavaScript of `measures.two_views`: the functions tall(n, d), for n > d, and wide(n, d)."""
    return kept(written, str, [sizes.__name__], TALL)


def written() -> str:
    """`program`, which takes seconds."""
    # Which matrix products are small depends on n < d or n > d, and so do the texts: one function for each.
    return sizes.written(TALL, "tall") + "\n" + sizes.written([(d, n) for n, d in TALL], "wide")
