"""Swinv2 activations on host: host_transfer. Cured by: activations kept on the GPU."""
import torch

from shared.steps import classify, images, resident, training, vision


def program(kind):
    def offloaded(model, x, y):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return classify(model, x, y)
    return training(vision("swin_v2_t", False), offloaded if kind == "flawed" else classify, resident(*images(16)))
