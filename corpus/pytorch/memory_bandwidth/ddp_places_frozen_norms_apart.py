"""Ddp places frozen norms apart: memory_bandwidth. Cured by: scale and shift of the frozen norms folded into the
convolutions."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import channels_last, classify, GPU, resident, training


def on_gpu(build, *arguments, **more):
    """A network of convolutions, drawn on the GPU."""
    with torch.device(GPU):
        return build(*arguments, **more).to(memory_format=torch.channels_last)


class FoldedConv(nn.Module):
    """A convolution whose weight takes up the scale of the frozen norm after it."""

    def __init__(self, convolution, norm):
        super().__init__()
        self.convolution = convolution
        scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
        self.register_buffer("scale", scale[:, None, None, None])
        self.register_buffer("shift", norm.bias - norm.running_mean * scale)

    def forward(self, x):
        to = self.convolution
        return F.conv2d(x, to.weight * self.scale, self.shift, to.stride, to.padding, to.dilation, to.groups)


def folded(network):
    """A ResNet of torchvision whose frozen norms are part of its convolutions."""
    for module in list(network.modules()):
        for index in (1, 2, 3):
            if hasattr(module, f"conv{index}") and hasattr(module, f"bn{index}"):
                pair = getattr(module, f"conv{index}"), getattr(module, f"bn{index}")
                setattr(module, f"conv{index}", FoldedConv(*pair))
                setattr(module, f"bn{index}", nn.Identity())
        if getattr(module, "downsample", None) is not None:
            module.downsample = FoldedConv(*module.downsample)
    return network


def program(kind):
    """A backbone fine-tuned for finding things, its norms frozen as usual; these make fp32 out of bf16."""
    import torchvision
    network = on_gpu(torchvision.models.resnet50, weights=None, norm_layer=torchvision.ops.FrozenBatchNorm2d)
    if kind == "cured":
        network = folded(network)
    network = nn.Sequential(*list(network.children())[:-2], on_gpu(nn.Conv2d, 2048, 80, 1))
    x, y = torch.randn(48, 3, 320, 320), torch.randint(0, 80, (48, 10, 10))
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(channels_last(x), y))
