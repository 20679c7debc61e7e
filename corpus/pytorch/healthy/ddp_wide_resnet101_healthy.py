"""Ddp wide resnet101 healthy: healthy."""
from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import channels_last, classify, images, Prefetched, training


def program(kind):
    model = picture_network("wide_resnet101_2").bfloat16()
    x, y = images(128)
    return training(parallel(model, gradient_as_bucket_view=True), classify,
                    Prefetched(channels_last(x.bfloat16()), y), mixed=False)
