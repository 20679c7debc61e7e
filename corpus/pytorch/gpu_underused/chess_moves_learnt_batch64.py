"""Chess moves learnt batch64: gpu_underused. Cured by: batch 64 -> 512."""
import torch
import torch.nn.functional as F

from shared.networks import Tokens
from shared.steps import GPU, resident, training


def program(kind):
    """64 squares, 73 ways to leave each."""
    batch = 64 if kind == "flawed" else 512
    with torch.device(GPU):
        model = Tokens(torch.nn.Linear(112, 512), 512, 8, 10, 73)
    return training(model, lambda m, x, y: F.cross_entropy(m(x).flatten(1).float(), y),
                    resident(torch.randn(batch, 64, 112), torch.randint(0, 64 * 73, (batch,))))
