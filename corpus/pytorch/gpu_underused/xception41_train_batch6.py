"""Xception41 train batch6: gpu_underused. Cured by: batch 6 -> 192."""
from shared.networks import picture_network
from shared.steps import channels_last, classify, images, resident, training


def program(kind):
    x, y = images(6 if kind == "flawed" else 192)
    return training(picture_network("xception41"), classify, resident(channels_last(x), y))
