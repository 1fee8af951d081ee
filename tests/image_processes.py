"""What a process of the tests of images does: imported by each, so that it can be found by its name."""

import os

import torch
import torch.distributed as dist

from clbook.experiments.images import experiment
from clbook.experiments.images.experiment import Config, Trainer

LOSSES = ("nt_xent", "dcl", "nscl", "supcon", "ce", "vicreg")
SMALL = dict(train=60, test=20, width=4, batch=30, epochs=2, warmup=0, every=1)
SMALL |= dict(projector=(8, 6), precision="float64")


def gradients(loss: str) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The loss of a batch and its gradient for every weight, as a process sees them."""
    trainer = Trainer(Config(loss=loss, **SMALL), torch.device("cpu"))
    trainer.network.train()
    value = trainer.loss(torch.arange(60)[::2])
    value.backward()
    return value.detach(), [p.grad for p in trainer.weights]


def one_of(rank: int, world: int, port: int, path: str) -> None:
    """Process `rank` of `world`: writes what it found for every loss, and the features after two epochs."""
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    found = {loss: gradients(loss) for loss in LOSSES}
    found["trained"] = experiment.run(Config(**SMALL)).h
    if rank == world - 1:
        torch.save(found, path)
    dist.barrier()
    dist.destroy_process_group()
