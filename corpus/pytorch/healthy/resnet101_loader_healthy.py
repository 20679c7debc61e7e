"""Resnet101 loader healthy: healthy."""
from shared.steps import classify, Images, loaded, nhwc, training, vision


def program(kind):
    batches, close = loaded(Images("none"), 128, 14)
    return training(vision("resnet101"), classify, nhwc(batches)), close
