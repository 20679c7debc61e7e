"""Resnet18 adam per parameter: optimizer. Cured by: Adam(fused=True)."""
import torch

from shared.steps import channels_last, classify, images, resident, training, vision


def program(kind):
    model = vision("resnet18")
    more = {"foreach": False} if kind == "flawed" else {"fused": True}
    x, y = images(16)
    return training(model, classify, resident(channels_last(x), y),
                    torch.optim.Adam(model.parameters(), 1e-4, weight_decay=1e-2, amsgrad=True, **more))
