"""Codes of tiles counted by one hot: memory_bandwidth. Cured by: index_add_ by the codes' numbers."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import on_gpu
from shared.steps import resident, tf32, training


def counted_by_one_hot(nearest, x, codes):
    chosen = F.one_hot(nearest, codes).type(x.dtype)
    return chosen.sum(0), chosen.t() @ x


def counted_by_index(nearest, x, codes):
    sums = torch.zeros(codes, x.shape[1], dtype=x.dtype, device=x.device).index_add_(0, nearest, x)
    return torch.zeros_like(sums[:, 0]).index_add_(0, nearest, torch.ones_like(x[:, 0])), sums


class TileCoder(nn.Module):
    """Pictures as codes: each of 8192 codes is a moving average of what it stood for."""

    def __init__(self, counted, codes=8192, dim=64, width=256):
        super().__init__()
        self.counted = counted
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 4, 4), nn.ReLU(True), nn.Conv2d(width, dim, 1))
        self.decoder = nn.Sequential(nn.Conv2d(dim, width, 1), nn.ReLU(True), nn.ConvTranspose2d(width, 3, 4, 4))
        self.register_buffer("codes", torch.randn(codes, dim))
        self.register_buffer("counts", torch.ones(codes))
        self.register_buffer("sums", self.codes.clone())

    @torch.no_grad()
    def moved(self, x):
        nearest = torch.addmm(self.codes.square().sum(1), x, self.codes.t(), alpha=-2).argmin(1)
        counts, sums = self.counted(nearest, x, len(self.codes))
        self.counts.mul_(0.99).add_(counts, alpha=0.01)
        self.sums.mul_(0.99).add_(sums, alpha=0.01)
        self.codes.copy_(self.sums / self.counts.clamp(min=1e-3)[:, None])
        return nearest

    def forward(self, x):
        z = self.encoder(x).float().permute(0, 2, 3, 1)
        coded = self.codes[self.moved(z.detach().flatten(0, 2))].view(z.shape)
        shown = self.decoder((z + (coded - z).detach()).permute(0, 3, 1, 2))
        return F.mse_loss(shown.float(), x) + 0.25 * F.mse_loss(z, coded)


def program(kind):
    model = on_gpu(TileCoder, counted_by_one_hot if kind == "flawed" else counted_by_index)
    return training(model, lambda m, x: m(x), resident(torch.rand(16, 3, 256, 256)), mixed=False, before=tf32(True))
