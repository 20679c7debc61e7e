"""The process of the program: which rank's or loader's it is, and how it ends."""

import os
import signal
import sys
import weakref


class Program:
    def __init__(self, torch, report):
        self.torch = torch
        self.report = report
        self.iterators = weakref.WeakSet()  # of loaders, with their workers
        self.bound = False
        self.world = 1

    def in_loader(self):
        """Whether this is a worker of a loader: what its dataset computes is no step, and nobody waits for it."""
        return self.torch.utils.data.get_worker_info() is not None

    def bind(self, finish):
        """At the first step. A child made by multiprocessing leaves without atexit."""
        if self.bound:
            return
        self.bound = True
        self.notify_world()
        import multiprocessing

        if multiprocessing.parent_process() is not None:
            from multiprocessing import util

            util.Finalize(None, finish, args=("exit",), exitpriority=100)

    def notify_world(self):
        """Again, as a program that starts its ranks itself has no WORLD_SIZE when torch is loaded."""
        self.world = world_size(self.torch)
        self.report.add("world", world=self.world)

    def leave(self):
        try:
            end_workers(list(self.iterators))
        except Exception as problem:
            self.report.fault("workers", problem)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        os._exit(0)


def end_workers(iterators):
    """As an ordinary exit does. A worker looks for its parent every 5 s, and holds its output open until then."""
    workers = [w for i in iterators for w in getattr(i, "_workers", ()) if w._parent_pid == os.getpid()]
    if not workers:
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # PyTorch's handler raises where a worker was killed
    except ValueError:
        return  # not the main thread, which alone may set it
    for worker in workers:
        worker.kill()


def world_size(torch):
    """Ranks of torch.distributed once it is initialized; before, what the launcher says."""
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    said = os.environ.get("WORLD_SIZE", "")
    return int(said) if said.isdigit() else 1
