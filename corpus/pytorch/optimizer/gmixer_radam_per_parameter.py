"""Gmixer radam per parameter: optimizer. Cured by: RAdam(foreach=True)."""
import torch

from shared.networks import picture_network
from shared.steps import classify, images, resident, training


def program(kind):
    model = picture_network("gmixer_24_224", False, num_classes=200)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4, weight_decay=1e-2, foreach=kind == "cured")
    return training(model, classify, resident(*images(24, classes=200)), optimizer)
