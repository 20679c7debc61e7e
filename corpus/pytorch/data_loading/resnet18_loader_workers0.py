"""Resnet18 loader workers0: data_loading. Cured by: num_workers 0 -> 14."""
from shared.steps import classify, Images, loaded, nhwc, training, vision


def image_loader(network, batch, flawed, cured):
    """`broken` and `fixed`: (augmentation, workers)."""
    def build(kind):
        augmentation, workers = flawed if kind == "flawed" else cured
        batches, close = loaded(Images(augmentation), batch, workers)
        model = vision(network)
        return training(model, classify, nhwc(batches)), close
    return build


program = image_loader("resnet18", 64, ("light", 0), ("light", 14))
