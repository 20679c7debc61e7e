"""Ddp encoder small batch: multi_gpu_comm. Cured by: larger batch per all-reduce: 2 -> 64."""
import torch
from torch import nn

from shared.ranks import parallel
from shared.steps import GPU, resident, training


def mean_square(model, x, *_):
    return model(x).float().square().mean()


def sgd(model):
    return torch.optim.SGD(model.parameters(), 1e-3, fused=True)


def program(kind):
    with torch.device(GPU):
        layer = nn.TransformerEncoderLayer(2048, 16, 8192, dropout=0.0, batch_first=True, norm_first=True)
        model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    x = torch.randn(1 if kind == "flawed" else 32, 128, 2048)
    model = parallel(model, gradient_as_bucket_view=True)
    return training(model, mean_square, resident(x), sgd(model))
