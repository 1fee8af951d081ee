"""Judge what the papers say.

python -m clbook_book.audit                          all claims, a line each
python -m clbook_book.audit ls --item "LS Fig. 4"    the claims of that item, with what was measured
python -m clbook_book.audit --write                  and take the verdicts into the committed list, verdicts.txt
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from clbook.data import written
from clbook_book.audit.judging import NAMES, committed, paper, write


def main() -> int:
    """The command line; returns 1 where a verdict differs from the committed list."""
    parser = argparse.ArgumentParser(
        prog="python -m clbook_book.audit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    lower = [name.lower() for name in NAMES]
    parser.add_argument("papers", nargs="*", metavar="paper", help=f"{', '.join(lower)}; none: all")
    parser.add_argument("--item", help='the claims of this item alone, as "SA Fig. 5"')
    parser.add_argument("--claim", help="this claim alone, by its id")
    parser.add_argument("--json", metavar="FILE", help="write the rows there; - for here")
    parser.add_argument("--write", action="store_true", help="take the verdicts into verdicts.txt")
    asked = parser.parse_args()
    for name in asked.papers:
        if name not in lower:
            parser.error(f"paper={name!r}: allowed are {', '.join(lower)}")
    names = asked.papers or lower

    known = committed()
    rows = []
    for name in names:
        stated = paper(name.upper())
        ids = []
        for id, claim in stated.claims.items():
            in_item = asked.item is None or asked.item in claim.source.split("; ")
            if in_item and asked.claim in (None, id):
                ids.append(id)
        for row in stated.judge(*ids) if ids else ():
            rows.append(row)
            new = "" if row["verdict"] == known.get(row["id"]) else "  (not in the list)"
            if asked.json != "-":
                print(f"{row['verdict']:14} {row['id']}{new}", flush=True)
            if asked.item or asked.claim:
                print(f"    {row['says']}\n    bar: {row['bar']}\n    measured: {row['measured']}")
    if asked.json:
        text = json.dumps(rows, indent=1)
        if asked.json == "-":
            print(text)
        else:
            with written(Path(asked.json)) as file:
                file.write(text.encode())
    if asked.write:
        write(rows)
        return 0
    return int(any(row["verdict"] != known.get(row["id"]) for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
