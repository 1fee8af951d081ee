"""Seconds until a live explorer shows its first picture, and until Stop has taken effect, in a real kernel.

python tests/bench_live.py [chapter ...]
"""

import os
import sys
import tempfile
import time

from test_explore_live import Panel, kernel

CHAPTERS = {  # an explorer of the chapter as its page has it, and a change that makes the run long enough to stop
    "separability": ("figures.trajectories", {"eps": (0.02, 0.1)}, "steps=100_000"),
    "sphere": ("figures.snapshot", {"lr": (0.02, 0.1)}, "steps=100_000"),
    "alignment": ("figures.sides", {"tau": (0.1, 0.5)}, "steps=20_000"),
    "content_style": ("figures.linear", {"d_c": (0, 4)}, "steps=100_000"),
    "modadd": ("figures.embedding", {"decay": (0.0, 1e-3)}, "epochs=100_000"),
}


def measure(front, chapter):
    """(first picture, Stop) in seconds."""
    figure, axes, long = CHAPTERS[chapter]
    front.execute(
        f"from clbook.experiments import {chapter}\nfrom clbook.experiments.{chapter} import figures\n"
        f"from clbook.explore.live import panel",
        timeout=60,
    )
    run = "run_pair" if chapter == "sphere" else "run"
    began = time.monotonic()
    front.execute(
        f"p = panel({chapter}.{run}, {figure}, {chapter}.Config(), scrub='steps', axes={axes!r}); p",
        timeout=60,
    )
    p = Panel(front)
    front.pump(lambda: len(p.history(p.image, "value", 0)) > 1, 60)  # the first one is blank
    first = time.monotonic() - began
    p.finish(120)
    front.execute(
        f"p = panel({chapter}.{run}, {figure}, {chapter}.Config({long}), scrub='steps', axes={axes!r}); p",
        timeout=60,
    )
    p = Panel(front)
    front.pump(lambda: p.get(p.progress, "value") > 0, 60)
    sent = front.click(p.stop)
    front.pump(p.idle, 60)
    return first, time.monotonic() - sent


if __name__ == "__main__":
    os.environ["CLBOOK_CACHE"] = tempfile.mkdtemp()
    with kernel() as front:
        for chapter in sys.argv[1:] or CHAPTERS:
            first, stop = measure(front, chapter)
            print(
                f"{chapter:14} first picture after {first:.2f} s, stopped after {stop:.2f} s",
                flush=True,
            )
