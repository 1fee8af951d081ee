"""How long five runs side by side take, and how soon the first picture comes: `python tests/bench_alignment.py`."""

import time

from clbook.experiments.alignment import Config, run
from clbook.experiments.alignment.figures import sides


def main():
    """Prints the seconds of the default run, of its first partial result, and of that result's picture."""
    first, began = [], time.monotonic()

    def progress(fraction, partial):
        if not first:
            first.append(time.monotonic() - began)
            sides(partial).png()
            first.append(time.monotonic() - began)

    cpu = time.process_time()
    run(Config(), progress=progress)
    print(f"five losses, {Config().steps} steps: {time.monotonic() - began:.1f} s, {time.process_time() - cpu:.1f} s of CPU; "
          f"first partial result after {first[0]:.2f} s, drawn after {first[1]:.2f} s")


if __name__ == "__main__":
    main()
