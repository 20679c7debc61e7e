"""Poolformer adamw per parameter: optimizer. Cured by: AdamW(fused=True)."""
from shared.networks import picture_network
from shared.steps import adamw, classify, images, resident, training


def program(kind):
    model = picture_network("poolformer_s24", False)
    return training(model, classify, resident(*images(16)),
                    adamw(model, foreach=False, fused=False) if kind == "flawed" else adamw(model))
