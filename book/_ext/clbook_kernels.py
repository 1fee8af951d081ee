"""The processes of a build, kernels among them: forked from one that imports once what they all need.

To start and to import torch, matplotlib and `clbook` takes a kernel four seconds: of all pages, a fifth of a build.
Forked processes are as separate from each other as started ones. Where forking is not safe they are started.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from multiprocessing import forkserver
from pathlib import Path

from clbook_cores import share
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

# Processes at a time: one for each core. On a single core there are two, so that one starts while the other computes.
AT_ONCE = max(2, min(8, os.cpu_count() or 1))
FORKS = sys.platform == "linux"
PROCESSES = multiprocessing.get_context("forkserver" if FORKS else "spawn")
# What is imported besides `clbook`: by multiprocessing the program that builds, by Jupyter its kernel, and by tracing a
# part of torch.
FIRST = ("jupyter_book.cli.main", "ipykernel.kernelapp", "torch._inductor.config")


def prepare(root: Path) -> None:
    """Set the environment of all processes of a build; `root` is the folder in which `clbook` lies."""
    share(AT_ONCE)
    # A kernel says so itself, but before it imports matplotlib.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    own = []
    for place, package in ((root, "clbook"), (root / "book", "clbook_book")):
        for path in sorted(place.glob(f"{package}/**/*.py")):
            if not path.stem.startswith("__"):
                own.append(".".join(path.relative_to(place).with_suffix("").parts))
    PROCESSES.set_forkserver_preload([*FIRST, *own])


def begin() -> None:
    """Let the process that others are forked from begin to import; without it, the first of them waits for that."""
    if FORKS:
        forkserver.ensure_running()


class Forked:
    """A kernel's process, with as much of `subprocess.Popen` as jupyter_client asks for.

    Attributes:
        pid: its number.
    """

    stdin = stdout = stderr = None

    def __init__(self, command, folder, environment):
        self._process = PROCESSES.Process(target=serve, args=(command, folder, environment))
        self._process.start()
        self.pid = self._process.pid
        self.kill, self.terminate = self._process.kill, self._process.terminate

    def poll(self) -> int | None:
        """Its exit code; None while it lives."""
        return self._process.exitcode

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)


def serve(command, folder, environment):
    """Be the kernel that `command` would start in a folder: what a forked process does."""
    from ipykernel.kernelapp import launch_new_instance

    # What a kernel starts, it starts as all kernels do.
    multiprocessing.set_start_method(None, force=True)
    gc.freeze()  # what is imported stays: looking through it for garbage takes as long as a picture
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"  # with which it ends
    launch_new_instance(argv=[*command[command.index("-f") :], parent])


class Provisioner(LocalProvisioner):
    """Forks kernels, and starts none."""

    async def launch_kernel(self, cmd, *, cwd, env, **others):
        self.process = Forked(cmd, cwd, env)
        self.pid = self.process.pid
        return self.connection_info


class Manager(AsyncKernelManager):
    """Of a kernel that is forked."""

    async def _async_pre_start_kernel(self, **how):
        self.provisioner = Provisioner(
            kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self
        )
        return await super()._async_pre_start_kernel(**how)

    pre_start_kernel = _async_pre_start_kernel


MANAGER = Manager if FORKS else AsyncKernelManager
