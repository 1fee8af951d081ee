"""Diagnose embeddings from a shell: `python -m clbook.diagnose embeddings.npz --tau 0.1 --html report.html`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from clbook.diagnose.loss_scale import LOSSES, SCALES
from clbook.diagnose.reporting import MOST, report

TABLES = ("z", "labels", "before", "start", "checkpoint", "twin", "factors", "raw")


def main(arguments: list[str] | None = None) -> int:
    """Print the report, and write it where that is asked for. 0 without an alarm, 1 with one, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m clbook.diagnose", description=__doc__)
    parser.add_argument("z1", help=".npz with z1, z2 and more by their names; or .npy, .csv")
    parser.add_argument("z2", nargs="?", help=".npy or .csv of the other views")
    for name in TABLES:
        parser.add_argument(f"--{name}", help="a file")
    parser.add_argument("--tau", type=float, help="temperature; 0.5 unless given")
    parser.add_argument("--loss", default="nt_xent", help=", ".join(LOSSES))
    parser.add_argument("--scale", default="mean", help=", ".join(SCALES) + ", or a factor")
    parser.add_argument("--batch", type=int, help="points in a batch of the training")
    parser.add_argument("--most", type=int, default=MOST, help="points that are looked at")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--html", help="a file to write the report to")
    parser.add_argument("--json", help="a file to write the numbers to")
    asked = vars(parser.parse_args(arguments))
    page = asked.pop("html")
    numbers = asked.pop("json")
    if asked["scale"] not in SCALES:
        asked["scale"] = _number(asked["scale"])
    try:
        found = report(**asked)
        if page:
            found.to_html(page)
        if numbers:
            Path(numbers).write_text(found.to_json(), encoding="utf-8")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(found)
    return 1 if found.alarms else 0


def _number(text):
    """A factor as a number; any other text as it is, to be refused by its name."""
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    sys.exit(main())
