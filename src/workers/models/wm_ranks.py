"""The ranks of one training: processes with torchrun's environment that meet over a file and average their gradients."""

import contextlib
import datetime
import os

import torch


class Ranks:
    """Of one rank all of this does nothing."""

    def __init__(self, ask, device):
        self.rank, self.world = int(ask.get("rank", 0)), int(ask.get("world", 1))
        self.device = device
        if self.world == 1:
            return
        cpus = len(os.sched_getaffinity(0))
        if device.type == "cpu":  # ranks share the processors
            torch.set_num_threads(max(1, cpus // self.world))
        else:
            torch.cuda.set_device(device)
        import torch.distributed as dist

        self.dist = dist
        dist.init_process_group(
            "nccl" if device.type == "cuda" else "gloo",
            init_method="file://" + ask["meeting"],
            rank=self.rank,
            world_size=self.world,
            timeout=datetime.timedelta(seconds=300),
        )

    def wrap(self, model):
        if self.world == 1:
            return model
        ids = [self.device] if self.device.type == "cuda" else None
        # Gradients lie in the buckets, so that none is copied; running statistics of norms, which no gradient depends on,
        # stay each rank's own.
        options = {"gradient_as_bucket_view": True, "broadcast_buffers": False}
        wrapped = torch.nn.parallel.DistributedDataParallel(model, device_ids=ids, **options)
        # The same sum, divided by one kernel for each bucket and not by one for each gradient.
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

        wrapped.register_comm_hook(None, allreduce_hook)
        return wrapped

    def alone(self, called, wanted):
        return called.no_sync() if wanted and self.world > 1 and hasattr(called, "no_sync") else contextlib.nullcontext()

    def barrier(self):
        if self.world > 1:
            self.dist.barrier()

    def average(self, model):
        """Gradients of all ranks, averaged; one message for all of them, as a bucket of DistributedDataParallel."""
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        if self.world == 1 or not gradients:
            return
        flat = torch.cat([g.reshape(-1) for g in gradients])
        self.dist.all_reduce(flat)
        flat /= self.world
        begin = 0
        for gradient in gradients:
            gradient.copy_(flat[begin : begin + gradient.numel()].view_as(gradient))
            begin += gradient.numel()

    def most(self, value):
        if self.world == 1:
            return value
        of_all = torch.tensor([value], dtype=torch.float64, device=self.device)
        self.dist.all_reduce(of_all, op=self.dist.ReduceOp.MAX)
        return float(of_all)
