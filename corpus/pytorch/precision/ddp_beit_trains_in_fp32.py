"""Ddp beit trains in fp32: precision. Cured by: bf16 autocast."""
from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import classify, images, resident, training


def program(kind):
    """As PyTorch comes: products of fp32 matrices do not use TF32."""
    model = parallel(picture_network("beit_base_patch16_224", False), gradient_as_bucket_view=True)
    return training(model, classify, resident(*images(16)), mixed=kind == "cured")
