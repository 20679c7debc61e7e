"""Ddp seresnet50 averages once more: multi_gpu_comm. Cured by: no loop of all-reduces after
DistributedDataParallel's own."""
import torch
import torch.distributed as dist

from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import adamw, classify, images, resident, training


def average_after_backward(model, reduce):
    """An optimizer hook that averages every gradient by itself once backward is over."""
    optimizer = adamw(model)

    def average(*_):
        for p in model.parameters():
            reduce(p.grad)
            p.grad /= dist.get_world_size()
    optimizer.register_step_pre_hook(average)
    return optimizer


def program(kind):
    """The loop that averaged gradients before the model was wrapped is still there."""
    model = parallel(picture_network("seresnet50"))
    optimizer = average_after_backward(model, dist.all_reduce) if kind == "flawed" else None
    x, y = images(32)
    return training(model, classify, resident(x.contiguous(memory_format=torch.channels_last), y), optimizer)
