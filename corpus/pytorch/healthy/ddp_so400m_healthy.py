"""Ddp so400m healthy: healthy."""
from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import classify, images, resident, training


def program(kind):
    model = picture_network("vit_so400m_patch14_siglip_224", False, num_classes=1000).bfloat16()
    x, y = images(32)
    return training(parallel(model, gradient_as_bucket_view=True), classify, resident(x.bfloat16(), y), mixed=False)
