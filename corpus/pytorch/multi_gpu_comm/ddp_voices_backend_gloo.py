"""Ddp voices backend gloo: multi_gpu_comm. Cured by: backend nccl."""
import torch
import torch.distributed as dist
from torch import nn

from shared.ranks import parallel
from shared.steps import channels_last, classify, GPU, resident, training, vision


def program(kind):
    """Whose voice it is, from a spectrogram; the script was first tried on a machine without GPUs."""
    network = vision("resnet34")
    network.conv1 = nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False).to(GPU)
    network.fc = nn.Linear(512, 5994).to(GPU)
    network = network.to(memory_format=torch.channels_last)
    more = {"process_group": dist.new_group(backend="gloo")} if kind == "flawed" else {}
    model = parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False, **more)
    x, y = torch.randn(256, 1, 80, 300), torch.randint(0, 5994, (256,))
    return training(model, classify, resident(channels_last(x), y))
