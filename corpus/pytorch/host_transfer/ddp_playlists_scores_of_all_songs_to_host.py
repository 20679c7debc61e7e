"""Ddp playlists scores of all songs to host: host_transfer. Cured by: places counted on the GPU."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import Last
from shared.ranks import parallel
from shared.steps import GPU, resident, tokens, training


def program(kind):
    """Noted at each step: at which place among 60000 songs the one stood that was heard next."""
    with torch.device(GPU):
        model = Last(nn.Embedding(60000, 1024), 1024, 4, 16, 100, 60000, causal=True)
    kept, log = {}, {}

    def loss_of(m, songs, following):
        scores = m(songs).float()
        kept["scores"], kept["next"] = scores.detach(), following
        return F.cross_entropy(scores, following)

    def place(*_):
        scores, following = kept.pop("scores"), kept.pop("next")
        if kind == "flawed":
            scores, following = scores.cpu(), following.cpu()
        log["places"] = (scores > scores.gather(1, following[:, None])).sum(1)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of,
                    resident(*tokens(256, 100, 60000), torch.randint(0, 60000, (256,))), tail=place)
