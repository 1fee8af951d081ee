"""How long runs of the alignment chapter take, alone and side by side: `python tests/benchmarks/bench_alignment.py`."""

import time

from clbook.experiments import alignment
from clbook.experiments.alignment import surrogate
from clbook.experiments.alignment.figures import sides
from clbook.papers.sa import weights
from clbook.training.loop import training_of

SIDE_BY_SIDE = 8


def first_picture():
    """Prints the seconds of the default run, of its first partial result, and of that result's picture."""
    first, began, config = [], time.monotonic(), alignment.Config()

    def progress(fraction, partial):
        if not first:
            first.append(time.monotonic() - began)
            sides(partial).png()
            first.append(time.monotonic() - began)

    shown = ("cka", "gap", "loss_gap")  # what `sides` draws
    alignment.run(config, progress=progress, record=shown)
    print(
        f"five losses, {config.steps} steps: {time.monotonic() - began:.1f} s; "
        f"first partial result after {first[0]:.2f} s, drawn after {first[1]:.2f} s"
    )


def grouped(name, run, config):
    """Prints microseconds of CPU a run-step, recording included, of runs that differ in their seeds."""
    for count in (1, SIDE_BY_SIDE):
        best = []
        for _ in range(3):
            began = time.process_time()
            configs = [config.replace(seed=k) for k in range(count)]
            training_of(run).train(configs, device="cpu", record="all")
            best.append((time.process_time() - began) / count / config.steps * 1e6)
        print(f"{name}, {count} side by side: {min(best):,.0f} microseconds a run-step")


if __name__ == "__main__":
    first_picture()
    grouped("five losses", alignment.run, alignment.Config(steps=60))
    grouped(
        "a pair, narrow",
        alignment.run,
        alignment.Config(compare="pair", width=64, batch=64, steps=60),
    )
    grouped(
        "digits",
        alignment.run,
        alignment.Config(data="digits", n=1200, noise=0.1, compare="labels", steps=60),
    )
    grouped("coupled tables", surrogate.run, surrogate.Config())
    grouped("on the circle", weights.run_circle, surrogate.Config(n=80, batch=64))
