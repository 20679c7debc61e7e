"""Names counted sentence by sentence: cpu_gpu_sync. Cured by: names of all sentences counted at once."""
import torch
from torch import nn

from shared.networks import Tokens
from shared.steps import GPU, inference


def names_found_in_turn(scores, gold):
    """How many of the words that are part of a name were told right, sentence by sentence; -100 is filling."""
    right = told = there = 0
    for chosen, tags in zip(scores.argmax(-1), gold):
        meant = tags != -100
        chosen, tags = chosen[meant], tags[meant]
        right += ((chosen == tags) & (tags > 0)).sum().item()
        told += (chosen > 0).sum().item()
        there += (tags > 0).sum().item()
    return 2 * right / max(told + there, 1)


def names_found_at_once(scores, gold):
    chosen, meant = scores.argmax(-1), gold != -100
    counts = torch.stack([((chosen == gold) & (gold > 0)).sum(), ((chosen > 0) & meant).sum(), (gold > 0).sum()])
    right, told, there = counts.tolist()
    return 2 * right / max(told + there, 1)


def program(kind):
    counted = names_found_in_turn if kind == "flawed" else names_found_at_once
    with torch.device(GPU):
        model = Tokens(nn.Embedding(16000, 1024), 1024, 16, 8, 9).bfloat16().eval()
        ids, gold = torch.randint(0, 16000, (48, 192)), torch.randint(0, 9, (48, 192))
        gold = gold.masked_fill(torch.arange(192) >= torch.randint(100, 193, (48, 1)), -100)
    return inference(lambda: counted(model(ids), gold))
