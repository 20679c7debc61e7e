"""Convnext graph batch1: gpu_underused. Cured by: batch 1 -> 128."""
from shared.steps import channels_last, classify, graph_if, images, resident, vision


def program(kind):
    x, y = images(1 if kind == "flawed" else 128)
    return graph_if(True, vision("convnext_tiny"), classify, resident(channels_last(x), y))
