"""Mnasnet anomaly mode: cpu_gpu_sync. Cured by: torch.autograd.set_detect_anomaly(False)."""
import torch
import torch.nn.functional as F

from shared.steps import amp, channels_last, GPU


def program(kind):
    import torchvision
    model = torchvision.models.mnasnet1_0(weights=None, dropout=0.0).to(GPU).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
    x = channels_last(torch.randn(96, 3, 224, 224, device=GPU))
    y = torch.randint(0, 1000, (96,), device=GPU)

    def step():
        with torch.autograd.set_detect_anomaly(kind == "flawed"):
            optimizer.zero_grad(set_to_none=True)
            with amp():
                loss = F.cross_entropy(model(x).float(), y, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
    return step
