"""Ddp selecsls sync batchnorm: multi_gpu_comm. Cured by: BatchNorm2d: 48 pictures a rank are enough."""
from torch import nn

from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import channels_last, classify, images, resident, training


def program(kind):
    model = picture_network("selecsls60b")
    if kind == "flawed":
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    x, y = images(48)
    return training(parallel(model, gradient_as_bucket_view=True), classify, resident(channels_last(x), y))
