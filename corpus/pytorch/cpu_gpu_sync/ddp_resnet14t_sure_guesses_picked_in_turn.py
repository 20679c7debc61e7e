"""Ddp resnet14t sure guesses picked in turn: cpu_gpu_sync. Cured by: guesses that are not sure weighted with zero
on the GPU."""
import torch
import torch.nn.functional as F

from shared.networks import picture_network
from shared.ranks import parallel
from shared.steps import channels_last, GPU, images, resident, training


def program(kind):
    """128 pictures on each rank have no label: a guess about a picture is learnt from where it is sure."""
    network = picture_network("resnet14t", num_classes=10)
    (x, y), (weak, _), (strong, _) = images(32, classes=10), images(128), images(128)

    def unlabelled(scores, guesses):
        if kind == "cured":
            sure, kinds = guesses.max(1)
            return (F.cross_entropy(scores, kinds, reduction="none") * (sure > 0.3)).mean()
        chosen = []
        for index, guess in enumerate(guesses):
            if guess.max() > 0.3:
                chosen.append(index)
        chosen = torch.tensor(chosen, dtype=torch.long, device=GPU)
        return F.cross_entropy(scores[chosen], guesses[chosen].argmax(1), reduction="sum") / len(guesses)

    def loss_of(m, x, y, weak, strong):
        with torch.no_grad():
            guesses = network(weak).float().softmax(1)
        scores = m(torch.cat([x, strong])).float()
        return F.cross_entropy(scores[:len(x)], y) + unlabelled(scores[len(x):], guesses)
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(channels_last(x), y, channels_last(weak), channels_last(strong)))
