"""The verdicts that change when every random start is shaken: there should be none.

python tests/shaken.py 1e-6 [paper ...]    with every start changed by that share, on one thread and on two
"""

import json
import os
import subprocess
import sys

from clbook.environment import cache_folder
from clbook_book.audit.judging import committed


def changed(names: list[str], shake: str, threads: str) -> list[str]:
    """The verdicts that differ from the committed list with starts shaken by `shake`, on so many threads.

    Raises:
        RuntimeError: the process that judges them ended without any.
    """
    # A cache of its own, so that no run of another number of threads is taken.
    cache = str(cache_folder() / f"threads-{threads}")
    env = {"CLBOOK_SHAKE": shake, "OMP_NUM_THREADS": threads, "CLBOOK_CACHE": cache}
    command = [sys.executable, "-m", "clbook_book.audit", *names, "--json", "-"]
    run = subprocess.run(command, env=os.environ | env, stdout=subprocess.PIPE, check=False)
    if not run.stdout:  # it returns 1 where a verdict has changed, too
        raise RuntimeError(
            f"{' '.join(command)} ended with {run.returncode}: its message stands above"
        )
    known = committed()
    lines = []
    for row in json.loads(run.stdout):
        before = known.get(row["id"], "not in the list")
        if row["verdict"] != before:
            lines.append(f"{row['id']}: {before} -> {row['verdict']}")
    return lines


if __name__ == "__main__":
    shake, *names = sys.argv[1:]
    found = []
    for threads in ("1", "2"):
        lines = changed(names, shake, threads)
        print(f"threads {threads}: {len(lines)} verdicts changed", *lines, sep="\n  ", flush=True)
        found += lines
    raise SystemExit(bool(found))
