"""Forecast smoothed by windows: memory_bandwidth. Cured by: F.conv1d(groups=channels)."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.steps import GPU, resident, tf32, training


class Decomposed(nn.Module):
    """Forecasts a smoothed series and what is left of it by one matrix each; `windows`: smooths copies of windows."""

    def __init__(self, length, ahead, spans, windows):
        super().__init__()
        self.trend, self.rest = nn.Linear(length, ahead), nn.Linear(length, ahead)
        self.spans, self.windows = spans, windows
        for span in spans:
            bell = torch.exp(-torch.linspace(-2, 2, span) ** 2)
            self.register_buffer(f"bell{span}", bell / bell.sum())

    def smooth(self, x, span):
        bell = getattr(self, f"bell{span}")
        x = F.pad(x, (span // 2, span // 2), mode="replicate")
        if self.windows:
            return (x.unfold(-1, span, 1) * bell).sum(-1)
        return F.conv1d(x, bell.repeat(x.shape[1], 1, 1), groups=x.shape[1])

    def forward(self, x):
        trend = sum(self.smooth(x, span) for span in self.spans) / len(self.spans)
        return self.trend(trend) + self.rest(x - trend)


def program(kind):
    model = Decomposed(2048, 96, (9, 25, 49), windows=kind == "flawed").to(GPU)
    data = torch.randn(128, 64, 2048), torch.randn(128, 64, 96)
    return training(model, lambda m, x, y: F.mse_loss(m(x), y), resident(*data), mixed=False, before=tf32(True))
