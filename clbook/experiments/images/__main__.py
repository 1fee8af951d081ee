"""`python -m clbook.experiments.images --data cifar10 --epochs 50`, or `torchrun --nproc_per_node=N -m ...` likewise.

Every setting of `Config` is an option. A launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (torchrun,
also under Slurm) makes its processes one run; `--checkpoint FILE` lets it be taken up again.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
from tqdm import tqdm

from clbook.data import written
from clbook.experiments.images.experiment import Config, Result, run


def options() -> argparse.ArgumentParser:
    """An option for each setting, with its meaning."""
    parser = argparse.ArgumentParser(
        prog="python -m clbook.experiments.images", description=__doc__
    )
    for field in dataclasses.fields(Config):
        kind = type(field.default)
        parser.add_argument(
            f"--{field.name}",
            default=field.default,
            help=field.metadata["doc"],
            **(
                {"type": int, "nargs": "*"}
                if kind is tuple
                else {"action": argparse.BooleanOptionalAction}
                if kind is bool
                else {"type": kind}
            ),
        )
    parser.add_argument(
        "--checkpoint", help="file to write after every epoch, and to take up where it exists"
    )
    parser.add_argument("--out", help="file for the result, .npz")
    return parser


def save(result: Result, path: str) -> None:
    """The arrays and numbers of a result, with its settings, as an .npz file."""
    values = {
        f.name: getattr(result, f.name) for f in dataclasses.fields(result) if f.name != "config"
    }
    with written(pathlib.Path(path)) as file:
        np.savez_compressed(file, config=result.config.described(), **values)


def main() -> None:
    asked = vars(options().parse_args())
    checkpoint, out = asked.pop("checkpoint"), asked.pop("out")
    world, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    device = None
    if world > 1:
        cuda = torch.cuda.is_available()
        device = (
            torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
        )
        dist.init_process_group("nccl" if cuda else "gloo")
    bar = tqdm(
        total=100,
        unit="%",
        disable=rank > 0,
        bar_format="{l_bar}{bar}| {elapsed} gone, {remaining} left",
    )

    def progress(fraction, partial):
        bar.update(100 * fraction - bar.n)

    again = (
        f"the same command goes on from {checkpoint}" if checkpoint else "no checkpoint was kept"
    )
    try:
        config = Config(**asked)
        result = run(config, progress=progress, device=device, checkpoint=checkpoint)
    except KeyboardInterrupt:
        sys.exit(f"stopped; {again}")
    except ValueError as error:
        sys.exit(f"process {rank}: {error}" if world > 1 else str(error))
    except RuntimeError as error:
        if world == 1:
            raise
        sys.exit(
            f"process {rank}: another process has ended, so this one ends too; {again} ({error})"
        )
    finally:
        bar.close()
    if rank == 0:
        accuracies = (
            f"neighbours {result.knn[-1]:.3f}, pixels {result.pixels:.3f}, "
            f"linear probe {result.probe:.3f}, after projector {result.probe_z:.3f}"
        )
        took = f"{result.seconds:.0f} s on {result.device}"
        print(f"{config.described()}: {took}; {accuracies}")
        if out:
            save(result, out)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
