"""A grid of linear runs as one tensor program against the same runs in sequence: python bench_content_style.py

CPU seconds on one thread, the two ways taking turns, medians; 25 runs of 100 iterations, n = 128, d = 8.
"""

import itertools
import statistics
import time

import torch

from clbook.experiments.content_style import Config, Encoders, run

GRIDS = {
    "box, p = 2": Config(),
    "box, p = 1": Config(p=1),
    "sphere": Config(space="sphere", normalize=True),
}


def main():
    """Prints one line a grid."""
    torch.set_num_threads(1)
    ways = {
        "together": lambda grid: Encoders.train(grid),
        "in sequence": lambda grid: [run(c) for c in grid],
    }
    for name, base in GRIDS.items():
        grid = [
            base.replace(d_c=k, style_sd=sd, steps=100, record_every=100)
            for k, sd in itertools.product((0, 1, 2, 4, 6), (0.1, 0.2, 0.3, 0.5, 1.0))
        ]
        run(grid[0])  # libraries load their code on first use
        spent = {"together": [], "in sequence": []}
        for _ in range(3):
            for way, function in ways.items():
                start = time.process_time()
                function(grid)
                spent[way].append(time.process_time() - start)
        one, many = (statistics.median(times) for times in spent.values())
        print(
            f"{name}: {one:.2f} s together, {many:.2f} s in sequence: {many / one:.1f}x", flush=True
        )


if __name__ == "__main__":
    main()
